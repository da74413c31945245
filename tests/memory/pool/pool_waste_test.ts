import "../../support/cache_directory.ts";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { OutOfMemoryError } from "../../../mod.ts";
import { StrictUpstream } from "./strict_upstream.ts";
import { BlockPool } from "../../../src/memory/pool/block_pool.ts";
import type { PoolSettings } from "../../../src/memory/pool/pool_options.ts";
import { ModelGraph } from "./model/model_graph.ts";
import { poolSettings } from "./model/pool_settings.ts";

const MIB = 2 ** 20;

function model(settings: Partial<PoolSettings> = {}) {
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
  const { upstream, core, stream } = model({ limitBytes: 8 * MIB });
  assertThrows(() => core.allocate(9 * MIB, stream), OutOfMemoryError);
  core.allocate(5 * MIB, stream);
  assertThrows(() => core.allocate(5 * MIB, stream), OutOfMemoryError);
  assertEquals(upstream.calls.counts.press, 0);
  upstream.occupy(upstream.totalBytes);
  assertThrows(() => core.allocate(2 * MIB, stream), OutOfMemoryError);
  assertEquals(upstream.calls.counts.press, 1);
});

Deno.test("a capture takes no more than it needs", () => {
  const { upstream, core, stream } = model();
  core.free(core.allocate(2048 * MIB, stream));
  core.allocate(6144 * MIB, stream);
  core.trim();
  const { reserved } = core.stats();
  const token = {};
  stream.captureToken = token;
  for (const bytes of [1000, 3 * MIB, 5 * MIB]) core.free(core.allocate(bytes, stream));
  stream.captureToken = undefined;
  core.endCapture(token, new ModelGraph(upstream, [], token));
  assert(core.stats().reserved - reserved <= 10 * MIB);
});
