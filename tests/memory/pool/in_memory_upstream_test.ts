// The model device that pools are tested on is strict: whatever a driver refuses, and whatever a
// GPU answers with a fault or with somebody else's data, is an error here.

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  InMemoryUpstream,
  type InMemoryUpstreamOptions,
  UpstreamMisuseError,
} from "./in_memory_upstream.ts";

const GRANULE = 65536;

function model(options: InMemoryUpstreamOptions = {}): InMemoryUpstream {
  return new InMemoryUpstream({ capacity: 64 * GRANULE, granularity: GRANULE, ...options });
}

/** Asserts that a call is misuse whose message has a text, and that nothing has changed. */
function assertMisuse(upstream: InMemoryUpstream, call: () => unknown, says: string): void {
  const before = upstream.tally;
  assertThrows(call, UpstreamMisuseError, says);
  assertEquals(upstream.tally, before);
}

Deno.test("plain memory is counted to the byte, and never more than the capacity", () => {
  const upstream = model({ capacity: 10_007 });
  const first = upstream.allocate(10_000);
  assert(first > 0 && first % 512 === 0 && first % 1024 !== 0);
  assertEquals([upstream.allocate(8), upstream.freeBytes(), upstream.usedBytes], [0, 7, 10_000]);
  const second = upstream.allocate(7);
  assert(second >= first + 10_000 + 512 || second + 7 + 512 <= first);
  assertEquals([upstream.allocate(1), upstream.freeBytes()], [0, 0]);
  upstream.free(first);
  upstream.free(second);
  assertEquals([upstream.usedBytes, upstream.peakBytes], [0, 10_007]);
  assertEquals(upstream.calls.counts.allocate, 4);
});

Deno.test("what others use of the device is not to be had", () => {
  const upstream = model({ capacity: 1000 });
  upstream.occupy(600);
  assertEquals([upstream.freeBytes(), upstream.allocate(401)], [400, 0]);
  assert(upstream.allocate(400) > 0);
  upstream.occupy(900);
  assertEquals(upstream.freeBytes(), 0);
});

Deno.test("addresses are given out again, unless a test wants stale ones to be found", () => {
  const again = model();
  const address = again.allocate(100);
  again.free(address);
  assertEquals(again.allocate(100), address);
  const fresh = model({ reuseAddresses: false });
  const stale = fresh.allocate(100);
  fresh.free(stale);
  assert(fresh.allocate(100) !== stale);
  assertMisuse(fresh, () => fresh.free(stale), "none of its memory");
});

Deno.test("free() takes only what allocate() gave, once", () => {
  const upstream = model();
  const address = upstream.allocate(1024);
  for (const wrong of [0, NaN, address - 512, address + 1024]) {
    assertMisuse(upstream, () => upstream.free(wrong), "none of its memory");
  }
  assertMisuse(upstream, () => upstream.free(address + 512), "inside of");
  upstream.free(address);
  assertMisuse(upstream, () => upstream.free(address), "none of its memory");
});

Deno.test("sizes that are none are misuse", () => {
  const upstream = model();
  for (const bytes of [0, -1, 1.5, NaN, 2 ** 53]) {
    assertMisuse(upstream, () => upstream.allocate(bytes), "bytes must be");
  }
  for (const bytes of [0, GRANULE - 1, GRANULE + 1, -GRANULE]) {
    assertMisuse(upstream, () => upstream.reserve(bytes), "multiple of 65536");
  }
  const address = upstream.reserve(4 * GRANULE);
  assertMisuse(upstream, () => upstream.map(address, GRANULE, 1000), "handleBytes");
  assertMisuse(upstream, () => upstream.map(address, 1000, GRANULE), "whole granules");
  assertMisuse(upstream, () => upstream.map(address + 1, GRANULE, GRANULE), "whole granules");
  assertMisuse(upstream, () => upstream.map(address, 5 * GRANULE, GRANULE), "whole granules");
});

Deno.test("without granularity there is no virtual memory", () => {
  const upstream = model({ granularity: 0 });
  assertMisuse(upstream, () => upstream.reserve(GRANULE), "no virtual memory");
  assertMisuse(upstream, () => upstream.map(0, GRANULE, GRANULE), "no virtual memory");
  assert(upstream.allocate(1) > 0);
});

Deno.test("memory is mapped in pieces and unmapped by whole pieces, across calls too", () => {
  const upstream = model();
  const at = upstream.reserve(16 * GRANULE);
  assert(upstream.map(at, 5 * GRANULE, 2 * GRANULE)); // pieces 0-1, 2-3, 4
  assert(upstream.map(at + 5 * GRANULE, 3 * GRANULE, 3 * GRANULE)); // piece 5-7
  assertEquals(upstream.tally.mappedBytes, 8 * GRANULE);
  const unmap = (from: number, count: number) =>
    upstream.unmap(at + from * GRANULE, count * GRANULE);
  assertMisuse(upstream, () => unmap(0, 1), "cuts one in two");
  assertMisuse(upstream, () => unmap(1, 1), "cuts one in two");
  assertMisuse(upstream, () => unmap(1, 3), "cuts one in two");
  assertMisuse(upstream, () => unmap(4, 2), "cuts one in two");
  assertMisuse(upstream, () => unmap(4, 5), "no memory at");
  unmap(2, 6);
  assertEquals(upstream.tally.mappedBytes, 2 * GRANULE);
  assertMisuse(upstream, () => unmap(0, 3), "no memory at");
  assertMisuse(upstream, () => upstream.map(at + GRANULE, 2 * GRANULE, GRANULE), "must hold none");
  assert(upstream.map(at + 2 * GRANULE, GRANULE, GRANULE));
  unmap(0, 3);
  assertEquals(upstream.tally.mappedBytes, 0);
});

Deno.test("a reservation ends when it holds no memory, and has its limit", () => {
  const upstream = model({ addressSpace: 8 * GRANULE });
  const address = upstream.reserve(6 * GRANULE);
  assertEquals(upstream.reserve(3 * GRANULE), 0);
  assert(upstream.map(address + GRANULE, GRANULE, GRANULE));
  assertMisuse(upstream, () => upstream.release(address), "65536 bytes");
  assertMisuse(upstream, () => upstream.release(address + GRANULE), "must begin a reservation");
  upstream.unmap(address + GRANULE, GRANULE);
  upstream.release(address);
  assertMisuse(upstream, () => upstream.release(address), "it is in none");
  assertMisuse(upstream, () => upstream.map(address, GRANULE, GRANULE), "it is in none");
  assert(upstream.reserve(8 * GRANULE) > 0);
});

Deno.test("mapped and plain memory share the capacity; map() maps all or nothing", () => {
  const upstream = model({ capacity: 4 * GRANULE });
  const address = upstream.reserve(8 * GRANULE);
  assert(upstream.allocate(GRANULE) > 0);
  assertEquals(upstream.map(address, 4 * GRANULE, GRANULE), false);
  assertEquals(upstream.tally.mappedBytes, 0);
  assert(upstream.map(address, 3 * GRANULE, GRANULE));
  assertEquals(upstream.freeBytes(), 0);
});

Deno.test("events are done when recorded, or when the test says so", async () => {
  for (const completion of ["recorded", "explicit"] as const) {
    const upstream = model({ completion });
    const stream = upstream.createStream();
    const event = upstream.createEvent();
    assert(upstream.queryEvent(event), "an event never recorded counts as done");
    upstream.enqueue(stream);
    upstream.recordEvent(event, stream);
    assertEquals(upstream.queryEvent(event), completion === "recorded");
    let resolved = false;
    const waiting = upstream.wait(event).then(() => resolved = true);
    await Promise.resolve();
    upstream.complete(stream);
    await waiting;
    assert(resolved && upstream.queryEvent(event));
    upstream.destroyEvent(event);
    assertMisuse(upstream, () => upstream.queryEvent(event), "there is none of this number");
    assertMisuse(upstream, () => upstream.destroyEvent(event), "there is none of this number");
  }
});

Deno.test("an explicit event is reached by its own stream only, and a wait does no more work", () => {
  const upstream = model({ completion: "explicit" });
  const [a, b] = [upstream.createStream(), upstream.createStream()];
  const event = upstream.createEvent();
  upstream.recordEvent(event, a);
  upstream.enqueue(a);
  upstream.complete(b);
  assertEquals(upstream.queryEvent(event), false);
  upstream.waitSync(event);
  assert(upstream.queryEvent(event));
  assertEquals(a.idle, false);
  upstream.completeAll();
  assert(a.idle && b.idle);
});

Deno.test("a wait that no test completes stays open, and its event is not for others meanwhile", async () => {
  const upstream = model({ completion: "explicit" });
  const [a, b] = [upstream.createStream(), upstream.createStream()];
  const event = upstream.createEvent();
  upstream.recordEvent(event, a);
  const order: string[] = [];
  const waiting = upstream.wait(event).then(() => order.push("waited"));
  assertThrows(() => upstream.recordEvent(event, b), UpstreamMisuseError, "still waits");
  upstream.complete(b);
  await new Promise((resolve) => setTimeout(resolve, 0));
  order.push("completed");
  upstream.complete(a);
  // The work is done, but whoever waits has not been told.
  assertEquals([upstream.queryEvent(event), upstream.isAwaited(event)], [true, true]);
  assertThrows(() => upstream.recordEvent(event, b), UpstreamMisuseError, "still waits");
  await waiting;
  assertEquals([order, upstream.isAwaited(event)], [["completed", "waited"], false]);
  upstream.recordEvent(event, b);
});

Deno.test("disposing a stream tells who asked, its work still completes, and it cannot be used", () => {
  const upstream = model({ completion: "explicit" });
  const stream = upstream.createStream();
  const event = upstream.createEvent();
  const heard: string[] = [];
  stream.onDispose(() => {
    upstream.recordEvent(event, stream);
    heard.push("closed");
  });
  stream[Symbol.dispose]();
  stream[Symbol.dispose]();
  assertEquals([heard, stream.disposed], [["closed"], true]);
  assertThrows(() => stream.id, TypeError, "disposed");
  assertMisuse(upstream, () => upstream.recordEvent(event, stream), "must be a live one");
  assertEquals(upstream.queryEvent(event), false);
  upstream.completeAll();
  assert(upstream.queryEvent(event));
});

Deno.test("a stream of another upstream is refused", () => {
  const upstream = model();
  const event = upstream.createEvent();
  const other = model().createStream();
  assertMisuse(upstream, () => upstream.recordEvent(event, other), "a live one of model:0");
});

Deno.test("while a stream is captured no event is recorded on it, asked for or waited for", async () => {
  const upstream = model();
  const [captured, other] = [upstream.createStream(), upstream.createStream()];
  const event = upstream.createEvent();
  assertEquals(upstream.capturing, false);
  captured.captureToken = {};
  captured.captureToken = {};
  assertEquals(upstream.capturing, true);
  assertMisuse(upstream, () => upstream.recordEvent(event, captured), "must not be captured");
  upstream.recordEvent(event, other);
  assertMisuse(upstream, () => upstream.queryEvent(event), "spoil the capture");
  assertMisuse(upstream, () => upstream.waitSync(event), "spoil the capture");
  await assertRejects(() => upstream.wait(event), UpstreamMisuseError, "spoil the capture");
  captured.captureToken = undefined;
  assertEquals(upstream.capturing, false);
  assert(upstream.queryEvent(event));
});

Deno.test("memory that a stream still uses must not be unmapped", () => {
  const upstream = model({ completion: "explicit" });
  const stream = upstream.createStream();
  const address = upstream.reserve(4 * GRANULE);
  assert(upstream.map(address, 4 * GRANULE, GRANULE));
  upstream.use(address + GRANULE + 100, 1, stream, "x");
  upstream.unmap(address, GRANULE);
  assertMisuse(upstream, () => upstream.unmap(address + GRANULE, GRANULE), "stream 1 uses");
  upstream.complete(stream);
  upstream.unmap(address + GRANULE, GRANULE);
});

Deno.test("freeing what a stream uses waits as cudaFree does, or is misuse where that is asked", () => {
  const upstream = model({ completion: "explicit" });
  const stream = upstream.createStream();
  upstream.free(upstream.allocate(10));
  assertEquals(upstream.blockedFrees, 0);
  const address = upstream.allocate(10);
  upstream.use(address, 10, stream, 1);
  upstream.free(address);
  assertEquals([upstream.blockedFrees, stream.idle], [1, true]);
  const strict = model({ completion: "explicit", strictFree: true });
  const used = strict.allocate(10);
  const user = strict.createStream();
  strict.use(used + 9, 1, user, 1);
  assertMisuse(strict, () => strict.free(used), "nobody may use it");
  strict.complete(user);
  strict.free(used);
});

Deno.test("handing memory to another stream before the first is done with it is misuse", () => {
  const upstream = model({ completion: "explicit" });
  const [a, b] = [upstream.createStream(), upstream.createStream()];
  const address = upstream.allocate(1000);
  upstream.use(address, 500, a, "first");
  upstream.use(address, 500, b, "first"); // one buffer on two streams is its owner's business
  upstream.use(address + 500, 500, b, "second");
  upstream.use(address + 500, 500, b, "third"); // the order of a stream is order enough
  assertMisuse(
    upstream,
    () => upstream.use(address + 499, 1, b, "second"),
    "on stream 2 as stream 1",
  );
  upstream.complete(a);
  upstream.complete(b);
  upstream.use(address + 499, 1, b, "second");
});

Deno.test("what the pool fills is used by the pool", () => {
  const upstream = model({ completion: "explicit" });
  const [a, b] = [upstream.createStream(), upstream.createStream()];
  const address = upstream.allocate(1000);
  upstream.use(address, 1000, a, "first");
  assertMisuse(upstream, () => upstream.fill(address, 1000, 0xdd, b), "another owner");
  upstream.fill(address, 1000, 0xdd, a);
  assertMisuse(upstream, () => upstream.use(address, 1, b, "second"), "another owner");
  upstream.use(address, 1, a, "second");
});

Deno.test("use needs memory behind all of the range", () => {
  const upstream = model();
  const stream = upstream.createStream();
  const plain = upstream.allocate(100);
  const address = upstream.reserve(4 * GRANULE);
  assert(upstream.map(address, GRANULE, GRANULE));
  assert(upstream.map(address + 2 * GRANULE, 2 * GRANULE, GRANULE));
  upstream.use(plain, 100, stream, 1);
  upstream.use(address + 3 * GRANULE - 1, 2, stream, 1);
  for (
    const [start, bytes] of [
      [plain, 101],
      [plain - 1, 2],
      [address + GRANULE - 1, 2],
      [address + GRANULE, 1],
      [address + 4 * GRANULE - 1, 2],
      [0, 1],
    ] as const
  ) {
    assertMisuse(upstream, () => upstream.use(start, bytes, stream, 1), "there must be some");
    assertMisuse(upstream, () => upstream.fill(start, bytes, 0, stream), "there must be some");
    assertMisuse(upstream, () => upstream.declare(start, bytes, true), "there must be some");
  }
});

Deno.test("bytes are as they were written, filled or never written; gone with their memory", () => {
  const upstream = model({ keepBytes: true });
  const stream = upstream.createStream();
  const address = upstream.allocate(20_000);
  const read = (offset: number, bytes: number) => {
    const target = new Uint8Array(bytes);
    upstream.read(address + offset, target, stream);
    return [...target];
  };
  assertEquals(read(0, 3), [0xa5, 0xa5, 0xa5]);
  upstream.fill(address, 20_000, 0xdd, stream);
  upstream.write(address + 4095, Uint8Array.of(1, 2, 3));
  assertEquals(read(4094, 5), [0xdd, 1, 2, 3, 0xdd]);
  assertEquals(read(19_999, 1), [0xdd]);
  upstream.fill(address + 4096, 1, 7, stream);
  assertEquals(read(4095, 3), [1, 7, 3]);
  upstream.free(address);
  assertEquals(upstream.allocate(20_000), address);
  assertEquals(read(4094, 5), [0xa5, 0xa5, 0xa5, 0xa5, 0xa5]);
  const blind = model();
  const unread = blind.allocate(1);
  assertMisuse(blind, () => blind.read(unread, new Uint8Array(1), blind.createStream()), "keep");
});

Deno.test("declared blocks must not overlap, end as they began, and confine use", () => {
  const upstream = model();
  const stream = upstream.createStream();
  const address = upstream.allocate(1000);
  upstream.declare(address, 100, true);
  upstream.declare(address + 100, 100, true);
  assertMisuse(upstream, () => upstream.declare(address + 99, 2, true), "overlap no live block");
  assertMisuse(upstream, () => upstream.declare(address, 99, false), "must be a live block");
  assertMisuse(upstream, () => upstream.declare(address + 1, 99, false), "must be a live block");
  upstream.use(address + 199, 1, stream, 1);
  assertMisuse(upstream, () => upstream.use(address + 99, 2, stream, 1), "one live block");
  upstream.declare(address, 100, false);
  assertMisuse(upstream, () => upstream.use(address, 1, stream, 1), "one live block");
  upstream.free(address);
  assertEquals(upstream.tally.declared, 0);
});

Deno.test("pressure changes when anybody presses", () => {
  const upstream = model();
  const seen = [upstream.signal];
  upstream.press();
  seen.push(upstream.signal);
  upstream.raisePressure();
  seen.push(upstream.signal);
  assertEquals(new Set(seen).size, 3);
});

Deno.test("100 000 calls take a fraction of a second", () => {
  const upstream = model({ capacity: 2 ** 40 });
  const stream = upstream.createStream();
  const event = upstream.createEvent();
  const live: number[] = [];
  const started = performance.now();
  for (let index = 0; index < 50_000; index++) {
    live.push(upstream.allocate(1 + index % 977));
    if (live.length > 1000) upstream.free(live[index % 1000]!), live[index % 1000] = live.pop()!;
    upstream.recordEvent(event, stream);
  }
  const elapsed = performance.now() - started;
  assert(elapsed < 1000, `it took ${elapsed} ms`);
});
