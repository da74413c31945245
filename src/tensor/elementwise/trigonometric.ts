/**
 * Elementwise trigonometric and hyperbolic functions.
 *
 * @module
 */

import type { DType } from "../../memory/dtype.ts";
import { applyOperation, type ElementwiseOptions } from "../elementwise_kernel.ts";
import type { Operand, TypeOf } from "../kit/checks.ts";
import type { FloatResult, Promote } from "../kit/promotion.ts";
import type { Tensor } from "../tensor.ts";

/**
 * sin x, the sine of an angle in radians.
 *
 * @param x The angles.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { sin, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = sin(tensor([0, Math.PI / 2]));
 * console.log(await y.toNested()); // [ 0, 1 ]
 * ```
 * @category Elementwise operations
 */
export function sin<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("sin", [x], options);
}

/**
 * cos x, the cosine of an angle in radians.
 *
 * @param x The angles.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { cos, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = cos(tensor([0, Math.PI]));
 * console.log(await y.toNested()); // [ 1, -1 ]
 * ```
 * @category Elementwise operations
 */
export function cos<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("cos", [x], options);
}

/**
 * tan x, the tangent of an angle in radians.
 *
 * @param x The angles.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { tan, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = tan(tensor([0, 1]));
 * console.log(await y.toNested()); // [ 0, 1.5574 ]
 * ```
 * @category Elementwise operations
 */
export function tan<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("tan", [x], options);
}

/**
 * The arcsine, an angle from −π/2 to π/2; NaN outside of −1..1.
 *
 * @param x Sines.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { asin, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = asin(tensor([0, 1]));
 * console.log(await y.toNested()); // [ 0, 1.5708 ]
 * ```
 * @category Elementwise operations
 */
export function asin<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("asin", [x], options);
}

/**
 * The arccosine, an angle from 0 to π; NaN outside of −1..1.
 *
 * @param x Cosines.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { acos, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = acos(tensor([1, 0]));
 * console.log(await y.toNested()); // [ 0, 1.5708 ]
 * ```
 * @category Elementwise operations
 */
export function acos<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("acos", [x], options);
}

/**
 * The arctangent, an angle from −π/2 to π/2.
 *
 * @param x Tangents.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { atan, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = atan(tensor([0, 1]));
 * console.log(await y.toNested()); // [ 0, 0.7854 ]
 * ```
 * @category Elementwise operations
 */
export function atan<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("atan", [x], options);
}

/**
 * The angle of the point (y, x) from −π to π: `x`, the first operand, is the ordinate, as in C and
 * in the array API standard.
 *
 * @param x The ordinates of points.
 * @param y The abscissas of points: a tensor, or a number of the element type of `x`.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If an operand is `bool` or an 8-bit float, or the element types have no
 *   common one.
 *
 * @example
 * ```ts
 * import { atan2, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = atan2(tensor([1, 1]), tensor([1, -1]));
 * console.log(await y.toNested()); // [ 0.7854, 2.3562 ]
 * ```
 * @category Elementwise operations
 */
export function atan2<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<FloatResult<Promote<D, TypeOf<Y, D>>>> = {},
): Tensor<FloatResult<Promote<D, TypeOf<Y, D>>>> {
  return applyOperation("atan2", [x, y], options);
}

/**
 * sinh x, the hyperbolic sine.
 *
 * @param x The arguments.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { sinh, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = sinh(tensor([0, 1]));
 * console.log(await y.toNested()); // [ 0, 1.1752 ]
 * ```
 * @category Elementwise operations
 */
export function sinh<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("sinh", [x], options);
}

/**
 * cosh x, the hyperbolic cosine.
 *
 * @param x The arguments.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { cosh, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = cosh(tensor([0, 1]));
 * console.log(await y.toNested()); // [ 1, 1.5431 ]
 * ```
 * @category Elementwise operations
 */
export function cosh<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("cosh", [x], options);
}

/**
 * tanh x, the hyperbolic tangent.
 *
 * @param x The arguments.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { tanh, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = tanh(tensor([0, 1]));
 * console.log(await y.toNested()); // [ 0, 0.7616 ]
 * ```
 * @category Elementwise operations
 */
export function tanh<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("tanh", [x], options);
}

/**
 * The inverse hyperbolic sine.
 *
 * @param x Hyperbolic sines.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { asinh, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = asinh(tensor([0, 1]));
 * console.log(await y.toNested()); // [ 0, 0.8814 ]
 * ```
 * @category Elementwise operations
 */
export function asinh<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("asinh", [x], options);
}

/**
 * The inverse hyperbolic cosine; NaN where x is below 1.
 *
 * @param x Hyperbolic cosines.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { acosh, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = acosh(tensor([1, 2]));
 * console.log(await y.toNested()); // [ 0, 1.3170 ]
 * ```
 * @category Elementwise operations
 */
export function acosh<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("acosh", [x], options);
}

/**
 * The inverse hyperbolic tangent; NaN outside of −1..1.
 *
 * @param x Hyperbolic tangents.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { atanh, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = atanh(tensor([0, 0.5]));
 * console.log(await y.toNested()); // [ 0, 0.5493 ]
 * ```
 * @category Elementwise operations
 */
export function atanh<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("atanh", [x], options);
}
