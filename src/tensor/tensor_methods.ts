/**
 * The operations on tensors that are methods, too.
 *
 * @module
 */

import type { DType } from "../memory/dtype.ts";
import type * as elementwise from "./elementwise.ts";
import type { DivideResult, TypeOf } from "./elementwise.ts";
import type { dense } from "./elementwise_kernel.ts";
import type { Operand } from "./kit/checks.ts";
import type { FloatResult, Promote, SumResult } from "./kit/promotion.ts";
import type { matmul, MatmulOptions } from "./matmul/matmul.ts";
import type * as reductions from "./reductions.ts";
import type { selectElements } from "./selection/select.ts";
import type { setElements } from "./selection/set.ts";
import type { Tensor } from "./tensor.ts";

/** The functions behind the methods. */
export type TensorOperations = typeof elementwise & typeof reductions & {
  readonly dense: typeof dense;
  readonly matmul: typeof matmul;
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
 * The operations that are methods of a {@linkcode Tensor}. Each is the function of the same name,
 * with the tensor as its first argument.
 *
 * @typeParam D The element type.
 * @category Tensors
 */
export abstract class TensorMethods<D extends DType> {
  get #tensor(): Tensor<D> {
    return this as unknown as Tensor<D>;
  }

  /** −x: `negative(this)`. */
  negative(): Tensor<D> {
    return operations.negative<D>(this.#tensor);
  }

  /** The absolute value: `abs(this)`. */
  abs(): Tensor<D> {
    return operations.abs<D>(this.#tensor);
  }

  /** x²: `square(this)`. */
  square(): Tensor<D> {
    return operations.square<D>(this.#tensor);
  }

  /** 1 / x: `reciprocal(this)`. */
  reciprocal(): Tensor<FloatResult<D>> {
    return operations.reciprocal<D>(this.#tensor);
  }

  /** The square root: `sqrt(this)`. */
  sqrt(): Tensor<FloatResult<D>> {
    return operations.sqrt<D>(this.#tensor);
  }

  /** e to the power of x: `exp(this)`. */
  exp(): Tensor<FloatResult<D>> {
    return operations.exp<D>(this.#tensor);
  }

  /** The natural logarithm: `log(this)`. */
  log(): Tensor<FloatResult<D>> {
    return operations.log<D>(this.#tensor);
  }

  /** The sine of an angle in radians: `sin(this)`. */
  sin(): Tensor<FloatResult<D>> {
    return operations.sin<D>(this.#tensor);
  }

  /** The cosine: `cos(this)`. */
  cos(): Tensor<FloatResult<D>> {
    return operations.cos<D>(this.#tensor);
  }

  /** The hyperbolic tangent: `tanh(this)`. */
  tanh(): Tensor<FloatResult<D>> {
    return operations.tanh<D>(this.#tensor);
  }

  /** The largest integer that is not above x: `floor(this)`. */
  floor(): Tensor<D> {
    return operations.floor<D>(this.#tensor);
  }

  /** The nearest integer, ties to even: `round(this)`. */
  round(): Tensor<D> {
    return operations.round<D>(this.#tensor);
  }

  /** max(x, 0): `relu(this)`. */
  relu(): Tensor<D> {
    return operations.relu<D>(this.#tensor);
  }

  /** x · Φ(x), by the error function: `gelu(this)`. */
  gelu(): Tensor<FloatResult<D>> {
    return operations.gelu<D>(this.#tensor);
  }

  /** x · sigmoid(x): `silu(this)`. */
  silu(): Tensor<FloatResult<D>> {
    return operations.silu<D>(this.#tensor);
  }

  /** 1 / (1 + e⁻ˣ): `sigmoid(this)`. */
  sigmoid(): Tensor<FloatResult<D>> {
    return operations.sigmoid<D>(this.#tensor);
  }

  /** x + y; integers wrap: `add(this, y)`. */
  add<Y extends Operand>(y: Y): Tensor<Promote<D, TypeOf<Y, D>>> {
    return operations.add<D, Y>(this.#tensor, y);
  }

  /** x − y; integers wrap: `subtract(this, y)`. */
  subtract<Y extends Operand>(y: Y): Tensor<Promote<D, TypeOf<Y, D>>> {
    return operations.subtract<D, Y>(this.#tensor, y);
  }

  /** x · y; integers wrap: `multiply(this, y)`. */
  multiply<Y extends Operand>(y: Y): Tensor<Promote<D, TypeOf<Y, D>>> {
    return operations.multiply<D, Y>(this.#tensor, y);
  }

  /** x / y; integers are divided as `float64`: `divide(this, y)`. */
  divide<Y extends Operand>(y: Y): Tensor<DivideResult<Promote<D, TypeOf<Y, D>>>> {
    return operations.divide<D, Y>(this.#tensor, y);
  }

  /** The floor of x / y; an integer divided by 0 is 0: `floorDivide(this, y)`. */
  floorDivide<Y extends Operand>(y: Y): Tensor<Promote<D, TypeOf<Y, D>>> {
    return operations.floorDivide<D, Y>(this.#tensor, y);
  }

  /** The remainder of x / y, with the sign of y; of an integer by 0 it is 0: `remainder(this, y)`. */
  remainder<Y extends Operand>(y: Y): Tensor<Promote<D, TypeOf<Y, D>>> {
    return operations.remainder<D, Y>(this.#tensor, y);
  }

  /** x to the power of y: `pow(this, y)`. */
  pow<Y extends Operand>(y: Y): Tensor<Promote<D, TypeOf<Y, D>>> {
    return operations.pow<D, Y>(this.#tensor, y);
  }

  /** The larger operand; NaN if one is NaN: `maximum(this, y)`. */
  maximum<Y extends Operand>(y: Y): Tensor<Promote<D, TypeOf<Y, D>>> {
    return operations.maximum<D, Y>(this.#tensor, y);
  }

  /** The smaller operand; NaN if one is NaN: `minimum(this, y)`. */
  minimum<Y extends Operand>(y: Y): Tensor<Promote<D, TypeOf<Y, D>>> {
    return operations.minimum<D, Y>(this.#tensor, y);
  }

  /** x = y: `equal(this, y)`. */
  equal<Y extends Operand>(y: Y): Tensor<"bool"> {
    return operations.equal<D, Y>(this.#tensor, y);
  }

  /** x ≠ y: `notEqual(this, y)`. */
  notEqual<Y extends Operand>(y: Y): Tensor<"bool"> {
    return operations.notEqual<D, Y>(this.#tensor, y);
  }

  /** x < y: `less(this, y)`. */
  less<Y extends Operand>(y: Y): Tensor<"bool"> {
    return operations.less<D, Y>(this.#tensor, y);
  }

  /** x ≤ y: `lessEqual(this, y)`. */
  lessEqual<Y extends Operand>(y: Y): Tensor<"bool"> {
    return operations.lessEqual<D, Y>(this.#tensor, y);
  }

  /** x > y: `greater(this, y)`. */
  greater<Y extends Operand>(y: Y): Tensor<"bool"> {
    return operations.greater<D, Y>(this.#tensor, y);
  }

  /** x ≥ y: `greaterEqual(this, y)`. */
  greaterEqual<Y extends Operand>(y: Y): Tensor<"bool"> {
    return operations.greaterEqual<D, Y>(this.#tensor, y);
  }

  /** A dense copy with another element type: `astype(this, dtype)`. */
  astype<E extends DType>(dtype: E): Tensor<E> {
    return operations.astype(this.#tensor as Tensor, dtype);
  }

  /** The elements limited to a range: `clip(this, lowest, highest)`. */
  clip(lowest?: number | bigint | Tensor<D>, highest?: number | bigint | Tensor<D>): Tensor<D> {
    return operations.clip<D>(this.#tensor, lowest, highest);
  }

  /** The sum along axes, or of all elements: `sum(this, options)`. */
  sum(options: reductions.ReduceOptions = {}): Tensor<SumResult<D>> {
    return operations.sum<D>(this.#tensor, options);
  }

  /** The mean along axes, or of all elements: `mean(this, options)`. */
  mean(options: reductions.ReduceOptions = {}): Tensor<reductions.MeanResult<D>> {
    return operations.mean<D>(this.#tensor, options);
  }

  /** The largest element along axes, or of all: `max(this, options)`. */
  max(options: reductions.ReduceOptions = {}): Tensor<D> {
    return operations.max<D>(this.#tensor, options);
  }

  /** The smallest element along axes, or of all: `min(this, options)`. */
  min(options: reductions.ReduceOptions = {}): Tensor<D> {
    return operations.min<D>(this.#tensor, options);
  }

  /** The position of the largest element: `argmax(this, options)`. */
  argmax(options: { readonly axis?: number; readonly keepDims?: boolean } = {}): Tensor<"int64"> {
    return operations.argmax<D>(this.#tensor, options);
  }

  /** The matrix product: `matmul(this, y, options)`. */
  matmul<E extends DType, R extends DType = Promote<D, E>>(
    y: Tensor<E>,
    options: MatmulOptions<R> = {},
  ): Tensor<R> {
    return operations.matmul<D, E, R>(this.#tensor, y, options);
  }
}
