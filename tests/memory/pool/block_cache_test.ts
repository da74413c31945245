// Cached blocks leave the cache whole, once, and counted.

import { assertEquals } from "@std/assert";
import { BlockCache } from "../../../src/memory/pool/block_cache.ts";
import { InMemoryUpstream } from "./in_memory_upstream.ts";
import { PoolCore } from "../../../src/memory/pool/pool_core.ts";
import { checkPool } from "./model/check_pool.ts";
import { poolSettings } from "./model/pool_settings.ts";

function setUp(maxCachedBuffers = 64) {
  const upstream = new InMemoryUpstream({ completion: "explicit" });
  const core = new PoolCore(upstream, poolSettings({ maxCachedBuffers }));
  const streams = [upstream.createStream(), upstream.createStream()];
  return { upstream, core, streams, cache: core.engine.cache };
}

Deno.test("a freed block serves the next request of its class on its stream, and no other", () => {
  const { core, streams: [first, second], upstream } = setUp();
  const block = core.take(1000, first!);
  core.give(block);
  const other = core.take(1000, second!);
  assertEquals(other === block, false);
  assertEquals(core.take(4000, first!) === block, false);
  assertEquals(core.take(513, first!), block, "of the same class");
  const { cacheHits, cacheMisses } = core.stats();
  assertEquals([cacheHits, cacheMisses], [1, 3]);
  assertEquals(upstream.calls.counts.recordEvent, 0);
});

Deno.test("of small blocks as many are kept as may be, the last freed first", () => {
  const { core, streams: [stream], cache, upstream } = setUp(3);
  const blocks = [1, 2, 3, 4, 5].map(() => core.take(700, stream!));
  for (const block of blocks) core.give(block);
  assertEquals([cache.bytes, core.stats().cached], [3 * 1024, 3 * 1024]);
  checkPool(core, upstream, []);
  assertEquals([700, 700, 700].map((bytes) => core.take(bytes, stream!)), [
    blocks[2],
    blocks[1],
    blocks[0],
  ]);
  assertEquals(core.stats().cacheHits, 3);
});

Deno.test("a large block that was taken last is kept, until another request comes", () => {
  const { core, streams: [stream], cache, upstream } = setUp();
  const bytes = 5 * 2 ** 20;
  const block = core.take(bytes, stream!);
  core.give(block);
  assertEquals([cache.bytes, cache.largestBytes()], [bytes, bytes]);
  assertEquals(core.take(bytes, stream!), block);
  core.give(block);
  const other = core.take(2 * 2 ** 20, stream!);
  assertEquals(cache.bytes, 0, "the other request found it among its neighbours");
  const address = core.addressOf(other);
  checkPool(core, upstream, [{ block: other, address, bytes: 2 * 2 ** 20, alignment: 512 }]);
});

Deno.test("a large block is not kept where another was taken or freed since it was", () => {
  const { core, streams: [stream], cache } = setUp();
  const bytes = 5 * 2 ** 20;
  const take = () => core.take(bytes, stream!);
  const [first, second, third] = [take(), take(), take()];
  core.give(first!);
  assertEquals(cache.bytes, 0, "others were taken since");
  core.give(third!);
  assertEquals(cache.bytes, 0, "the first was freed since");
  const [low, high] = [take(), take()];
  assertEquals(low, first, "the lowest of equally good places");
  core.give(high!);
  assertEquals(cache.bytes, bytes);
  core.give(low!);
  assertEquals(cache.bytes, 0);
  assertEquals(core.stats().cacheHits, 0);
  core.give(second!);
  const small = core.take(1000, stream!);
  const before = take();
  core.give(small);
  core.give(before);
  assertEquals(cache.bytes, bytes + 1024, "small ones have no part in it");
});

Deno.test("a large block of another alignment counts as another", () => {
  const { core, streams: [stream], cache } = setUp();
  const block = core.take(2 ** 21, stream!);
  const aligned = core.take(2 ** 21, stream!, 2 ** 21);
  core.give(block);
  assertEquals(cache.bytes, 0);
  core.give(aligned);
  assertEquals(cache.bytes, 0);
});

Deno.test("nothing is kept where nothing may be", () => {
  const { core, streams: [stream], cache, upstream } = setUp(0);
  for (const bytes of [100, 2 ** 21]) core.give(core.take(bytes, stream!));
  assertEquals(cache.bytes, 0);
  checkPool(core, upstream, []);
});

Deno.test("a cache is emptied of small and of large blocks, those of one stream only", () => {
  const { core, streams: [first, second], cache, upstream } = setUp();
  const blocks = [first!, second!].flatMap((stream) =>
    [100, 100, 5000].map((bytes) => core.take(bytes, stream))
  );
  const large = [second!, first!].map((stream) => core.take(3 * 2 ** 20, stream));
  core.give(large[1]!);
  core.give(large[0]!);
  core.give(core.take(3 * 2 ** 20, second!));
  for (const block of blocks) core.give(block);
  const all = cache.bytes;
  assertEquals(all, 2 * (2 * 512 + 5120 + 3 * 2 ** 20));
  const { streams } = core.engine;
  const slot = streams.slotOf(first!);
  assertEquals([streams.flush(slot, 0), cache.bytes], [true, all - 2 * 512 - 5120]);
  assertEquals([streams.flush(slot, 0), streams.flush(slot, 1)], [false, true]);
  assertEquals([streams.flush(slot), cache.bytes], [false, all / 2]);
  checkPool(core, upstream, []);
});

Deno.test("room for more slots leaves what the first have", () => {
  const { core } = setUp();
  const cache = new BlockCache(core.engine.table, core.engine.counters);
  cache.addSlot(0);
  cache.heads[5] = 17;
  cache.counts[5] = 1;
  cache.addSlot(40);
  assertEquals([cache.heads[5], cache.counts[5], cache.large.length > 40], [17, 1, true]);
});
