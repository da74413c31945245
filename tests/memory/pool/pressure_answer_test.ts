// A pool that is asked for memory gives back what it can at once, and the rest when its streams have
// got as far as they were: not never, and not only after all that is enqueued later.

import { assert, assertEquals } from "@std/assert";
import type { ModelStream } from "./in_memory_upstream.ts";
import { modelPool } from "./watched_pool.ts";

const MIB = 2 ** 20;

/** A pool with free memory that its stream may still use, and some that it does not. */
function busyPool(virtualMemory: boolean) {
  const { pool, upstream } = modelPool({ virtualMemory }, { completion: "explicit" });
  const stream = upstream.createStream();
  const idle = pool.take(8 * MIB, stream);
  const busy = pool.take(16 * MIB, stream);
  pool.give(idle);
  pool.settleSync();
  upstream.use(pool.addressOf(busy), 16 * MIB, stream, "work");
  pool.give(busy);
  const touch = () => pool.give(pool.take(1000, stream));
  const reserved = () => pool.stats().reserved;
  return { pool, upstream, stream, touch, reserved };
}

for (const virtualMemory of [true, false]) {
  const kind = virtualMemory ? "mapped memory" : "plain segments";

  Deno.test(`pressure is answered at the next call, and the rest when it is free: ${kind}`, () => {
    const { pool, upstream, stream, touch, reserved } = busyPool(virtualMemory);
    touch();
    const before = reserved();
    upstream.raisePressure();
    touch();
    const first = reserved();
    assert(first >= 16 * MIB && first < before, `${first} of ${before}`);
    touch();
    // Giving a plain segment back waits for all streams, as `cudaFree` does.
    if (virtualMemory) assertEquals(reserved(), first);
    upstream.completeAll();
    // What is enqueued later does not put it off.
    upstream.enqueue(stream);
    touch();
    assert(reserved() < 8 * MIB, `${reserved()}`);
    pool.close();
  });

  Deno.test(`a pool that has answered asks no more how far its streams are: ${kind}`, () => {
    const { pool, upstream, touch } = busyPool(virtualMemory);
    upstream.raisePressure();
    touch();
    upstream.completeAll();
    touch();
    const queries = upstream.calls.counts.queryEvent;
    for (let i = 0; i < 10; i++) touch();
    assertEquals(upstream.calls.counts.queryEvent, queries);
    pool.close();
  });
}

Deno.test("a pool that is asked while a stream is captured answers after the capture", () => {
  const { pool, upstream, stream, touch, reserved } = busyPool(true);
  upstream.completeAll();
  touch();
  const before = reserved();
  stream.captureToken = {};
  upstream.raisePressure();
  const captured = pool.take(1000, stream);
  assert(reserved() >= before);
  pool.give(captured);
  pool.endCapture(stream.captureToken, undefined);
  stream.captureToken = undefined;
  touch();
  upstream.completeAll();
  touch();
  assert(reserved() < before, `${reserved()} of ${before}`);
  pool.close();
});

Deno.test("what is waited for on a stream that has gone is not looked for on the one after it", () => {
  const { pool: pool, upstream } = modelPool({}, { completion: "explicit" });
  const [first, gone] = [upstream.createStream(), upstream.createStream()];
  const give = (stream: ModelStream, bytes: number) => {
    const block = pool.take(bytes, stream);
    upstream.use(pool.addressOf(block), bytes, stream, block);
    pool.give(block);
  };
  pool.give(pool.take(MIB, first));
  give(gone, 3 * MIB);
  gone[Symbol.dispose]();
  upstream.raisePressure();
  // The answer begins, and is not over before the disposed stream is through.
  pool.give(pool.take(MIB, first));
  upstream.completeAll();
  pool.settleSync();
  // Another stream has its number in the pool now, and work under way; the answer rests meanwhile.
  first.captureToken = {};
  const next = upstream.createStream();
  for (const bytes of [9 * MIB, 5 * MIB]) give(next, bytes);
  first.captureToken = undefined;
  const block = pool.take(9 * MIB, first);
  // The model throws where this is memory that the other still uses.
  upstream.use(pool.addressOf(block), 9 * MIB, first, block);
  pool.give(block);
  upstream.completeAll();
  pool.close();
});
