/**
 * Quantiles and percentiles: elements at positions of the sorted ones.
 *
 * @module
 */

import { cannot, requireOptions } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { type DType, isFloatDType } from "../../memory/dtype.ts";
import { fromTypedArray } from "../creation.ts";
import { add, equal, isnan, multiply, where } from "../elementwise.ts";
import { copyOf } from "../elementwise_kernel.ts";
import { take } from "../indexing.ts";
import type { TensorOptions } from "../kit/checks.ts";
import { requireAxes, sizeOf } from "../kit/layout.ts";
import { moveaxis } from "../rearrangement.ts";
import { type MeanResult, meanResult, type ReduceOptions } from "../reductions.ts";
import { TensorScope } from "../scope.ts";
import { requireOrdered, sort } from "../sorting.ts";
import type { Tensor } from "../tensor.ts";

const METHODS = ["linear", "lower", "higher", "midpoint", "nearest"] as const;
type Method = typeof METHODS[number];

/**
 * Options of {@linkcode quantile} and {@linkcode percentile}.
 * @category Tensors
 */
export interface QuantileOptions extends ReduceOptions {
  /**
   * What a quantile between two elements is: between them in proportion (`"linear"`, the default),
   * one of them, their mean, or the nearer one, of two as near that at the even position.
   */
  readonly method?: "linear" | "lower" | "higher" | "midpoint" | "nearest";
}

/** The position of the element below a quantile, and the part of the one above. */
function positionOf(q: number, extent: number, method: Method): [number, number] {
  const position = q * (extent - 1);
  const below = Math.floor(position);
  const part = position - below;
  if (part === 0) return [below, 0];
  switch (method) {
    case "linear":
      return [below, part];
    case "lower":
      return [below, 0];
    case "higher":
      return [below + 1, 0];
    case "midpoint":
      return [below, 0.5];
    case "nearest":
      return [part > 0.5 || (part === 0.5 && below % 2 === 1) ? below + 1 : below, 0];
  }
}

/** The quantiles of sorted rows, one column for each. */
function between(
  rows: Tensor,
  positions: readonly (readonly [number, number])[],
  dtype: DType,
  options: TensorOptions,
): Tensor {
  const type = isFloatDType(dtype) && dtype !== "float64" ? "float32" : dtype;
  const place = { ...options, device: rows };
  const count = [positions.length];
  const at = (distance: number) => {
    const indices = positions.map(([below, part]) => BigInt(below + (part > 0 ? distance : 0)));
    const columns = fromTypedArray(BigInt64Array.from(indices), count, place);
    return copyOf(take(rows, columns, { ...options, axis: -1 }), type, options);
  };
  const weights = (of: (part: number) => number) => {
    const values = Float64Array.from(positions, ([, part]) => of(part));
    return copyOf(fromTypedArray(values, count, place) as Tensor, type, options);
  };
  let result = at(0);
  if (positions.some(([, part]) => part > 0)) {
    const above = at(1);
    // The sum of two parts does not overflow, as the difference would; of infinities it is NaN.
    const below = multiply(result, weights((part) => 1 - part), options);
    const sum = add(below, multiply(above, weights((part) => part), options), options);
    result = where(equal(result, above, options), result, sum, options) as Tensor;
  }
  const last = rows.slice([...rows.shape.slice(1).map(() => ({})), { start: -1 }]);
  if (!isFloatDType(rows.dtype)) return result;
  return where(isnan(last, options), NaN, result, options) as Tensor;
}

function quantiles<D extends DType>(
  action: string,
  x: Tensor<D>,
  q: number | readonly number[],
  most: number,
  all: QuantileOptions,
): Tensor<MeanResult<D>> {
  const names = ["axis", "keepDims", "method", "stream"];
  const { axis, keepDims = false, method = "linear", ...options } = requireOptions(
    all,
    names,
    action,
  );
  const whole = requireOrdered(x, "x", action);
  const list: readonly unknown[] = Array.isArray(q) ? q : [q];
  const wrong = list.find((it) => typeof it !== "number" || !(it >= 0 && it <= most));
  if (wrong !== undefined) {
    throw new RangeError(
      `${cannot(action)} as q must be in 0..${most}: it is ${describeValue(wrong)}`,
    );
  }
  if (!METHODS.includes(method)) {
    throw new TypeError(
      `${cannot(action)} as options.method must be ${METHODS.join(", ")}: it is ${
        describeValue(method)
      }`,
    );
  }
  const axes = requireAxes(axis, whole.rank, action);
  const kept = [...whole.shape.keys()].filter((at) => !axes.includes(at));
  const extents = kept.map((at) => whole.shape[at]!);
  const extent = sizeOf(axes.map((at) => whole.shape[at]!));
  if (extent === 0) {
    throw new RangeError(
      `${cannot(action)} as the reduced axes must have elements: there are none`,
    );
  }
  const dtype = meanResult(whole.dtype);
  using scope = new TensorScope();
  const rows = sort(whole.permute([...kept, ...axes]).reshape([...extents, extent]), options);
  const positions = (list as readonly number[]).map((it) => positionOf(it / most, extent, method));
  const columns = copyOf(between(rows, positions, dtype, options), dtype, options);
  const shape = keepDims ? whole.shape.map((it, at) => axes.includes(at) ? 1 : it) : extents;
  const result = Array.isArray(q)
    ? moveaxis(columns, -1, 0).reshape([list.length, ...shape])
    : columns.reshape(shape);
  return scope.keep(result) as Tensor & Tensor<MeanResult<D>>;
}

/**
 * The quantiles of elements along axes: the element at the part `q` of the sorted ones, or between
 * two. They are NaN if an element is NaN. Integers give `float64`.
 *
 * @param x The tensor.
 * @param q In 0..1; 0.5 is the median. Several ones give a new first axis.
 * @param options The axes, the method between two elements, and the stream.
 * @throws {RangeError} If `q` or an axis is out of range, or there are no elements.
 * @throws {TypeError} If the elements are 8-bit floats.
 *
 * @example
 * ```ts
 * import { quantile, tensor } from "@gridstride/cuda/tensor";
 *
 * using x = tensor([4, 1, 3, 2]);
 * using median = quantile(x, 0.5);
 * using ends = quantile(x, [0, 1]);
 * console.log(await median.item(), await ends.toNested()); // 2.5 [ 1, 4 ]
 * ```
 * @category Reductions
 */
export function quantile<D extends DType>(
  x: Tensor<D>,
  q: number | readonly number[],
  options: QuantileOptions = {},
): Tensor<MeanResult<D>> {
  return quantiles("quantile", x, q, 1, options);
}

/**
 * The percentiles of elements along axes; see {@linkcode quantile}.
 *
 * @param x The tensor.
 * @param q In 0..100; 50 is the median. Several ones give a new first axis.
 * @param options The axes, the method between two elements, and the stream.
 * @throws {RangeError} If `q` or an axis is out of range, or there are no elements.
 * @throws {TypeError} If the elements are 8-bit floats.
 *
 * @example
 * ```ts
 * import { percentile, tensor } from "@gridstride/cuda/tensor";
 *
 * using x = tensor([10, 20, 30, 40, 50]);
 * using quartiles = percentile(x, [25, 75]);
 * console.log(await quartiles.toNested()); // [ 20, 40 ]
 * ```
 * @category Reductions
 */
export function percentile<D extends DType>(
  x: Tensor<D>,
  q: number | readonly number[],
  options: QuantileOptions = {},
): Tensor<MeanResult<D>> {
  return quantiles("percentile", x, q, 100, options);
}
