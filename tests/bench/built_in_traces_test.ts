// The generated traces.

import { assert, assertEquals } from "@std/assert";
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

Deno.test("SAWTOOTH and MINIMALLOC free all blocks", () => {
  const [sawtooth, minimalloc] = ["sawtooth", "minimalloc"].map((name) =>
    liveBytes(TRACES.get(name)!.events)
  );
  assertEquals(sawtooth!.end, 0);
  assertEquals(minimalloc, { peak: 2 ** 30, end: 0 });
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
    const sizes = buffers.map(({ size }) => size / INSTANCE_EXTENT);
    const lives = buffers.map(({ lower, upper }) => (upper - lower) / INSTANCE_EXTENT);
    const area = sizes.reduce((sum, size, index) => sum + size * lives[index]!, 0);
    const [size, life] = [quantile(sizes, 0.5), quantile(lives, 0.5)];
    // Published, F to H: area 0.58 to 0.62, median size 0.063 to 0.067, median life 0.029 to 0.032.
    // A to E and I to K: 0.86 to 0.98, 0.017 to 0.084, 0.02 to 0.23.
    const [areas, medians, medianLives] = shape.alike
      ? [[0.56, 0.64], [0.055, 0.075], [0.025, 0.035]]
      : [[0.84, 0.99], [0.01, 0.12], [0.02, 0.25]];
    const isIn = (value: number, [low, high]: number[]) => value > low! && value < high!;
    assert(isIn(area, areas!) && isIn(size, medians!) && isIn(life, medianLives!));
  }
});
