/**
 * Times launches by events on their stream.
 *
 * @module
 */

import {
  requireInstance,
  requireInteger,
  requireObject,
  requireOptions,
} from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { setMemory } from "../ffi/native_memory.ts";
import { streamFor } from "../memory/buffer_copy.ts";
import { DeviceBuffer } from "../memory/device_buffer.ts";
import { Event } from "../stream/event.ts";
import type { Stream } from "../stream/stream.ts";
import { Kernel } from "./kernel.ts";
import { builtInKernel } from "./kernel_library.ts";
import type { LaunchConfig } from "./launch_config.ts";
import type { KernelArguments } from "./signature/signature_types.ts";
import type { NoStructs, StructTypes } from "./signature/struct_type.ts";

const ACTION = "time a kernel";
const MAX_LAUNCHES = 1_000_000;
/** Launches between two waits. */
const BATCH = 64;

/**
 * Times launches of a kernel by events on its stream, one by one. All launches have the same
 * arguments: a kernel that adds to its output continues to add.
 *
 * @param kernel The kernel.
 * @param config Grid, block, dynamic shared memory and stream, as in {@linkcode Kernel.launch}.
 * @param kernelArguments The arguments of each launch.
 * @param options `warmUp` launches before the first timed one, 0 to 1 million, 3 by default;
 * `repeats` timed launches, 1 to 1 million, 20 by default; `flushCache` overwrites the level-2 cache
 * before each timed launch, `true` by default, if the device reports the size of that cache.
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
 * @category Launching kernels
 */
export async function timeKernel<
  Signature extends string,
  Structs extends StructTypes = NoStructs,
>(
  kernel: Kernel<Signature, Structs>,
  config: LaunchConfig,
  kernelArguments: KernelArguments<Signature, Structs>,
  options: {
    readonly warmUp?: number;
    readonly repeats?: number;
    readonly flushCache?: boolean;
  } = {},
): Promise<{
  /** The time of each launch, in order. */
  readonly times: readonly number[];
  /** The middle one; the mean of the two middle ones of an even number. */
  readonly median: number;
  /** The mean. */
  readonly mean: number;
  /** The shortest. */
  readonly least: number;
  /** The longest. */
  readonly most: number;
}> {
  requireInstance(kernel, Kernel, "kernel", ACTION);
  requireObject(config, "config", ACTION);
  requireOptions(options, ["warmUp", "repeats", "flushCache"], ACTION);
  if (!Array.isArray(kernelArguments)) {
    throw new TypeError(
      `Cannot ${ACTION} as its arguments must be an array: they are ` +
        describeValue(kernelArguments),
    );
  }
  const { warmUp = 3, repeats = 20, flushCache = true } = options;
  requireInteger(warmUp, "options.warmUp", ACTION, 0, MAX_LAUNCHES);
  requireInteger(repeats, "options.repeats", ACTION, 1, MAX_LAUNCHES);
  const args: KernelArguments<Signature, Structs> = kernelArguments;
  const launch = () => kernel.launch(config, ...args);
  using timer = new LaunchTimer(streamFor(kernel.context, config.stream), flushCache);
  for (let count = 0; count < warmUp; count++) launch();
  const times: number[] = [];
  while (times.length < repeats) {
    times.push(...await timer.time(launch, Math.min(BATCH, repeats - times.length)));
  }
  return {
    times,
    median: median(times),
    mean: times.reduce((sum, time) => sum + time, 0) / times.length,
    least: times.reduce((one, other) => Math.min(one, other)),
    most: times.reduce((one, other) => Math.max(one, other)),
  };
}

/** The middle sample; of an even number the mean of the two middle ones; NaN of none. */
export function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((one, other) => one - other);
  const middle = sorted.length / 2;
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle) - 1]!) / 2;
}

const SPIN = "spin_float32(float* out, unsigned long long nanoseconds, float value)";

/**
 * Nanoseconds that the device is kept busy before a timed launch, longer than it takes to enqueue
 * the launch. Otherwise the time would include the device's wait for it.
 */
const HEAD_START = 50_000;

/** Keeps a stream busy for a time by a kernel that only waits. */
class Holder implements Disposable {
  readonly #hold: (nanoseconds: number) => void;
  readonly #out: DeviceBuffer<"float32">;

  constructor(stream: Stream) {
    const spin = builtInKernel(stream.context, SPIN);
    const out = this.#out = DeviceBuffer.allocate(stream.context, "float32", 1, { stream });
    this.#hold = (nanoseconds) =>
      spin.launch({ grid: 1, block: 1, stream }, out, Math.ceil(nanoseconds), 0);
  }

  hold(nanoseconds: number): void {
    this.#hold(nanoseconds);
  }

  [Symbol.dispose](): void {
    this.#out.free();
  }
}

/** The longest time in nanoseconds for which {@linkcode HeldTimer} holds a stream. */
const MAX_HOLD = 5_000_000;

/**
 * Times short work on a stream with this thread blocked. The stream is held until all of the work is
 * enqueued, so the time is that of the device, without pauses for the host.
 */
export class HeldTimer implements Disposable {
  readonly #stream: Stream;
  readonly #holder: Holder;
  readonly #owned: DisposableStack;
  readonly #start: Event;
  readonly #end: Event;
  #hold = HEAD_START;

  constructor(stream: Stream) {
    using stack = new DisposableStack();
    this.#stream = stream;
    this.#holder = stack.use(new Holder(stream));
    this.#start = stack.use(new Event(stream.context, { timing: true }));
    this.#end = stack.use(new Event(stream.context, { timing: true }));
    this.#owned = stack.move();
  }

  /**
   * The time of one of several runs, in milliseconds. The first call may contain pauses, because it
   * measures for how long the next ones must hold the stream: the least time counts.
   */
  time(enqueue: () => void, runs: number): number {
    this.#holder.hold(this.#hold);
    this.#start.record(this.#stream);
    const begin = performance.now();
    for (let run = 0; run < runs; run++) enqueue();
    const host = (performance.now() - begin) * 1e6;
    this.#end.record(this.#stream);
    this.#end.doneSync();
    this.#hold = Math.max(this.#hold, Math.min(2 * host, MAX_HOLD));
    return this.#end.elapsedSince(this.#start) / runs;
  }

  /** Frees what it holds. */
  [Symbol.dispose](): void {
    this.#owned.dispose();
  }
}

/** The level-2 cache is overwritten twice: it may keep the last written lines. */
const FLUSHES = 2;

/** Times launches on one stream by events, each on the same contents of its buffers. */
export class LaunchTimer implements Disposable {
  readonly #stream: Stream;
  readonly #flush: DeviceBuffer<"uint8">;
  readonly #kept:
    readonly (readonly [buffer: DeviceBuffer<"uint8">, copy: DeviceBuffer<"uint8">])[];
  readonly #keepBusy: () => void;
  readonly #owned: DisposableStack;

  /**
   * Copies the buffers to restore, on the device and in the order of the stream.
   *
   * @param flushCache Whether to overwrite the level-2 cache before each launch. The host device has
   * none, whatever its topology reports.
   * @param restore Buffers that launches write to.
   * @throws {OutOfMemoryError} If the device has no room for the copies.
   */
  constructor(stream: Stream, flushCache: boolean, restore: readonly DeviceBuffer[] = []) {
    using stack = new DisposableStack();
    const { context } = stream;
    const allocate = (bytes: number) =>
      stack.use(DeviceBuffer.allocate(context, "uint8", bytes, { stream }));
    const isFlushed = flushCache && context.library.kind === "cuda";
    this.#stream = stream;
    this.#flush = allocate(isFlushed ? FLUSHES * (context.info.l2CacheSize ?? 0) : 0);
    this.#kept = restore.filter(({ length }) => length > 0).map((buffer) => {
      const bytes = buffer.as("uint8");
      const copy = allocate(bytes.length);
      copy.copyFrom(bytes, { stream });
      return [bytes, copy] as const;
    });
    const holder = stack.use(new Holder(stream));
    this.#keepBusy = () => holder.hold(HEAD_START);
    this.#owned = stack.move();
  }

  /**
   * Times launches, in milliseconds. Restores the buffers before each of them.
   *
   * @param launch Enqueues work on the stream.
   * @param count The number of launches.
   * @throws {CudaError} If the work fails; also errors of `launch`.
   */
  async time(launch: () => void, count = 1): Promise<number[]> {
    using events = new DisposableStack();
    const { context } = this.#stream;
    const pairs = Array.from({ length: count }, () => {
      const [start, end] = [0, 1].map(() => events.use(new Event(context, { timing: true })));
      this.restore();
      this.#overwriteCache();
      this.#keepBusy();
      start!.record(this.#stream);
      launch();
      end!.record(this.#stream);
      return [start!, end!] as const;
    });
    await pairs.at(-1)![1].done();
    return pairs.map(([start, end]) => end.elapsedSince(start));
  }

  /** Enqueues the restoration of the buffers. */
  restore(): void {
    for (const [buffer, copy] of this.#kept) buffer.copyFrom(copy, { stream: this.#stream });
  }

  #overwriteCache(): void {
    const { length, address } = this.#flush;
    const { context, id } = this.#stream;
    if (length > 0) setMemory(context.library, context.ordinal, id, address, 0, 1, length);
  }

  /** Frees the copies; the buffers are not restored. */
  [Symbol.dispose](): void {
    this.#owned.dispose();
  }
}
