/**
 * Elementwise comparisons and conditions, with results of type `bool`.
 *
 * @module
 */

import type { DType } from "../../memory/dtype.ts";
import { applyOperation, type ElementwiseOptions } from "../elementwise_kernel.ts";
import type { Operand } from "../kit/checks.ts";
import type { Tensor } from "../tensor.ts";

/**
 * x = y.
 *
 * @param x The left sides.
 * @param y The right sides: a tensor, or a number of the element type of `x`.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If an operand is an 8-bit float, or the element types have no common one.
 *
 * @example
 * ```ts
 * import { equal, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = equal(tensor([1, 2]), 2);
 * console.log(await y.toNested()); // [ false, true ]
 * ```
 * @category Elementwise operations
 */
export function equal<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<"bool"> = {},
): Tensor<"bool"> {
  return applyOperation("equal", [x, y], options);
}

/**
 * x ≠ y.
 *
 * @param x The left sides.
 * @param y The right sides: a tensor, or a number of the element type of `x`.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If an operand is an 8-bit float, or the element types have no common one.
 *
 * @example
 * ```ts
 * import { notEqual, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = notEqual(tensor([1, 2]), 2);
 * console.log(await y.toNested()); // [ true, false ]
 * ```
 * @category Elementwise operations
 */
export function notEqual<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<"bool"> = {},
): Tensor<"bool"> {
  return applyOperation("notEqual", [x, y], options);
}

/**
 * x < y.
 *
 * @param x The left sides.
 * @param y The right sides: a tensor, or a number of the element type of `x`.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If an operand is an 8-bit float, or the element types have no common one.
 *
 * @example
 * ```ts
 * import { less, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = less(tensor([1, 2]), 2);
 * console.log(await y.toNested()); // [ true, false ]
 * ```
 * @category Elementwise operations
 */
export function less<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<"bool"> = {},
): Tensor<"bool"> {
  return applyOperation("less", [x, y], options);
}

/**
 * x ≤ y.
 *
 * @param x The left sides.
 * @param y The right sides: a tensor, or a number of the element type of `x`.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If an operand is an 8-bit float, or the element types have no common one.
 *
 * @example
 * ```ts
 * import { lessEqual, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = lessEqual(tensor([2, 3]), 2);
 * console.log(await y.toNested()); // [ true, false ]
 * ```
 * @category Elementwise operations
 */
export function lessEqual<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<"bool"> = {},
): Tensor<"bool"> {
  return applyOperation("lessEqual", [x, y], options);
}

/**
 * x > y.
 *
 * @param x The left sides.
 * @param y The right sides: a tensor, or a number of the element type of `x`.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If an operand is an 8-bit float, or the element types have no common one.
 *
 * @example
 * ```ts
 * import { greater, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = greater(tensor([2, 3]), 2);
 * console.log(await y.toNested()); // [ false, true ]
 * ```
 * @category Elementwise operations
 */
export function greater<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<"bool"> = {},
): Tensor<"bool"> {
  return applyOperation("greater", [x, y], options);
}

/**
 * x ≥ y.
 *
 * @param x The left sides.
 * @param y The right sides: a tensor, or a number of the element type of `x`.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If an operand is an 8-bit float, or the element types have no common one.
 *
 * @example
 * ```ts
 * import { greaterEqual, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = greaterEqual(tensor([1, 2]), 2);
 * console.log(await y.toNested()); // [ false, true ]
 * ```
 * @category Elementwise operations
 */
export function greaterEqual<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<"bool"> = {},
): Tensor<"bool"> {
  return applyOperation("greaterEqual", [x, y], options);
}

/**
 * Whether both operands are other than 0.
 *
 * @param x The first conditions.
 * @param y The second conditions: a tensor, or a number of the element type of `x`.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If an operand is an 8-bit float, or the element types have no common one.
 *
 * @example
 * ```ts
 * import { logicalAnd, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = logicalAnd(tensor([true, true]), tensor([true, false]));
 * console.log(await y.toNested()); // [ true, false ]
 * ```
 * @category Elementwise operations
 */
export function logicalAnd<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<"bool"> = {},
): Tensor<"bool"> {
  return applyOperation("logicalAnd", [x, y], options);
}

/**
 * Whether at least one operand is other than 0.
 *
 * @param x The first conditions.
 * @param y The second conditions: a tensor, or a number of the element type of `x`.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If an operand is an 8-bit float, or the element types have no common one.
 *
 * @example
 * ```ts
 * import { logicalOr, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = logicalOr(tensor([true, false]), tensor([false, false]));
 * console.log(await y.toNested()); // [ true, false ]
 * ```
 * @category Elementwise operations
 */
export function logicalOr<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<"bool"> = {},
): Tensor<"bool"> {
  return applyOperation("logicalOr", [x, y], options);
}

/**
 * Whether exactly one operand is other than 0.
 *
 * @param x The first conditions.
 * @param y The second conditions: a tensor, or a number of the element type of `x`.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If an operand is an 8-bit float, or the element types have no common one.
 *
 * @example
 * ```ts
 * import { logicalXor, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = logicalXor(tensor([true, true]), tensor([true, false]));
 * console.log(await y.toNested()); // [ false, true ]
 * ```
 * @category Elementwise operations
 */
export function logicalXor<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<"bool"> = {},
): Tensor<"bool"> {
  return applyOperation("logicalXor", [x, y], options);
}

/**
 * Whether x is 0.
 *
 * @param x The conditions.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is an 8-bit float.
 *
 * @example
 * ```ts
 * import { logicalNot, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = logicalNot(tensor([true, false]));
 * console.log(await y.toNested()); // [ false, true ]
 * ```
 * @category Elementwise operations
 */
export function logicalNot<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<"bool"> = {},
): Tensor<"bool"> {
  return applyOperation("logicalNot", [x], options);
}

/**
 * Whether x is NaN.
 *
 * @param x The numbers to test.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { isNaN, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = isNaN(tensor([1, NaN]));
 * console.log(await y.toNested()); // [ false, true ]
 * ```
 * @category Elementwise operations
 */
export function isNaN<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<"bool"> = {},
): Tensor<"bool"> {
  return applyOperation("isNaN", [x], options);
}

/**
 * Whether x is neither infinite nor NaN.
 *
 * @param x The numbers to test.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { isFinite, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = isFinite(tensor([1, -Infinity]));
 * console.log(await y.toNested()); // [ true, false ]
 * ```
 * @category Elementwise operations
 */
export function isFinite<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<"bool"> = {},
): Tensor<"bool"> {
  return applyOperation("isFinite", [x], options);
}

/**
 * Whether x is infinite.
 *
 * @param x The numbers to test.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { isInfinite, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = isInfinite(tensor([1, -Infinity]));
 * console.log(await y.toNested()); // [ false, true ]
 * ```
 * @category Elementwise operations
 */
export function isInfinite<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<"bool"> = {},
): Tensor<"bool"> {
  return applyOperation("isInfinite", [x], options);
}

/**
 * Whether the sign bit is set, as it is of −0.
 *
 * @param x The numbers to test.
 * @param options The stream, and a tensor for the result.
 * @returns The results, in the shape of `x`.
 * @throws {TypeError} If the element type is `bool` or an 8-bit float.
 *
 * @example
 * ```ts
 * import { signBit, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = signBit(tensor([-0, 2]));
 * console.log(await y.toNested()); // [ true, false ]
 * ```
 * @category Elementwise operations
 */
export function signBit<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<"bool"> = {},
): Tensor<"bool"> {
  return applyOperation("signBit", [x], options);
}
