/**
 * Reductions along axes.
 *
 * @module
 */

import { cannot, requireObject, requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { type DType, isDType, isFloatDType } from "../memory/dtype.ts";
import { requireTensor, type TensorOptions } from "./kit/checks.ts";
import { castNode, type ExpressionNode, operationNode } from "./kit/expression/node.ts";
import { broadcastShapes, requireAxes, requireAxis, type Shape, sizeOf } from "./kit/layout.ts";
import { type FloatResult, floatResult, type SumResult, sumResult } from "./kit/promotion.ts";
import type { Scalar } from "./kit/kernel_call.ts";
import { meanNode, mergedNode, type RowStage } from "./row_program.ts";
import { runColumns, runRows } from "./rows.ts";
import { TensorScope } from "./scope.ts";
import { type Tensor, tracedOf } from "./tensor.ts";

/**
 * Options of reductions.
 * @category Tensors
 */
export interface ReduceOptions extends TensorOptions {
  /** The axes to reduce; all by default. Negative ones count from the end. */
  readonly axis?: number | readonly number[];
  /** Whether reduced axes stay, with an extent of 1. */
  readonly keepDims?: boolean;
}

/** A reduction of one expression. */
export interface Reduction {
  readonly action: string;
  /** The element type of the result. */
  readonly dtype: DType;
  readonly stage: (value: ExpressionNode) => RowStage;
  /** Whether no elements have a result. */
  readonly identity: boolean;
}

/** With at least so many elements behind the reduced axes, columns are reduced side by side. */
const MIN_COLUMNS = 16;

/** The type in which elements are added up. */
const accumulated = (dtype: DType): DType =>
  isFloatDType(dtype) && dtype !== "float64" ? "float32" : dtype;

/** The expression to reduce, and its operands. */
export interface ReducedExpression {
  readonly value: ExpressionNode;
  /** The expression's inputs, in order. */
  readonly tensors: readonly Tensor[];
  /** The expression's numbers, in order. */
  readonly scalars?: readonly Scalar[];
}

/** Reduces an expression over broadcast operands. */
export function reduceExpression(
  { action, dtype, stage, identity }: Reduction,
  { value, tensors, scalars = [] }: ReducedExpression,
  { axis, keepDims = false, ...options }: ReduceOptions,
): Tensor {
  using scope = new TensorScope();
  const shapes = tensors.map((tensor) => tensor.shape);
  const shape = broadcastShapes(action, shapes[0]!, ...shapes.slice(1));
  const axes = requireAxes(axis, shape.length, action);
  requireElements(action, shape, axes, identity);
  const rank = shape.length;
  const own = stage(value);
  const isKept = (_: number, at: number) => !axes.includes(at);
  const reduced = shape.map((extent, at) => axes.includes(at) ? 1 : extent);
  const target = keepDims ? reduced : shape.filter(isKept);
  const first = axes[0] ?? rank;
  const isGroup = axes.every((at, index) => at === first + index);
  const behind = sizeOf(shape.slice(first + axes.length));
  const isRow = isGroup && first + axes.length === rank;
  const isPlain = !own.reducer.startsWith("Arg");
  if (isGroup && !isRow && behind >= MIN_COLUMNS && isPlain) {
    const split = [first, axes.length] as const;
    const result = runColumns(
      { action, stage: own, dtype, tensors, scalars, shape, split },
      options,
    );
    return scope.keep(result.reshape(target));
  }
  const order = [...shape.keys()].filter((at) => !axes.includes(at)).concat(axes);
  const views = isRow ? tensors : tensors.map((tensor) => tensor.broadcastTo(shape).permute(order));
  const resultNode: ExpressionNode = {
    kind: "name",
    name: own.name,
    dtype: own.finish?.dtype ?? (isPlain ? own.value.dtype : "int64"),
  };
  const program = { stages: [own], elements: [], results: [{ value: resultNode, dtype }] };
  const [result] = runRows({
    action,
    program,
    tensors: views,
    scalars,
    shape: order.map((at) => shape[at]!),
    rowRank: axes.length,
  }, options);
  return scope.keep(result!.reshape(target));
}

function requireElements(
  action: string,
  shape: Shape,
  axes: readonly number[],
  identity: boolean,
): void {
  const empty = axes.find((axis) => shape[axis] === 0);
  if (identity || empty === undefined) return;
  throw new RangeError(
    `${cannot(action)} as the reduced axes must have elements: the extent of axis ${empty} is 0`,
  );
}

/** Reduces a tensor, or ends the expression that `fuse()` builds. */
export function reduce(reduction: Reduction, x: Tensor, options: ReduceOptions): Tensor {
  requireTensor(x, "x", reduction.action);
  requireOptions(options, ["axis", "keepDims", "stream"], reduction.action);
  const traced = tracedOf(x);
  if (traced !== undefined) return traced.tracer.reduction(x, reduction, options);
  const input: ExpressionNode = { kind: "input", index: 0, dtype: x.dtype };
  return reduceExpression(reduction, { value: input, tensors: [x] }, options);
}

const NUMERIC = "numbers, not 8-bit floats";

/** Refuses element types without arithmetic. */
export function requireNumbers(x: Tensor, action: string): void {
  if (!requireTensor(x, "x", action).dtype.startsWith("float8")) return;
  throw new TypeError(`${cannot(action)} as x must be ${NUMERIC}: it is ${x.dtype}. Cast it first`);
}

/** The reduction that adds up, or multiplies. */
function summing(action: string, reducer: "Sum" | "Product", dtype: DType): Reduction {
  const stage = (value: ExpressionNode): RowStage => ({
    reducer,
    name: "r0",
    value: castNode(value, accumulated(dtype)),
  });
  return { action, dtype, stage, identity: true };
}

/**
 * The reduction to a mean in a floating type.
 *
 * @param reducer Adds up the values, or their squares.
 * @param less The divisor is the number of elements less this; the mean is NaN if that is not positive.
 * @param root Whether the result is the root of the mean.
 */
function averaging(
  action: string,
  dtype: DType,
  reducer: "Sum" | "SquareSum" = "Sum",
  less = 0,
  root = false,
): Reduction {
  const stage = (value: ExpressionNode): RowStage => {
    const own = castNode(value, value.dtype === "float64" ? "float64" : accumulated(dtype));
    const mean = meanNode(own.dtype, less);
    const result = root ? operationNode("sqrt", [mean], mean.dtype) : mean;
    return { reducer, name: "r0", value: own, finish: castNode(result, accumulated(dtype)) };
  };
  return { action, dtype, stage, identity: true };
}

/**
 * Options of {@linkcode sum} and {@linkcode prod}.
 * @category Tensors
 */
export interface SumOptions<R extends DType> extends ReduceOptions {
  /** The element type of the result, in which elements are added up or multiplied. */
  readonly dtype?: R;
}

/** Refuses a type of sums and products that has no arithmetic. */
export function requireSumType(dtype: unknown, action: string): asserts dtype is DType {
  if (isDType(dtype) && dtype !== "bool" && !dtype.startsWith("float8")) return;
  throw new TypeError(
    `${cannot(action)} as options.dtype must be a type of ${NUMERIC}: it is ${
      describeValue(dtype)
    }`,
  );
}

/** Adds up or multiplies in a type that holds the result. */
function totalled<R extends DType>(
  action: string,
  reducer: "Sum" | "Product",
  x: Tensor,
  options: SumOptions<R>,
): Tensor<R> {
  requireNumbers(x, action);
  requireObject(options, "options", action);
  const { dtype = sumResult(x.dtype), ...others } = options;
  requireSumType(dtype, action);
  return reduce(summing(action, reducer, dtype), x, others) as Tensor as Tensor<R>;
}

/**
 * The sum. Integers and `bool` are added up as 64-bit integers, 16-bit floats as `float32`. The same
 * input always gives the same bits.
 *
 * Of floats of up to 32 bits at most 16 are added up as `float32`, or 512 in a tree on the host device,
 * and the rest as `float64`: with u = 2⁻²⁴ the error is at most 20 u Σ|x| and the rounding of the
 * result, for every length; 5 u Σ|x| along rows on a GPU. 20 u Σ|x| is the bound of pairwise summation
 * for 256 elements. `float64` is added up in blocks, and these in pairs along rows on the host device.
 *
 * @param x The tensor.
 * @param options The axes, all by default, whether they keep extent 1, the element type, and the
 * stream.
 * @throws {RangeError} If an axis is out of range or repeats.
 *
 * @example
 * ```ts
 * import { sum, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = sum(tensor([[1, 2], [3, 4]]), { axis: 0 });
 * console.log(await y.toNested()); // [ 4, 6 ]
 * ```
 * @category Reductions
 */
export function sum<D extends DType, R extends DType = SumResult<D>>(
  x: Tensor<D>,
  options: SumOptions<R> = {},
): Tensor<R> {
  return totalled("sum", "Sum", x as Tensor, options);
}

/**
 * The product, in the types of {@linkcode sum}.
 *
 * @param x The tensor.
 * @param options The axes, all by default, whether they keep extent 1, the element type, and the
 * stream.
 * @throws {RangeError} If an axis is out of range or repeats.
 * @throws {TypeError} If the elements, or those of the result, are 8-bit floats.
 *
 * @example
 * ```ts
 * import { prod, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = prod(tensor([[1, 2], [3, 4]]), { axis: 1 });
 * console.log(await y.toNested()); // [ 2, 12 ]
 * ```
 * @category Reductions
 */
export function prod<D extends DType, R extends DType = SumResult<D>>(
  x: Tensor<D>,
  options: SumOptions<R> = {},
): Tensor<R> {
  return totalled("prod", "Product", x as Tensor, options);
}

/**
 * The arithmetic mean; NaN of no elements. Integers give `float64`, as in NumPy. Elements are added up
 * as by {@linkcode sum}.
 *
 * @param x The tensor.
 * @param options The axes, all by default, whether they keep extent 1, and the stream.
 * @throws {RangeError} If an axis is out of range or repeats.
 * @throws {TypeError} If the elements are 8-bit floats.
 *
 * @example
 * ```ts
 * import { mean, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = mean(tensor([[1, 2], [3, 4]]), { axis: 0 });
 * console.log(await y.toNested()); // [ 2, 3 ]
 * ```
 * @category Reductions
 */
export function mean<D extends DType>(
  x: Tensor<D>,
  options: ReduceOptions = {},
): Tensor<MeanResult<D>> {
  requireNumbers(x as Tensor, "mean");
  return reduce(averaging("mean", meanResult(x.dtype)), x as Tensor, options) as
    & Tensor
    & Tensor<MeanResult<D>>;
}

/**
 * The element type of means: integers give `float64`.
 * @category Tensors
 */
export type MeanResult<D extends DType> = FloatResult<D> extends D ? D : "float64";

/** The element type of the mean of elements of a type. */
export const meanResult = (dtype: DType): DType => floatResult(dtype) === dtype ? dtype : "float64";

/**
 * Options of {@linkcode variance} and {@linkcode std}.
 * @category Tensors
 */
export interface VarianceOptions extends ReduceOptions {
  /**
   * The divisor is the number of elements less this; 1 gives the unbiased estimate. Where it is not
   * positive, the result is NaN.
   */
  readonly correction?: number;
}

function spread<D extends DType>(
  action: string,
  x: Tensor<D>,
  wanted: VarianceOptions,
  root: boolean,
): Tensor<MeanResult<D>> {
  requireNumbers(x as Tensor, action);
  requireObject(wanted, "options", action);
  const { correction = 0, ...options } = wanted;
  if (!Number.isSafeInteger(correction)) {
    throw new TypeError(`${cannot(action)} as correction must be an integer: it is ${correction}`);
  }
  const dtype = meanResult(x.dtype);
  const type = accumulated(dtype);
  const input = (index: number, own: DType): ExpressionNode =>
    castNode({ kind: "input", index, dtype: own }, type);
  const centre = reduce({ ...averaging(action, dtype), dtype: type }, x as Tensor, {
    ...options,
    keepDims: true,
  });
  try {
    const difference = operationNode("subtract", [input(0, x.dtype), input(1, type)], type);
    const reduction = averaging(action, dtype, "SquareSum", correction, root);
    return reduceExpression(
      reduction,
      { value: difference, tensors: [x as Tensor, centre] },
      options,
    ) as
      & Tensor
      & Tensor<MeanResult<D>>;
  } finally {
    centre.dispose();
  }
}

/**
 * The variance, in two passes: the mean, then the squares of the differences. Squares out of the range
 * of `float32` are added up as `float64`, so the {@linkcode std} of numbers near 1e20 is finite.
 *
 * @param x The tensor.
 * @param options The axes, all by default, whether they keep extent 1, the correction, and the
 * stream.
 * @throws {RangeError} If an axis is out of range or repeats.
 * @throws {TypeError} If the elements are 8-bit floats, or the correction is no integer.
 *
 * @example
 * ```ts
 * import { tensor, variance } from "@gridstride/cuda/tensor";
 *
 * using y = variance(tensor([[1, 2], [3, 4]]), { axis: 1 });
 * console.log(await y.toNested()); // [ 0.25, 0.25 ]
 * ```
 * @category Reductions
 */
export function variance<D extends DType>(
  x: Tensor<D>,
  options: VarianceOptions = {},
): Tensor<MeanResult<D>> {
  return spread("variance", x, options, false);
}

/**
 * The standard deviation; see {@linkcode variance}.
 *
 * @param x The tensor.
 * @param options The axes, all by default, whether they keep extent 1, the correction, and the
 * stream.
 * @throws {RangeError} If an axis is out of range or repeats.
 * @throws {TypeError} If the elements are 8-bit floats, or the correction is no integer.
 *
 * @example
 * ```ts
 * import { std, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = std(tensor([[1, 2], [3, 4]]), { axis: 1 });
 * console.log(await y.toNested()); // [ 0.5, 0.5 ]
 * ```
 * @category Reductions
 */
export function std<D extends DType>(
  x: Tensor<D>,
  options: VarianceOptions = {},
): Tensor<MeanResult<D>> {
  return spread("std", x, options, true);
}

function extremum<D extends DType>(
  action: string,
  reducer: RowStage["reducer"],
  x: Tensor<D>,
  options: ReduceOptions,
  own?: DType,
): Tensor {
  requireNumbers(x as Tensor, action);
  const dtype = own ?? x.dtype;
  const stage = (value: ExpressionNode): RowStage => ({ reducer, name: "r0", value });
  return reduce({ action, dtype, stage, identity: false }, x as Tensor, options);
}

/**
 * The largest element; NaN if one is NaN.
 *
 * @param x The tensor.
 * @param options The axes, all by default, whether they keep extent 1, and the stream.
 * @throws {RangeError} If there are no elements.
 *
 * @example
 * ```ts
 * import { max, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = max(tensor([[1, 2], [3, 4]]), { axis: 1 });
 * console.log(await y.toNested()); // [ 2, 4 ]
 * ```
 * @category Reductions
 */
export function max<D extends DType>(x: Tensor<D>, options: ReduceOptions = {}): Tensor<D> {
  return extremum("max", "Maximum", x, options) as Tensor as Tensor<D>;
}

/**
 * The smallest element; NaN if one is NaN.
 *
 * @param x The tensor.
 * @param options The axes, all by default, whether they keep extent 1, and the stream.
 * @throws {RangeError} If there are no elements.
 *
 * @example
 * ```ts
 * import { min, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = min(tensor([[1, 2], [3, 4]]), { axis: 0, keepDims: true });
 * console.log(await y.toNested()); // [ [ 1, 2 ] ]
 * ```
 * @category Reductions
 */
export function min<D extends DType>(x: Tensor<D>, options: ReduceOptions = {}): Tensor<D> {
  return extremum("min", "Minimum", x, options) as Tensor as Tensor<D>;
}

/**
 * Options of {@linkcode argmax} and {@linkcode argmin}.
 * @category Tensors
 */
export interface PlaceOptions extends TensorOptions {
  /** The axis; the position in row-major order of all elements by default. */
  readonly axis?: number;
  /** Whether reduced axes stay, with an extent of 1. */
  readonly keepDims?: boolean;
}

function place<D extends DType>(
  action: string,
  reducer: RowStage["reducer"],
  x: Tensor<D>,
  options: PlaceOptions,
): Tensor<"int64"> {
  requireTensor(x, "x", action);
  requireObject(options, "options", action);
  if (options.axis !== undefined) requireAxis(options.axis, x.rank, action);
  return extremum(action, reducer, x, options, "int64") as Tensor as Tensor<"int64">;
}

/**
 * The position of the largest element, the first of equal ones; that of the first NaN if there is one.
 *
 * @param x The tensor.
 * @param options The axis, whether it keeps extent 1, and the stream.
 * @throws {RangeError} If there are no elements.
 *
 * @example
 * ```ts
 * import { argmax, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = argmax(tensor([[1, 2], [3, 4]]), { axis: 1 });
 * console.log(await y.toNested()); // [ 1n, 1n ]
 * ```
 * @category Reductions
 */
export function argmax<D extends DType>(
  x: Tensor<D>,
  options: PlaceOptions = {},
): Tensor<"int64"> {
  return place("argmax", "ArgMaximum", x, options);
}

/**
 * The position of the smallest element; see {@linkcode argmax}.
 *
 * @param x The tensor.
 * @param options The axis, whether it keeps extent 1, and the stream.
 * @throws {RangeError} If there are no elements, or the axis is out of range.
 * @throws {TypeError} If the elements are 8-bit floats.
 *
 * @example
 * ```ts
 * import { argmin, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = argmin(tensor([[1, 2], [3, 4]]), { axis: 0 });
 * console.log(await y.toNested()); // [ 0n, 0n ]
 * ```
 * @category Reductions
 */
export function argmin<D extends DType>(
  x: Tensor<D>,
  options: PlaceOptions = {},
): Tensor<"int64"> {
  return place("argmin", "ArgMinimum", x, options);
}

function truth(action: string, reducer: "Sum" | "Product", x: Tensor, options: ReduceOptions) {
  requireNumbers(x, action);
  const stage = (value: ExpressionNode): RowStage => ({
    reducer,
    name: "r0",
    value: castNode(castNode(value, "bool"), "int64"),
    finish: castNode(mergedNode(reducer, "int64"), "bool"),
  });
  return reduce({ action, dtype: "bool", stage, identity: true }, x, options);
}

/**
 * Whether any element is not zero; false of no elements.
 *
 * @param x The tensor.
 * @param options The axes, all by default, whether they keep extent 1, and the stream.
 * @throws {RangeError} If an axis is out of range or repeats.
 * @throws {TypeError} If the elements are 8-bit floats.
 *
 * @example
 * ```ts
 * import { any, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = any(tensor([[0, 1], [0, 0]]), { axis: 1 });
 * console.log(await y.toNested()); // [ true, false ]
 * ```
 * @category Reductions
 */
export function any(x: Tensor, options: ReduceOptions = {}): Tensor<"bool"> {
  return truth("any", "Sum", x, options) as Tensor as Tensor<"bool">;
}

/**
 * Whether all elements are not zero; true of no elements.
 *
 * @param x The tensor.
 * @param options The axes, all by default, whether they keep extent 1, and the stream.
 * @throws {RangeError} If an axis is out of range or repeats.
 * @throws {TypeError} If the elements are 8-bit floats.
 *
 * @example
 * ```ts
 * import { all, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = all(tensor([[1, 1], [0, 1]]), { axis: 1 });
 * console.log(await y.toNested()); // [ true, false ]
 * ```
 * @category Reductions
 */
export function all(x: Tensor, options: ReduceOptions = {}): Tensor<"bool"> {
  return truth("all", "Product", x, options) as Tensor as Tensor<"bool">;
}

/**
 * The number of elements that are not zero.
 *
 * @param x The tensor.
 * @param options The axes, all by default, whether they keep extent 1, and the stream.
 * @throws {RangeError} If an axis is out of range or repeats.
 * @throws {TypeError} If the elements are 8-bit floats.
 *
 * @example
 * ```ts
 * import { countNonzero, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = countNonzero(tensor([[1, 0], [2, 3]]), { axis: 1 });
 * console.log(await y.toNested()); // [ 1n, 2n ]
 * ```
 * @category Reductions
 */
export function countNonzero(x: Tensor, options: ReduceOptions = {}): Tensor<"int64"> {
  requireNumbers(x, "countNonzero");
  const stage = (value: ExpressionNode): RowStage => ({
    reducer: "Sum",
    name: "r0",
    value: castNode(castNode(value, "bool"), "int64"),
  });
  return reduce({ action: "countNonzero", dtype: "int64", stage, identity: true }, x, options) as
    & Tensor
    & Tensor<"int64">;
}
