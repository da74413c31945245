import { assertEquals, assertThrows } from "@std/assert";
import { CudaError } from "../../../src/ffi/cuda_error.ts";
import { StrictUpstream } from "./model/strict_upstream.ts";
import { StreamSlot } from "../../../src/memory/pool/stream_slots.ts";

function setUp() {
  const upstream = new StrictUpstream({ completion: "explicit" });
  const stream = upstream.createStream();
  const slot = new StreamSlot(1, stream, 0, false);
  return { upstream, stream, slot };
}

Deno.test("`poll()` makes the epochs of reached marks clean", () => {
  const { upstream, stream, slot } = setUp();
  slot.mark(upstream);
  upstream.complete(stream);
  slot.mark(upstream);
  assertEquals([slot.epoch, slot.marks.length, slot.isClean(1)], [3, 2, false]);
  assertEquals(slot.poll(upstream), true);
  assertEquals([slot.isClean(1), slot.isClean(2), slot.marks.length], [true, false, 1]);
  assertEquals(slot.poll(upstream), false);
  upstream.complete(stream);
  assertEquals([slot.poll(upstream), slot.isClean(2), slot.isClean(3)], [true, true, false]);
});

Deno.test("`poll()` does not reuse an event with a pending wait", async () => {
  const { upstream, stream, slot } = setUp();
  slot.mark(upstream);
  const first = slot.marks[0]!.event;
  const waiting = upstream.wait(first);
  upstream.complete(stream);
  // Others find out first, and the stream goes on.
  assertEquals([slot.poll(upstream), slot.spareEvents], [true, []]);
  slot.mark(upstream);
  assertEquals([slot.marks[0]!.event === first, upstream.tally.events], [false, 2]);
  await waiting;
  assertEquals(upstream.tally.events, 1);
});

Deno.test("`mark()` changes nothing when it fails", () => {
  const { upstream, slot } = setUp();
  slot.freedBytes = 5;
  for (const call of ["createEvent", "recordEvent"] as const) {
    upstream.calls.fail({ call });
    assertThrows(() => slot.mark(upstream), CudaError);
    assertEquals([slot.epoch, slot.marks.length, slot.freedBytes], [1, 0, 5]);
    assertEquals(upstream.tally.events, slot.spareEvents.length);
  }
  slot.mark(upstream);
  assertEquals([slot.epoch, slot.freedBytes, upstream.tally.events], [2, 0, 1]);
});

Deno.test("`destroyEvents()` can be repeated after a failure", () => {
  const { upstream, slot } = setUp();
  for (let count = 0; count < 3; count++) slot.mark(upstream);
  upstream.calls.fail({ call: "destroyEvent", nth: 2 });
  assertThrows(() => slot.destroyEvents(upstream), CudaError);
  assertEquals([upstream.tally.events, slot.spareEvents.length], [2, 2]);
  slot.destroyEvents(upstream);
  assertEquals([upstream.tally.events, slot.spareEvents.length], [0, 0]);
});
