/**
 * Elementwise arithmetic.
 *
 * @module
 */

import type { DType } from "../../memory/dtype.ts";
import { applyOperation, type ElementwiseOptions } from "../elementwise_kernel.ts";
import type { Operand, TypeOf } from "../kit/checks.ts";
import type { DivideResult, FloatResult, Promote } from "../kit/promotion.ts";
import type { Tensor } from "../tensor.ts";

/**
 * +x: a copy.
 *
 * @param x The elements to copy.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { positive, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = positive(tensor([-1, 2]));
 * console.log(await y.toNested()); // [ -1, 2 ]
 * ```
 * @category Elementwise operations
 */
export function positive<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<D> = {},
): Tensor<D> {
  return applyOperation("positive", [x], options);
}

/**
 * −x; integers wrap.
 *
 * @param x The elements to negate.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { negative, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = negative(tensor([-1, 2]));
 * console.log(await y.toNested()); // [ 1, -2 ]
 * ```
 * @category Elementwise operations
 */
export function negative<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<D> = {},
): Tensor<D> {
  return applyOperation("negative", [x], options);
}

/**
 * |x|, the absolute value.
 *
 * @param x Elements with any sign.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { abs, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = abs(tensor([-1.5, 2]));
 * console.log(await y.toNested()); // [ 1.5, 2 ]
 * ```
 * @category Elementwise operations
 */
export function abs<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<D> = {},
): Tensor<D> {
  return applyOperation("abs", [x], options);
}

/**
 * The sign of x: −1, 0 or 1. NaN stays NaN.
 *
 * @param x Elements with any sign.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { sign, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = sign(tensor([-3, 0, 5]));
 * console.log(await y.toNested()); // [ -1, 0, 1 ]
 * ```
 * @category Elementwise operations
 */
export function sign<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<D> = {},
): Tensor<D> {
  return applyOperation("sign", [x], options);
}

/**
 * 1 / x.
 *
 * @param x The divisors.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { reciprocal, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = reciprocal(tensor([2, 4]));
 * console.log(await y.toNested()); // [ 0.5, 0.25 ]
 * ```
 * @category Elementwise operations
 */
export function reciprocal<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("reciprocal", [x], options);
}

/**
 * x + y; integers wrap.
 *
 * @param x The first summands.
 * @param y The second summands: a tensor, or a number of the element type of `x`.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If an operand is `bool` or an 8-bit float, or the element types have no
 *   common one.
 *
 * @example
 * ```ts
 * import { add, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = add(tensor([1, 2]), 10);
 * console.log(await y.toNested()); // [ 11, 12 ]
 * ```
 * @category Elementwise operations
 */
export function add<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<Promote<D, TypeOf<Y, D>>> = {},
): Tensor<Promote<D, TypeOf<Y, D>>> {
  return applyOperation("add", [x, y], options);
}

/**
 * x − y; integers wrap.
 *
 * @param x The minuends.
 * @param y The subtrahends: a tensor, or a number of the element type of `x`.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If an operand is `bool` or an 8-bit float, or the element types have no
 *   common one.
 *
 * @example
 * ```ts
 * import { subtract, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = subtract(tensor([5, 7]), tensor([1, 2]));
 * console.log(await y.toNested()); // [ 4, 5 ]
 * ```
 * @category Elementwise operations
 */
export function subtract<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<Promote<D, TypeOf<Y, D>>> = {},
): Tensor<Promote<D, TypeOf<Y, D>>> {
  return applyOperation("subtract", [x, y], options);
}

/**
 * x · y; integers wrap.
 *
 * @param x The first factors.
 * @param y The second factors: a tensor, or a number of the element type of `x`.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If an operand is `bool` or an 8-bit float, or the element types have no
 *   common one.
 *
 * @example
 * ```ts
 * import { multiply, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = multiply(tensor([1, 2]), tensor([3, 4]));
 * console.log(await y.toNested()); // [ 3, 8 ]
 * ```
 * @category Elementwise operations
 */
export function multiply<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<Promote<D, TypeOf<Y, D>>> = {},
): Tensor<Promote<D, TypeOf<Y, D>>> {
  return applyOperation("multiply", [x, y], options);
}

/**
 * x / y; integers are divided as `float64`.
 *
 * @param x The dividends.
 * @param y The divisors: a tensor, or a number of the element type of `x`.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If an operand is `bool` or an 8-bit float, or the element types have no
 *   common one.
 *
 * @example
 * ```ts
 * import { divide, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = divide(tensor([3, 5]), 2);
 * console.log(await y.toNested()); // [ 1.5, 2.5 ]
 * ```
 * @category Elementwise operations
 */
export function divide<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<DivideResult<Promote<D, TypeOf<Y, D>>>> = {},
): Tensor<DivideResult<Promote<D, TypeOf<Y, D>>>> {
  return applyOperation("divide", [x, y], options);
}

/**
 * ⌊x / y⌋; an integer divided by 0 is 0. Floats give what NumPy gives: the quotient that fits
 * {@linkcode remainder}, so 1 by 0.1 is 9, and NaN where x is infinite, for which the array API
 * standard has infinities.
 *
 * @param x The dividends.
 * @param y The divisors: a tensor, or a number of the element type of `x`.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If an operand is `bool` or an 8-bit float, or the element types have no
 *   common one.
 *
 * @example
 * ```ts
 * import { floorDivide, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = floorDivide(tensor([7, -7]), 2);
 * console.log(await y.toNested()); // [ 3, -4 ]
 * ```
 * @category Elementwise operations
 */
export function floorDivide<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<Promote<D, TypeOf<Y, D>>> = {},
): Tensor<Promote<D, TypeOf<Y, D>>> {
  return applyOperation("floorDivide", [x, y], options);
}

/**
 * The remainder of x / y, with the sign of y; of an integer by 0 it is 0.
 *
 * @param x The dividends.
 * @param y The divisors: a tensor, or a number of the element type of `x`.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If an operand is `bool` or an 8-bit float, or the element types have no
 *   common one.
 *
 * @example
 * ```ts
 * import { remainder, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = remainder(tensor([7, -7]), 3);
 * console.log(await y.toNested()); // [ 1, 2 ]
 * ```
 * @category Elementwise operations
 */
export function remainder<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<Promote<D, TypeOf<Y, D>>> = {},
): Tensor<Promote<D, TypeOf<Y, D>>> {
  return applyOperation("remainder", [x, y], options);
}

/**
 * The larger operand; NaN if one is NaN.
 *
 * @param x The first candidates.
 * @param y The second candidates: a tensor, or a number of the element type of `x`.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If an operand is an 8-bit float, or the element types have no common one.
 *
 * @example
 * ```ts
 * import { maximum, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = maximum(tensor([1, 5]), tensor([3, 2]));
 * console.log(await y.toNested()); // [ 3, 5 ]
 * ```
 * @category Elementwise operations
 */
export function maximum<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<Promote<D, TypeOf<Y, D>>> = {},
): Tensor<Promote<D, TypeOf<Y, D>>> {
  return applyOperation("maximum", [x, y], options);
}

/**
 * The smaller operand; NaN if one is NaN.
 *
 * @param x The first candidates.
 * @param y The second candidates: a tensor, or a number of the element type of `x`.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If an operand is an 8-bit float, or the element types have no common one.
 *
 * @example
 * ```ts
 * import { minimum, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = minimum(tensor([1, 5]), tensor([3, 2]));
 * console.log(await y.toNested()); // [ 1, 2 ]
 * ```
 * @category Elementwise operations
 */
export function minimum<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<Promote<D, TypeOf<Y, D>>> = {},
): Tensor<Promote<D, TypeOf<Y, D>>> {
  return applyOperation("minimum", [x, y], options);
}

/**
 * |x| with the sign of y.
 *
 * @param x The magnitudes.
 * @param y The signs: a tensor, or a number of the element type of `x`.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If an operand is `bool` or an 8-bit float, or the element types have no
 *   common one.
 *
 * @example
 * ```ts
 * import { copySign, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = copySign(tensor([1, 2]), tensor([-5, 5]));
 * console.log(await y.toNested()); // [ -1, 2 ]
 * ```
 * @category Elementwise operations
 */
export function copySign<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<FloatResult<Promote<D, TypeOf<Y, D>>>> = {},
): Tensor<FloatResult<Promote<D, TypeOf<Y, D>>>> {
  return applyOperation("copySign", [x, y], options);
}

/**
 * The next number after x in the direction of y.
 *
 * @param x The numbers to start from.
 * @param y The directions: a tensor, or a number of the element type of `x`.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If an operand is `bool` or an 8-bit float, or the element types have no
 *   common one.
 *
 * @example
 * ```ts
 * import { nextAfter, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = nextAfter(tensor([1], { dtype: "float16" }), 2);
 * console.log(await y.toNested()); // [ 1.0009765625 ]
 * ```
 * @category Elementwise operations
 */
export function nextAfter<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<FloatResult<Promote<D, TypeOf<Y, D>>>> = {},
): Tensor<FloatResult<Promote<D, TypeOf<Y, D>>>> {
  return applyOperation("nextAfter", [x, y], options);
}
