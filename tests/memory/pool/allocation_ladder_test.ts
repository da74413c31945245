import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { OutOfMemoryError } from "../../../src/ffi/cuda_error.ts";
import { type StrictStream, StrictUpstream } from "./model/strict_upstream.ts";
import { BlockPool } from "../../../src/memory/pool/block_pool.ts";
import type { PoolSettings } from "../../../src/memory/pool/pool_options.ts";
import { checkPool } from "./model/check_pool.ts";
import { ModelGraph } from "./model/model_graph.ts";
import { poolSettings } from "./model/pool_settings.ts";
import { modelPool } from "./model/watched_pool.ts";

const MEBIBYTE = 2 ** 20;
const CAPACITY = 64 * MEBIBYTE;

function setUp(granularity: number, settings: Partial<PoolSettings> = {}) {
  const upstream = new StrictUpstream({
    capacity: CAPACITY,
    granularity,
    completion: "explicit",
  });
  const virtualMemory = granularity > 0;
  const complete = poolSettings({ limitBytes: CAPACITY, virtualMemory, ...settings });
  return { upstream, core: new BlockPool(upstream, complete) };
}

Deno.test("`allocate()` uses memory that other streams finish with during the last attempt", () => {
  const { upstream, core } = setUp(0);
  const [first, second, third] = [0, 1, 2].map(() => upstream.createStream());
  const blocks = [
    core.allocate(MEBIBYTE, first!),
    core.allocate(2 * MEBIBYTE + 1, second!),
    core.allocate(4 * MEBIBYTE + 1, third!),
  ];
  for (const block of blocks) core.free(block);
  // Freeing a segment makes the device finish all work; other streams then need no wait.
  upstream.occupy(13 * MEBIBYTE);
  const block = core.allocate(46 * MEBIBYTE + 1, first!);
  assert(core.addressOf(block) > 0);
});

Deno.test("`onMemoryPressure()` is called once if it frees nothing", () => {
  let asked = 0;
  const onMemoryPressure = () => {
    asked++;
    return true;
  };
  const { upstream, core } = setUp(2 * MEBIBYTE, { onMemoryPressure });
  const stream = upstream.createStream();
  assertThrows(() => core.allocate(CAPACITY + 1, stream), OutOfMemoryError);
  assertEquals(asked, 1);
});

Deno.test("`allocate()` waits for streams before it calls `onMemoryPressure()`", () => {
  const onMemoryPressure = () => {
    throw new Error("called although freed memory was enough");
  };
  const { upstream, core } = setUp(2 * MEBIBYTE, { onMemoryPressure });
  const [first, second] = [upstream.createStream(), upstream.createStream()];
  core.free(core.allocate(CAPACITY, first));
  assert(core.allocate(CAPACITY, second) > 0);
  assertEquals(core.stats().syncs, 1);
});

Deno.test("`onMemoryPressure()` is called until enough is free", () => {
  const blocks: number[] = [];
  const onMemoryPressure = () => {
    const block = blocks.pop();
    if (block !== undefined) core.free(block);
    return block !== undefined;
  };
  const { upstream, core } = setUp(2 * MEBIBYTE, { onMemoryPressure });
  const stream = upstream.createStream();
  for (let count = 0; count < 8; count++) blocks.push(core.allocate(8 * MEBIBYTE, stream));
  assert(core.allocate(24 * MEBIBYTE, stream) > 0);
  assertEquals(blocks.length, 5);
});

Deno.test("`allocateAsync()` rejects when the pool closes meanwhile", async () => {
  const { upstream, core } = setUp(2 * MEBIBYTE);
  const [first, second] = [upstream.createStream(), upstream.createStream()];
  const block = core.allocate(60 * MEBIBYTE, first!);
  upstream.use(core.addressOf(block), 60 * MEBIBYTE, first!, block);
  core.free(block);
  const waiting = core.allocateAsync(60 * MEBIBYTE, second!);
  const refused = assertRejects(() => waiting, TypeError, "is disposed");
  core.close();
  await refused;
  const { mappedBytes, reservations, events } = upstream.tally;
  assertEquals([mappedBytes, reservations, events], [0, 0, 0]);
});

Deno.test("a graph disposed during another capture returns its memory", () => {
  const { upstream, core } = setUp(2 * MEBIBYTE);
  const stream = upstream.createStream();
  const token = {};
  stream.captureToken = token;
  const block = core.allocate(5 * MEBIBYTE, stream);
  const ranges = [{ address: core.addressOf(block), bytes: 5 * MEBIBYTE }];
  core.free(block);
  stream.captureToken = undefined;
  const graph = new ModelGraph(upstream, ranges, token);
  core.streams.endCapture(token, graph);
  graph.launch(stream);
  const other = {};
  stream.captureToken = other;
  graph[Symbol.dispose]();
  stream.captureToken = undefined;
  core.streams.endCapture(other, undefined);
  core.trim();
  assert(upstream.usedBytes >= 5 * MEBIBYTE, "the launch is under way");
  upstream.completeAll();
  core.trim();
  assertEquals(upstream.usedBytes, 0);
});

/** A pool with free memory that its stream may still use, and some that it does not. */
function busyPool(virtualMemory: boolean) {
  const { pool, upstream } = modelPool({ virtualMemory }, { completion: "explicit" });
  const stream = upstream.createStream();
  const idle = pool.allocate(8 * MEBIBYTE, stream);
  const busy = pool.allocate(16 * MEBIBYTE, stream);
  pool.free(idle);
  pool.settleSync();
  upstream.use(pool.addressOf(busy), 16 * MEBIBYTE, stream, "work");
  pool.free(busy);
  const touch = () => pool.free(pool.allocate(1000, stream));
  const reserved = () => pool.stats().reserved;
  return { pool, upstream, stream, touch, reserved };
}

for (const virtualMemory of [true, false]) {
  const kind = virtualMemory ? "mapped memory" : "plain segments";

  Deno.test(`a pressed pool returns memory at the next call and when streams finish: ${kind}`, () => {
    const { pool, upstream, stream, touch, reserved } = busyPool(virtualMemory);
    touch();
    const before = reserved();
    upstream.raisePressure();
    touch();
    const first = reserved();
    assert(first >= 16 * MEBIBYTE && first < before, `${first} of ${before}`);
    touch();
    // Giving a plain segment back waits for all streams, as `cudaFree` does.
    if (virtualMemory) assertEquals(reserved(), first);
    upstream.completeAll();
    // Later work does not delay it.
    upstream.enqueue(stream);
    touch();
    assert(reserved() < 8 * MEBIBYTE, `${reserved()}`);
    pool.close();
  });
}

Deno.test("a pool pressed during a capture returns memory after it", () => {
  const { pool, upstream, stream, touch, reserved } = busyPool(true);
  upstream.completeAll();
  touch();
  const before = reserved();
  stream.captureToken = {};
  upstream.raisePressure();
  const captured = pool.allocate(1000, stream);
  assert(reserved() >= before);
  pool.free(captured);
  pool.streams.endCapture(stream.captureToken, undefined);
  stream.captureToken = undefined;
  touch();
  upstream.completeAll();
  touch();
  assert(reserved() < before, `${reserved()} of ${before}`);
  pool.close();
});

Deno.test("a pressed pool does not confuse a disposed stream with its successor", () => {
  const { pool: pool, upstream } = modelPool({}, { completion: "explicit" });
  const [first, gone] = [upstream.createStream(), upstream.createStream()];
  const give = (stream: StrictStream, bytes: number) => {
    const block = pool.allocate(bytes, stream);
    upstream.use(pool.addressOf(block), bytes, stream, block);
    pool.free(block);
  };
  pool.free(pool.allocate(MEBIBYTE, first));
  give(gone, 3 * MEBIBYTE);
  gone[Symbol.dispose]();
  upstream.raisePressure();
  // The answer begins, and is not over before the disposed stream is through.
  pool.free(pool.allocate(MEBIBYTE, first));
  upstream.completeAll();
  pool.settleSync();
  // Another stream has its number in the pool now, and work under way; the answer rests meanwhile.
  first.captureToken = {};
  const next = upstream.createStream();
  for (const bytes of [9 * MEBIBYTE, 5 * MEBIBYTE]) give(next, bytes);
  first.captureToken = undefined;
  const block = pool.allocate(9 * MEBIBYTE, first);
  // The model throws where this is memory that the other still uses.
  upstream.use(pool.addressOf(block), 9 * MEBIBYTE, first, block);
  pool.free(block);
  upstream.completeAll();
  pool.close();
});

const TEBIBYTE = 2 ** 40;

for (const granularity of [0, 2 * MEBIBYTE, 64 * MEBIBYTE]) {
  Deno.test(`\`allocate()\` refuses a tebibyte in a larger pool: granules of ${granularity}`, () => {
    const limitBytes = 8 * TEBIBYTE;
    const upstream = new StrictUpstream({ capacity: limitBytes, granularity });
    const settings = poolSettings({ limitBytes, virtualMemory: granularity > 0 });
    const core = new BlockPool(upstream, settings);
    const stream = upstream.createStream();
    const largest = TEBIBYTE - Math.max(granularity, 2 * MEBIBYTE);
    const held = [0, 1].map(() => {
      const block = core.allocate(largest, stream);
      return { block, address: core.addressOf(block), bytes: largest, alignment: 512 };
    });
    for (const bytes of [largest + 1, TEBIBYTE, 2 * TEBIBYTE, 4 * TEBIBYTE, 2 ** 52, 2 ** 53 - 1]) {
      assertThrows(() => core.allocate(bytes, stream), OutOfMemoryError, `allocate ${bytes} bytes`);
    }
    assertThrows(() => core.allocate(MEBIBYTE, stream, 2 ** 52), OutOfMemoryError);
    assertThrows(() => core.preallocate(3 * TEBIBYTE), OutOfMemoryError);
    checkPool(core, upstream, held);
    for (const { block } of held) core.free(block);
    core.close();
    assertEquals([upstream.usedBytes, upstream.tally.reservations], [0, 0]);
  });
}

Deno.test("epochs go on beyond 32 bits", () => {
  const upstream = new StrictUpstream({ capacity: 64 * MEBIBYTE, completion: "explicit" });
  const core = new BlockPool(upstream, poolSettings({ limitBytes: 64 * MEBIBYTE }));
  const [one, other] = [upstream.createStream(), upstream.createStream()];
  const { streams } = core;
  for (const boundary of [2 ** 31, 2 ** 32]) {
    const slot = streams.slotOf(one);
    slot.completed = boundary - 5;
    slot.epoch = boundary - 4;
    streams.epochs[slot.index] = slot.epoch;
    for (let round = 0; round < 8; round++) {
      const [small, large] = [core.allocate(1000, one), core.allocate(30 * MEBIBYTE, one)];
      for (const block of [small, large]) upstream.use(core.addressOf(block), 1000, one, block);
      core.use(small, other);
      core.free(small);
      core.free(large);
      // The model throws where the other stream gets memory that this one may still use.
      const elsewhere = core.allocate(20 * MEBIBYTE, other);
      upstream.use(core.addressOf(elsewhere), 20 * MEBIBYTE, other, elsewhere);
      core.free(elsewhere);
      upstream.completeAll();
      const all = core.allocate(60 * MEBIBYTE, other);
      assert(core.addressOf(all) > 0);
      core.free(all);
      upstream.completeAll();
    }
    assert(slot.epoch > boundary, `only ${slot.epoch} epochs`);
  }
  checkPool(core, upstream, []);
  core.close();
});
