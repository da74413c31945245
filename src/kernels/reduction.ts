/**
 * Reductions: sum, mean, minimum, maximum, variance. Each is two launches on one stream: every
 * block reduces a share to one partial result, then one block reduces the partial results, always
 * in the same order, so that the same launch gives the same bits.
 *
 * @module
 */

import { requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { DeviceMemory } from "../launch/device_memory.ts";
import { builtInKernel } from "../launch/kernel_library.ts";
import { reductionGrid } from "../launch/launch_geometry.ts";
import type { KernelArgument } from "../launch/signature_types.ts";
import { streamFor } from "../memory/buffer_copy.ts";
import type { DeviceBuffer, StreamChoice } from "../memory/device_buffer.ts";
import { bytesPerElement, cTypeOf, type DType } from "../memory/dtype.ts";
import { workspaceAddress } from "../memory/workspace.ts";
import type { Stream } from "../stream/stream.ts";
import {
  FLOATING_DTYPES,
  type FloatingDType,
  isFloating,
  NUMERIC_DTYPES,
  type NumericDType,
  requireBuffers,
  requireDevice,
  requireDType,
  requireLength,
  requireSameDType,
} from "./operands.ts";

/** Threads of a block in both launches. */
const BLOCK = 256;

/** The element type that sums of a type have: exact for integers, wide for floats. */
export type SumDType<D extends NumericDType> = D extends FloatingDType ? FloatingDType : "int64";

/** One operation under way. */
interface Reduction {
  readonly operation: string;
  readonly x: DeviceBuffer;
  readonly stream: Stream;
  /** Blocks of the first launch, so partial results. */
  readonly blocks: number;
}

function begin(
  operation: string,
  x: DeviceBuffer,
  out: DeviceBuffer,
  outLength: number,
  options: StreamChoice,
): Reduction {
  requireBuffers(operation, { x, out });
  requireObject(options, "options", operation);
  requireDType(operation, "x", x, NUMERIC_DTYPES);
  requireDevice(operation, "out", out, x.context);
  requireLength(operation, "out", out, outLength);
  return {
    operation,
    x,
    stream: streamFor(x.context, options.stream),
    blocks: reductionGrid(x.context.info, x.length, BLOCK),
  };
}

/** Partial results in the workspace of the stream. */
function partials<D extends DType>(
  { stream, blocks }: Reduction,
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

function launch(
  { x, stream }: Reduction,
  grid: number,
  signature: string,
  ...kernelArguments: KernelArgument[]
): void {
  builtInKernel(x.context, signature).launch({ grid, block: BLOCK, stream }, ...kernelArguments);
}

/** First launch of sum and mean: one double or 64-bit integer per block. */
function sumPartials(reduction: Reduction): DeviceMemory {
  const { x, blocks } = reduction;
  const accumulator = isFloating(x.dtype) ? "float64" : "int64";
  const memory = partials(reduction, accumulator, 1);
  launch(
    reduction,
    blocks,
    `sum_partial_${x.dtype}(const ${cTypeOf(x.dtype)}* x, ${
      cTypeOf(accumulator)
    }* partials, unsigned long long n)`,
    x,
    memory,
    x.length,
  );
  return memory;
}

/**
 * Enqueues `out[0] = Σ x`. Floating-point elements are added in single precision within a thread
 * (`float64` in double) and in double precision between threads; integers are exact modulo 2^64.
 *
 * @param out One element: `int64` for integers, any floating-point type for floats.
 * @throws {TypeError} If element types or devices do not fit.
 */
export function sum<D extends NumericDType>(
  x: DeviceBuffer<D>,
  out: DeviceBuffer<SumDType<D>>,
  options: StreamChoice = {},
): void {
  const reduction = begin("sum", x, out, 1, options);
  requireDType("sum", "out", out, isFloating(x.dtype) ? FLOATING_DTYPES : ["int64"]);
  const memory = sumPartials(reduction);
  if (memory.dtype === "int64") {
    launch(
      reduction,
      1,
      "sum_final_int64(const long long* partials, unsigned int count, long long* out)",
      memory,
      reduction.blocks,
      out,
    );
    return;
  }
  sumFinal(reduction, memory, 1, out);
}

function sumFinal(
  reduction: Reduction,
  memory: DeviceMemory,
  factor: number,
  out: DeviceBuffer,
): void {
  launch(
    reduction,
    1,
    `sum_final_${out.dtype}(const double* partials, unsigned int count, double factor, ${
      cTypeOf(out.dtype)
    }* out)`,
    memory,
    reduction.blocks,
    factor,
    out,
  );
}

/**
 * Enqueues `out[0] = Σ x / n`; NaN for an empty buffer.
 *
 * @param out One element of any floating-point type.
 * @throws {TypeError} If element types or devices do not fit.
 */
export function mean<D extends NumericDType>(
  x: DeviceBuffer<D>,
  out: DeviceBuffer<FloatingDType>,
  options: StreamChoice = {},
): void {
  const reduction = begin("mean", x, out, 1, options);
  requireDType("mean", "out", out, FLOATING_DTYPES);
  const memory = sumPartials(reduction);
  // 0 / 0 is NaN, as it should be; 0 * Infinity would be too, but 1 / n says what is meant.
  const factor = x.length === 0 ? NaN : 1 / x.length;
  if (memory.dtype !== "int64") {
    sumFinal(reduction, memory, factor, out);
    return;
  }
  launch(
    reduction,
    1,
    `mean_final_${out.dtype}(const long long* partials, unsigned int count, double factor, ${
      cTypeOf(out.dtype)
    }* out)`,
    memory,
    reduction.blocks,
    factor,
    out,
  );
}

function extremum<D extends NumericDType>(
  operation: "min" | "max",
  x: DeviceBuffer<D>,
  out: DeviceBuffer<D>,
  options: StreamChoice,
): void {
  const reduction = begin(operation, x, out, 1, options);
  requireSameDType(operation, "out", out, x);
  if (x.length === 0) {
    throw new RangeError(`Cannot ${operation} as x must have an element: it is empty`);
  }
  const type = cTypeOf(x.dtype);
  const signature =
    `${operation}_partial_${x.dtype}(const ${type}* x, ${type}* partials, unsigned long long n)`;
  const memory = partials(reduction, x.dtype as DType, 1);
  launch(reduction, reduction.blocks, signature, x, memory, x.length);
  launch(reduction, 1, signature, memory, out, reduction.blocks);
}

/**
 * Enqueues `out[0] = min x`; NaN if an element is NaN.
 *
 * @param out One element of the same type.
 * @throws {RangeError} If `x` is empty.
 * @throws {TypeError} If element types or devices differ.
 */
export function min<D extends NumericDType>(
  x: DeviceBuffer<D>,
  out: DeviceBuffer<D>,
  options: StreamChoice = {},
): void {
  extremum("min", x, out, options);
}

/**
 * Enqueues `out[0] = max x`; NaN if an element is NaN.
 *
 * @param out One element of the same type.
 * @throws {RangeError} If `x` is empty.
 * @throws {TypeError} If element types or devices differ.
 */
export function max<D extends NumericDType>(
  x: DeviceBuffer<D>,
  out: DeviceBuffer<D>,
  options: StreamChoice = {},
): void {
  extremum("max", x, out, options);
}

/** Options of {@linkcode moments}. */
export interface MomentsOptions extends StreamChoice {
  /**
   * What is taken from n in the variance's denominator: 1 (by default, as in PyTorch) estimates
   * the variance of what `x` is a sample of, 0 (as in NumPy) is that of `x` itself.
   */
  readonly correction?: number;
}

/**
 * Enqueues `out = [mean, variance]` of `x` in one pass over it, by merging means and sums of
 * squared deviations (Chan, Golub and LeVeque 1983), so that large means cost no digits.
 *
 * @param out Two elements of any floating-point type. The variance is NaN where n ≤ correction.
 * @throws {TypeError} If element types or devices do not fit.
 * @throws {RangeError} If the correction is negative or not a number.
 */
export function moments<D extends NumericDType>(
  x: DeviceBuffer<D>,
  out: DeviceBuffer<FloatingDType>,
  options: MomentsOptions = {},
): void {
  requireObject(options, "options", "compute moments");
  const correction = options.correction ?? 1;
  if (!Number.isFinite(correction) || correction < 0) {
    throw new RangeError(
      `Cannot compute moments as correction must be a number of at least 0: it is ${
        describeValue(correction)
      }`,
    );
  }
  const reduction = begin("compute moments", x, out, 2, options);
  requireDType("compute moments", "out", out, FLOATING_DTYPES);
  const memory = partials(reduction, "float64", 3);
  launch(
    reduction,
    reduction.blocks,
    `moments_partial_${x.dtype}(const ${
      cTypeOf(x.dtype)
    }* x, double* partials, unsigned long long n)`,
    x,
    memory,
    x.length,
  );
  launch(
    reduction,
    1,
    `moments_final_${out.dtype}(const double* partials, unsigned int count, double correction, ${
      cTypeOf(out.dtype)
    }* out)`,
    memory,
    reduction.blocks,
    correction,
    out,
  );
}
