/**
 * Elementwise operations with one and two operands, named as in the Python array API standard.
 *
 * @module
 */

import type { DType } from "../memory/dtype.ts";
import {
  applyExpression,
  applyOperation,
  commonType,
  copyOf,
  type Operand,
  requireDType,
  type TensorOptions,
} from "./apply.ts";
import { castNode } from "./expression/node.ts";
import type { FloatResult, Promote } from "./promotion.ts";
import type { Tensor } from "./tensor.ts";

/**
 * Options of elementwise operations.
 * @category Tensors
 */
export interface ElementwiseOptions<D extends DType> extends TensorOptions {
  /** A tensor that takes the result, of its shape and element type. It may be an operand. */
  readonly out?: Tensor<D>;
}

/**
 * The element type of an operand: a number takes the type of the other operand.
 * @category Tensors
 */
export type TypeOf<Y, D extends DType> = Y extends Tensor<infer E> ? E : D;

/**
 * The element type of a quotient: integers are divided as `float64`.
 * @category Tensors
 */
export type DivideResult<D extends DType> = FloatResult<D> extends D ? D : "float64";

/**
 * −x, elementwise.
 * @category Elementwise operations
 */
export function negative<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<D> = {},
): Tensor<D> {
  return applyOperation("negative", [x], options as object) as Tensor as Tensor<D>;
}

/**
 * The absolute value, elementwise.
 * @category Elementwise operations
 */
export function abs<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<D> = {},
): Tensor<D> {
  return applyOperation("abs", [x], options as object) as Tensor as Tensor<D>;
}

/**
 * −1, 0 or 1, elementwise.
 * @category Elementwise operations
 */
export function sign<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<D> = {},
): Tensor<D> {
  return applyOperation("sign", [x], options as object) as Tensor as Tensor<D>;
}

/**
 * X², elementwise.
 * @category Elementwise operations
 */
export function square<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<D> = {},
): Tensor<D> {
  return applyOperation("square", [x], options as object) as Tensor as Tensor<D>;
}

/**
 * 1 / x, elementwise.
 * @category Elementwise operations
 */
export function reciprocal<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("reciprocal", [x], options as object) as Tensor as Tensor<FloatResult<D>>;
}

/**
 * The square root, elementwise.
 * @category Elementwise operations
 */
export function sqrt<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("sqrt", [x], options as object) as Tensor as Tensor<FloatResult<D>>;
}

/**
 * 1 / √x, elementwise.
 * @category Elementwise operations
 */
export function rsqrt<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("rsqrt", [x], options as object) as Tensor as Tensor<FloatResult<D>>;
}

/**
 * E to the power of x, elementwise.
 * @category Elementwise operations
 */
export function exp<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("exp", [x], options as object) as Tensor as Tensor<FloatResult<D>>;
}

/**
 * 2 to the power of x, elementwise.
 * @category Elementwise operations
 */
export function exp2<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("exp2", [x], options as object) as Tensor as Tensor<FloatResult<D>>;
}

/**
 * Eˣ − 1, exact near 0, elementwise.
 * @category Elementwise operations
 */
export function expm1<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("expm1", [x], options as object) as Tensor as Tensor<FloatResult<D>>;
}

/**
 * The natural logarithm, elementwise.
 * @category Elementwise operations
 */
export function log<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("log", [x], options as object) as Tensor as Tensor<FloatResult<D>>;
}

/**
 * The logarithm to base 2, elementwise.
 * @category Elementwise operations
 */
export function log2<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("log2", [x], options as object) as Tensor as Tensor<FloatResult<D>>;
}

/**
 * The logarithm to base 10, elementwise.
 * @category Elementwise operations
 */
export function log10<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("log10", [x], options as object) as Tensor as Tensor<FloatResult<D>>;
}

/**
 * Log(1 + x), exact near 0, elementwise.
 * @category Elementwise operations
 */
export function log1p<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("log1p", [x], options as object) as Tensor as Tensor<FloatResult<D>>;
}

/**
 * The sine of an angle in radians, elementwise.
 * @category Elementwise operations
 */
export function sin<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("sin", [x], options as object) as Tensor as Tensor<FloatResult<D>>;
}

/**
 * The cosine, elementwise.
 * @category Elementwise operations
 */
export function cos<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("cos", [x], options as object) as Tensor as Tensor<FloatResult<D>>;
}

/**
 * The tangent, elementwise.
 * @category Elementwise operations
 */
export function tan<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("tan", [x], options as object) as Tensor as Tensor<FloatResult<D>>;
}

/**
 * The arcsine, elementwise.
 * @category Elementwise operations
 */
export function asin<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("asin", [x], options as object) as Tensor as Tensor<FloatResult<D>>;
}

/**
 * The arccosine, elementwise.
 * @category Elementwise operations
 */
export function acos<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("acos", [x], options as object) as Tensor as Tensor<FloatResult<D>>;
}

/**
 * The arctangent, elementwise.
 * @category Elementwise operations
 */
export function atan<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("atan", [x], options as object) as Tensor as Tensor<FloatResult<D>>;
}

/**
 * The hyperbolic sine, elementwise.
 * @category Elementwise operations
 */
export function sinh<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("sinh", [x], options as object) as Tensor as Tensor<FloatResult<D>>;
}

/**
 * The hyperbolic cosine, elementwise.
 * @category Elementwise operations
 */
export function cosh<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("cosh", [x], options as object) as Tensor as Tensor<FloatResult<D>>;
}

/**
 * The hyperbolic tangent, elementwise.
 * @category Elementwise operations
 */
export function tanh<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("tanh", [x], options as object) as Tensor as Tensor<FloatResult<D>>;
}

/**
 * The inverse hyperbolic sine, elementwise.
 * @category Elementwise operations
 */
export function asinh<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("asinh", [x], options as object) as Tensor as Tensor<FloatResult<D>>;
}

/**
 * The inverse hyperbolic cosine, elementwise.
 * @category Elementwise operations
 */
export function acosh<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("acosh", [x], options as object) as Tensor as Tensor<FloatResult<D>>;
}

/**
 * The inverse hyperbolic tangent, elementwise.
 * @category Elementwise operations
 */
export function atanh<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("atanh", [x], options as object) as Tensor as Tensor<FloatResult<D>>;
}

/**
 * The error function, elementwise.
 * @category Elementwise operations
 */
export function erf<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("erf", [x], options as object) as Tensor as Tensor<FloatResult<D>>;
}

/**
 * The largest integer that is not above x, elementwise.
 * @category Elementwise operations
 */
export function floor<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<D> = {},
): Tensor<D> {
  return applyOperation("floor", [x], options as object) as Tensor as Tensor<D>;
}

/**
 * The smallest integer that is not below x, elementwise.
 * @category Elementwise operations
 */
export function ceil<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<D> = {},
): Tensor<D> {
  return applyOperation("ceil", [x], options as object) as Tensor as Tensor<D>;
}

/**
 * X without its fraction, elementwise.
 * @category Elementwise operations
 */
export function trunc<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<D> = {},
): Tensor<D> {
  return applyOperation("trunc", [x], options as object) as Tensor as Tensor<D>;
}

/**
 * The nearest integer, ties to even, elementwise.
 * @category Elementwise operations
 */
export function round<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<D> = {},
): Tensor<D> {
  return applyOperation("round", [x], options as object) as Tensor as Tensor<D>;
}

/**
 * Max(x, 0), elementwise.
 * @category Elementwise operations
 */
export function relu<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<D> = {},
): Tensor<D> {
  return applyOperation("relu", [x], options as object) as Tensor as Tensor<D>;
}

/**
 * X · Φ(x), by the error function, elementwise.
 * @category Elementwise operations
 */
export function gelu<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("gelu", [x], options as object) as Tensor as Tensor<FloatResult<D>>;
}

/**
 * GELU by its approximation with tanh, elementwise.
 * @category Elementwise operations
 */
export function geluTanh<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("geluTanh", [x], options as object) as Tensor as Tensor<FloatResult<D>>;
}

/**
 * X · sigmoid(x), elementwise.
 * @category Elementwise operations
 */
export function silu<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("silu", [x], options as object) as Tensor as Tensor<FloatResult<D>>;
}

/**
 * 1 / (1 + e⁻ˣ), elementwise.
 * @category Elementwise operations
 */
export function sigmoid<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("sigmoid", [x], options as object) as Tensor as Tensor<FloatResult<D>>;
}

/**
 * Log(1 + eˣ), elementwise.
 * @category Elementwise operations
 */
export function softplus<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<FloatResult<D>> = {},
): Tensor<FloatResult<D>> {
  return applyOperation("softplus", [x], options as object) as Tensor as Tensor<FloatResult<D>>;
}

/**
 * Whether x is zero, elementwise.
 * @category Elementwise operations
 */
export function logicalNot<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<"bool"> = {},
): Tensor<"bool"> {
  return applyOperation("logicalNot", [x], options as object) as Tensor as Tensor<"bool">;
}

/**
 * Whether x is NaN, elementwise.
 * @category Elementwise operations
 */
export function isNaN<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<"bool"> = {},
): Tensor<"bool"> {
  return applyOperation("isNaN", [x], options as object) as Tensor as Tensor<"bool">;
}

/**
 * Whether x is neither infinite nor NaN, elementwise.
 * @category Elementwise operations
 */
export function isFinite<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<"bool"> = {},
): Tensor<"bool"> {
  return applyOperation("isFinite", [x], options as object) as Tensor as Tensor<"bool">;
}

/**
 * Whether x is infinite, elementwise.
 * @category Elementwise operations
 */
export function isInfinite<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<"bool"> = {},
): Tensor<"bool"> {
  return applyOperation("isInfinite", [x], options as object) as Tensor as Tensor<"bool">;
}

/**
 * Whether the sign bit is set, elementwise.
 * @category Elementwise operations
 */
export function signBit<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<"bool"> = {},
): Tensor<"bool"> {
  return applyOperation("signBit", [x], options as object) as Tensor as Tensor<"bool">;
}

/**
 * All bits inverted, elementwise.
 * @category Elementwise operations
 */
export function bitwiseInvert<D extends DType>(
  x: Tensor<D>,
  options: ElementwiseOptions<D> = {},
): Tensor<D> {
  return applyOperation("bitwiseInvert", [x], options as object) as Tensor as Tensor<D>;
}

/**
 * x + y; integers wrap, elementwise; shapes broadcast.
 * @category Elementwise operations
 */
export function add<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<Promote<D, TypeOf<Y, D>>> = {},
): Tensor<Promote<D, TypeOf<Y, D>>> {
  return applyOperation("add", [x, y], options as object) as Tensor as Tensor<
    Promote<D, TypeOf<Y, D>>
  >;
}

/**
 * x − y; integers wrap, elementwise; shapes broadcast.
 * @category Elementwise operations
 */
export function subtract<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<Promote<D, TypeOf<Y, D>>> = {},
): Tensor<Promote<D, TypeOf<Y, D>>> {
  return applyOperation("subtract", [x, y], options as object) as Tensor as Tensor<
    Promote<D, TypeOf<Y, D>>
  >;
}

/**
 * x · y; integers wrap, elementwise; shapes broadcast.
 * @category Elementwise operations
 */
export function multiply<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<Promote<D, TypeOf<Y, D>>> = {},
): Tensor<Promote<D, TypeOf<Y, D>>> {
  return applyOperation("multiply", [x, y], options as object) as Tensor as Tensor<
    Promote<D, TypeOf<Y, D>>
  >;
}

/**
 * x / y; integers are divided as `float64`, elementwise; shapes broadcast.
 * @category Elementwise operations
 */
export function divide<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<DivideResult<Promote<D, TypeOf<Y, D>>>> = {},
): Tensor<DivideResult<Promote<D, TypeOf<Y, D>>>> {
  return applyOperation("divide", [x, y], options as object) as Tensor as Tensor<
    DivideResult<Promote<D, TypeOf<Y, D>>>
  >;
}

/**
 * The floor of x / y; an integer divided by 0 is 0, elementwise; shapes broadcast.
 * @category Elementwise operations
 */
export function floorDivide<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<Promote<D, TypeOf<Y, D>>> = {},
): Tensor<Promote<D, TypeOf<Y, D>>> {
  return applyOperation("floorDivide", [x, y], options as object) as Tensor as Tensor<
    Promote<D, TypeOf<Y, D>>
  >;
}

/**
 * The remainder of x / y, with the sign of y; of an integer by 0 it is 0, elementwise; shapes broadcast.
 * @category Elementwise operations
 */
export function remainder<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<Promote<D, TypeOf<Y, D>>> = {},
): Tensor<Promote<D, TypeOf<Y, D>>> {
  return applyOperation("remainder", [x, y], options as object) as Tensor as Tensor<
    Promote<D, TypeOf<Y, D>>
  >;
}

/**
 * x to the power of y, elementwise; shapes broadcast.
 * @category Elementwise operations
 */
export function pow<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<Promote<D, TypeOf<Y, D>>> = {},
): Tensor<Promote<D, TypeOf<Y, D>>> {
  return applyOperation("pow", [x, y], options as object) as Tensor as Tensor<
    Promote<D, TypeOf<Y, D>>
  >;
}

/**
 * The larger operand; NaN if one is NaN, elementwise; shapes broadcast.
 * @category Elementwise operations
 */
export function maximum<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<Promote<D, TypeOf<Y, D>>> = {},
): Tensor<Promote<D, TypeOf<Y, D>>> {
  return applyOperation("maximum", [x, y], options as object) as Tensor as Tensor<
    Promote<D, TypeOf<Y, D>>
  >;
}

/**
 * The smaller operand; NaN if one is NaN, elementwise; shapes broadcast.
 * @category Elementwise operations
 */
export function minimum<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<Promote<D, TypeOf<Y, D>>> = {},
): Tensor<Promote<D, TypeOf<Y, D>>> {
  return applyOperation("minimum", [x, y], options as object) as Tensor as Tensor<
    Promote<D, TypeOf<Y, D>>
  >;
}

/**
 * The angle of the point (y, x): x is the first operand's ordinate, elementwise; shapes broadcast.
 * @category Elementwise operations
 */
export function atan2<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<FloatResult<Promote<D, TypeOf<Y, D>>>> = {},
): Tensor<FloatResult<Promote<D, TypeOf<Y, D>>>> {
  return applyOperation("atan2", [x, y], options as object) as Tensor as Tensor<
    FloatResult<Promote<D, TypeOf<Y, D>>>
  >;
}

/**
 * √(x² + y²), elementwise; shapes broadcast.
 * @category Elementwise operations
 */
export function hypot<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<FloatResult<Promote<D, TypeOf<Y, D>>>> = {},
): Tensor<FloatResult<Promote<D, TypeOf<Y, D>>>> {
  return applyOperation("hypot", [x, y], options as object) as Tensor as Tensor<
    FloatResult<Promote<D, TypeOf<Y, D>>>
  >;
}

/**
 * x with the sign of y, elementwise; shapes broadcast.
 * @category Elementwise operations
 */
export function copySign<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<FloatResult<Promote<D, TypeOf<Y, D>>>> = {},
): Tensor<FloatResult<Promote<D, TypeOf<Y, D>>>> {
  return applyOperation("copySign", [x, y], options as object) as Tensor as Tensor<
    FloatResult<Promote<D, TypeOf<Y, D>>>
  >;
}

/**
 * The next number after x in the direction of y, elementwise; shapes broadcast.
 * @category Elementwise operations
 */
export function nextAfter<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<FloatResult<Promote<D, TypeOf<Y, D>>>> = {},
): Tensor<FloatResult<Promote<D, TypeOf<Y, D>>>> {
  return applyOperation("nextAfter", [x, y], options as object) as Tensor as Tensor<
    FloatResult<Promote<D, TypeOf<Y, D>>>
  >;
}

/**
 * Log(eˣ + eʸ), without overflow, elementwise; shapes broadcast.
 * @category Elementwise operations
 */
export function logAddExp<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<FloatResult<Promote<D, TypeOf<Y, D>>>> = {},
): Tensor<FloatResult<Promote<D, TypeOf<Y, D>>>> {
  return applyOperation("logAddExp", [x, y], options as object) as Tensor as Tensor<
    FloatResult<Promote<D, TypeOf<Y, D>>>
  >;
}

/**
 * x = y, elementwise; shapes broadcast.
 * @category Elementwise operations
 */
export function equal<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<"bool"> = {},
): Tensor<"bool"> {
  return applyOperation("equal", [x, y], options as object) as Tensor as Tensor<"bool">;
}

/**
 * x ≠ y, elementwise; shapes broadcast.
 * @category Elementwise operations
 */
export function notEqual<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<"bool"> = {},
): Tensor<"bool"> {
  return applyOperation("notEqual", [x, y], options as object) as Tensor as Tensor<"bool">;
}

/**
 * x < y, elementwise; shapes broadcast.
 * @category Elementwise operations
 */
export function less<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<"bool"> = {},
): Tensor<"bool"> {
  return applyOperation("less", [x, y], options as object) as Tensor as Tensor<"bool">;
}

/**
 * x ≤ y, elementwise; shapes broadcast.
 * @category Elementwise operations
 */
export function lessEqual<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<"bool"> = {},
): Tensor<"bool"> {
  return applyOperation("lessEqual", [x, y], options as object) as Tensor as Tensor<"bool">;
}

/**
 * x > y, elementwise; shapes broadcast.
 * @category Elementwise operations
 */
export function greater<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<"bool"> = {},
): Tensor<"bool"> {
  return applyOperation("greater", [x, y], options as object) as Tensor as Tensor<"bool">;
}

/**
 * x ≥ y, elementwise; shapes broadcast.
 * @category Elementwise operations
 */
export function greaterEqual<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<"bool"> = {},
): Tensor<"bool"> {
  return applyOperation("greaterEqual", [x, y], options as object) as Tensor as Tensor<"bool">;
}

/**
 * Whether both are not zero, elementwise; shapes broadcast.
 * @category Elementwise operations
 */
export function logicalAnd<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<"bool"> = {},
): Tensor<"bool"> {
  return applyOperation("logicalAnd", [x, y], options as object) as Tensor as Tensor<"bool">;
}

/**
 * Whether one is not zero, elementwise; shapes broadcast.
 * @category Elementwise operations
 */
export function logicalOr<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<"bool"> = {},
): Tensor<"bool"> {
  return applyOperation("logicalOr", [x, y], options as object) as Tensor as Tensor<"bool">;
}

/**
 * Whether exactly one is not zero, elementwise; shapes broadcast.
 * @category Elementwise operations
 */
export function logicalXor<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<"bool"> = {},
): Tensor<"bool"> {
  return applyOperation("logicalXor", [x, y], options as object) as Tensor as Tensor<"bool">;
}

/**
 * x & y, elementwise; shapes broadcast.
 * @category Elementwise operations
 */
export function bitwiseAnd<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<Promote<D, TypeOf<Y, D>>> = {},
): Tensor<Promote<D, TypeOf<Y, D>>> {
  return applyOperation("bitwiseAnd", [x, y], options as object) as Tensor as Tensor<
    Promote<D, TypeOf<Y, D>>
  >;
}

/**
 * x | y, elementwise; shapes broadcast.
 * @category Elementwise operations
 */
export function bitwiseOr<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<Promote<D, TypeOf<Y, D>>> = {},
): Tensor<Promote<D, TypeOf<Y, D>>> {
  return applyOperation("bitwiseOr", [x, y], options as object) as Tensor as Tensor<
    Promote<D, TypeOf<Y, D>>
  >;
}

/**
 * x ^ y, elementwise; shapes broadcast.
 * @category Elementwise operations
 */
export function bitwiseXor<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<Promote<D, TypeOf<Y, D>>> = {},
): Tensor<Promote<D, TypeOf<Y, D>>> {
  return applyOperation("bitwiseXor", [x, y], options as object) as Tensor as Tensor<
    Promote<D, TypeOf<Y, D>>
  >;
}

/**
 * x · 2ʸ; shifts by the width or more give 0, elementwise; shapes broadcast.
 * @category Elementwise operations
 */
export function bitwiseLeftShift<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<Promote<D, TypeOf<Y, D>>> = {},
): Tensor<Promote<D, TypeOf<Y, D>>> {
  return applyOperation("bitwiseLeftShift", [x, y], options as object) as Tensor as Tensor<
    Promote<D, TypeOf<Y, D>>
  >;
}

/**
 * ⌊x / 2ʸ⌋, elementwise; shapes broadcast.
 * @category Elementwise operations
 */
export function bitwiseRightShift<D extends DType, Y extends Operand>(
  x: Tensor<D>,
  y: Y,
  options: ElementwiseOptions<Promote<D, TypeOf<Y, D>>> = {},
): Tensor<Promote<D, TypeOf<Y, D>>> {
  return applyOperation("bitwiseRightShift", [x, y], options as object) as Tensor as Tensor<
    Promote<D, TypeOf<Y, D>>
  >;
}

/**
 * The elements of `x` where the condition holds, else those of `y`; shapes broadcast.
 *
 * @throws {TypeError} If the condition is not `bool`, or neither `x` nor `y` is a tensor.
 * @category Elementwise operations
 */
export function where<X extends Operand, Y extends Operand>(
  condition: Tensor<"bool">,
  x: X,
  y: Y,
  options: TensorOptions = {},
): Tensor<Promote<TypeOf<X, TypeOf<Y, "float32">>, TypeOf<Y, TypeOf<X, "float32">>>> {
  requireDType(condition, "condition", ["bool"], "where");
  const dtype = commonType("where", [x, y]);
  return applyExpression(
    "where",
    "where",
    [condition, x, y],
    ["bool", dtype, dtype],
    dtype,
    ([test, yes, no]) => ({
      kind: "select",
      dtype,
      condition: test!,
      operands: [castNode(yes!, dtype), castNode(no!, dtype)],
    }),
    options,
  ) as Tensor as ReturnType<typeof where<X, Y>>;
}

/**
 * The elements limited to a range. NaN stays NaN.
 *
 * @param lowest The lower limit; none if `undefined`.
 * @param highest The upper limit; none if `undefined`.
 * @category Elementwise operations
 */
export function clip<D extends DType>(
  x: Tensor<D>,
  lowest?: number | bigint | Tensor<D>,
  highest?: number | bigint | Tensor<D>,
  options: TensorOptions = {},
): Tensor<D> {
  let result: Tensor = x as Tensor;
  if (lowest !== undefined) {
    result = applyOperation("maximum", [result, lowest as Operand], options);
  }
  if (highest !== undefined) {
    result = applyOperation("minimum", [result, highest as Operand], options);
  }
  return (result === x as Tensor ? applyOperation("positive", [result], options) : result) as
    & Tensor
    & Tensor<D>;
}

/**
 * A dense copy with another element type. Floats become integers by dropping the fraction; values
 * out of range become the nearest integer, and NaN 0.
 *
 * @throws {TypeError} If `dtype` is no element type.
 * @category Elementwise operations
 */
export function astype<D extends DType>(
  x: Tensor,
  dtype: D,
  options: TensorOptions = {},
): Tensor<D> {
  return copyOf(x, dtype, options) as Tensor as Tensor<D>;
}
