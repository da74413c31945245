/**
 * Elementwise operations on the bits of integers.
 *
 * @module
 */

import type { DType } from "../../memory/dtype.ts";
import { applyOperation, type ElementwiseOptions } from "../elementwise_kernel.ts";
import type { Operand, TypeOf } from "../kit/checks.ts";
import type { Promote } from "../kit/promotion.ts";
import type { Tensor } from "../tensor.ts";

/**
 * x & y, the bits set in both.
 *
 * @param x The first operands.
 * @param y The second operands: a tensor, or a number of the element type of `x`.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If an operand is neither an integer nor `bool`, or the element types have no
 *   common one.
 *
 * @example
 * ```ts
 * import { bitwiseAnd, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = bitwiseAnd(tensor([12, 10], { dtype: "int8" }), 6);
 * console.log(await y.toNested()); // [ 4, 2 ]
 * ```
 * @category Elementwise operations
 */
export function bitwiseAnd<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<Promote<D, TypeOf<Y, D>>> = {},
): Tensor<Promote<D, TypeOf<Y, D>>> {
  return applyOperation("bitwiseAnd", [x, y], options);
}

/**
 * x | y, the bits set in at least one.
 *
 * @param x The first operands.
 * @param y The second operands: a tensor, or a number of the element type of `x`.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If an operand is neither an integer nor `bool`, or the element types have no
 *   common one.
 *
 * @example
 * ```ts
 * import { bitwiseOr, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = bitwiseOr(tensor([12, 10], { dtype: "int8" }), 6);
 * console.log(await y.toNested()); // [ 14, 14 ]
 * ```
 * @category Elementwise operations
 */
export function bitwiseOr<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<Promote<D, TypeOf<Y, D>>> = {},
): Tensor<Promote<D, TypeOf<Y, D>>> {
  return applyOperation("bitwiseOr", [x, y], options);
}

/**
 * x ^ y, the bits set in exactly one.
 *
 * @param x The first operands.
 * @param y The second operands: a tensor, or a number of the element type of `x`.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If an operand is neither an integer nor `bool`, or the element types have no
 *   common one.
 *
 * @example
 * ```ts
 * import { bitwiseXor, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = bitwiseXor(tensor([12, 10], { dtype: "int8" }), 6);
 * console.log(await y.toNested()); // [ 10, 12 ]
 * ```
 * @category Elementwise operations
 */
export function bitwiseXor<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<Promote<D, TypeOf<Y, D>>> = {},
): Tensor<Promote<D, TypeOf<Y, D>>> {
  return applyOperation("bitwiseXor", [x, y], options);
}

/**
 * ~x, all bits inverted.
 *
 * @param x The integers.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is neither an integer type nor `bool`.
 *
 * @example
 * ```ts
 * import { bitwiseInvert, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = bitwiseInvert(tensor([0, 5], { dtype: "int8" }));
 * console.log(await y.toNested()); // [ -1, -6 ]
 * ```
 * @category Elementwise operations
 */
export function bitwiseInvert<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<D> = {},
): Tensor<D> {
  return applyOperation("bitwiseInvert", [x], options);
}

/**
 * x · 2ʸ; shifts by the width or more give 0.
 *
 * @param x The integers to shift.
 * @param y The numbers of bits: a tensor, or a number of the element type of `x`.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If an operand is no integer, or the element types have no common one.
 *
 * @example
 * ```ts
 * import { bitwiseLeftShift, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = bitwiseLeftShift(tensor([1, 3], { dtype: "int8" }), 2);
 * console.log(await y.toNested()); // [ 4, 12 ]
 * ```
 * @category Elementwise operations
 */
export function bitwiseLeftShift<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<Promote<D, TypeOf<Y, D>>> = {},
): Tensor<Promote<D, TypeOf<Y, D>>> {
  return applyOperation("bitwiseLeftShift", [x, y], options);
}

/**
 * ⌊x / 2ʸ⌋.
 *
 * @param x The integers to shift.
 * @param y The numbers of bits: a tensor, or a number of the element type of `x`.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If an operand is no integer, or the element types have no common one.
 *
 * @example
 * ```ts
 * import { bitwiseRightShift, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = bitwiseRightShift(tensor([12, -3], { dtype: "int8" }), 1);
 * console.log(await y.toNested()); // [ 6, -2 ]
 * ```
 * @category Elementwise operations
 */
export function bitwiseRightShift<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<Promote<D, TypeOf<Y, D>>> = {},
): Tensor<Promote<D, TypeOf<Y, D>>> {
  return applyOperation("bitwiseRightShift", [x, y], options);
}
