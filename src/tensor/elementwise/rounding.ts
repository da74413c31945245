/**
 * Elementwise rounding. Integers stay as they are.
 *
 * @module
 */

import type { DType } from "../../memory/dtype.ts";
import { applyOperation, type ElementwiseOptions } from "../elementwise_kernel.ts";
import type { Tensor } from "../tensor.ts";

/**
 * ⌊x⌋, the largest integer that is not above x.
 *
 * @param x The numbers to round.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { floor, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = floor(tensor([-1.5, 1.5]));
 * console.log(await y.toNested()); // [ -2, 1 ]
 * ```
 * @category Elementwise operations
 */
export function floor<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<D> = {},
): Tensor<D> {
  return applyOperation("floor", [x], options);
}

/**
 * ⌈x⌉, the smallest integer that is not below x.
 *
 * @param x The numbers to round.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { ceil, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = ceil(tensor([-1.5, 1.5]));
 * console.log(await y.toNested()); // [ -1, 2 ]
 * ```
 * @category Elementwise operations
 */
export function ceil<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<D> = {},
): Tensor<D> {
  return applyOperation("ceil", [x], options);
}

/**
 * The integer part of x, rounded towards 0.
 *
 * @param x The numbers to round.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { tensor, trunc } from "@gridstride/cuda/tensor";
 *
 * using y = trunc(tensor([-1.5, 1.5]));
 * console.log(await y.toNested()); // [ -1, 1 ]
 * ```
 * @category Elementwise operations
 */
export function trunc<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<D> = {},
): Tensor<D> {
  return applyOperation("trunc", [x], options);
}

/**
 * The nearest integer; ties go to the even one.
 *
 * @param x The numbers to round.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { round, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = round(tensor([0.5, 1.5, 1.7]));
 * console.log(await y.toNested()); // [ 0, 2, 2 ]
 * ```
 * @category Elementwise operations
 */
export function round<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<D> = {},
): Tensor<D> {
  return applyOperation("round", [x], options);
}
