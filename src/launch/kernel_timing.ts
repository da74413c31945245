/**
 * How long a kernel takes on the device.
 *
 * @module
 */

import { requireInstance, requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { streamFor } from "../memory/buffer_copy.ts";
import { Event } from "../stream/event.ts";
import type { Stream } from "../stream/stream.ts";
import { Kernel } from "./kernel.ts";
import type { LaunchConfig } from "./launch_config.ts";
import { Level2Flush } from "./level2_flush.ts";
import type { KernelArguments } from "./signature/signature_types.ts";
import type { NoStructs, StructTypes } from "./signature/struct_type.ts";

/** Options of {@linkcode timeKernel}. */
export interface TimeKernelOptions {
  /** Launches before the first that is timed: 0 to 1 million; 3 by default. */
  readonly warmUp?: number;
  /** Launches that are timed: 1 to 1 million; 20 by default. */
  readonly repeats?: number;
  /**
   * Whether the level-2 cache is overwritten before each timed launch, so that it finds nothing of
   * the one before; `true` by default. Where the device does not tell the size of that cache,
   * nothing is.
   */
  readonly flushCache?: boolean;
}

/** How long the launches of a kernel took, in milliseconds on the device. */
export interface KernelTimes {
  /** Of each launch, in order. */
  readonly times: readonly number[];
  /** The middle one; of two, their mean. */
  readonly median: number;
  /** The mean. */
  readonly mean: number;
  /** The shortest. */
  readonly least: number;
  /** The longest. */
  readonly most: number;
}

const MOST_LAUNCHES = 1_000_000;
/** Launches whose events are waited for together. */
const BATCH = 64;

/**
 * Times launches of a kernel by events on its stream, one by one. The arguments are the same in
 * each, so that a kernel that adds to its output goes on adding.
 *
 * @param config Grid, block, dynamic shared memory and stream, as in {@linkcode Kernel.launch}.
 * @param kernelArguments The arguments of each launch.
 * @throws {RangeError | TypeError} If an option, the configuration or an argument is wrong.
 * @throws {CudaError} If a launch fails.
 *
 * @example
 * ```ts
 * import { openDevice, timeKernel } from "@gridstride/cuda";
 *
 * using device = openDevice();
 * using x = device.allocate("float32", 1 << 20, { fill: 1 });
 * const axpy = device.kernels.load(
 *   "axpy_float32(float a, const float* x, float* y, unsigned long long n)",
 * );
 * const config = device.launchFor(axpy, { elements: x.length });
 * const { median } = await timeKernel(axpy, config, [2, x, x, x.length]);
 * console.log(`${(3 * x.byteLength / median / 1e6).toFixed(1)} GB/s`);
 * ```
 */
export async function timeKernel<
  Signature extends string,
  Structs extends StructTypes = NoStructs,
>(
  kernel: Kernel<Signature, Structs>,
  config: LaunchConfig,
  kernelArguments: KernelArguments<Signature, Structs>,
  options: TimeKernelOptions = {},
): Promise<KernelTimes> {
  const action = "time a kernel";
  requireInstance(kernel, Kernel, "kernel", action);
  requireObject(config, "config", action);
  requireObject(options, "options", action);
  requireArguments(kernelArguments, action);
  const { warmUp = 3, repeats = 20, flushCache = true } = options;
  requireCount("warmUp", warmUp, 0);
  requireCount("repeats", repeats, 1);
  const { context } = kernel;
  const stream = streamFor(context, config.stream);
  const launch = () => kernel.launch(config, ...kernelArguments);
  using flush = new Level2Flush(stream, flushCache);
  for (let count = 0; count < warmUp; count++) launch();
  const times: number[] = [];
  while (times.length < repeats) {
    const count = Math.min(BATCH, repeats - times.length);
    times.push(...await timeBatch(stream, count, launch, () => flush.enqueue()));
  }
  return timesOf(times);
}

async function timeBatch(
  stream: Stream,
  count: number,
  launch: () => void,
  prepare: () => void,
): Promise<number[]> {
  using stack = new DisposableStack();
  const pairs: (readonly [Event, Event])[] = [];
  for (let index = 0; index < count; index++) {
    const start = stack.use(new Event(stream.context, { timing: true }));
    const end = stack.use(new Event(stream.context, { timing: true }));
    prepare();
    start.record(stream);
    launch();
    end.record(stream);
    pairs.push([start, end]);
  }
  await pairs.at(-1)![1].done();
  return pairs.map(([start, end]) => end.elapsedSince(start));
}

function timesOf(times: readonly number[]): KernelTimes {
  const sorted = times.toSorted((one, other) => one - other);
  return {
    times,
    median: median(times),
    mean: times.reduce((sum, time) => sum + time, 0) / times.length,
    least: sorted[0]!,
    most: sorted.at(-1)!,
  };
}

function requireArguments(values: unknown, action: string): void {
  if (Array.isArray(values)) return;
  throw new TypeError(
    `Cannot ${action} as its arguments must be an array: they are ${describeValue(values)}`,
  );
}

function requireCount(name: string, value: unknown, least: number): void {
  if (Number.isInteger(value) && Number(value) >= least && Number(value) <= MOST_LAUNCHES) return;
  const ErrorClass = typeof value === "number" ? RangeError : TypeError;
  throw new ErrorClass(
    `Cannot time a kernel as options.${name} must be an integer in ${least}..${MOST_LAUNCHES}: ` +
      `it is ${describeValue(value)}`,
  );
}

/** The middle one; of two, their mean. */
function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((one, other) => one - other);
  const middle = sorted.length / 2;
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle) - 1]!) / 2;
}
