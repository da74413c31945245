// The last rungs before a request fails: the program is asked, streams are waited for, and whatever
// became free on the way counts.

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { OutOfMemoryError } from "../../../src/ffi/cuda_error.ts";
import { InMemoryUpstream } from "./in_memory_upstream.ts";
import { PoolCore } from "../../../src/memory/pool/pool_core.ts";
import type { PoolSettings } from "../../../src/memory/pool/pool_options.ts";
import { ModelGraph } from "./model/model_graph.ts";
import { poolSettings } from "./model/pool_settings.ts";

const MEBIBYTE = 2 ** 20;
const CAPACITY = 64 * MEBIBYTE;

function setUp(granularity: number, settings: Partial<PoolSettings> = {}) {
  const upstream = new InMemoryUpstream({
    capacity: CAPACITY,
    granularity,
    completion: "explicit",
  });
  const virtualMemory = granularity > 0;
  const complete = poolSettings({ limitBytes: CAPACITY, virtualMemory, ...settings });
  return { upstream, core: new PoolCore(upstream, complete) };
}

Deno.test("what other streams got through with during the last attempt is looked at as well", () => {
  const { upstream, core } = setUp(0);
  const [first, second, third] = [0, 1, 2].map(() => upstream.createStream());
  const blocks = [
    core.take(MEBIBYTE, first!),
    core.take(2 * MEBIBYTE + 1, second!),
    core.take(4 * MEBIBYTE + 1, third!),
  ];
  for (const block of blocks) core.give(block);
  // Giving a segment back has the device do all work, so that other streams need no waiting then.
  upstream.occupy(13 * MEBIBYTE);
  const block = core.take(46 * MEBIBYTE + 1, first!);
  assert(core.addressOf(block) > 0);
});

Deno.test("a program that says it has freed something and has not is asked once more at most", () => {
  let asked = 0;
  const onMemoryPressure = () => {
    asked++;
    return true;
  };
  const { upstream, core } = setUp(2 * MEBIBYTE, { onMemoryPressure });
  const stream = upstream.createStream();
  assertThrows(() => core.take(CAPACITY + 1, stream), OutOfMemoryError);
  assertEquals(asked, 1);
});

Deno.test("a program that frees one block after the other is asked until that is enough", () => {
  const blocks: number[] = [];
  const onMemoryPressure = () => {
    const block = blocks.pop();
    if (block !== undefined) core.give(block);
    return block !== undefined;
  };
  const { upstream, core } = setUp(2 * MEBIBYTE, { onMemoryPressure });
  const stream = upstream.createStream();
  for (let count = 0; count < 8; count++) blocks.push(core.take(8 * MEBIBYTE, stream));
  assert(core.take(24 * MEBIBYTE, stream) > 0);
  assertEquals(blocks.length, 5);
});

Deno.test("a pool that is closed while an allocation waits gives it nothing, and keeps nothing", async () => {
  const { upstream, core } = setUp(2 * MEBIBYTE);
  const [first, second] = [upstream.createStream(), upstream.createStream()];
  const block = core.take(60 * MEBIBYTE, first!);
  upstream.use(core.addressOf(block), 60 * MEBIBYTE, first!, block);
  core.give(block);
  const waiting = core.takeAsync(60 * MEBIBYTE, second!);
  const refused = assertRejects(() => waiting, TypeError, "is disposed");
  core.close();
  await refused;
  const { mappedBytes, reservations, events } = upstream.tally;
  assertEquals([mappedBytes, reservations, events], [0, 0, 0]);
});

Deno.test("a graph that goes during another capture on its stream has its memory back in the end", () => {
  const { upstream, core } = setUp(2 * MEBIBYTE);
  const stream = upstream.createStream();
  const token = {};
  stream.captureToken = token;
  const block = core.take(5 * MEBIBYTE, stream);
  const ranges = [{ address: core.addressOf(block), bytes: 5 * MEBIBYTE }];
  core.give(block);
  stream.captureToken = undefined;
  const graph = new ModelGraph(upstream, ranges, token);
  core.endCapture(token, graph);
  graph.launch(stream);
  const other = {};
  stream.captureToken = other;
  graph[Symbol.dispose]();
  stream.captureToken = undefined;
  core.endCapture(other, undefined);
  core.trim();
  assert(upstream.usedBytes >= 5 * MEBIBYTE, "the launch is under way");
  upstream.completeAll();
  core.trim();
  assertEquals(upstream.usedBytes, 0);
});
