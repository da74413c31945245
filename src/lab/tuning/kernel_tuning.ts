/**
 * Tuning of the launch parameters of the built-in kernels.
 *
 * @module
 */

import {
  refuseOption,
  requireInstance,
  requireInteger,
  requireOptions,
} from "../../ffi/arguments.ts";
import { VERSION } from "../../ffi/version.ts";
import { contextOf, type DeviceContext, whileHeld } from "../../hardware/device_context.ts";
import {
  add,
  AXPY,
  axpy,
  BINARY,
  type Elementwise,
  FILL,
  fill,
  fillDType,
  multiply,
  SCALE,
  scale,
} from "../../kernels/elementwise.ts";
import { HISTOGRAM, histogram } from "../../kernels/histogram.ts";
import { kernelFormOf } from "../../kernels/kernel_form.ts";
import {
  boundedLaunch,
  HISTOGRAM_STEP_BYTES,
  installLaunchLookup,
  type LaunchLookup,
  LOOP_ELEMENTS,
  loopLaunch,
  REDUCTION_STEP_BYTES,
  reductionBlocks,
  STEPS_PER_THREAD,
} from "../../kernels/launch_choice.ts";
import {
  type FloatingDType,
  isFloating,
  NUMERIC_DTYPES,
  type NumericDType,
} from "../../kernels/operands.ts";
import { moments, MOMENTS_PARTIAL } from "../../kernels/moments.ts";
import type { Kernel } from "../../launch/kernel.ts";
import { type LineLaunch, lineLaunch } from "../../launch/launch_planner.ts";
import { streamFor } from "../../memory/buffer_copy.ts";
import { DeviceBuffer } from "../../memory/device_buffer.ts";
import { bytesPerElement, type DType } from "../../memory/dtype.ts";
import type { Stream } from "../../stream/stream.ts";
import { autotune } from "./autotune.ts";
import type { TuningResult } from "./tuning_options.ts";

const ACTION = "tune kernels";

/**
 * An operation whose launch parameters can be tuned. Those of `sum`, `mean`, `min` and `max` follow from
 * the length, so that sums have the bits of those of tensors.
 * @category Built-in kernels
 */
export type TunableOperation =
  | "fill"
  | "add"
  | "multiply"
  | "scale"
  | "axpy"
  | "moments"
  | "histogram";

type Operands = ReturnType<typeof operandsOf>;

/** An operation: its kernel, the elements that a thread takes in one step, and a run. */
interface Tunable {
  readonly kernelOf: (context: DeviceContext, dtype: NumericDType) => Kernel;
  readonly perThread: (dtype: NumericDType) => number;
  readonly kind: "elementwise" | "floating" | "reduction";
  readonly run: (operands: Operands) => void;
}

function elementwise<D extends DType>(
  family: Elementwise<D>,
  run: Tunable["run"],
  kind: Tunable["kind"] = "elementwise",
  stored = (dtype: NumericDType) => dtype as D,
): Tunable {
  return {
    kernelOf: (context, dtype) => family.of(context, stored(dtype)),
    perThread: (dtype) => family.elementsPerThread(stored(dtype)),
    kind,
    run,
  };
}

function reduction(
  family: typeof MOMENTS_PARTIAL,
  run: Tunable["run"],
  stepBytes = REDUCTION_STEP_BYTES,
): Tunable {
  return {
    kernelOf: (context, dtype) => family.of(context, dtype),
    perThread: (dtype) => stepBytes / bytesPerElement(dtype),
    kind: "reduction",
    run,
  };
}

type Floats = DeviceBuffer<FloatingDType>;

/** The factor of repeated additions, after millions of which a number of any type is finite. */
const SMALL_FACTOR = 2 ** -40;

export const OPERATIONS: Readonly<Record<TunableOperation, Tunable>> = {
  fill: elementwise(FILL, ({ y, on }) => fill(y.context, y, 1, on), "elementwise", fillDType),
  add: elementwise(BINARY.add, ({ x, y, on }) => add(x.context, x, x, y, on)),
  multiply: elementwise(BINARY.multiply, ({ x, y, on }) => multiply(x.context, x, x, y, on)),
  scale: elementwise(
    SCALE,
    ({ x, y, on }) => scale(x.context, x as Floats, 0.5, y as Floats, on),
    "floating",
  ),
  axpy: elementwise(
    AXPY,
    ({ x, y, on }) => axpy(x.context, SMALL_FACTOR, x as Floats, y as Floats, on),
    "floating",
  ),
  moments: reduction(MOMENTS_PARTIAL, ({ x, pair, on }) => moments(x.context, x, pair, on)),
  histogram: reduction(
    HISTOGRAM.shared,
    ({ x, counts, on }) => histogram(x.context, x, counts, { low: 0, high: counts.length, ...on }),
    HISTOGRAM_STEP_BYTES,
  ),
};

/**
 * The choice for a kernel and a size.
 * @category Built-in kernels
 */
export interface KernelTuningRow {
  /** The operation. */
  readonly operation: TunableOperation;
  /** Its kernel. */
  readonly kernel: string;
  /** Number of elements. */
  readonly elements: number;
  /** Blocks of the grid for this number of elements. */
  readonly grid: number;
  /** Threads of a block. */
  readonly block: number;
  /** Median time of the operation with the default parameters; NaN if nothing was timed. */
  readonly untunedMicroseconds: number;
  /** Median time of the operation with the choice; NaN if nothing was timed. */
  readonly tunedMicroseconds: number;
  /** The source of the choice. */
  readonly origin: TuningResult["origin"];
}

type Launcher = (elements: number) => LineLaunch;

/** Tuned launches by kernel and power of two of the elements; undefined for the default. */
const tuned = new WeakMap<Kernel, Map<number, Launcher | undefined>>();
/** The launch of the kernel that is being timed. */
let tried: { readonly kernel: Kernel; readonly launcher: Launcher } | undefined;

function sizeClass(elements: number): number {
  return Math.round(Math.log2(Math.max(1, elements)));
}

/** Finds a tuned launch: results serve sizes of the neighbouring powers of two, too. */
export function tunedLauncher(kernel: Kernel, elements: number): Launcher | undefined {
  if (tried?.kernel === kernel) return tried.launcher;
  const sizes = tuned.get(kernel);
  const size = sizeClass(elements);
  const near = [size, size - 1, size + 1].find((each) => sizes?.has(each));
  return near === undefined ? undefined : sizes!.get(near);
}

const tunedLaunch: LaunchLookup = (kernel, elements) => tunedLauncher(kernel, elements)?.(elements);

/** Sets the launch of a kernel for a size, `undefined` for the default. */
export function setTunedLaunch(
  kernel: Kernel,
  elements: number,
  launcher: Launcher | undefined,
): void {
  installLaunchLookup(tunedLaunch);
  const sizes = tuned.get(kernel) ?? new Map<number, Launcher | undefined>();
  tuned.set(kernel, sizes.set(sizeClass(elements), launcher));
}

function tryOut(kernel: Kernel, launcher: Launcher, run: () => void): void {
  installLaunchLookup(tunedLaunch);
  tried = { kernel, launcher };
  try {
    run();
  } finally {
    tried = undefined;
  }
}

/**
 * Finds block sizes and grids of the built-in kernels on a device by timing them. The operations of
 * `device.kernels` use them from then on, in this isolate. The results are kept on the disk, where a
 * later process finds them by calling this function too, which then takes milliseconds. Without it
 * operations use parameters that suit most devices, and nothing is read.
 *
 * The order in which `moments` adds up depends on its launch parameters. It is always the same before
 * tuning, and always the same after it, but results may differ in their last bits.
 *
 * @param device The device, or another object with its context.
 * @param options `operations`, all by default; `dtypes` of the inputs, `float32` by default; `sizes`,
 * numbers of elements, each of which serves sizes up to about two and a half times smaller or larger,
 * by default powers of four from 4096 up to 2^20 on the host device and 2^26 on a GPU; `stream`, the
 * default stream by default; `signal`, which ends the tuning and keeps its results so far;
 * `onProgress`, called with each result.
 * @returns The choices, in the order of element types, sizes and operations.
 * @throws {TypeError | RangeError} If an option is wrong.
 * @throws {OutOfMemoryError} If the device has no room for the buffers of a size.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 * import { tuneKernels } from "@gridstride/cuda/tuning";
 *
 * using device = openDevice();
 * const rows = await tuneKernels(device, { operations: ["axpy", "moments"], sizes: [100_000] });
 * for (const { kernel, grid, block, untunedMicroseconds, tunedMicroseconds } of rows) {
 *   console.log(kernel, grid, block, untunedMicroseconds / tunedMicroseconds);
 * }
 * ```
 * @category Built-in kernels
 */
export async function tuneKernels(
  device: { readonly context: DeviceContext },
  options: {
    readonly operations?: readonly TunableOperation[];
    readonly dtypes?: readonly NumericDType[];
    readonly sizes?: readonly number[];
    readonly stream?: Stream;
    readonly signal?: AbortSignal;
    readonly onProgress?: (row: KernelTuningRow) => void;
  } = {},
): Promise<KernelTuningRow[]> {
  const context = contextOf(device, "device", ACTION);
  requireOptions(
    options,
    ["operations", "dtypes", "sizes", "stream", "signal", "onProgress"],
    ACTION,
  );
  const { signal, onProgress } = options;
  // Powers of four: each is near to every size between.
  const powers = [12, 14, 16, 18, 20, ...context.library.kind === "cuda" ? [22, 24, 26] : []];
  const sizes = copied("sizes", options.sizes ?? powers.map((power) => 2 ** power));
  for (const [index, size] of sizes.entries()) {
    requireInteger(size, `options.sizes[${index}]`, ACTION, 1, 2 ** 40);
  }
  const all = Object.keys(OPERATIONS) as TunableOperation[];
  const operations = requireAmong("operations", options.operations ?? all, all);
  const dtypes = requireAmong("dtypes", options.dtypes ?? ["float32"], NUMERIC_DTYPES);
  if (signal !== undefined) requireInstance(signal, AbortSignal, "options.signal", ACTION);
  if (onProgress !== undefined && typeof onProgress !== "function") {
    refuseOption(TypeError, ACTION, "onProgress", "a function", onProgress);
  }
  const stream = streamFor(context, options.stream);
  return await whileHeld(context, async () => {
    const rows: KernelTuningRow[] = [];
    const seen = new Set<string>();
    for (const dtype of dtypes) {
      for (const elements of sizes) {
        using owned = new DisposableStack();
        const operands = operandsOf(context, dtype, elements, stream, owned);
        for (const operation of operations) {
          const { kernelOf, kind } = OPERATIONS[operation];
          if (kind === "floating" && !isFloating(dtype)) continue;
          // Types of one width share a fill kernel.
          const key = `${kernelOf(context, dtype).name} ${elements}`;
          if (seen.has(key)) continue;
          seen.add(key);
          const row = await tuneOperation(operation, operands, signal);
          rows.push(row);
          onProgress?.(row);
        }
      }
    }
    return rows;
  });
}

async function tuneOperation(
  operation: TunableOperation,
  operands: Operands,
  signal: AbortSignal | undefined,
): Promise<KernelTuningRow> {
  const tunable = OPERATIONS[operation];
  const { context, dtype, length: elements } = operands.x;
  const kernel = tunable.kernelOf(context, dtype);
  // Small problems have the same launch with many parameters: the first ones stay.
  const launchers = new Map<string, Launcher>();
  const nameOf = ({ grid, block }: LineLaunch) => `${grid} × ${block}`;
  for (const launcher of launchersOf(tunable, kernel, dtype)) {
    const name = nameOf(launcher(elements));
    if (!launchers.has(name)) launchers.set(name, launcher);
  }
  const configurations = [...launchers.keys()];
  const { best, origin, report } = await autotune(kernel, {
    name: `built-in ${kernel.name}`,
    key: { elements },
    // Another state of the library has other kernels.
    version: `${VERSION} ${context.library.build.sourceHash}`,
    configurations,
    launch: (name) => tryOut(kernel, launchers.get(name)!, () => tunable.run(operands)),
    ...operands.on,
    ...(signal === undefined ? {} : { signal }),
  });
  const timeOf = (name: string) =>
    report.find(({ configuration }) => configuration === name)?.medianMicroseconds ?? NaN;
  const [usual] = configurations;
  if (origin !== "default") {
    setTunedLaunch(kernel, elements, best === usual ? undefined : launchers.get(best));
  }
  return {
    operation,
    kernel: kernel.name,
    elements,
    ...launchers.get(best)!(elements),
    untunedMicroseconds: timeOf(usual!),
    tunedMicroseconds: timeOf(best),
    origin,
  };
}

/** Launches worth trying, the default first: whole warps, as reductions need. */
function launchersOf(tunable: Tunable, kernel: Kernel, dtype: NumericDType): Launcher[] {
  const { multiprocessorCount, maxThreadsPerMultiprocessor } = kernel.context.info;
  const perThread = tunable.perThread(dtype);
  if (tunable.kind !== "reduction" && kernelFormOf(kernel.context) === "block") {
    return [LOOP_ELEMENTS, 4096, 8192, 32768, 131072].map((perBlock) => (elements) =>
      loopLaunch(elements, perBlock)
    );
  }
  return [256, 128, 512, 1024].filter((block) => block <= kernel.attributes.maxThreadsPerBlock)
    .flatMap((block): Launcher[] => {
      if (tunable.kind !== "reduction") {
        return [STEPS_PER_THREAD, 2, 4, Number.MAX_SAFE_INTEGER].map(
          (stepsPerThread) => (elements) =>
            lineLaunch(kernel, elements, { elementsPerThread: perThread, stepsPerThread, block }),
        );
      }
      const limits = [1, 2, 4, 8, 16, 32].map((each) => each * multiprocessorCount);
      return [reductionBlocks(kernel), ...limits]
        // More blocks than are resident wait for the others, and leave more results to add up.
        .filter((blocks) => blocks * block <= multiprocessorCount * maxThreadsPerMultiprocessor)
        .map((blocks) => (elements) =>
          boundedLaunch(Math.ceil(elements / perThread), block, blocks)
        );
    });
}

/** Different values of the input, from 0 on; neighbours differ. A constant could be faster. */
const VALUES = 64;
const STRIDE = 37;

export function operandsOf(
  context: DeviceContext,
  dtype: NumericDType,
  elements: number,
  stream: Stream,
  owned: DisposableStack,
) {
  const on = { stream };
  const allocate = <D extends NumericDType>(dtype: D, length: number) =>
    owned.use(DeviceBuffer.allocate(context, dtype, length, on));
  const x = allocate(dtype, elements);
  const y = allocate(dtype, elements);
  for (let index = 0; index < Math.min(VALUES, elements); index++) {
    fill(x.context, x.view(index, index + 1), (index * STRIDE) % VALUES, on);
  }
  for (let done = VALUES; done < elements; done *= 2) {
    const length = Math.min(done, elements - done);
    x.view(done, done + length).copyFrom(x.view(0, length), on);
  }
  y.copyFrom(x, on);
  return { x, y, pair: allocate("float64", 2), counts: allocate("uint32", VALUES), on };
}

function copied<T>(option: string, given: readonly T[]): readonly T[] {
  if (!Array.isArray(given)) refuseOption(TypeError, ACTION, option, "an array", given);
  return Array.from(given);
}

function requireAmong<Name extends string>(
  option: string,
  given: readonly Name[],
  allowed: readonly Name[],
): readonly Name[] {
  const copy = copied(option, given);
  for (const [index, name] of copy.entries()) {
    if (allowed.includes(name)) continue;
    refuseOption(TypeError, ACTION, `${option}[${index}]`, allowed.join(", "), name);
  }
  return copy;
}
