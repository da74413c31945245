// Marks: one event tells of all that was freed before it, events are used again, and what fails
// leaves nothing behind.

import { assertEquals, assertThrows } from "@std/assert";
import { CudaError } from "../../../src/ffi/cuda_error.ts";
import { InMemoryUpstream } from "./in_memory_upstream.ts";
import { StreamMarks, StreamSlot } from "../../../src/memory/pool/stream_slots.ts";

function setUp() {
  const upstream = new InMemoryUpstream({ completion: "explicit" });
  const stream = upstream.createStream();
  const slot = new StreamSlot(1, stream, 0, false);
  return { upstream, stream, slot, marks: new StreamMarks(upstream) };
}

Deno.test("a mark that is reached makes its epoch and all before it clean, and no later one", () => {
  const { upstream, stream, slot, marks } = setUp();
  marks.mark(slot);
  upstream.complete(stream);
  marks.mark(slot);
  assertEquals([slot.epoch, slot.marks.length, slot.isClean(1)], [3, 2, false]);
  assertEquals(marks.poll(slot), true);
  assertEquals([slot.isClean(1), slot.isClean(2), slot.marks.length], [true, false, 1]);
  assertEquals(marks.poll(slot), false);
  upstream.complete(stream);
  assertEquals([marks.poll(slot), slot.isClean(2), slot.isClean(3)], [true, true, false]);
});

Deno.test("events are used again, and all given back", () => {
  const { upstream, stream, slot, marks } = setUp();
  for (let round = 0; round < 100; round++) {
    marks.mark(slot);
    marks.mark(slot);
    upstream.complete(stream);
    marks.poll(slot);
  }
  assertEquals([upstream.calls.counts.createEvent, slot.spareEvents.length], [2, 2]);
  marks.mark(slot);
  marks.close(slot);
  assertEquals([upstream.tally.events, slot.spareEvents, slot.marks], [0, [], []]);
});

Deno.test("an event that somebody waits for is not used again before they are told", async () => {
  const { upstream, stream, slot, marks } = setUp();
  marks.mark(slot);
  const first = slot.marks[0]!.event;
  const waiting = upstream.wait(first);
  upstream.complete(stream);
  // Others find out first, and the stream goes on.
  assertEquals([marks.poll(slot), slot.spareEvents], [true, []]);
  marks.mark(slot);
  assertEquals([slot.marks[0]!.event === first, upstream.tally.events], [false, 2]);
  await waiting;
  assertEquals(upstream.tally.events, 1);
});

Deno.test("a mark that fails ends no epoch and loses no event", () => {
  const { upstream, slot, marks } = setUp();
  slot.freedBytes = 5;
  for (const call of ["createEvent", "recordEvent"] as const) {
    upstream.calls.fail({ call });
    assertThrows(() => marks.mark(slot), CudaError);
    assertEquals([slot.epoch, slot.marks.length, slot.freedBytes], [1, 0, 5]);
    assertEquals(upstream.tally.events, slot.spareEvents.length);
  }
  marks.mark(slot);
  assertEquals([slot.epoch, slot.freedBytes, upstream.tally.events], [2, 0, 1]);
});

Deno.test("asking for marks may fail half way, and goes on where it was", () => {
  const { upstream, stream, slot, marks } = setUp();
  for (let count = 0; count < 3; count++) marks.mark(slot);
  upstream.complete(stream);
  upstream.calls.fail({ call: "queryEvent", nth: 2 });
  assertThrows(() => marks.poll(slot), CudaError);
  assertEquals([slot.isClean(1), slot.isClean(2)], [true, false]);
  assertEquals([marks.poll(slot), slot.isClean(3), slot.spareEvents.length], [true, true, 3]);
});

Deno.test("an event that cannot be given back stays for the next attempt", () => {
  const { upstream, slot, marks } = setUp();
  for (let count = 0; count < 3; count++) marks.mark(slot);
  upstream.calls.fail({ call: "destroyEvent", nth: 2 });
  assertThrows(() => marks.close(slot), CudaError);
  assertEquals([upstream.tally.events, slot.spareEvents.length], [2, 2]);
  marks.close(slot);
  assertEquals([upstream.tally.events, slot.spareEvents.length], [0, 0]);
});
