import { assert, assertEquals, assertThrows } from "@std/assert";
import { type DeviceBuffer, OutOfMemoryError, type Stream } from "../../../mod.ts";
import { type StrictStream, StrictUpstream } from "./model/strict_upstream.ts";
import { walkLive } from "../../../src/memory/pool/segment_walk.ts";
import { BlockPool } from "../../../src/memory/pool/block_pool.ts";
import { device } from "../../support/device.ts";
import { Gate } from "../../support/gate.ts";
import { ModelGraph } from "./model/model_graph.ts";
import { poolSettings } from "./model/pool_settings.ts";

const MEBIBYTE = 2 ** 20;

interface Model {
  readonly upstream: StrictUpstream;
  readonly core: BlockPool;
  readonly stream: StrictStream;
}

function model(capacity = 64 * MEBIBYTE, virtualMemory = true): Model {
  const upstream = new StrictUpstream({ capacity, completion: "explicit" });
  const core = new BlockPool(upstream, poolSettings({ limitBytes: capacity, virtualMemory }));
  return { upstream, core, stream: upstream.createStream() };
}

/** Captures what takes and gives blocks of these sizes on a stream; its graph. */
function capture({ upstream, core, stream }: Model, sizes: readonly number[]) {
  const token = {};
  stream.captureToken = token;
  const ranges = sizes.map((bytes) => {
    const block = core.allocate(bytes, stream);
    const address = core.addressOf(block);
    core.free(block);
    return { address, bytes };
  });
  stream.captureToken = undefined;
  const graph = new ModelGraph(upstream, ranges, token);
  core.streams.endCapture(token, graph);
  return { graph, ranges };
}

Deno.test("a capture reuses memory on its stream, in a space of its own", () => {
  const subject = model();
  const { core, stream } = subject;
  const outside = core.allocate(3 * MEBIBYTE, stream);
  const address = core.addressOf(outside);
  core.free(outside);
  const one = capture(subject, [3 * MEBIBYTE, 3 * MEBIBYTE]);
  const two = capture(subject, [3 * MEBIBYTE]);
  assertEquals(one.ranges[0], one.ranges[1], "freed and had again in the same capture");
  assert(new Set([address, one.ranges[0]!.address, two.ranges[0]!.address]).size === 3);
  // Live graphs keep their memory.
  core.trim();
  const reserved = core.stats().reserved;
  assert(reserved >= 6 * MEBIBYTE);
  assertEquals(core.addressOf(core.allocate(3 * MEBIBYTE, stream)), address);
  one.graph[Symbol.dispose]();
  assertEquals(reserved - core.stats().reserved >= 3 * MEBIBYTE, true);
});

Deno.test("a pool queries and waits for no event during a capture", () => {
  const { upstream, core, stream } = model(16 * MEBIBYTE);
  const other = upstream.createStream();
  // Something that could be had by waiting, with and without a mark.
  for (const each of [stream, other]) core.free(core.allocate(5 * MEBIBYTE, each));
  core.free(core.allocate(2 * MEBIBYTE, stream));
  upstream.calls.reset();
  stream.captureToken = {};
  const block = core.allocate(MEBIBYTE / 2, stream);
  assertThrows(() => core.allocate(9 * MEBIBYTE, stream), OutOfMemoryError);
  // Others do not get any by waiting either.
  assertThrows(() => core.allocate(12 * MEBIBYTE, other), OutOfMemoryError);
  core.use(block, stream);
  core.free(block);
  core.trim();
  const { createEvent, recordEvent, queryEvent, waitSync, wait } = upstream.calls.counts;
  assertEquals([createEvent, recordEvent, queryEvent, waitSync, wait], [0, 0, 0, 0, 0]);
});

Deno.test("unused growth of a capture is returned when it ends", () => {
  for (const virtualMemory of [true, false]) {
    const upstream = new StrictUpstream({ capacity: 16 * 1024 * MEBIBYTE });
    const limitBytes = upstream.totalBytes;
    const core = new BlockPool(upstream, poolSettings({ limitBytes, virtualMemory }));
    const stream = upstream.createStream();
    // A pool that has had more than it has takes more than it needs.
    core.free(core.allocate(2048 * MEBIBYTE, stream));
    const block = core.allocate(6144 * MEBIBYTE, stream);
    core.trim();
    const { reserved } = core.stats();
    const { graph, ranges } = capture({ upstream, core, stream }, [1000]);
    const { reserved: held, pending } = core.stats();
    assert(held - reserved <= 8 * MEBIBYTE, `${held - reserved} bytes for a block of 1000`);
    assertEquals([pending, upstream.usedBytes], [0, held]);
    // The memory of the graph is left.
    graph.launch(stream);
    assertEquals(ranges.length, 1);
    core.free(block);
    graph[Symbol.dispose]();
    core.settleSync();
    core.trim();
    assertEquals([upstream.usedBytes, core.stats().reserved], [0, 0]);
  }
});

Deno.test("a graph's memory is returned after its launches", () => {
  const subject = model();
  const { upstream, core } = subject;
  const { graph } = capture(subject, [5 * MEBIBYTE]);
  const elsewhere = upstream.createStream();
  graph.launch(elsewhere);
  // The stream is unknown to the pool but for the launch, and goes with its work under way.
  elsewhere[Symbol.dispose]();
  graph[Symbol.dispose]();
  core.trim();
  assert(upstream.usedBytes >= 5 * MEBIBYTE, "the launch still uses it");
  upstream.completeAll();
  core.trim();
  assertEquals([upstream.usedBytes, core.stats().reserved], [0, 0]);
});

Deno.test("blocks that outlive a capture wait for their own stream", () => {
  const { upstream, core, stream } = model();
  const token = {};
  stream.captureToken = token;
  const block = core.allocate(5 * MEBIBYTE, stream);
  stream.captureToken = undefined;
  const graph = new ModelGraph(upstream, [], token);
  core.streams.endCapture(token, graph);
  // On the stream itself, without a launch.
  upstream.use(core.addressOf(block), 5 * MEBIBYTE, stream, token);
  core.free(block);
  graph[Symbol.dispose]();
  core.trim();
  assert(upstream.usedBytes >= 5 * MEBIBYTE);
  upstream.completeAll();
  core.trim();
  assertEquals(upstream.usedBytes, 0);
});

Deno.test("graphs with little memory keep little, also a hundred of them", () => {
  for (const virtualMemory of [true, false]) {
    const subject = model(64 * MEBIBYTE, virtualMemory);
    const { core } = subject;
    const small = Array.from({ length: 100 }, () => capture(subject, [4096, 1000]));
    core.trim();
    assert(core.stats().reserved <= 100 * 65_536, `${core.stats().reserved} bytes`);
    const large = capture(subject, Array(300).fill(60_000));
    assertEquals(new Set(large.ranges.map(({ address }) => address)).size, 1);
    for (const { graph } of [...small, large]) graph[Symbol.dispose]();
    core.trim();
    assertEquals(core.stats().reserved, 0);
  }
});

Deno.test("a failed capture leaves its live blocks usable", () => {
  const { upstream, core, stream } = model();
  const token = {};
  stream.captureToken = token;
  const block = core.allocate(MEBIBYTE, stream);
  stream.captureToken = undefined;
  core.streams.endCapture(token, undefined);
  upstream.use(core.addressOf(block), MEBIBYTE, stream, block);
  core.trim();
  assertEquals(core.stats().allocation.all.current, 1);
  core.free(block);
  core.trim();
  upstream.completeAll();
  core.trim();
  assertEquals([upstream.usedBytes, [...core.streams.spaces()].length], [0, 1]);
});

// ---- on a device ----------------------------------------------------------------------------------

const spin = device.kernels.load(
  "spin_float32(float* out, unsigned long long nanoseconds, float value)",
);
void device.stream;

for (const virtualMemory of [true, false]) {
  const kind = virtualMemory ? "mapped" : "plain";

  Deno.test(`${kind}: memory allocated in a capture serves every launch`, async () => {
    using pool = device.createPool({ virtualMemory });
    using stream = device.createStream();
    using result = pool.allocate("float32", 4, { stream });
    const before = pool.stats().reserved;
    const graph = stream.capture(() => {
      for (let index = 0; index < 4; index++) {
        using scratch = pool.allocate("float32", 2 * MEBIBYTE, { stream });
        spin.launch({ grid: 1, block: 1, stream }, scratch, 5e6, index + 1);
        const target = result.view(index, index + 1);
        target.copyFrom(scratch.view(0, 1), { stream });
      }
    });
    assert(pool.stats().reserved >= before + 8 * MEBIBYTE);
    for (let launch = 0; launch < 3; launch++) graph.launch(stream);
    // Its memory stays until they are done, also when the graph goes at once.
    graph[Symbol.dispose]();
    pool.clearCache();
    assert(pool.stats().reserved > before);
    assertEquals([...await result.toArray({ stream })], [1, 2, 3, 4]);
    await pool.clearCacheAsync();
    assert(pool.stats().reserved <= before);
  });

  Deno.test(`${kind}: launches on a disposed stream keep their memory`, async () => {
    using gate = new Gate();
    using pool = device.createPool({ virtualMemory });
    using stream = device.createStream();
    const graph = stream.capture(() => {
      using scratch = pool.allocate("float32", 2 * MEBIBYTE, { stream });
      gate.close(stream, scratch);
      device.kernels.fill(scratch, 1, { stream });
    });
    const elsewhere: Stream = device.createStream();
    graph.launch(elsewhere);
    elsewhere[Symbol.dispose]();
    graph[Symbol.dispose]();
    pool.clearCache();
    assert(pool.stats().reserved > 0, "the launch is under way");
    gate.open();
    // A write to memory that is gone would lose the device.
    await device.done();
    await pool.clearCacheAsync();
    assertEquals(pool.stats().reserved, 0);
  });
}

Deno.test("a use inside a capture does not hide a later use outside of it", async () => {
  using gate = new Gate();
  using pool = device.createPool();
  using side = device.createStream();
  const buffer = pool.allocate("float32", 2 * MEBIBYTE);
  const { address } = buffer;
  const use = () => gate.close(side, buffer);
  using _graph = side.capture(use);
  use();
  buffer.free();
  using other = pool.allocate("float32", 2 * MEBIBYTE);
  assert(other.address !== address);
  assertEquals(side.query(), false);
  gate.open();
  await side.done();
});

Deno.test("a nested graph keeps its memory while the graph around it runs", async () => {
  using gate = new Gate();
  using pool = device.createPool();
  using stream = device.createStream();
  const inner = stream.capture(() => {
    using scratch = pool.allocate("float32", 2 * MEBIBYTE, { stream });
    gate.close(stream, scratch);
    device.kernels.fill(scratch, 1, { stream });
  });
  const outer = stream.capture(() => inner.launch(stream));
  using elsewhere = device.createStream(); // unknown to the pool
  outer.launch(elsewhere);
  for (const graph of [inner, outer]) graph[Symbol.dispose]();
  pool.clearCache();
  assertEquals([pool.stats().reserved > 0, elsewhere.query()], [true, false]);
  gate.open();
  await elsewhere.done();
  await pool.clearCacheAsync();
  assertEquals(pool.stats().reserved, 0);
});

Deno.test("a block used by another branch is not reused in the capture", () => {
  const { upstream, core, stream } = model();
  const [side, outside] = [upstream.createStream(), upstream.createStream()];
  const token = {};
  stream.captureToken = token;
  side.captureToken = token;
  for (const bytes of [1000, 3 * MEBIBYTE]) {
    const block = core.allocate(bytes, stream);
    const address = core.addressOf(block);
    core.use(block, stream);
    core.use(block, side);
    core.free(block);
    assertEquals(core.stats().pending >= bytes, true);
    const [again, beside] = [core.allocate(bytes, stream), core.allocate(bytes, side)];
    assertEquals([again, beside].map((each) => core.addressOf(each)).includes(address), false);
    for (const each of [again, beside]) core.free(each);
    const [last] = [again, beside].map((each) => core.addressOf(each));
    assertEquals(core.addressOf(core.allocate(bytes, stream)), last, "who is alone has it again");
  }
  stream.captureToken = undefined;
  side.captureToken = undefined;
  const graph = new ModelGraph(upstream, [], token);
  core.streams.endCapture(token, graph);
  const reserved = core.stats().reserved;
  core.free(core.allocate(1000, outside));
  upstream.completeAll();
  core.trim();
  upstream.completeAll();
  core.trim();
  assertEquals([core.stats().pending, core.stats().reserved], [0, reserved]);
  for (const { number } of [...walkLive(core)]) core.free(number);
  graph[Symbol.dispose]();
  upstream.completeAll();
  core.close();
  assertEquals([upstream.usedBytes, upstream.tally.reservations], [0, 0]);
});

Deno.test("overlapping branches of a graph do not share memory", async () => {
  using side = device.createStream();
  using sums = device.allocate("float32", 2, { fill: 0 });
  using busy = device.allocate("float32", 1);
  const spin = device.kernels.load(
    "spin_float32(float* out, unsigned long long nanoseconds, float value)",
  );
  const n = 1000;
  /** Fills on one stream, and sums on the other, which is late. */
  function branch(value: number, sum: DeviceBuffer<"float32">) {
    using x = device.allocate("float32", n);
    device.kernels.fill(x, value);
    using filled = device.stream.record();
    side.wait(filled);
    spin.launch({ grid: 1, block: 1, stream: side }, busy, 0.02e9, 1);
    device.kernels.sum(x, sum, { stream: side });
  }
  using graph = device.stream.capture(() => {
    branch(1, sums.view(0, 1));
    branch(2, sums.view(1, 2));
    using done = side.record();
    device.stream.wait(done);
  });
  for (let launch = 0; launch < 3; launch++) graph.launch();
  assertEquals([...await sums.toArray()], [n, 2 * n]);
});
