/**
 * Elementwise operations with one and two operands, named as in the Python array API standard.
 *
 * @module
 */

import type { DType } from "../memory/dtype.ts";
import { applyExpression, applyOperation, copyOf } from "./elementwise_kernel.ts";
import { commonType, type Operand, requireDType, type TensorOptions } from "./kit/checks.ts";
import { castNode } from "./kit/expression/node.ts";
import type { OperationName } from "./kit/expression/operations.ts";
import type { FloatResult, Promote } from "./kit/promotion.ts";
import { TensorScope } from "./scope.ts";
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
 * The element types of results.
 * @category Tensors
 */
export interface ElementwiseResults<D extends DType, Y> {
  /** The type of the operand. */
  readonly same: D;
  /** The type of functions like `exp()`. */
  readonly float: FloatResult<D>;
  /** The common type. */
  readonly promoted: Promote<D, TypeOf<Y, D>>;
  /** The type of quotients. */
  readonly quotient: DivideResult<Promote<D, TypeOf<Y, D>>>;
  /** The type of functions like `exp()` of the common type. */
  readonly floatPromoted: FloatResult<Promote<D, TypeOf<Y, D>>>;
  /** The type of conditions. */
  readonly bool: "bool";
}

/**
 * An operation on each element.
 *
 * @throws {TypeError} If the operation does not take the element type.
 * @category Elementwise operations
 */
export interface UnaryFunction<Result extends "same" | "float" | "bool"> {
  <D extends DType>(
    x: Tensor<D>,
    options?: ElementwiseOptions<ElementwiseResults<D, never>[Result]>,
  ): Tensor<ElementwiseResults<D, never>[Result]>;
}

/**
 * An operation on each pair of elements; shapes broadcast. A number takes the element type of `x`.
 *
 * @throws {RangeError} If the shapes do not broadcast.
 * @throws {TypeError} If the element types have no common one that the operation takes.
 * @category Elementwise operations
 */
export interface BinaryFunction<
  Result extends "promoted" | "quotient" | "floatPromoted" | "bool",
> {
  <D extends DType, Y extends Operand>(
    x: Tensor<D>,
    y: Y,
    options?: ElementwiseOptions<ElementwiseResults<D, Y>[Result]>,
  ): Tensor<ElementwiseResults<D, Y>[Result]>;
}

function unary<Result extends "same" | "float" | "bool">(
  name: OperationName,
): UnaryFunction<Result> {
  const run = (x: Tensor, options: object = {}) => applyOperation(name, [x], options);
  return run as unknown as UnaryFunction<Result>;
}

function binary<Result extends "promoted" | "quotient" | "floatPromoted" | "bool">(
  name: OperationName,
): BinaryFunction<Result> {
  const run = (x: Tensor, y: Operand, options: object = {}) =>
    applyOperation(name, [x, y], options);
  return run as unknown as BinaryFunction<Result>;
}

/**
 * A copy of x.
 * @category Elementwise operations
 */
export const positive: UnaryFunction<"same"> = unary<"same">("positive");

/**
 * −x.
 * @category Elementwise operations
 */
export const negative: UnaryFunction<"same"> = unary<"same">("negative");

/**
 * The absolute value.
 * @category Elementwise operations
 */
export const abs: UnaryFunction<"same"> = unary<"same">("abs");

/**
 * −1, 0 or 1.
 * @category Elementwise operations
 */
export const sign: UnaryFunction<"same"> = unary<"same">("sign");

/**
 * x².
 * @category Elementwise operations
 */
export const square: UnaryFunction<"same"> = unary<"same">("square");

/**
 * 1 / x.
 * @category Elementwise operations
 */
export const reciprocal: UnaryFunction<"float"> = unary<"float">("reciprocal");

/**
 * The square root.
 * @category Elementwise operations
 */
export const sqrt: UnaryFunction<"float"> = unary<"float">("sqrt");

/**
 * 1 / √x.
 * @category Elementwise operations
 */
export const rsqrt: UnaryFunction<"float"> = unary<"float">("rsqrt");

/**
 * e to the power of x.
 * @category Elementwise operations
 */
export const exp: UnaryFunction<"float"> = unary<"float">("exp");

/**
 * 2 to the power of x.
 * @category Elementwise operations
 */
export const exp2: UnaryFunction<"float"> = unary<"float">("exp2");

/**
 * eˣ − 1, exact near 0.
 * @category Elementwise operations
 */
export const expm1: UnaryFunction<"float"> = unary<"float">("expm1");

/**
 * The natural logarithm.
 * @category Elementwise operations
 */
export const log: UnaryFunction<"float"> = unary<"float">("log");

/**
 * The logarithm to base 2.
 * @category Elementwise operations
 */
export const log2: UnaryFunction<"float"> = unary<"float">("log2");

/**
 * The logarithm to base 10.
 * @category Elementwise operations
 */
export const log10: UnaryFunction<"float"> = unary<"float">("log10");

/**
 * log(1 + x), exact near 0.
 * @category Elementwise operations
 */
export const log1p: UnaryFunction<"float"> = unary<"float">("log1p");

/**
 * The sine of an angle in radians.
 * @category Elementwise operations
 */
export const sin: UnaryFunction<"float"> = unary<"float">("sin");

/**
 * The cosine of an angle in radians.
 * @category Elementwise operations
 */
export const cos: UnaryFunction<"float"> = unary<"float">("cos");

/**
 * The tangent of an angle in radians.
 * @category Elementwise operations
 */
export const tan: UnaryFunction<"float"> = unary<"float">("tan");

/**
 * The arcsine.
 * @category Elementwise operations
 */
export const asin: UnaryFunction<"float"> = unary<"float">("asin");

/**
 * The arccosine.
 * @category Elementwise operations
 */
export const acos: UnaryFunction<"float"> = unary<"float">("acos");

/**
 * The arctangent.
 * @category Elementwise operations
 */
export const atan: UnaryFunction<"float"> = unary<"float">("atan");

/**
 * The hyperbolic sine.
 * @category Elementwise operations
 */
export const sinh: UnaryFunction<"float"> = unary<"float">("sinh");

/**
 * The hyperbolic cosine.
 * @category Elementwise operations
 */
export const cosh: UnaryFunction<"float"> = unary<"float">("cosh");

/**
 * The hyperbolic tangent.
 * @category Elementwise operations
 */
export const tanh: UnaryFunction<"float"> = unary<"float">("tanh");

/**
 * The inverse hyperbolic sine.
 * @category Elementwise operations
 */
export const asinh: UnaryFunction<"float"> = unary<"float">("asinh");

/**
 * The inverse hyperbolic cosine.
 * @category Elementwise operations
 */
export const acosh: UnaryFunction<"float"> = unary<"float">("acosh");

/**
 * The inverse hyperbolic tangent.
 * @category Elementwise operations
 */
export const atanh: UnaryFunction<"float"> = unary<"float">("atanh");

/**
 * The error function.
 * @category Elementwise operations
 */
export const erf: UnaryFunction<"float"> = unary<"float">("erf");

/**
 * The largest integer that is not above x.
 * @category Elementwise operations
 */
export const floor: UnaryFunction<"same"> = unary<"same">("floor");

/**
 * The smallest integer that is not below x.
 * @category Elementwise operations
 */
export const ceil: UnaryFunction<"same"> = unary<"same">("ceil");

/**
 * The integer part of x.
 * @category Elementwise operations
 */
export const trunc: UnaryFunction<"same"> = unary<"same">("trunc");

/**
 * The nearest integer, ties to even.
 * @category Elementwise operations
 */
export const round: UnaryFunction<"same"> = unary<"same">("round");

/**
 * max(x, 0).
 * @category Elementwise operations
 */
export const relu: UnaryFunction<"same"> = unary<"same">("relu");

/**
 * x · Φ(x), by the error function.
 * @category Elementwise operations
 */
export const gelu: UnaryFunction<"float"> = unary<"float">("gelu");

/**
 * GELU by its approximation with tanh.
 * @category Elementwise operations
 */
export const geluTanh: UnaryFunction<"float"> = unary<"float">("geluTanh");

/**
 * x · sigmoid(x).
 * @category Elementwise operations
 */
export const silu: UnaryFunction<"float"> = unary<"float">("silu");

/**
 * 1 / (1 + e⁻ˣ).
 * @category Elementwise operations
 */
export const sigmoid: UnaryFunction<"float"> = unary<"float">("sigmoid");

/**
 * log(1 + eˣ).
 * @category Elementwise operations
 */
export const softplus: UnaryFunction<"float"> = unary<"float">("softplus");

/**
 * Whether x is zero.
 * @category Elementwise operations
 */
export const logicalNot: UnaryFunction<"bool"> = unary<"bool">("logicalNot");

/**
 * Whether x is NaN.
 * @category Elementwise operations
 */
export const isnan: UnaryFunction<"bool"> = unary<"bool">("isnan");

/**
 * The old name of {@linkcode isnan}.
 * @deprecated Use `isnan`, the name of the array API standard: this one goes with the next release.
 * @category Elementwise operations
 */
export const isNaN: UnaryFunction<"bool"> = isnan;

/**
 * Whether x is neither infinite nor NaN.
 * @category Elementwise operations
 */
export const isfinite: UnaryFunction<"bool"> = unary<"bool">("isfinite");

/**
 * The old name of {@linkcode isfinite}.
 * @deprecated Use `isfinite`, the name of the array API standard: this one goes with the next release.
 * @category Elementwise operations
 */
export const isFinite: UnaryFunction<"bool"> = isfinite;

/**
 * Whether x is infinite.
 * @category Elementwise operations
 */
export const isinf: UnaryFunction<"bool"> = unary<"bool">("isinf");

/**
 * The old name of {@linkcode isinf}.
 * @deprecated Use `isinf`, the name of the array API standard: this one goes with the next release.
 * @category Elementwise operations
 */
export const isInfinite: UnaryFunction<"bool"> = isinf;

/**
 * Whether the sign bit is set.
 * @category Elementwise operations
 */
export const signbit: UnaryFunction<"bool"> = unary<"bool">("signbit");

/**
 * The old name of {@linkcode signbit}.
 * @deprecated Use `signbit`, the name of the array API standard: this one goes with the next release.
 * @category Elementwise operations
 */
export const signBit: UnaryFunction<"bool"> = signbit;

/**
 * All bits inverted.
 * @category Elementwise operations
 */
export const bitwiseInvert: UnaryFunction<"same"> = unary<"same">("bitwiseInvert");

/**
 * x + y; integers wrap.
 * @category Elementwise operations
 */
export const add: BinaryFunction<"promoted"> = binary<"promoted">("add");

/**
 * x − y; integers wrap.
 * @category Elementwise operations
 */
export const subtract: BinaryFunction<"promoted"> = binary<"promoted">("subtract");

/**
 * x · y; integers wrap.
 * @category Elementwise operations
 */
export const multiply: BinaryFunction<"promoted"> = binary<"promoted">("multiply");

/**
 * x / y; integers are divided as `float64`.
 * @category Elementwise operations
 */
export const divide: BinaryFunction<"quotient"> = binary<"quotient">("divide");

/**
 * The floor of x / y; an integer divided by 0 is 0. Floats give what NumPy gives: the quotient that
 * fits {@linkcode remainder}, so 1 by 0.1 is 9, and NaN where x is infinite, for which the array API
 * standard has infinities.
 * @category Elementwise operations
 */
export const floorDivide: BinaryFunction<"promoted"> = binary<"promoted">("floorDivide");

/**
 * The remainder of x / y, with the sign of y; of an integer by 0 it is 0.
 * @category Elementwise operations
 */
export const remainder: BinaryFunction<"promoted"> = binary<"promoted">("remainder");

/**
 * x to the power of y.
 * @category Elementwise operations
 */
export const pow: BinaryFunction<"promoted"> = binary<"promoted">("pow");

/**
 * The larger operand; NaN if one is NaN.
 * @category Elementwise operations
 */
export const maximum: BinaryFunction<"promoted"> = binary<"promoted">("maximum");

/**
 * The smaller operand; NaN if one is NaN.
 * @category Elementwise operations
 */
export const minimum: BinaryFunction<"promoted"> = binary<"promoted">("minimum");

/**
 * The angle of the point (y, x): x is the first operand's ordinate.
 * @category Elementwise operations
 */
export const atan2: BinaryFunction<"floatPromoted"> = binary<"floatPromoted">("atan2");

/**
 * √(x² + y²).
 * @category Elementwise operations
 */
export const hypot: BinaryFunction<"floatPromoted"> = binary<"floatPromoted">("hypot");

/**
 * x with the sign of y.
 * @category Elementwise operations
 */
export const copysign: BinaryFunction<"floatPromoted"> = binary<"floatPromoted">("copysign");

/**
 * The old name of {@linkcode copysign}.
 * @deprecated Use `copysign`, the name of the array API standard: this one goes with the next release.
 * @category Elementwise operations
 */
export const copySign: BinaryFunction<"floatPromoted"> = copysign;

/**
 * The next number after x in the direction of y.
 * @category Elementwise operations
 */
export const nextafter: BinaryFunction<"floatPromoted"> = binary<"floatPromoted">("nextafter");

/**
 * The old name of {@linkcode nextafter}.
 * @deprecated Use `nextafter`, the name of the array API standard: this one goes with the next release.
 * @category Elementwise operations
 */
export const nextAfter: BinaryFunction<"floatPromoted"> = nextafter;

/**
 * log(eˣ + eʸ), without overflow.
 * @category Elementwise operations
 */
export const logaddexp: BinaryFunction<"floatPromoted"> = binary<"floatPromoted">("logaddexp");

/**
 * The old name of {@linkcode logaddexp}.
 * @deprecated Use `logaddexp`, the name of the array API standard: this one goes with the next release.
 * @category Elementwise operations
 */
export const logAddExp: BinaryFunction<"floatPromoted"> = logaddexp;

/**
 * x = y.
 * @category Elementwise operations
 */
export const equal: BinaryFunction<"bool"> = binary<"bool">("equal");

/**
 * x ≠ y.
 * @category Elementwise operations
 */
export const notEqual: BinaryFunction<"bool"> = binary<"bool">("notEqual");

/**
 * x < y.
 * @category Elementwise operations
 */
export const less: BinaryFunction<"bool"> = binary<"bool">("less");

/**
 * x ≤ y.
 * @category Elementwise operations
 */
export const lessEqual: BinaryFunction<"bool"> = binary<"bool">("lessEqual");

/**
 * x > y.
 * @category Elementwise operations
 */
export const greater: BinaryFunction<"bool"> = binary<"bool">("greater");

/**
 * x ≥ y.
 * @category Elementwise operations
 */
export const greaterEqual: BinaryFunction<"bool"> = binary<"bool">("greaterEqual");

/**
 * Whether both are not zero.
 * @category Elementwise operations
 */
export const logicalAnd: BinaryFunction<"bool"> = binary<"bool">("logicalAnd");

/**
 * Whether one is not zero.
 * @category Elementwise operations
 */
export const logicalOr: BinaryFunction<"bool"> = binary<"bool">("logicalOr");

/**
 * Whether exactly one is not zero.
 * @category Elementwise operations
 */
export const logicalXor: BinaryFunction<"bool"> = binary<"bool">("logicalXor");

/**
 * x & y.
 * @category Elementwise operations
 */
export const bitwiseAnd: BinaryFunction<"promoted"> = binary<"promoted">("bitwiseAnd");

/**
 * x | y.
 * @category Elementwise operations
 */
export const bitwiseOr: BinaryFunction<"promoted"> = binary<"promoted">("bitwiseOr");

/**
 * x ^ y.
 * @category Elementwise operations
 */
export const bitwiseXor: BinaryFunction<"promoted"> = binary<"promoted">("bitwiseXor");

/**
 * x · 2ʸ; shifts by the width or more give 0.
 * @category Elementwise operations
 */
export const bitwiseLeftShift: BinaryFunction<"promoted"> = binary<"promoted">("bitwiseLeftShift");

/**
 * ⌊x / 2ʸ⌋.
 * @category Elementwise operations
 */
export const bitwiseRightShift: BinaryFunction<"promoted"> = binary<"promoted">(
  "bitwiseRightShift",
);

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
  }, options) as Tensor as ReturnType<typeof where<X, Y>>;
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
  using scope = new TensorScope();
  let result: Tensor = x as Tensor;
  if (lowest !== undefined) {
    result = applyOperation("maximum", [result, lowest as Operand], options);
  }
  if (highest !== undefined) {
    result = applyOperation("minimum", [result, highest as Operand], options);
  }
  if (result === x as Tensor) result = applyOperation("positive", [result], options);
  return scope.keep(result) as Tensor & Tensor<D>;
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
  options: ElementwiseOptions<D> = {},
): Tensor<D> {
  return copyOf(x, dtype, options as object) as Tensor as Tensor<D>;
}
