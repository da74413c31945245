/**
 * Norms of vectors and matrices.
 *
 * @module
 */

import { cannot, requireOptions } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { type DType, isFloatDType } from "../../memory/dtype.ts";
import {
  abs,
  divide,
  isfinite,
  logicalAnd,
  multiply,
  notEqual,
  pow,
  where,
} from "../elementwise.ts";
import { copyOf } from "../elementwise_kernel.ts";
import { castNode, operationNode } from "../kit/expression/node.ts";
import { requireAxes, shapeText } from "../kit/layout.ts";
import {
  countNonzero,
  max,
  type MeanResult,
  meanResult,
  min,
  reduce,
  type ReduceOptions,
  requireNumbers,
  sum,
} from "../reductions.ts";
import { mergedNode } from "../row_program.ts";
import { TensorScope } from "../scope.ts";
import type { Tensor } from "../tensor.ts";

/**
 * Options of {@linkcode norm}.
 * @category Tensors
 */
export interface NormOptions extends ReduceOptions {
  /**
   * The order: a number p, infinities included, or `"fro"` for the Frobenius norm of matrices; 2 by
   * default.
   */
  readonly ord?: number | "fro";
}

/**
 * Options of {@linkcode matrixNorm}.
 * @category Tensors
 */
export interface MatrixNormOptions extends Pick<ReduceOptions, "keepDims" | "stream"> {
  /** The order: `"fro"`, by default, 1, -1, `Infinity` or `-Infinity`. */
  readonly ord?: "fro" | 1 | -1 | typeof Infinity;
}

const ACTION = "norm";

/** The root of the sum of squares, which may be out of the range of `float32`. */
function euclidean(x: Tensor, dtype: DType, options: ReduceOptions): Tensor {
  const type = dtype === "float64" ? dtype : "float32";
  const merged = mergedNode("SquareSum", type);
  return reduce(
    {
      action: ACTION,
      dtype,
      stage: (value) => ({
        reducer: "SquareSum",
        name: "r0",
        value: castNode(value, type),
        finish: castNode(operationNode("sqrt", [merged], merged.dtype), type),
      }),
      identity: true,
    },
    x,
    options,
  );
}

/** (Σ|x|ᵖ)^(1/p) of elements divided by the largest, or for a negative p the smallest. */
function ofOrder(magnitudes: Tensor, order: number, options: ReduceOptions): Tensor {
  const { axis, keepDims, ...place } = options;
  const axes = requireAxes(axis, magnitudes.rank, ACTION);
  const root = (total: Tensor) => pow(total, 1 / order, place) as Tensor;
  const shape = { axis: axes, ...place, ...(keepDims === undefined ? {} : { keepDims }) };
  if (axes.some((at) => magnitudes.shape[at] === 0)) {
    return root(sum(magnitudes, shape) as Tensor);
  }
  const extremum = order > 0 ? max : min;
  const most = extremum(magnitudes, { ...place, axis: axes, keepDims: true });
  // Of 0, infinity and NaN, what the powers give is right.
  const isScale = logicalAnd(notEqual(most, 0, place), isfinite(most, place), place);
  const scale = where(isScale, most, 1, place) as Tensor;
  const total = sum(pow(divide(magnitudes, scale, place), order, place), shape) as Tensor;
  return multiply(root(total), scale.reshape(total.shape), place) as Tensor;
}

/**
 * The norm of vectors along axes: (Σ|x|ᵖ)^(1/p) for the order p. Order 0 is the number of elements
 * that are not zero, `Infinity` the largest magnitude, and `-Infinity` the smallest. Several axes are
 * one vector, as are all axes by default; `"fro"` is the norm of order 2 and demands two axes.
 * {@linkcode matrixNorm} has the other norms of matrices, which NumPy gives for two axes.
 *
 * Integers give `float64`. Powers out of the range of the element type do no harm: the norm of numbers
 * near 1e20 or 1e-20 is right in `float32`.
 *
 * @param x The tensor.
 * @param options The order, the axes and the stream.
 * @throws {RangeError} If an axis is out of range or repeats, `"fro"` has not two axes, or the order
 * is infinite and there are no elements.
 * @throws {TypeError} If the order is no number or `"fro"`, or the elements are 8-bit floats.
 *
 * @example
 * ```ts
 * import { norm, tensor } from "@gridstride/cuda/tensor";
 *
 * using x = tensor([[3, 4], [6, 8]]);
 * using lengths = norm(x, { axis: 1 });
 * console.log(await lengths.toNested()); // [ 5, 10 ]
 * ```
 * @category Linear algebra
 */
export function norm<D extends DType>(
  x: Tensor<D>,
  options: NormOptions = {},
): Tensor<MeanResult<D>> {
  const names = ["ord", "axis", "keepDims", "stream"];
  const { ord = 2, ...rest } = requireOptions(options, names, ACTION);
  const { axis: _, keepDims: __, ...place } = rest;
  if (ord !== "fro" && (typeof ord !== "number" || Number.isNaN(ord))) {
    throw new TypeError(
      `${cannot(ACTION)} as options.ord must be a number or "fro": it is ${describeValue(ord)}`,
    );
  }
  requireNumbers(x as Tensor, ACTION);
  const axes = requireAxes(rest.axis, x.rank, ACTION);
  if (ord === "fro" && axes.length !== 2) {
    throw new RangeError(
      `${
        cannot(ACTION)
      } as options.axis must name two axes for the order "fro": there are ${axes.length}`,
    );
  }
  const dtype = meanResult(x.dtype);
  const type = isFloatDType(dtype) && dtype !== "float64" ? "float32" : dtype;
  using scope = new TensorScope();
  const result = (): Tensor => {
    if (ord === "fro" || ord === 2) return euclidean(x as Tensor, dtype, rest);
    if (ord === 0) return countNonzero(x as Tensor, rest) as Tensor;
    const magnitudes = abs(copyOf(x as Tensor, type, place), place);
    if (ord === 1) return sum(magnitudes, rest) as Tensor;
    if (Math.abs(ord) === Infinity) return (ord > 0 ? max : min)(magnitudes, rest);
    return ofOrder(magnitudes, ord, rest);
  };
  const norms = result();
  return scope.keep(norms.dtype === dtype ? norms : copyOf(norms, dtype, place)) as
    & Tensor
    & Tensor<MeanResult<D>>;
}

/** The orders of {@linkcode matrixNorm}. */
const MATRIX_ORDERS: readonly unknown[] = ["fro", 1, -1, Infinity, -Infinity];

/**
 * The norm of matrices, which are the last two axes: of order 1 the largest sum of magnitudes of a
 * column, of order `Infinity` of a row; -1 and `-Infinity` are the smallest. The Frobenius norm
 * `"fro"`, the default, is the root of the sum of squares.
 *
 * The orders 2, -2 and `"nuc"` need singular values, which this package does not compute.
 *
 * @param x The matrices, at least 2 dimensions.
 * @param options The order and the stream.
 * @throws {RangeError} If there are fewer than 2 dimensions, the order is another, or there is no
 * column or row whose sum could be chosen.
 * @throws {TypeError} If the elements are 8-bit floats.
 *
 * @example
 * ```ts
 * import { matrixNorm, tensor } from "@gridstride/cuda/tensor";
 *
 * using x = tensor([[1, -2], [3, 4]]);
 * using columns = matrixNorm(x, { ord: 1 });
 * using rows = matrixNorm(x, { ord: Infinity });
 * console.log(await columns.item(), await rows.item()); // 6 7
 * ```
 * @category Linear algebra
 */
export function matrixNorm<D extends DType>(
  x: Tensor<D>,
  options: MatrixNormOptions = {},
): Tensor<MeanResult<D>> {
  const action = "matrixNorm";
  const { ord = "fro", ...rest } = requireOptions(options, ["ord", "keepDims", "stream"], action);
  if (!MATRIX_ORDERS.includes(ord)) {
    const advice = [2, -2, "nuc"].includes(ord) ? ". It needs singular values" : "";
    throw new RangeError(
      `${cannot(action)} as options.ord must be "fro", 1, -1, Infinity or -Infinity: it is ${
        describeValue(ord)
      }${advice}`,
    );
  }
  requireNumbers(x as Tensor, action);
  if (x.rank < 2) {
    throw new RangeError(
      `${cannot(action)} as x must have at least 2 dimensions: it has ${x.rank}`,
    );
  }
  if (ord === "fro") return norm(x, { ...rest, ord, axis: [-2, -1] });
  const summed = Math.abs(ord) === 1 ? -2 : -1;
  const chosen = ord > 0 ? max : min;
  const axis = -3 - summed;
  if (x.shape.at(axis) === 0) {
    const name = axis === -1 ? "columns" : "rows";
    throw new RangeError(
      `${cannot(action)} as x must have ${name}: its shape is ${shapeText(x.shape)}`,
    );
  }
  using scope = new TensorScope();
  const sums = norm(x, { ...rest, ord: 1, axis: summed, keepDims: true });
  const { keepDims = false, ...place } = rest;
  const extremes = chosen(sums, { ...place, axis, keepDims: true });
  return scope.keep((keepDims ? extremes : extremes.squeeze([-2, -1])) as Tensor) as
    & Tensor
    & Tensor<MeanResult<D>>;
}
