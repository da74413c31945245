/**
 * Statistics of 231 083 real flight records on the device, each checked against plain TypeScript.
 *
 * The data are the flight records of the Vega project's sample data sets (npm:vega-datasets):
 * delay in minutes, distance in miles and hour of departure.
 *
 * At the end it shows what the memory pool did, and writes a snapshot of it as JSON and as a page
 * into `build/`.
 *
 * Run it with `deno run -A examples/flights.ts`.
 */

import flights from "npm:/vega-datasets@2.11.0/data/flights-200k.json" with { type: "json" };
import { type Device, type DeviceBuffer, type Event, openDevice } from "jsr:@gridstride/cuda";
import {
  memoryReport,
  type MemorySnapshot,
  recordHistory,
  snapshotPool,
} from "jsr:@gridstride/cuda/memory";

/** Bins of the histogram: ten minutes each, from 1 hour early to 3 hours late. */
const BINS = { count: 24, low: -60, high: 180 };

/** Figures that the device computes, and this program in double precision. */
interface Statistics {
  mean: number;
  variance: number;
  minimum: number;
  maximum: number;
  histogram: number[];
  zScores: ArrayLike<number>;
}

/** Figures of the device, and a snapshot of its memory. */
interface DeviceRun extends Statistics {
  snapshot: MemorySnapshot;
}

/** The reference: two passes in double precision. */
function inTypeScript(delays: Float32Array): Statistics {
  const mean = delays.reduce((sum, x) => sum + x, 0) / delays.length;
  const variance = delays.reduce((sum, x) => sum + (x - mean) ** 2, 0) / delays.length;
  const histogram = new Array<number>(BINS.count).fill(0);
  const binsPerMinute = BINS.count / (BINS.high - BINS.low);
  for (const x of delays) {
    if (!(x >= BINS.low && x <= BINS.high)) continue;
    const bin = Math.floor((x - BINS.low) * binsPerMinute);
    histogram[Math.min(bin, BINS.count - 1)]!++;
  }
  const deviation = Math.sqrt(variance);
  return {
    mean,
    variance,
    minimum: delays.reduce((least, x) => Math.min(least, x)),
    maximum: delays.reduce((most, x) => Math.max(most, x)),
    histogram,
    zScores: Float64Array.from(delays, (x) => (x - mean) / deviation),
  };
}

/** What ran, how it was launched and how long it took on the device. */
interface Step {
  name: string;
  launch: string;
  milliseconds: number;
}

/** Runs one step between two timing events and writes it down. */
async function timed(
  steps: Step[],
  device: Device,
  name: string,
  launch: string,
  enqueue: () => void,
): Promise<void> {
  using start: Event = device.stream.record({ timing: true });
  enqueue();
  using end: Event = device.stream.record({ timing: true });
  await end.done();
  steps.push({ name, launch, milliseconds: end.elapsedSince(start) });
}

async function onDevice(
  device: Device,
  delays: Float32Array<ArrayBuffer>,
  steps: Step[],
): Promise<DeviceRun> {
  const { kernels } = device;
  using x: DeviceBuffer<"float32"> = device.allocate("float32", delays.length);
  using moments = device.allocate("float64", 2);
  using extremes = device.allocate("float32", 2);
  using counts = device.allocate("uint32", BINS.count);
  using z = device.allocate("float32", delays.length);

  const scale = kernels.load(
    "scale_float32(const float* x, float* out, float factor, float offset, unsigned long long n)",
  );
  const config = device.launchFor(scale, { elements: delays.length });
  const elementwise = `grid ${config.grid} × block ${config.block}`;
  const reduction = "two launches, block 256";

  await timed(steps, device, "upload", "copy", () => x.copyFrom(delays));
  await timed(
    steps,
    device,
    "mean, variance",
    reduction,
    () => kernels.moments(x, moments, { correction: 0 }),
  );
  await timed(steps, device, "extremes", reduction, () => {
    kernels.min(x, extremes.view(0, 1));
    kernels.max(x, extremes.view(1, 2));
  });
  await timed(
    steps,
    device,
    "histogram",
    `shared memory ${counts.byteLength} B`,
    () => kernels.histogram(x, counts, { low: BINS.low, high: BINS.high }),
  );
  const [mean, variance] = await moments.toArray();
  const deviation = Math.sqrt(variance!);
  await timed(
    steps,
    device,
    "z-scores",
    elementwise,
    () => scale.launch(config, x, z, 1 / deviation, -mean! / deviation, delays.length),
  );
  const [minimum, maximum] = await extremes.toArray();
  return {
    mean: mean!,
    variance: variance!,
    minimum: minimum!,
    maximum: maximum!,
    histogram: [...await counts.toArray()],
    zScores: await z.toArray(),
    snapshot: snapshotPool(device.pool),
  };
}

/** The largest difference between two sequences. */
function maximumDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  return Array.from(a).reduce((most, value, i) => Math.max(most, Math.abs(value - b[i]!)), 0);
}

/** One line of the comparison. */
interface Comparison {
  figure: string;
  device: string;
  typescript: string;
  difference: number;
  bound: number;
}

function compare(device: Statistics, reference: Statistics): Comparison[] {
  const scalar = (figure: string, a: number, b: number, bound: number): Comparison => ({
    figure,
    device: a.toFixed(6),
    typescript: b.toFixed(6),
    difference: Math.abs(a - b),
    bound,
  });
  // Single precision holds 24 bits; the sums run over a few hundred elements per thread.
  const relative = 2 ** -24 * 64;
  return [
    scalar("mean delay (min)", device.mean, reference.mean, relative * 30),
    scalar("variance (min²)", device.variance, reference.variance, relative * reference.variance),
    scalar("least delay", device.minimum, reference.minimum, 0),
    scalar("greatest delay", device.maximum, reference.maximum, 0),
    {
      figure: "histogram",
      device: `${device.histogram.reduce((a, b) => a + b)} counted`,
      typescript: `${reference.histogram.reduce((a, b) => a + b)} counted`,
      difference: maximumDifference(device.histogram, reference.histogram),
      bound: 0,
    },
    {
      figure: "z-scores",
      device: `${device.zScores.length} values`,
      typescript: `${reference.zScores.length} values`,
      difference: maximumDifference(device.zScores, reference.zScores),
      bound: 2 ** -24 * 64,
    },
  ];
}

function printHistogram(counts: readonly number[]): void {
  const width = (BINS.high - BINS.low) / BINS.count;
  const most = Math.max(...counts);
  counts.forEach((count, bin) => {
    const low = String(BINS.low + bin * width).padStart(5);
    console.log(`${low} min ${"█".repeat(Math.round(count / most * 50))} ${count}`);
  });
}

/** Prints rows of text under a header, in columns. */
function printColumns(header: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]!.length))
  );
  for (const row of [header, ...rows]) {
    console.log(
      "  " + row.map((cell, column) => cell.padEnd(widths[column]!)).join("  ").trimEnd(),
    );
  }
  console.log();
}

const mebibytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

function printMemory(device: Device): void {
  const { allocationCount, deallocationCount, hitRate, peakUsage, peakReserved, upstreamCalls } =
    device.pool.stats();
  const { count } = device.pool.checkLeaks();
  console.log("Memory pool:");
  printColumns(["figure", "value"], [
    ["buffers", `${allocationCount} allocated, ${deallocationCount} freed, ${count} live`],
    ["served from the cache", `${(100 * hitRate).toFixed(0)} %`],
    ["peak use", mebibytes(peakUsage)],
    ["peak taken from the device", mebibytes(peakReserved)],
    ["requests to the device", String(upstreamCalls)],
  ]);
}

/** Writes a snapshot into `build/`, for machines and for people. */
async function writeSnapshot(snapshot: MemorySnapshot): Promise<void> {
  const directory = new URL("../build/", import.meta.url);
  await Deno.mkdir(directory, { recursive: true });
  await Deno.writeTextFile(new URL("flights_memory.json", directory), JSON.stringify(snapshot));
  await Deno.writeTextFile(new URL("flights_memory.html", directory), memoryReport(snapshot));
  console.log("The memory snapshot is in build/flights_memory.html, to open in a browser, and");
  console.log("as JSON in build/flights_memory.json, for `deno task gridstride memory report`.\n");
}

const delays = Float32Array.from(flights, ({ delay }: { delay: number }) => delay);
// With this preset the pool records the call stack and the time of each allocation.
using device = openDevice(undefined, { memory: { preset: "development" } });
using _history = recordHistory(device.pool); // the timeline of the memory report
console.log(`\n${delays.length} flights on ${device.label} (${device.info.name})\n`);

// What runs first loads kernels and pins memory; the second time the pool has all its buffers.
await onDevice(device, delays, []);
const steps: Step[] = [];
const figures = await onDevice(device, delays, steps);
const started = performance.now();
const reference = inTypeScript(delays);
const referenceMilliseconds = performance.now() - started;
const comparisons = compare(figures, reference);

printHistogram(figures.histogram);
console.log("\nThe device against double precision in TypeScript:");
printColumns(
  ["figure", "device", "TypeScript", "difference", "bound", "within"],
  comparisons.map(({ figure, device, typescript, difference, bound }) => [
    figure,
    device,
    typescript,
    difference.toExponential(1),
    bound.toExponential(1),
    difference <= bound ? "yes" : "NO",
  ]),
);
console.log("Launches, with their parameters and time on the device:");
printColumns(
  ["step", "launch", "time"],
  steps.map(({ name, launch, milliseconds }) => [name, launch, `${milliseconds.toFixed(2)} ms`]),
);
const memory = device.memoryInfo();
printMemory(device);
await writeSnapshot(figures.snapshot);
console.log(
  `TypeScript took ${referenceMilliseconds.toFixed(1)} ms. Device memory: ${
    mebibytes(memory.free)
  } of ${mebibytes(memory.total)} free, ${mebibytes(memory.usable)} usable.`,
);
if (comparisons.some(({ difference, bound }) => !(difference <= bound))) {
  console.error("A figure of the device is out of its bound.");
  Deno.exit(1);
}
console.log("Every figure is within its bound.");
