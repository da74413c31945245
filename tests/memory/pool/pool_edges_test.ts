import "../../support/cache_directory.ts";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { StrictUpstream } from "./model/strict_upstream.ts";
import { BlockPool } from "../../../src/memory/pool/block_pool.ts";
import { checkPool } from "./model/check_pool.ts";
import { poolSettings } from "./model/pool_settings.ts";
import { type Event, type MemoryPool, openDevice, OutOfMemoryError } from "../../../mod.ts";
import { device } from "../../support/device.ts";
import { Gate } from "../../support/gate.ts";
import type { PoolSettings } from "../../../src/memory/pool/pool_options.ts";
import { ModelGraph } from "./model/model_graph.ts";

const MIB = 2 ** 20;
const SMALL_DEVICE = 64 * MIB;

function smallPool(granularity: number, onMemoryPressure: () => boolean) {
  const upstream = new StrictUpstream({ capacity: SMALL_DEVICE, granularity });
  const virtualMemory = granularity > 0;
  const settings = poolSettings({ limitBytes: SMALL_DEVICE, virtualMemory, onMemoryPressure });
  return { upstream, core: new BlockPool(upstream, settings) };
}

for (const granularity of [0, 2 * MIB]) {
  const kind = granularity === 0 ? "plain segments" : "mapped memory";

  Deno.test(`\`allocate()\` throws when its stream is disposed meanwhile: ${kind}`, () => {
    const { upstream, core } = smallPool(granularity, () => {
      stream[Symbol.dispose]();
      core.free(block);
      return true;
    });
    const other = upstream.createStream();
    const stream = upstream.createStream();
    const block = core.allocate(60 * MIB, other);
    core.free(core.allocate(1000, stream));
    assertThrows(() => core.allocate(50 * MIB, stream), TypeError, "disposed");
    checkPool(core, upstream, []);
    core.free(core.allocate(60 * MIB, other));
    core.close();
    assertEquals(upstream.usedBytes, 0);
  });

  Deno.test(`\`allocate()\` throws when the pool is closed meanwhile: ${kind}`, () => {
    const { upstream, core } = smallPool(granularity, () => {
      core.free(block);
      core.close();
      return true;
    });
    const stream = upstream.createStream();
    const block = core.allocate(60 * MIB, stream);
    assertThrows(() => core.allocate(50 * MIB, stream), TypeError, "is disposed");
    const { reservations, events } = upstream.tally;
    assertEquals([upstream.usedBytes, reservations, events], [0, 0, 0]);
  });
}

/** Frees memory of a pool on a stream that goes on using it, and disposes of that. */
function leaveBusy(held: Event, pool: MemoryPool, mebibytes: number): void {
  using stream = device.createStream();
  using buffer = pool.allocate("float32", mebibytes * MIB / 4, { stream });
  stream.wait(held);
  device.kernels.fill(buffer, 1, { stream });
}

/** An event that is reached when the gate opens. */
function heldBy(gate: Gate): Event {
  using stream = device.createStream();
  gate.close(stream);
  return stream.record();
}

// A disposed stream that has finished needs its event no more.
Deno.test("`allocateAsync()` survives other queries of its event", async () => {
  using gate = new Gate();
  using held = heldBy(gate);
  using pool = device.createPool({ maxPoolSize: "8MiB" });
  leaveBusy(held, pool, 8);
  const waiting = pool.allocateAsync("float32", 2 * MIB);
  gate.open();
  device.doneSync();
  assertEquals(pool.clearCache(), 8 * MIB);
  using buffer = await waiting;
  assertEquals(buffer.length, 2 * MIB);
});

Deno.test("`clearCacheAsync()` survives other queries of its event", async () => {
  using gate = new Gate();
  using held = heldBy(gate);
  using pool = device.createPool({ maxPoolSize: "8MiB" });
  for (let stream = 0; stream < 4; stream++) leaveBusy(held, pool, 2);
  const waiting = [pool.clearCacheAsync(), pool.clearCacheAsync()];
  gate.open();
  device.doneSync();
  assertEquals(pool.clearCache(), 8 * MIB);
  assertEquals(await Promise.all(waiting), [0, 0]);
});

Deno.test("disposing of a device during a capture throws", async () => {
  using x = device.allocate("float32", 4);
  const second = openDevice(device.label);
  {
    using buffer = second.allocate("float32", 2 * MIB);
    const spin = second.kernels.load(
      "spin_float32(float* out, unsigned long long nanoseconds, float value)",
    );
    spin.launch({ grid: 1, block: 1 }, buffer, 0.05e9, 1);
  }
  using graph = device.stream.capture(() => {
    device.kernels.fill(x, 3);
    assertThrows(() => second[Symbol.dispose](), TypeError, "while a stream is being captured");
  });
  assert(!second.disposed);
  second[Symbol.dispose]();
  graph.launch();
  assertEquals([...await x.toArray()], [3, 3, 3, 3]);
});

Deno.test("a stream does not keep a closed pool", () => {
  const upstream = new StrictUpstream();
  const [stream, other] = [upstream.createStream(), upstream.createStream()];
  for (let count = 0; count < 3; count++) {
    const core = new BlockPool(upstream, poolSettings());
    const block = core.allocate(1000, stream);
    core.use(block, other);
    core.free(block);
    assertEquals([stream.listeners, other.listeners], [1, 1]);
    core.close();
    assertEquals([stream.listeners, other.listeners], [0, 0]);
  }
});

function largePool(settings: Partial<PoolSettings> = {}) {
  const upstream = new StrictUpstream();
  const core = new BlockPool(upstream, poolSettings({ limitBytes: 2 ** 34, ...settings }));
  return { upstream, core, stream: upstream.createStream() };
}

Deno.test("an aligned request finds its previous block again", () => {
  // The stream keeps its blocks: growth returns nothing.
  const upstream = new StrictUpstream({ completion: "explicit" });
  const core = new BlockPool(upstream, poolSettings({ virtualMemory: false }));
  const stream = upstream.createStream();
  core.allocate(MIB + 512, stream);
  const row = Array.from({ length: 40 }, () => core.allocate(2 * MIB, stream));
  let aligned = core.allocate(2 * MIB, stream, 2 * MIB);
  core.allocate(2 * MIB - 512, stream);
  for (let free = core.stats().largestFree; free > MIB;) {
    core.allocate(free, stream);
    free = core.stats().largestFree;
  }
  const others = [row[2]!, row[6]!, row[10]!];
  const { reserved } = core.stats();
  for (let count = 0; count < 10; count++) {
    for (const block of [aligned, ...others]) core.free(block);
    aligned = core.allocate(2 * MIB, stream, 2 * MIB);
    for (const index of others.keys()) others[index] = core.allocate(2 * MIB, stream);
    assertEquals(core.addressOf(aligned) % (2 * MIB), 0);
  }
  assertEquals(core.stats().reserved, reserved, "the pool has grown for what it had");
});

Deno.test("a pool presses others only when the device refuses memory", () => {
  const { upstream, core, stream } = largePool({ limitBytes: 8 * MIB });
  assertThrows(() => core.allocate(9 * MIB, stream), OutOfMemoryError);
  core.allocate(5 * MIB, stream);
  assertThrows(() => core.allocate(5 * MIB, stream), OutOfMemoryError);
  assertEquals(upstream.calls.counts.press, 0);
  upstream.occupy(upstream.totalBytes);
  assertThrows(() => core.allocate(2 * MIB, stream), OutOfMemoryError);
  assertEquals(upstream.calls.counts.press, 1);
});

Deno.test("a capture takes no more than it needs", () => {
  const { upstream, core, stream } = largePool();
  core.free(core.allocate(2048 * MIB, stream));
  core.allocate(6144 * MIB, stream);
  core.trim();
  const { reserved } = core.stats();
  const token = {};
  stream.captureToken = token;
  for (const bytes of [1000, 3 * MIB, 5 * MIB]) core.free(core.allocate(bytes, stream));
  stream.captureToken = undefined;
  core.streams.endCapture(token, new ModelGraph(upstream, [], token));
  assert(core.stats().reserved - reserved <= 10 * MIB);
});
