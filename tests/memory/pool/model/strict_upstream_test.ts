import { assert, assertEquals, assertThrows } from "@std/assert";
import { CudaError } from "../../../../src/ffi/cuda_error.ts";
import {
  StrictUpstream,
  type StrictUpstreamOptions,
  UpstreamMisuseError,
} from "./strict_upstream.ts";

const GRANULE = 65536;

function model(options: StrictUpstreamOptions = {}): StrictUpstream {
  return new StrictUpstream({ capacity: 64 * GRANULE, granularity: GRANULE, ...options });
}

/** Asserts that a call is misuse and changes nothing. */
function assertMisuse(upstream: StrictUpstream, call: () => unknown, says: string): void {
  const before = upstream.tally;
  assertThrows(call, UpstreamMisuseError, says);
  assertEquals(upstream.tally, before);
}

Deno.test("`StrictUpstream` counts plain memory and refuses addresses that it did not allocate", () => {
  const upstream = model({ capacity: 10_007 });
  const first = upstream.allocate(10_000);
  assertEquals([upstream.allocate(8), upstream.freeBytes(), upstream.usedBytes], [0, 7, 10_000]);
  for (const wrong of [0, NaN, first - 512, first + 512, first + 10_000]) {
    assertMisuse(upstream, () => upstream.free(wrong), "must be plain memory");
  }
  upstream.free(first);
  assertMisuse(upstream, () => upstream.free(first), "must be plain memory");
  assertEquals([upstream.usedBytes, upstream.peakBytes], [0, 10_000]);
  upstream.occupy(10_000);
  assertEquals(upstream.allocate(8), 0);
});

Deno.test("`StrictUpstream` maps and unmaps whole pieces only", () => {
  const upstream = model();
  const at = upstream.reserve(16 * GRANULE);
  assert(upstream.map(at, 5 * GRANULE, 2 * GRANULE)); // pieces 0-1, 2-3, 4
  assert(upstream.map(at + 5 * GRANULE, 3 * GRANULE, 3 * GRANULE)); // piece 5-7
  const unmap = (from: number, count: number) =>
    upstream.unmap(at + from * GRANULE, count * GRANULE);
  for (const [from, count] of [[0, 1], [1, 1], [1, 3], [4, 2], [4, 5]] as const) {
    assertMisuse(upstream, () => unmap(from, count), "whole pieces");
  }
  unmap(2, 6);
  assertEquals(upstream.tally.mappedBytes, 2 * GRANULE);
  assertMisuse(upstream, () => upstream.map(at + GRANULE, 2 * GRANULE, GRANULE), "must hold none");
  assertMisuse(upstream, () => upstream.map(at + 1, GRANULE, GRANULE), "whole granules");
  assertMisuse(upstream, () => upstream.map(at, 17 * GRANULE, GRANULE), "whole granules");
  assertMisuse(upstream, () => upstream.release(at), "without memory");
  unmap(0, 2);
  upstream.release(at);
  assertMisuse(upstream, () => upstream.map(at, GRANULE, GRANULE), "a reservation");
  assertEquals(model({ addressSpace: GRANULE }).reserve(2 * GRANULE), 0);
});

Deno.test("`StrictUpstream` refuses memory that another owner's work still uses", () => {
  const upstream = model({ completion: "explicit" });
  const [a, b] = [upstream.createStream(), upstream.createStream()];
  const address = upstream.reserve(2 * GRANULE);
  assert(upstream.map(address, 2 * GRANULE, GRANULE));
  upstream.use(address, 500, a, "first");
  upstream.use(address, 500, b, "first");
  upstream.use(address + 500, 500, b, "second");
  upstream.use(address + 500, 500, b, "third");
  assertMisuse(upstream, () => upstream.use(address + 499, 1, b, "second"), "another owner");
  assertMisuse(upstream, () => upstream.fill(address, 10, 0, b), "another owner");
  assertMisuse(upstream, () => upstream.unmap(address, GRANULE), "uses it");
  assertMisuse(
    upstream,
    () => upstream.use(address + 2 * GRANULE - 1, 2, a, 1),
    "there must be some",
  );
  upstream.completeAll();
  upstream.use(address + 499, 1, b, "second");
  upstream.completeAll();
  upstream.unmap(address, GRANULE);
  assertMisuse(upstream, () => upstream.use(address, 1, a, 1), "there must be some");
});

Deno.test("`free()` waits for work, or throws if the upstream is strict about it", () => {
  for (const strictFree of [false, true]) {
    const upstream = model({ completion: "explicit", strictFree });
    const stream = upstream.createStream();
    const address = upstream.allocate(10);
    upstream.use(address + 9, 1, stream, 1);
    if (strictFree) {
      assertMisuse(upstream, () => upstream.free(address), "uses it");
      upstream.complete(stream);
    }
    upstream.free(address);
    assertEquals([upstream.blockedFrees, stream.idle], [strictFree ? 0 : 1, true]);
  }
});

Deno.test("events are reached by the work of their stream, and by explicit completion", async () => {
  const upstream = model({ completion: "explicit" });
  const [a, b] = [upstream.createStream(), upstream.createStream()];
  const event = upstream.createEvent();
  assert(upstream.queryEvent(event), "an event that was never recorded is done");
  upstream.recordEvent(event, a);
  upstream.complete(b);
  assertEquals(upstream.queryEvent(event), false);
  const waiting = upstream.wait(event);
  assertThrows(() => upstream.recordEvent(event, b), UpstreamMisuseError, "a wait is pending");
  upstream.complete(a);
  assertEquals([upstream.queryEvent(event), upstream.isAwaited(event)], [true, true]);
  await waiting;
  assertEquals(upstream.isAwaited(event), false);
  a.captureToken = {};
  assertMisuse(upstream, () => upstream.recordEvent(event, a), "must not be captured");
  assertMisuse(upstream, () => upstream.queryEvent(event), "break the capture");
  assertMisuse(upstream, () => upstream.waitSync(event), "break the capture");
  a.captureToken = undefined;
  upstream.recordEvent(event, a);
  a[Symbol.dispose]();
  assertMisuse(upstream, () => upstream.recordEvent(event, a), "a live one");
  upstream.completeAll();
  upstream.destroyEvent(event);
  assertMisuse(upstream, () => upstream.queryEvent(event), "no such event");
});

Deno.test("`calls.fail()` makes the nth call throw or find no memory, and has no other effect", () => {
  const upstream = model();
  upstream.calls.fail({ call: "allocate", nth: 2 });
  upstream.calls.fail({ call: "reserve", outcome: "none", times: 2 });
  assert(upstream.allocate(10) > 0);
  const error = assertThrows(() => upstream.allocate(10), CudaError, "make the call allocate");
  assertEquals([error.code, error.device, upstream.tally.plain], [999, "model:0", 1]);
  assertEquals([upstream.reserve(GRANULE), upstream.reserve(GRANULE)], [0, 0]);
  assert(upstream.reserve(GRANULE) > 0);
  assertEquals([upstream.calls.restore(), upstream.calls.counts.allocate], [0, 2]);
  upstream.calls.fail({ nth: 3, status: 700 });
  upstream.freeBytes();
  upstream.press();
  assertEquals(assertThrows(() => upstream.freeBytes(), CudaError).code, 700);
});
