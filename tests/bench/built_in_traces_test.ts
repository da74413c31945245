// The generated traces.

import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { BUILT_IN_TRACES } from "../../bench/traces/built_in_traces.ts";
import {
  createInstance,
  INSTANCE_EXTENT,
  INSTANCE_SHAPES,
} from "../../bench/traces/minimalloc_trace.ts";
import { SeededRandom } from "../../bench/traces/seeded_random.ts";
import {
  formatTrace,
  type MemoryTrace,
  parseTrace,
  type TraceEvent,
} from "../../src/lab/memory/mod.ts";

const TRACES: ReadonlyMap<string, MemoryTrace> = new Map(
  BUILT_IN_TRACES.map(({ name, create }) => [name, create()]),
);

/** Live bytes at the fullest moment and at the end. */
function liveBytes(events: readonly TraceEvent[]): { peak: number; end: number } {
  const sizes: number[] = [];
  let [live, peak] = [0, 0];
  for (const event of events) {
    if (event.kind === "allocate") live += sizes[event.block] = event.bytes;
    if (event.kind === "free") live -= sizes[event.block]!;
    peak = Math.max(peak, live);
  }
  return { peak, end: live };
}

/** The events between points, blocks as numbers from the first one on, as text. */
function stepsOf(events: readonly TraceEvent[]): string[] {
  const steps: string[] = [];
  let [step, allocated] = ["", 0];
  let base = 0;
  for (const event of events) {
    if (event.kind === "point") {
      steps.push(step);
      [step, base] = ["", allocated];
    } else if (event.kind === "allocate") {
      allocated++;
      step += `a${event.bytes},${event.stream};`;
    } else if (event.kind === "free") step += `f${event.block - base};`;
    else step += `${event.kind};`;
  }
  return steps;
}

Deno.test("BUILT_IN_TRACES are valid, named and reproducible", () => {
  for (const { name, description, create } of BUILT_IN_TRACES) {
    const trace = TRACES.get(name)!;
    assertEquals([trace.name, trace.description], [name, description]);
    assert(trace.events.length >= 1e3 && trace.events.length <= 1e5, `${trace.events.length}`);
    const text = formatTrace(trace);
    assert(text === formatTrace(create()), `${name} differs from time to time`);
    assert(formatTrace(parseTrace(text, name)) === text);
  }
  assertEquals(
    [...TRACES.keys()],
    ["training", "serving", "load", "minimalloc", "multi-stream", "sawtooth"],
  );
});

Deno.test("TRAINING keeps weights and optimizer state of 1.3 billion parameters", () => {
  const { events } = TRACES.get("training")!;
  // 12 times the square of the width per layer, the embeddings, and the biases and norms.
  const matrices = 24 * 12 * 2048 ** 2 + (50304 + 2048) * 2048;
  const vectors = 24 * (3 + 1 + 4 + 1 + 4) * 2048 + 2 * 2048;
  const { end, peak } = liveBytes(events);
  // 2 bytes of weights and 12 of the optimizer's state; a workspace.
  assertEquals(end, (matrices + vectors) * 14 + 4 * 2 ** 20);
  // Plus the tensors saved for the backward pass of the longest micro-batch.
  assert(peak > end * 1.2 && peak < 80 * 2 ** 30, `${peak}`);
});

Deno.test("TRAINING and SERVING repeat their steps after the first", () => {
  for (const name of ["training", "serving"]) {
    const steps = stepsOf(TRACES.get(name)!.events);
    assert(steps.length >= 4);
    // The first step makes the optimizer's state, which lies between its blocks' numbers.
    for (const step of steps.slice(2)) assert(step === steps[1], name);
  }
});

Deno.test("LOAD ends with the 6.7 billion parameters of the model and its position tables", () => {
  const { events } = TRACES.get("load")!;
  const layer = 4 * 4096 ** 2 + 3 * 4096 * 11008 + 2 * 4096 + 64;
  const parameters = 2 * 32000 * 4096 + 32 * layer + 4096;
  const { end, peak } = liveBytes(events);
  assertEquals(end, parameters * 2 + 2 * 4096 * 128 * 4);
  assert(peak > end && peak < end * 1.05);
});

Deno.test("MULTI_STREAM uses blocks on other streams and disposes streams of live blocks", () => {
  const { events } = TRACES.get("multi-stream")!;
  const streams = new Map<number, number>();
  let foreign = 0;
  let disposals = 0;
  for (const event of events) {
    if (event.kind === "allocate") streams.set(event.block, event.stream);
    if (event.kind === "use" && streams.get(event.block) !== event.stream) foreign++;
    if (event.kind === "free") streams.delete(event.block);
    if (event.kind === "dispose" && [...streams.values()].includes(event.stream)) disposals++;
  }
  assert(foreign >= 1000, `${foreign}`);
  assertEquals(disposals, 4);
});

Deno.test("SAWTOOTH has odd sizes that grow and shrink, and frees all blocks", () => {
  const { events } = TRACES.get("sawtooth")!;
  const sizes = events.flatMap((event) => event.kind === "allocate" ? [event.bytes] : []);
  assert(sizes.every((size) => size % 2 === 1));
  const [first, last] = [sizes[0]!, sizes.at(-1)!];
  assert(Math.max(...sizes) > 20 * first && last < 2 * first);
  assertEquals(liveBytes(events).end, 0);
});

/** A quantile of numbers. */
function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(share * (sorted.length - 1))]!;
}

Deno.test("createInstance() resembles the published instances of minimalloc", () => {
  const random = new SeededRandom(5);
  assertEquals(
    INSTANCE_SHAPES.map(({ buffers }) => buffers),
    // The rows of benchmarks/challenging/{A..K}.1048576.csv.
    [154, 170, 203, 213, 215, 296, 308, 316, 374, 409, 454],
  );
  for (const shape of INSTANCE_SHAPES) {
    const buffers = createInstance(shape, random);
    assertEquals(buffers.length, shape.buffers);
    assert(
      buffers.every(({ size, lower, upper }) =>
        size % 1024 === 0 && lower % 1024 === 0 && upper % 1024 === 0 && size > 0 && lower < upper
      ),
    );
    const sizes = buffers.map(({ size }) => size / INSTANCE_EXTENT);
    const lives = buffers.map(({ lower, upper }) => (upper - lower) / INSTANCE_EXTENT);
    const area = sizes.reduce((sum, size, index) => sum + size * lives[index]!, 0);
    if (shape.alike) {
      // F to H: area 0.58 to 0.62, sizes 0.029 to 0.116, median 0.063 to 0.067; lives 0.011 to
      // 0.055, median 0.029 to 0.032.
      assertAlmostEquals(area, 0.6, 0.04);
      assert(quantile(sizes, 0) > 0.025 && quantile(sizes, 1) < 0.13);
      assertAlmostEquals(quantile(sizes, 0.5), 0.065, 0.01);
      assertAlmostEquals(quantile(lives, 0.5), 0.03, 0.005);
    } else {
      // A to E, I to K: area 0.86 to 0.98, median size 0.017 to 0.084, the largest 0.2 to 0.84,
      // median life 0.02 to 0.23.
      assert(area > 0.84 && area < 0.99, `${area}`);
      assert(quantile(sizes, 0.5) > 0.01 && quantile(sizes, 0.5) < 0.12);
      assert(quantile(sizes, 1) > 0.2);
      assert(quantile(lives, 0.5) > 0.02 && quantile(lives, 0.5) < 0.25);
    }
  }
});

Deno.test("MINIMALLOC fills 1 GiB at the fullest moment of each instance", () => {
  const { events } = TRACES.get("minimalloc")!;
  assertEquals(liveBytes(events), { peak: 2 ** 30, end: 0 });
});

Deno.test("SeededRandom is reproducible, uniform and in range", () => {
  const random = new SeededRandom(1);
  const counts = new Array<number>(10).fill(0);
  for (let draw = 0; draw < 20_000; draw++) counts[random.integer(0, 9)]!++;
  for (const count of counts) assertAlmostEquals(count, 2000, 200);
  const small = Array.from({ length: 1000 }, () => random.logarithmic(4, 4096));
  assert(small.every((value) => Number.isInteger(value) && value >= 4 && value <= 4096));
  assertAlmostEquals(quantile(small, 0.5), 128, 30);
  assertEquals(new SeededRandom(7).fraction(), new SeededRandom(7).fraction());
  assert(new SeededRandom(7).fraction() !== new SeededRandom(8).fraction());
  const list = [...Array(50).keys()];
  random.shuffle(list);
  assertEquals(list.toSorted((a, b) => a - b), [...Array(50).keys()]);
});
