/**
 * Reductions: sum, mean, minimum, maximum, variance. Each is two launches on one stream: every
 * block reduces a share to one partial result, then one block reduces the partial results, always
 * in the same order. The same launch gives the same bits. Tuning may choose another number of
 * blocks, and with it another order of sums.
 *
 * @module
 */

import { requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import type { DeviceMemory } from "../launch/signature/device_memory.ts";
import type { Kernel } from "../launch/kernel.ts";
import { KernelFamily } from "../launch/kernel_library.ts";
import type { KernelArgument } from "../launch/signature/signature_types.ts";
import { streamFor } from "../memory/buffer_copy.ts";
import type { StreamChoice } from "../memory/buffer_options.ts";
import type { DeviceBuffer } from "../memory/device_buffer.ts";
import { bytesPerElement, cTypeOf, type DType } from "../memory/dtype.ts";
import { workspaceAddress } from "../memory/workspace.ts";
import type { Stream } from "../stream/stream.ts";
import {
  FLOATING_DTYPES,
  type FloatingDType,
  isFloating,
  NUMERIC_DTYPES,
  type NumericDType,
  requireDType,
  requireLength,
  requireOperands,
  requireSameDType,
} from "./operands.ts";
import { REDUCTION_BLOCK, REDUCTION_STEP_BYTES, reductionLaunch } from "./launch_choice.ts";

/** The element type of the sums of a type: exact for integers, wide for floats. */
export type SumDType<D extends NumericDType> = D extends FloatingDType ? FloatingDType
  : "int64" | "uint64";

/** The element type of the partial sums of a type: exact for integers, wide for floats. */
function accumulatorOf(dtype: NumericDType): "float64" | "int64" {
  return isFloating(dtype) ? "float64" : "int64";
}

/** Sums: one partial result of the accumulator's type per block. */
export const SUM_PARTIAL: KernelFamily<NumericDType> = new KernelFamily((dtype) =>
  `sum_partial_${dtype}(const ${cTypeOf(dtype)}* x, ${
    cTypeOf(accumulatorOf(dtype))
  }* partials, unsigned long long n)`
);

/** The sum of floating-point partial sums, times a factor. */
const SUM_FINAL = new KernelFamily<FloatingDType>((dtype) =>
  `sum_final_${dtype}(const double* partials, unsigned int count, double factor, ${
    cTypeOf(dtype)
  }* out)`
);

const INTEGER_SUM_FINAL = new KernelFamily<"int64">((dtype) =>
  `sum_final_${dtype}(const long long* partials, unsigned int count, long long* out)`
);

/** The sum of integer partial sums, times a factor. */
const INTEGER_MEAN_FINAL = new KernelFamily<FloatingDType>((dtype) =>
  `mean_final_${dtype}(const long long* partials, unsigned int count, double factor, ${
    cTypeOf(dtype)
  }* out)`
);

function extremumKernels(operation: string): KernelFamily<NumericDType> {
  return new KernelFamily((dtype) => {
    const type = cTypeOf(dtype);
    return `${operation}_partial_${dtype}(const ${type}* x, ${type}* partials, unsigned long long n)`;
  });
}

/** Extrema: the partial results are reduced by the same kernel. */
export const EXTREMUM: Readonly<Record<"min" | "max", KernelFamily<NumericDType>>> = {
  min: extremumKernels("min"),
  max: extremumKernels("max"),
};

/** Moments: count, mean and sum of squared deviations per block. */
export const MOMENTS_PARTIAL: KernelFamily<NumericDType> = new KernelFamily((dtype) =>
  `moments_partial_${dtype}(const ${cTypeOf(dtype)}* x, double* partials, unsigned long long n)`
);

/** Mean and variance of partial moments. */
const MOMENTS_FINAL = new KernelFamily<FloatingDType>((dtype) =>
  `moments_final_${dtype}(const double* partials, unsigned int count, double correction, ${
    cTypeOf(dtype)
  }* out)`
);

interface Reduction<D extends NumericDType> {
  readonly x: DeviceBuffer<D>;
  readonly stream: Stream;
  readonly kernel: Kernel;
  /** Threads of a block in it. */
  readonly block: number;
  /** Blocks of it, so partial results. */
  readonly blocks: number;
}

function begin<D extends NumericDType>(
  operation: string,
  context: DeviceContext,
  kernels: KernelFamily<NumericDType>,
  x: DeviceBuffer<D>,
  out: DeviceBuffer,
  outLength: number,
  options: StreamChoice,
): Reduction<D> {
  requireOperands(operation, context, { x, out });
  requireOptions(options, ["stream"], operation);
  requireDType(operation, "x", x, NUMERIC_DTYPES);
  requireLength(operation, "out", out, outLength);
  const stream = streamFor(x.context, options.stream);
  const kernel = kernels.of(x.context, x.dtype);
  const { grid, block } = reductionLaunch(kernel, x, REDUCTION_STEP_BYTES);
  return { x, stream, kernel, block, blocks: grid };
}

/** Partial results in the workspace of the stream. */
function partials<D extends DType>(
  { stream, blocks }: Reduction<NumericDType>,
  dtype: D,
  perBlock: number,
): DeviceMemory<D> {
  const length = blocks * perBlock;
  return {
    context: stream.context,
    dtype,
    address: workspaceAddress(stream, length * bytesPerElement(dtype)),
    length,
    disposed: false,
  };
}

/** The first launch: every block reduces its share to a partial result. */
function launchPartial(
  { stream, kernel, block, blocks }: Reduction<NumericDType>,
  ...kernelArguments: KernelArgument[]
): void {
  kernel.launch({ grid: blocks, block, stream }, ...kernelArguments);
}

/** The second launch: one block reduces the partial results. */
function launchFinal(
  { stream }: Reduction<NumericDType>,
  kernel: Kernel,
  ...kernelArguments: KernelArgument[]
): void {
  kernel.launch({ grid: 1, block: REDUCTION_BLOCK, stream }, ...kernelArguments);
}

/** First launch of sum and mean: one double or 64-bit integer per block. */
function sumPartials(reduction: Reduction<NumericDType>): DeviceMemory {
  const { x } = reduction;
  const memory = partials(reduction, accumulatorOf(x.dtype), 1);
  launchPartial(reduction, x, memory, x.length);
  return memory;
}

function sumFinal(
  reduction: Reduction<NumericDType>,
  memory: DeviceMemory,
  factor: number,
  out: DeviceBuffer<FloatingDType>,
): void {
  const kernel = SUM_FINAL.of(out.context, out.dtype);
  launchFinal(reduction, kernel, memory, reduction.blocks, factor, out);
}

/**
 * Enqueues `out[0] = Σ x`. Floating-point elements are added in single precision within a thread
 * (`float64` in double) and in double precision between threads; integers are exact modulo 2^64.
 *
 * @param out One element: `int64` or `uint64` for integers, any floating-point type for floats.
 */
export function sum<D extends NumericDType>(
  context: DeviceContext,
  x: DeviceBuffer<D>,
  out: DeviceBuffer<SumDType<D>>,
  options: StreamChoice = {},
): void {
  const reduction = begin("sum", context, SUM_PARTIAL, x, out, 1, options);
  requireDType("sum", "out", out, isFloating(x.dtype) ? FLOATING_DTYPES : ["int64", "uint64"]);
  const memory = sumPartials(reduction);
  if (memory.dtype !== "int64") {
    sumFinal(reduction, memory, 1, out as DeviceBuffer<FloatingDType>);
    return;
  }
  const kernel = INTEGER_SUM_FINAL.of(x.context, "int64");
  launchFinal(reduction, kernel, memory, reduction.blocks, out.as("int64"));
}

/**
 * Enqueues `out[0] = Σ x / n`; NaN for an empty buffer.
 *
 * @param out One element of any floating-point type.
 */
export function mean<D extends NumericDType>(
  context: DeviceContext,
  x: DeviceBuffer<D>,
  out: DeviceBuffer<FloatingDType>,
  options: StreamChoice = {},
): void {
  // The sum of two large uint64 may wrap: their mean comes from moments, which are double.
  const kernels = x?.dtype === "uint64" ? MOMENTS_PARTIAL : SUM_PARTIAL;
  const reduction = begin("mean", context, kernels, x, out, 1, options);
  requireDType("mean", "out", out, FLOATING_DTYPES);
  if (x.dtype === "uint64") {
    // Three partial results of each block, then mean and variance.
    const memory = partials(reduction, "float64", 5);
    const results = { ...memory, address: memory.address + 24 * reduction.blocks, length: 2 };
    launchPartial(reduction, x, memory, x.length);
    const moments = MOMENTS_FINAL.of(x.context, "float64");
    launchFinal(reduction, moments, memory, reduction.blocks, 0, results);
    launchFinal(reduction, SUM_FINAL.of(x.context, out.dtype), results, 1, 1, out);
    return;
  }
  const memory = sumPartials(reduction);
  const factor = x.length === 0 ? NaN : 1 / x.length;
  if (memory.dtype !== "int64") {
    sumFinal(reduction, memory, factor, out);
    return;
  }
  const kernel = INTEGER_MEAN_FINAL.of(x.context, out.dtype);
  launchFinal(reduction, kernel, memory, reduction.blocks, factor, out);
}

function extremum<D extends NumericDType>(
  operation: "min" | "max",
  context: DeviceContext,
  x: DeviceBuffer<D>,
  out: DeviceBuffer<D>,
  options: StreamChoice,
): void {
  const reduction = begin(operation, context, EXTREMUM[operation], x, out, 1, options);
  requireSameDType(operation, "out", out, x);
  if (x.length === 0) {
    throw new RangeError(`Cannot ${operation} as x must have an element: it is empty`);
  }
  const memory = partials(reduction, x.dtype as DType, 1);
  launchPartial(reduction, x, memory, x.length);
  launchFinal(reduction, reduction.kernel, memory, out, reduction.blocks);
}

/**
 * Enqueues `out[0] = min x`; NaN if an element is NaN.
 *
 * @param out One element of the same type.
 */
export function min<D extends NumericDType>(
  context: DeviceContext,
  x: DeviceBuffer<D>,
  out: DeviceBuffer<D>,
  options: StreamChoice = {},
): void {
  extremum("min", context, x, out, options);
}

/**
 * Enqueues `out[0] = max x`; NaN if an element is NaN.
 *
 * @param out One element of the same type.
 */
export function max<D extends NumericDType>(
  context: DeviceContext,
  x: DeviceBuffer<D>,
  out: DeviceBuffer<D>,
  options: StreamChoice = {},
): void {
  extremum("max", context, x, out, options);
}

/**
 * Enqueues `out = [mean, variance]` of `x` in one pass over it, by merging means and sums of
 * squared deviations (Chan, Golub and LeVeque 1983); large means cost no digits.
 *
 * @param out Two elements of any floating-point type. The variance is NaN if n ≤ correction.
 * @param options `correction` is subtracted from n in the variance's denominator: 1 (by default, as
 * in PyTorch) estimates the variance of the population that `x` is a sample of, 0 (as in NumPy) is
 * the variance of `x` itself.
 */
export function moments<D extends NumericDType>(
  context: DeviceContext,
  x: DeviceBuffer<D>,
  out: DeviceBuffer<FloatingDType>,
  options: StreamChoice & { readonly correction?: number } = {},
): void {
  requireOptions(options, ["correction", "stream"], "compute moments");
  const { correction = 1, ...choice } = options;
  if (!Number.isFinite(correction) || correction < 0) {
    throw new RangeError(
      `Cannot compute moments as correction must be a number of at least 0: it is ${
        describeValue(correction)
      }`,
    );
  }
  const reduction = begin("compute moments", context, MOMENTS_PARTIAL, x, out, 2, choice);
  requireDType("compute moments", "out", out, FLOATING_DTYPES);
  const memory = partials(reduction, "float64", 3);
  launchPartial(reduction, x, memory, x.length);
  const kernel = MOMENTS_FINAL.of(x.context, out.dtype);
  launchFinal(reduction, kernel, memory, reduction.blocks, correction, out);
}
