/**
 * Elementwise powers, exponential functions and logarithms.
 *
 * @module
 */

import type { DType } from "../../memory/dtype.ts";
import { applyOperation, type ElementwiseOptions } from "../elementwise_kernel.ts";
import type { Operand, TypeOf } from "../kit/checks.ts";
import type { FloatResult, Promote } from "../kit/promotion.ts";
import type { Tensor } from "../tensor.ts";

/**
 * x²; integers wrap.
 *
 * @param x The bases.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { square, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = square(tensor([-3, 4]));
 * console.log(await y.toNested()); // [ 9, 16 ]
 * ```
 * @category Elementwise operations
 */
export function square<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<D> = {},
): Tensor<D> {
  return applyOperation("square", [x], options);
}

/**
 * √x; NaN where x is negative.
 *
 * @param x The radicands.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { sqrt, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = sqrt(tensor([4, 9]));
 * console.log(await y.toNested()); // [ 2, 3 ]
 * ```
 * @category Elementwise operations
 */
export function sqrt<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("sqrt", [x], options);
}

/**
 * 1 / √x.
 *
 * @param x The radicands.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { rsqrt, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = rsqrt(tensor([4, 16]));
 * console.log(await y.toNested()); // [ 0.5, 0.25 ]
 * ```
 * @category Elementwise operations
 */
export function rsqrt<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("rsqrt", [x], options);
}

/**
 * xʸ. Integers wrap; a negative power of an integer other than 1 and −1 is 0.
 *
 * @param x The bases.
 * @param y The exponents: a tensor, or a number of the element type of `x`.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If an operand is `bool` or an 8-bit float, or the element types have no
 *   common one.
 *
 * @example
 * ```ts
 * import { pow, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = pow(tensor([2, 3]), tensor([3, 2]));
 * console.log(await y.toNested()); // [ 8, 9 ]
 * ```
 * @category Elementwise operations
 */
export function pow<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<Promote<D, TypeOf<Y, D>>> = {},
): Tensor<Promote<D, TypeOf<Y, D>>> {
  return applyOperation("pow", [x, y], options);
}

/**
 * √(x² + y²), without overflow of the squares.
 *
 * @param x The first legs of right triangles.
 * @param y The second legs: a tensor, or a number of the element type of `x`.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If an operand is `bool` or an 8-bit float, or the element types have no
 *   common one.
 *
 * @example
 * ```ts
 * import { hypot, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = hypot(tensor([3, 5]), tensor([4, 12]));
 * console.log(await y.toNested()); // [ 5, 13 ]
 * ```
 * @category Elementwise operations
 */
export function hypot<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<FloatResult<Promote<D, TypeOf<Y, D>>>> = {},
): Tensor<FloatResult<Promote<D, TypeOf<Y, D>>>> {
  return applyOperation("hypot", [x, y], options);
}

/**
 * eˣ.
 *
 * @param x The exponents.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { exp, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = exp(tensor([0, 1]));
 * console.log(await y.toNested()); // [ 1, 2.7183 ]
 * ```
 * @category Elementwise operations
 */
export function exp<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("exp", [x], options);
}

/**
 * 2ˣ.
 *
 * @param x The exponents.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { exp2, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = exp2(tensor([-1, 3]));
 * console.log(await y.toNested()); // [ 0.5, 8 ]
 * ```
 * @category Elementwise operations
 */
export function exp2<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("exp2", [x], options);
}

/**
 * eˣ − 1, exact near 0.
 *
 * @param x The exponents.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { expm1, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = expm1(tensor([0, 1]));
 * console.log(await y.toNested()); // [ 0, 1.7183 ]
 * ```
 * @category Elementwise operations
 */
export function expm1<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("expm1", [x], options);
}

/**
 * ln x, the natural logarithm; NaN where x is negative.
 *
 * @param x Numbers from 0.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { log, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = log(tensor([1, 10]));
 * console.log(await y.toNested()); // [ 0, 2.3026 ]
 * ```
 * @category Elementwise operations
 */
export function log<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("log", [x], options);
}

/**
 * log₂ x; NaN where x is negative.
 *
 * @param x Numbers from 0.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { log2, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = log2(tensor([0.5, 8]));
 * console.log(await y.toNested()); // [ -1, 3 ]
 * ```
 * @category Elementwise operations
 */
export function log2<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("log2", [x], options);
}

/**
 * log₁₀ x; NaN where x is negative.
 *
 * @param x Numbers from 0.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { log10, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = log10(tensor([1, 1000]));
 * console.log(await y.toNested()); // [ 0, 3 ]
 * ```
 * @category Elementwise operations
 */
export function log10<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("log10", [x], options);
}

/**
 * log(1 + x), exact near 0.
 *
 * @param x Numbers from −1.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { log1p, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = log1p(tensor([0, 1]));
 * console.log(await y.toNested()); // [ 0, 0.6931 ]
 * ```
 * @category Elementwise operations
 */
export function log1p<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("log1p", [x], options);
}

/**
 * log(eˣ + eʸ), without overflow.
 *
 * @param x The first logarithms.
 * @param y The second logarithms: a tensor, or a number of the element type of `x`.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If an operand is `bool` or an 8-bit float, or the element types have no
 *   common one.
 *
 * @example
 * ```ts
 * import { logAddExp, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = logAddExp(tensor([1000]), 1000);
 * console.log(await y.toNested()); // [ 1000.693 ]
 * ```
 * @category Elementwise operations
 */
export function logAddExp<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<FloatResult<Promote<D, TypeOf<Y, D>>>> = {},
): Tensor<FloatResult<Promote<D, TypeOf<Y, D>>>> {
  return applyOperation("logAddExp", [x, y], options);
}
