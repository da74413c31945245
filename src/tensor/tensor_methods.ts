/**
 * The operations on tensors that are methods, too.
 *
 * @module
 */

import type { DType } from "../memory/dtype.ts";
import type * as elementwise from "./elementwise.ts";
import type { DivideResult, ElementwiseOptions, TypeOf } from "./elementwise.ts";
import type { dense } from "./elementwise_kernel.ts";
import type { Indices, take, TakeOptions } from "./indexing.ts";
import type { Operand, TensorOptions } from "./kit/checks.ts";
import type { FloatResult, Promote, SumResult } from "./kit/promotion.ts";
import type { AxisOptions } from "./manipulation.ts";
import type { matmul, MatmulOptions } from "./matmul/matmul.ts";
import type * as reductions from "./reductions.ts";
import type {
  MeanResult,
  PlaceOptions,
  ReduceOptions,
  SumOptions,
  VarianceOptions,
} from "./reductions.ts";
import type { logSoftmax, softmax, SoftmaxOptions } from "./softmax.ts";
import type { argsort, cumulativeSum, sort, SortOptions } from "./sorting.ts";
import type { selectElements } from "./selection/select.ts";
import type { setElements } from "./selection/set.ts";
import type { Tensor } from "./tensor.ts";

/** The functions behind the methods. */
export type TensorOperations = typeof elementwise & typeof reductions & {
  readonly argsort: typeof argsort;
  readonly cumulativeSum: typeof cumulativeSum;
  readonly dense: typeof dense;
  readonly logSoftmax: typeof logSoftmax;
  readonly matmul: typeof matmul;
  readonly softmax: typeof softmax;
  readonly sort: typeof sort;
  readonly take: typeof take;
  readonly selectElements: typeof selectElements;
  readonly setElements: typeof setElements;
};

/** The functions behind the methods. They import tensors, so tensors import their types only. */
export let operations: TensorOperations;

/** Sets the functions behind the methods. */
export function provideOperations(provided: TensorOperations): void {
  operations = provided;
}

/**
 * The operations that are methods of a {@linkcode Tensor}. Each is the function of the same name with
 * the tensor as its first argument, and takes the same options.
 *
 * All operations on each element of one or two tensors are methods, all reductions, and the other
 * operations that expressions chain: scans, sorting, selection by index, softmax and products. Where
 * the type of a result depends on that of the tensor, only the call checks the type of `out`.
 *
 * @typeParam D The element type.
 * @category Tensors
 */
export abstract class TensorMethods<D extends DType> {
  get #tensor(): Tensor<D> {
    return this as unknown as Tensor<D>;
  }

  /** A copy of x: `positive(this)`. */
  positive(options?: ElementwiseOptions<D>): Tensor<D> {
    return operations.positive<D>(this.#tensor, options);
  }

  /** −x: `negative(this)`. */
  negative(options?: ElementwiseOptions<D>): Tensor<D> {
    return operations.negative<D>(this.#tensor, options);
  }

  /** The absolute value: `abs(this)`. */
  abs(options?: ElementwiseOptions<D>): Tensor<D> {
    return operations.abs<D>(this.#tensor, options);
  }

  /** −1, 0 or 1: `sign(this)`. */
  sign(options?: ElementwiseOptions<D>): Tensor<D> {
    return operations.sign<D>(this.#tensor, options);
  }

  /** x²: `square(this)`. */
  square(options?: ElementwiseOptions<D>): Tensor<D> {
    return operations.square<D>(this.#tensor, options);
  }

  /** 1 / x: `reciprocal(this)`. */
  reciprocal(options?: ElementwiseOptions<DType>): Tensor<FloatResult<D>> {
    return operations.reciprocal<D>(this.#tensor, options as object);
  }

  /** The square root: `sqrt(this)`. */
  sqrt(options?: ElementwiseOptions<DType>): Tensor<FloatResult<D>> {
    return operations.sqrt<D>(this.#tensor, options as object);
  }

  /** 1 / √x: `rsqrt(this)`. */
  rsqrt(options?: ElementwiseOptions<DType>): Tensor<FloatResult<D>> {
    return operations.rsqrt<D>(this.#tensor, options as object);
  }

  /** e to the power of x: `exp(this)`. */
  exp(options?: ElementwiseOptions<DType>): Tensor<FloatResult<D>> {
    return operations.exp<D>(this.#tensor, options as object);
  }

  /** 2 to the power of x: `exp2(this)`. */
  exp2(options?: ElementwiseOptions<DType>): Tensor<FloatResult<D>> {
    return operations.exp2<D>(this.#tensor, options as object);
  }

  /** eˣ − 1, exact near 0: `expm1(this)`. */
  expm1(options?: ElementwiseOptions<DType>): Tensor<FloatResult<D>> {
    return operations.expm1<D>(this.#tensor, options as object);
  }

  /** The natural logarithm: `log(this)`. */
  log(options?: ElementwiseOptions<DType>): Tensor<FloatResult<D>> {
    return operations.log<D>(this.#tensor, options as object);
  }

  /** The logarithm to base 2: `log2(this)`. */
  log2(options?: ElementwiseOptions<DType>): Tensor<FloatResult<D>> {
    return operations.log2<D>(this.#tensor, options as object);
  }

  /** The logarithm to base 10: `log10(this)`. */
  log10(options?: ElementwiseOptions<DType>): Tensor<FloatResult<D>> {
    return operations.log10<D>(this.#tensor, options as object);
  }

  /** log(1 + x), exact near 0: `log1p(this)`. */
  log1p(options?: ElementwiseOptions<DType>): Tensor<FloatResult<D>> {
    return operations.log1p<D>(this.#tensor, options as object);
  }

  /** The sine of an angle in radians: `sin(this)`. */
  sin(options?: ElementwiseOptions<DType>): Tensor<FloatResult<D>> {
    return operations.sin<D>(this.#tensor, options as object);
  }

  /** The cosine of an angle in radians: `cos(this)`. */
  cos(options?: ElementwiseOptions<DType>): Tensor<FloatResult<D>> {
    return operations.cos<D>(this.#tensor, options as object);
  }

  /** The tangent of an angle in radians: `tan(this)`. */
  tan(options?: ElementwiseOptions<DType>): Tensor<FloatResult<D>> {
    return operations.tan<D>(this.#tensor, options as object);
  }

  /** The arcsine: `asin(this)`. */
  asin(options?: ElementwiseOptions<DType>): Tensor<FloatResult<D>> {
    return operations.asin<D>(this.#tensor, options as object);
  }

  /** The arccosine: `acos(this)`. */
  acos(options?: ElementwiseOptions<DType>): Tensor<FloatResult<D>> {
    return operations.acos<D>(this.#tensor, options as object);
  }

  /** The arctangent: `atan(this)`. */
  atan(options?: ElementwiseOptions<DType>): Tensor<FloatResult<D>> {
    return operations.atan<D>(this.#tensor, options as object);
  }

  /** The hyperbolic sine: `sinh(this)`. */
  sinh(options?: ElementwiseOptions<DType>): Tensor<FloatResult<D>> {
    return operations.sinh<D>(this.#tensor, options as object);
  }

  /** The hyperbolic cosine: `cosh(this)`. */
  cosh(options?: ElementwiseOptions<DType>): Tensor<FloatResult<D>> {
    return operations.cosh<D>(this.#tensor, options as object);
  }

  /** The hyperbolic tangent: `tanh(this)`. */
  tanh(options?: ElementwiseOptions<DType>): Tensor<FloatResult<D>> {
    return operations.tanh<D>(this.#tensor, options as object);
  }

  /** The inverse hyperbolic sine: `asinh(this)`. */
  asinh(options?: ElementwiseOptions<DType>): Tensor<FloatResult<D>> {
    return operations.asinh<D>(this.#tensor, options as object);
  }

  /** The inverse hyperbolic cosine: `acosh(this)`. */
  acosh(options?: ElementwiseOptions<DType>): Tensor<FloatResult<D>> {
    return operations.acosh<D>(this.#tensor, options as object);
  }

  /** The inverse hyperbolic tangent: `atanh(this)`. */
  atanh(options?: ElementwiseOptions<DType>): Tensor<FloatResult<D>> {
    return operations.atanh<D>(this.#tensor, options as object);
  }

  /** The error function: `erf(this)`. */
  erf(options?: ElementwiseOptions<DType>): Tensor<FloatResult<D>> {
    return operations.erf<D>(this.#tensor, options as object);
  }

  /** The largest integer that is not above x: `floor(this)`. */
  floor(options?: ElementwiseOptions<D>): Tensor<D> {
    return operations.floor<D>(this.#tensor, options);
  }

  /** The smallest integer that is not below x: `ceil(this)`. */
  ceil(options?: ElementwiseOptions<D>): Tensor<D> {
    return operations.ceil<D>(this.#tensor, options);
  }

  /** The integer part of x: `trunc(this)`. */
  trunc(options?: ElementwiseOptions<D>): Tensor<D> {
    return operations.trunc<D>(this.#tensor, options);
  }

  /** The nearest integer, ties to even: `round(this)`. */
  round(options?: ElementwiseOptions<D>): Tensor<D> {
    return operations.round<D>(this.#tensor, options);
  }

  /** max(x, 0): `relu(this)`. */
  relu(options?: ElementwiseOptions<D>): Tensor<D> {
    return operations.relu<D>(this.#tensor, options);
  }

  /** x · Φ(x), by the error function: `gelu(this)`. */
  gelu(options?: ElementwiseOptions<DType>): Tensor<FloatResult<D>> {
    return operations.gelu<D>(this.#tensor, options as object);
  }

  /** GELU by its approximation with tanh: `geluTanh(this)`. */
  geluTanh(options?: ElementwiseOptions<DType>): Tensor<FloatResult<D>> {
    return operations.geluTanh<D>(this.#tensor, options as object);
  }

  /** x · sigmoid(x): `silu(this)`. */
  silu(options?: ElementwiseOptions<DType>): Tensor<FloatResult<D>> {
    return operations.silu<D>(this.#tensor, options as object);
  }

  /** 1 / (1 + e⁻ˣ): `sigmoid(this)`. */
  sigmoid(options?: ElementwiseOptions<DType>): Tensor<FloatResult<D>> {
    return operations.sigmoid<D>(this.#tensor, options as object);
  }

  /** log(1 + eˣ): `softplus(this)`. */
  softplus(options?: ElementwiseOptions<DType>): Tensor<FloatResult<D>> {
    return operations.softplus<D>(this.#tensor, options as object);
  }

  /** Whether x is zero: `logicalNot(this)`. */
  logicalNot(options?: ElementwiseOptions<"bool">): Tensor<"bool"> {
    return operations.logicalNot<D>(this.#tensor, options);
  }

  /** Whether x is NaN: `isnan(this)`. */
  isnan(options?: ElementwiseOptions<"bool">): Tensor<"bool"> {
    return operations.isnan<D>(this.#tensor, options);
  }

  /** Whether x is neither infinite nor NaN: `isfinite(this)`. */
  isfinite(options?: ElementwiseOptions<"bool">): Tensor<"bool"> {
    return operations.isfinite<D>(this.#tensor, options);
  }

  /** Whether x is infinite: `isinf(this)`. */
  isinf(options?: ElementwiseOptions<"bool">): Tensor<"bool"> {
    return operations.isinf<D>(this.#tensor, options);
  }

  /** Whether the sign bit is set: `signbit(this)`. */
  signbit(options?: ElementwiseOptions<"bool">): Tensor<"bool"> {
    return operations.signbit<D>(this.#tensor, options);
  }

  /** All bits inverted: `bitwiseInvert(this)`. */
  bitwiseInvert(options?: ElementwiseOptions<D>): Tensor<D> {
    return operations.bitwiseInvert<D>(this.#tensor, options);
  }

  /** x + y; integers wrap: `add(this, y)`. */
  add<Y extends Operand>(
    y: Y,
    options?: ElementwiseOptions<DType>,
  ): Tensor<Promote<D, TypeOf<Y, D>>> {
    return operations.add<D, Y>(this.#tensor, y, options as object);
  }

  /** x − y; integers wrap: `subtract(this, y)`. */
  subtract<Y extends Operand>(
    y: Y,
    options?: ElementwiseOptions<DType>,
  ): Tensor<Promote<D, TypeOf<Y, D>>> {
    return operations.subtract<D, Y>(this.#tensor, y, options as object);
  }

  /** x · y; integers wrap: `multiply(this, y)`. */
  multiply<Y extends Operand>(
    y: Y,
    options?: ElementwiseOptions<DType>,
  ): Tensor<Promote<D, TypeOf<Y, D>>> {
    return operations.multiply<D, Y>(this.#tensor, y, options as object);
  }

  /** x / y; integers are divided as `float64`: `divide(this, y)`. */
  divide<Y extends Operand>(
    y: Y,
    options?: ElementwiseOptions<DType>,
  ): Tensor<DivideResult<Promote<D, TypeOf<Y, D>>>> {
    return operations.divide<D, Y>(this.#tensor, y, options as object);
  }

  /** The floor of x / y; an integer divided by 0 is 0: `floorDivide(this, y)`. */
  floorDivide<Y extends Operand>(
    y: Y,
    options?: ElementwiseOptions<DType>,
  ): Tensor<Promote<D, TypeOf<Y, D>>> {
    return operations.floorDivide<D, Y>(this.#tensor, y, options as object);
  }

  /** The remainder of x / y, with the sign of y: `remainder(this, y)`. */
  remainder<Y extends Operand>(
    y: Y,
    options?: ElementwiseOptions<DType>,
  ): Tensor<Promote<D, TypeOf<Y, D>>> {
    return operations.remainder<D, Y>(this.#tensor, y, options as object);
  }

  /** x to the power of y: `pow(this, y)`. */
  pow<Y extends Operand>(
    y: Y,
    options?: ElementwiseOptions<DType>,
  ): Tensor<Promote<D, TypeOf<Y, D>>> {
    return operations.pow<D, Y>(this.#tensor, y, options as object);
  }

  /** The larger operand; NaN if one is NaN: `maximum(this, y)`. */
  maximum<Y extends Operand>(
    y: Y,
    options?: ElementwiseOptions<DType>,
  ): Tensor<Promote<D, TypeOf<Y, D>>> {
    return operations.maximum<D, Y>(this.#tensor, y, options as object);
  }

  /** The smaller operand; NaN if one is NaN: `minimum(this, y)`. */
  minimum<Y extends Operand>(
    y: Y,
    options?: ElementwiseOptions<DType>,
  ): Tensor<Promote<D, TypeOf<Y, D>>> {
    return operations.minimum<D, Y>(this.#tensor, y, options as object);
  }

  /** The angle of the point (y, x): x is the first operand's ordinate: `atan2(this, y)`. */
  atan2<Y extends Operand>(
    y: Y,
    options?: ElementwiseOptions<DType>,
  ): Tensor<FloatResult<Promote<D, TypeOf<Y, D>>>> {
    return operations.atan2<D, Y>(this.#tensor, y, options as object);
  }

  /** √(x² + y²): `hypot(this, y)`. */
  hypot<Y extends Operand>(
    y: Y,
    options?: ElementwiseOptions<DType>,
  ): Tensor<FloatResult<Promote<D, TypeOf<Y, D>>>> {
    return operations.hypot<D, Y>(this.#tensor, y, options as object);
  }

  /** x with the sign of y: `copysign(this, y)`. */
  copysign<Y extends Operand>(
    y: Y,
    options?: ElementwiseOptions<DType>,
  ): Tensor<FloatResult<Promote<D, TypeOf<Y, D>>>> {
    return operations.copysign<D, Y>(this.#tensor, y, options as object);
  }

  /** The next number after x in the direction of y: `nextafter(this, y)`. */
  nextafter<Y extends Operand>(
    y: Y,
    options?: ElementwiseOptions<DType>,
  ): Tensor<FloatResult<Promote<D, TypeOf<Y, D>>>> {
    return operations.nextafter<D, Y>(this.#tensor, y, options as object);
  }

  /** log(eˣ + eʸ), without overflow: `logaddexp(this, y)`. */
  logaddexp<Y extends Operand>(
    y: Y,
    options?: ElementwiseOptions<DType>,
  ): Tensor<FloatResult<Promote<D, TypeOf<Y, D>>>> {
    return operations.logaddexp<D, Y>(this.#tensor, y, options as object);
  }

  /** x = y: `equal(this, y)`. */
  equal<Y extends Operand>(y: Y, options?: ElementwiseOptions<"bool">): Tensor<"bool"> {
    return operations.equal<D, Y>(this.#tensor, y, options);
  }

  /** x ≠ y: `notEqual(this, y)`. */
  notEqual<Y extends Operand>(y: Y, options?: ElementwiseOptions<"bool">): Tensor<"bool"> {
    return operations.notEqual<D, Y>(this.#tensor, y, options);
  }

  /** x < y: `less(this, y)`. */
  less<Y extends Operand>(y: Y, options?: ElementwiseOptions<"bool">): Tensor<"bool"> {
    return operations.less<D, Y>(this.#tensor, y, options);
  }

  /** x ≤ y: `lessEqual(this, y)`. */
  lessEqual<Y extends Operand>(y: Y, options?: ElementwiseOptions<"bool">): Tensor<"bool"> {
    return operations.lessEqual<D, Y>(this.#tensor, y, options);
  }

  /** x > y: `greater(this, y)`. */
  greater<Y extends Operand>(y: Y, options?: ElementwiseOptions<"bool">): Tensor<"bool"> {
    return operations.greater<D, Y>(this.#tensor, y, options);
  }

  /** x ≥ y: `greaterEqual(this, y)`. */
  greaterEqual<Y extends Operand>(y: Y, options?: ElementwiseOptions<"bool">): Tensor<"bool"> {
    return operations.greaterEqual<D, Y>(this.#tensor, y, options);
  }

  /** Whether both are not zero: `logicalAnd(this, y)`. */
  logicalAnd<Y extends Operand>(y: Y, options?: ElementwiseOptions<"bool">): Tensor<"bool"> {
    return operations.logicalAnd<D, Y>(this.#tensor, y, options);
  }

  /** Whether one is not zero: `logicalOr(this, y)`. */
  logicalOr<Y extends Operand>(y: Y, options?: ElementwiseOptions<"bool">): Tensor<"bool"> {
    return operations.logicalOr<D, Y>(this.#tensor, y, options);
  }

  /** Whether exactly one is not zero: `logicalXor(this, y)`. */
  logicalXor<Y extends Operand>(y: Y, options?: ElementwiseOptions<"bool">): Tensor<"bool"> {
    return operations.logicalXor<D, Y>(this.#tensor, y, options);
  }

  /** x & y: `bitwiseAnd(this, y)`. */
  bitwiseAnd<Y extends Operand>(
    y: Y,
    options?: ElementwiseOptions<DType>,
  ): Tensor<Promote<D, TypeOf<Y, D>>> {
    return operations.bitwiseAnd<D, Y>(this.#tensor, y, options as object);
  }

  /** x | y: `bitwiseOr(this, y)`. */
  bitwiseOr<Y extends Operand>(
    y: Y,
    options?: ElementwiseOptions<DType>,
  ): Tensor<Promote<D, TypeOf<Y, D>>> {
    return operations.bitwiseOr<D, Y>(this.#tensor, y, options as object);
  }

  /** x ^ y: `bitwiseXor(this, y)`. */
  bitwiseXor<Y extends Operand>(
    y: Y,
    options?: ElementwiseOptions<DType>,
  ): Tensor<Promote<D, TypeOf<Y, D>>> {
    return operations.bitwiseXor<D, Y>(this.#tensor, y, options as object);
  }

  /** x · 2ʸ; shifts by the width or more give 0: `bitwiseLeftShift(this, y)`. */
  bitwiseLeftShift<Y extends Operand>(
    y: Y,
    options?: ElementwiseOptions<DType>,
  ): Tensor<Promote<D, TypeOf<Y, D>>> {
    return operations.bitwiseLeftShift<D, Y>(this.#tensor, y, options as object);
  }

  /** ⌊x / 2ʸ⌋: `bitwiseRightShift(this, y)`. */
  bitwiseRightShift<Y extends Operand>(
    y: Y,
    options?: ElementwiseOptions<DType>,
  ): Tensor<Promote<D, TypeOf<Y, D>>> {
    return operations.bitwiseRightShift<D, Y>(this.#tensor, y, options as object);
  }

  /** A dense copy with another element type: `astype(this, dtype)`. */
  astype<E extends DType>(dtype: E, options?: ElementwiseOptions<E>): Tensor<E> {
    return operations.astype(this.#tensor as Tensor, dtype, options);
  }

  /** The elements limited to a range: `clip(this, lowest, highest)`. */
  clip(
    lowest?: number | bigint | Tensor<D>,
    highest?: number | bigint | Tensor<D>,
    options?: TensorOptions,
  ): Tensor<D> {
    return operations.clip<D>(this.#tensor, lowest, highest, options);
  }

  /** The sum along axes, or of all elements: `sum(this)`. */
  sum<R extends DType = SumResult<D>>(options?: SumOptions<R>): Tensor<R> {
    return operations.sum<D, R>(this.#tensor, options);
  }

  /** The product along axes, or of all elements: `prod(this)`. */
  prod<R extends DType = SumResult<D>>(options?: SumOptions<R>): Tensor<R> {
    return operations.prod<D, R>(this.#tensor, options);
  }

  /** The mean along axes, or of all elements: `mean(this)`. */
  mean(options?: ReduceOptions): Tensor<MeanResult<D>> {
    return operations.mean<D>(this.#tensor, options);
  }

  /** The variance along axes, or of all elements: `variance(this)`. */
  variance(options?: VarianceOptions): Tensor<MeanResult<D>> {
    return operations.variance<D>(this.#tensor, options);
  }

  /** The standard deviation along axes, or of all elements: `std(this)`. */
  std(options?: VarianceOptions): Tensor<MeanResult<D>> {
    return operations.std<D>(this.#tensor, options);
  }

  /** The largest element along axes, or of all: `max(this)`. */
  max(options?: ReduceOptions): Tensor<D> {
    return operations.max<D>(this.#tensor, options);
  }

  /** The smallest element along axes, or of all: `min(this)`. */
  min(options?: ReduceOptions): Tensor<D> {
    return operations.min<D>(this.#tensor, options);
  }

  /** The position of the largest element: `argmax(this)`. */
  argmax(options?: PlaceOptions): Tensor<"int64"> {
    return operations.argmax<D>(this.#tensor, options);
  }

  /** The position of the smallest element: `argmin(this)`. */
  argmin(options?: PlaceOptions): Tensor<"int64"> {
    return operations.argmin<D>(this.#tensor, options);
  }

  /** Whether an element is not zero: `any(this)`. */
  any(options?: ReduceOptions): Tensor<"bool"> {
    return operations.any(this.#tensor as Tensor, options);
  }

  /** Whether all elements are not zero: `all(this)`. */
  all(options?: ReduceOptions): Tensor<"bool"> {
    return operations.all(this.#tensor as Tensor, options);
  }

  /** The number of elements that are not zero: `countNonzero(this)`. */
  countNonzero(options?: ReduceOptions): Tensor<"int64"> {
    return operations.countNonzero(this.#tensor as Tensor, options);
  }

  /** The sums of the elements up to each position: `cumulativeSum(this)`. */
  cumulativeSum(
    options?: AxisOptions & { readonly includeInitial?: boolean },
  ): Tensor<SumResult<D>> {
    return operations.cumulativeSum<D>(this.#tensor, options);
  }

  /** The elements in order along an axis: `sort(this)`. */
  sort(options?: SortOptions): Tensor<D> {
    return operations.sort<D>(this.#tensor, options);
  }

  /** The positions of the elements in order along an axis: `argsort(this)`. */
  argsort(options?: SortOptions): Tensor<"int64"> {
    return operations.argsort(this.#tensor as Tensor, options);
  }

  /** The elements at positions along an axis: `take(this, indices)`. */
  take(indices: Indices, options?: TakeOptions): Tensor<D> {
    return operations.take<D>(this.#tensor, indices, options);
  }

  /** e to the power of the elements, divided by the sum along an axis: `softmax(this)`. */
  softmax(options?: SoftmaxOptions): Tensor<D> {
    return operations.softmax<D>(this.#tensor, options);
  }

  /** The logarithm of the softmax along an axis: `logSoftmax(this)`. */
  logSoftmax(options?: SoftmaxOptions): Tensor<D> {
    return operations.logSoftmax<D>(this.#tensor, options);
  }

  /** The matrix product: `matmul(this, y)`. */
  matmul<E extends DType, R extends DType = Promote<D, E>>(
    y: Tensor<E>,
    options?: MatmulOptions<R>,
  ): Tensor<R> {
    return operations.matmul<D, E, R>(this.#tensor, y, options);
  }
}
