/**
 * Elementwise choice, limits and conversion.
 *
 * @module
 */

import type { DType } from "../../memory/dtype.ts";
import {
  applyExpression,
  applyOperation,
  copyOf,
  type ElementwiseOptions,
} from "../elementwise_kernel.ts";
import {
  commonType,
  type Operand,
  requireDType,
  type TensorOptions,
  type TypeOf,
} from "../kit/checks.ts";
import { castNode } from "../kit/expression/node.ts";
import type { Promote } from "../kit/promotion.ts";
import { TensorScope } from "../scope.ts";
import type { Tensor } from "../tensor.ts";

/**
 * The common element type of two operands, of which one may be a number.
 * @category Tensors
 */
export type ChosenType<X, Y> = Promote<
  TypeOf<X, TypeOf<Y, "float32">>,
  TypeOf<Y, TypeOf<X, "float32">>
>;

/**
 * The elements of `x` where the condition holds, else those of `y`; shapes broadcast.
 *
 * @param condition The choice for each element.
 * @param x The elements where the condition holds: a tensor or a number.
 * @param y The elements where it does not: a tensor or a number.
 * @param options The stream, and a tensor for the result: with `out: y`, elements of `y` are replaced.
 * @returns The chosen elements, in the shape to which the operands broadcast.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If the condition is not `bool`, or neither `x` nor `y` is a tensor.
 *
 * @example
 * ```ts
 * import { tensor, where } from "@gridstride/cuda/tensor";
 *
 * using y = where(tensor([true, false]), tensor([1, 2]), 0);
 * console.log(await y.toNested()); // [ 1, 0 ]
 * ```
 * @category Elementwise operations
 */
export function where<X extends Operand, Y extends Operand>(
  condition: Tensor<"bool">,
  x: X,
  y: Y,
  options: ElementwiseOptions<ChosenType<X, Y>> = {},
): Tensor<ChosenType<X, Y>> {
  requireDType(condition, "condition", ["bool"], "where");
  const dtype = commonType("where", [x, y]);
  return applyExpression({
    action: "where",
    key: "where",
    operands: [condition, x, y],
    scalarTypes: ["bool", dtype, dtype],
    dtype,
    build: ([test, yes, no]) => ({
      kind: "select",
      dtype,
      condition: test!,
      operands: [castNode(yes!, dtype), castNode(no!, dtype)],
    }),
  }, options as object) as Tensor as Tensor<ChosenType<X, Y>>;
}

/**
 * The elements limited to a range. NaN stays NaN.
 *
 * @param x The elements to limit.
 * @param lowest The lower limit; none if `undefined`.
 * @param highest The upper limit; none if `undefined`.
 * @param options The stream.
 * @returns The limited elements, of the element type of `x`.
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If the element type is an 8-bit float.
 *
 * @example
 * ```ts
 * import { clip, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = clip(tensor([-5, 0.5, 5]), 0, 1);
 * console.log(await y.toNested()); // [ 0, 0.5, 1 ]
 * ```
 * @category Elementwise operations
 */
export function clip<D extends DType>(
  x: Tensor<D>,
  lowest?: number | bigint | Tensor<D>,
  highest?: number | bigint | Tensor<D>,
  options: TensorOptions = {},
): Tensor<D> {
  using scope = new TensorScope();
  let result = x;
  if (lowest !== undefined) result = applyOperation("maximum", [result, lowest], options);
  if (highest !== undefined) result = applyOperation("minimum", [result, highest], options);
  if (result === x) result = applyOperation("positive", [result], options);
  return scope.keep(result as Tensor) as Tensor & Tensor<D>;
}

/**
 * A dense copy with another element type. Floats become integers by dropping the fraction; values
 * out of range become the nearest integer, and NaN 0.
 *
 * @param x The elements to convert.
 * @param dtype The element type of the copy.
 * @param options The stream, and a tensor for the result.
 * @returns The converted elements, in the shape of `x`.
 * @throws {TypeError} If `dtype` is no element type.
 *
 * @example
 * ```ts
 * import { astype, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = astype(tensor([1.5, -2.5, 1000]), "int8");
 * console.log(await y.toNested()); // [ 1, -2, 127 ]
 * ```
 * @category Elementwise operations
 */
export function astype<D extends DType>(
  x: Tensor,
  dtype: D,
  options: ElementwiseOptions<D> = {},
): Tensor<D> {
  return copyOf(x, dtype, options as object) as Tensor as Tensor<D>;
}
