/**
 * Reductions of a buffer to one element: sum, mean, minimum, maximum. A long row is reduced in parts, and
 * the parts in a second launch on the same stream. Parts and orders are those of tensors
 * (`row_plan.ts`), so sums have the same bits, which on every GPU depend on the length and the element
 * type alone.
 *
 * @module
 */

import { cannot, requireOptions } from "../ffi/arguments.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import type { DeviceMemory } from "../launch/signature/device_memory.ts";
import { streamFor } from "../memory/buffer_copy.ts";
import type { StreamChoice } from "../memory/buffer_options.ts";
import type { DeviceBuffer } from "../memory/device_buffer.ts";
import { bytesPerElement, type DType } from "../memory/dtype.ts";
import { workspaceMemory } from "../memory/workspace.ts";
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
import { FormFamily, kernelFormOf } from "./kernel_form.ts";
import { BLOCK, partsOf, rowThreadsOf, stepOf } from "./row_plan.ts";

/** The element type of the sums of a type: exact for integers, wide for floats. */
export type SumDType<D extends NumericDType> = D extends FloatingDType ? FloatingDType
  : "int64" | "uint64";

/** Sums of parts: exact for integers, in double precision for floats. */
const SUM_ROW = new FormFamily(
  "sum_row",
  (type, dtype: NumericDType) =>
    `const ${type}* x, ${
      isFloating(dtype) ? "double" : "long long"
    }* parts, long long width, long long length, int threads, int size`,
);

/** Sums of parts of integers in double precision. */
const REAL_SUM_ROW = new FormFamily<NumericDType>(
  "real_sum_row",
  (type) =>
    `const ${type}* x, double* parts, long long width, long long length, int threads, int size`,
);

/** The sum of parts in double precision, divided. */
const SUM_FINAL = new FormFamily(
  "sum_final",
  (type, _: FloatingDType) =>
    `const double* parts, ${type}* out, long long count, double divisor, int threads, int size`,
);

const extremumKernels = (name: string) =>
  new FormFamily(
    name,
    (type) => `const ${type}* x, ${type}* parts, long long width, long long length`,
  );

/** Extrema: the parts are reduced by the same kernel. */
const EXTREMUM_ROW = { min: extremumKernels("min_row"), max: extremumKernels("max_row") };

/** Enqueues the reduction of each part of a row. */
type LaunchParts = (stream: Stream, x: DeviceMemory, parts: DeviceMemory) => void;

/** How a kernel takes a row: the launch, and the arguments after the memory. */
function planOf({ context }: Stream, { dtype, length: width }: DeviceMemory) {
  const form = kernelFormOf(context);
  const { segments, length } = partsOf(1, width, form);
  const { threads, size } = rowThreadsOf(stepOf([bytesPerElement(dtype)]), width, length);
  return { segments, length, threads, size, block: form === "block" ? 1 : BLOCK };
}

/** Adds up the parts of a row. */
const sumsBy = <D extends NumericDType>(
  kernels: FormFamily<D>,
): LaunchParts =>
(stream, x, parts) => {
  const { segments, length, threads, size, block } = planOf(stream, x);
  kernels.of(stream.context, x.dtype as D)
    .launch({ grid: segments, block, stream }, x, parts, x.length, length, threads, size);
};

/** The extrema of the parts of a row. */
const extremaBy = (kernels: typeof EXTREMUM_ROW["min"]): LaunchParts => (stream, x, parts) => {
  const { segments, length, block } = planOf(stream, x);
  kernels.of(stream.context, x.dtype as NumericDType)
    .launch({ grid: segments, block, stream }, x, parts, x.length, length);
};

/** Reduces the parts of a row, into the stream's workspace. */
function reduceParts<D extends DType>(
  stream: Stream,
  launch: LaunchParts,
  x: DeviceMemory,
  dtype: D,
): DeviceMemory<D> {
  const parts = workspaceMemory(stream, dtype, planOf(stream, x).segments);
  launch(stream, x, parts);
  return parts;
}

/** Checks the operands, and chooses the stream. */
function begin(
  action: string,
  context: DeviceContext,
  x: DeviceBuffer,
  out: DeviceBuffer,
  options: StreamChoice,
): Stream {
  requireOperands(action, context, { x, out });
  requireOptions(options, ["stream"], action);
  requireDType(action, "x", x, NUMERIC_DTYPES);
  requireLength(action, "out", out, 1);
  return streamFor(x.context, options.stream);
}

/** Adds up parts in double precision, divides the sum, and rounds it to the type of `out`. */
function finishSum(
  stream: Stream,
  parts: DeviceMemory<"float64">,
  divisor: number,
  out: DeviceBuffer<FloatingDType>,
): void {
  const { threads, size, block } = planOf(stream, parts);
  SUM_FINAL.of(stream.context, out.dtype)
    .launch({ grid: 1, block, stream }, parts, out, parts.length, divisor, threads, size);
}

/**
 * Enqueues `out[0] = Σ x`, with the bits of `sum()` of a tensor if `out` has its type. Of floating-point elements up to 32 bits
 * at most 16 are added in single precision, or 512 in a tree on the host device, and the rest in double
 * precision; `float64` in double precision; integers are exact modulo 2^64.
 *
 * @param out One element: `int64` or `uint64` for integers, any floating-point type for floats.
 */
export function sum<D extends NumericDType>(
  context: DeviceContext,
  x: DeviceBuffer<D>,
  out: DeviceBuffer<SumDType<D>>,
  options: StreamChoice = {},
): void {
  const stream = begin("sum", context, x, out, options);
  requireDType("sum", "out", out, isFloating(x.dtype) ? FLOATING_DTYPES : ["int64", "uint64"]);
  const sums = sumsBy(SUM_ROW);
  if (isFloating(x.dtype)) {
    const parts = reduceParts(stream, sums, x, "float64");
    return finishSum(stream, parts, 1, out as DeviceBuffer<FloatingDType>);
  }
  const parts = reduceParts(stream, sums, x, "int64");
  sums(stream, parts, out.as("int64"));
}

/**
 * Enqueues `out[0] = Σ x / n`, with the bits of `mean()` of a tensor if `out` has its type; NaN for an empty buffer. Integers are
 * added up in double precision.
 *
 * @param out One element of any floating-point type.
 */
export function mean<D extends NumericDType>(
  context: DeviceContext,
  x: DeviceBuffer<D>,
  out: DeviceBuffer<FloatingDType>,
  options: StreamChoice = {},
): void {
  const stream = begin("mean", context, x, out, options);
  requireDType("mean", "out", out, FLOATING_DTYPES);
  const sums = isFloating(x.dtype) ? sumsBy(SUM_ROW) : sumsBy(REAL_SUM_ROW);
  finishSum(stream, reduceParts(stream, sums, x, "float64"), x.length, out);
}

function extremum<D extends NumericDType>(
  operation: "min" | "max",
  context: DeviceContext,
  x: DeviceBuffer<D>,
  out: DeviceBuffer<D>,
  options: StreamChoice,
): void {
  const stream = begin(operation, context, x, out, options);
  requireSameDType(operation, "out", out, x);
  if (x.length === 0) {
    throw new RangeError(`${cannot(operation)} as x must have an element: it is empty`);
  }
  const extrema = extremaBy(EXTREMUM_ROW[operation]);
  extrema(stream, reduceParts(stream, extrema, x, x.dtype as DType), out);
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
