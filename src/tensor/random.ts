/**
 * Tensors of random numbers.
 *
 * @module
 */

import { templates } from "./kit/expression/kernel_template.ts";
import type { Scalar } from "./kit/kernel_call.ts";
import { cannot, refuseOption, requireInteger, requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { type DType, integerRange, typedArrayOver } from "../memory/dtype.ts";
import { elementBits, type NarrowFloatDType, narrowFloatValue } from "../memory/element_bits.ts";
import {
  CREATION_NAMES,
  type CreationOptions,
  fromTypedArray,
  generated,
  positionNode,
  zeros,
} from "./creation.ts";
import { applyExpression } from "./elementwise_kernel.ts";
import { take } from "./indexing.ts";
import { requireDType, requireStored, type TensorOptions } from "./kit/checks.ts";
import { castNode, type ExpressionNode, operationNode } from "./kit/expression/node.ts";
import { requireAxis, requireShape, type Shape, sizeOf } from "./kit/layout.ts";
import { TensorScope } from "./scope.ts";
import { argsort, searchsorted } from "./sorting.ts";
import { Tensor } from "./tensor.ts";

/** The element types of random numbers. */
const DTYPES_OF_RANDOM = ["float64", "float32", "float16", "bfloat16"] as const;

/**
 * Options of functions that make random tensors.
 * @category Random numbers
 */
export interface RandomOptions<D extends DType = DType> extends CreationOptions<D> {
  /**
   * An integer in 0..2^64-1. The same seed gives the same numbers on every device, rounded to the
   * element type. Without it, each call takes new numbers; see {@linkcode setSeed}.
   */
  readonly seed?: number | bigint;
}

const NAMES = [...CREATION_NAMES, "seed"];

/** The generator of calls without a seed: each call takes the next stream of numbers. */
let common: { readonly seed: bigint; calls: bigint } | undefined;

function requireSeed(seed: unknown, action: string): bigint {
  const isInteger = typeof seed === "bigint" || Number.isSafeInteger(seed);
  const value = isInteger ? BigInt(seed as number | bigint) : -1n;
  if (value >= 0n && value < 2n ** 64n) return value;
  throw new RangeError(
    `${cannot(action)} as seed must be an integer in 0..2^64-1, beyond 2^53 as a bigint: it is ${
      describeValue(seed)
    }`,
  );
}

/**
 * Seeds the generator of all later calls without a seed: the same calls in the same order then give
 * the same numbers. Before, its seed is random.
 *
 * @param seed An integer in 0..2^64-1.
 * @throws {RangeError} If the seed is no such integer.
 *
 * @example
 * ```ts
 * import { setSeed, uniform } from "@gridstride/cuda/tensor";
 *
 * setSeed(7);
 * using x = uniform([3]);
 * setSeed(7);
 * using y = uniform([3]);
 * console.log(await x.equal(y).toNested()); // [ true, true, true ]
 * ```
 * @category Random numbers
 */
export function setSeed(seed: number | bigint): void {
  common = { seed: requireSeed(seed, "set the seed"), calls: 0n };
}

/** Checks the numbers of a distribution, and the element type. */
function requireNumbers(
  action: string,
  options: RandomOptions,
  numbers: Readonly<Record<string, number>>,
): DType {
  for (const [name, value] of Object.entries(numbers)) {
    if (!Number.isFinite(value)) refuseOption(RangeError, action, name, "a finite number", value);
  }
  const { dtype = "float32" } = options;
  if ((DTYPES_OF_RANDOM as readonly unknown[]).includes(dtype)) return dtype;
  return refuseOption(TypeError, action, "dtype", DTYPES_OF_RANDOM.join(", "), dtype);
}

/** The functions of `random.cuh` of a position, a seed, a stream and two numbers. */
const GENERATORS = {
  uniform_at: "float64",
  normal_at: "float64",
  integer_at: "int64",
} as const satisfies Readonly<Record<string, DType>>;

/** A tensor of a function of the position, seed, stream and two numbers; a third may be a limit. */
function random<D extends DType>(
  action: string,
  generator: keyof typeof GENERATORS,
  shape: Shape,
  options: RandomOptions<D>,
  finish: (value: ExpressionNode, limit?: ExpressionNode) => ExpressionNode,
  numbers: readonly Scalar[],
): Tensor<D> {
  const { seed } = options;
  if (seed === undefined && common === undefined) {
    setSeed(crypto.getRandomValues(new BigUint64Array(1))[0]!);
  }
  const key = seed === undefined ? common!.seed : requireSeed(seed, action);
  const stream = seed === undefined ? common!.calls++ : 0n;
  const scalars: Scalar[] = [
    ...[key, stream].map((value) => ({ dtype: "uint64", value }) as const),
    ...numbers,
  ];
  const root = () => {
    const nodes = scalars.map(({ dtype }, index): ExpressionNode => ({
      kind: "scalar",
      index,
      dtype,
    }));
    const operands = [positionNode, ...nodes.slice(0, 4)];
    const dtype = GENERATORS[generator];
    return finish({ kind: "call", name: `random::${generator}`, dtype, operands }, nodes[4]);
  };
  return generated(
    { action, key: generator, root, scalars, shape, template: templates.random },
    options,
  );
}

const double = (value: number): Scalar => ({ dtype: "float64", value });

/** The largest element below a number. */
function elementBelow(limit: number, dtype: DType): number {
  const bits = elementBits(dtype, limit);
  const bytes = typeof bits === "bigint" ? 8 : dtype === "float32" ? 4 : 2;
  const valueOf = (pattern: bigint): number => {
    if (bytes === 2) return narrowFloatValue(dtype as NarrowFloatDType, Number(pattern));
    const { buffer } = BigUint64Array.of(pattern);
    return typedArrayOver(dtype as "float64", buffer, 0, 1)[0]!;
  };
  const value = valueOf(BigInt(bits));
  if (value < limit) return value;
  const sign = 1n << BigInt(8 * bytes - 1);
  if (value === 0) return valueOf(sign | 1n);
  return valueOf(BigInt(bits) + (value > 0 ? -1n : 1n));
}

/**
 * A tensor of random numbers, uniform from `low` up to but not including `high`.
 *
 * The numbers have 52 random bits before they are rounded to the element type.
 *
 * @param shape The extents of the axes.
 * @param options The range is 0 to 1 by default.
 * @throws {RangeError} If `low` and `high` are not finite, there is no element between them, or the
 * seed is no integer in 0..2^64-1.
 * @throws {TypeError} If the element type is not `float64`, `float32`, `float16` or `bfloat16`.
 *
 * @example
 * ```ts
 * import { uniform } from "@gridstride/cuda/tensor";
 *
 * using x = uniform([2, 3], { low: -1, high: 1, seed: 7 });
 * console.log(await x.toNested());
 * ```
 * @category Random numbers
 */
export function uniform<D extends DType = "float32">(
  shape: Shape,
  options: RandomOptions<D> & { readonly low?: number; readonly high?: number } = {},
): Tensor<D> {
  const action = "make uniform random numbers";
  requireOptions(options, [...NAMES, "low", "high"], action);
  const { low = 0, high = 1 } = options;
  const dtype = requireNumbers(action, options, { low, high, "high - options.low": high - low });
  const below = elementBelow(high, dtype);
  if (!(low <= below)) {
    refuseOption(RangeError, action, "high", `above low, which is ${low}, in ${dtype}`, high);
  }
  const finish = (value: ExpressionNode, limit?: ExpressionNode) =>
    operationNode("minimum", [castNode(value, dtype), limit!], dtype);
  const numbers = [double(low), double(high - low), { dtype, value: below }];
  return random(action, "uniform_at", shape, options, finish, numbers);
}

/**
 * A tensor of random numbers of a normal distribution, by Box and Muller's method.
 *
 * @param shape The extents of the axes.
 * @param options The mean is 0 and the standard deviation 1 by default.
 * @throws {RangeError} If the mean or the deviation is not finite, the deviation is negative, or the
 * seed is no integer in 0..2^64-1.
 * @throws {TypeError} If the element type is not `float64`, `float32`, `float16` or `bfloat16`.
 *
 * @example
 * ```ts
 * import { normal } from "@gridstride/cuda/tensor";
 *
 * using x = normal([2, 3], { mean: 10, deviation: 2, seed: 7 });
 * console.log(await x.toNested());
 * ```
 * @category Random numbers
 */
export function normal<D extends DType = "float32">(
  shape: Shape,
  options: RandomOptions<D> & { readonly mean?: number; readonly deviation?: number } = {},
): Tensor<D> {
  const action = "make normal random numbers";
  requireOptions(options, [...NAMES, "mean", "deviation"], action);
  const { mean = 0, deviation = 1 } = options;
  const dtype = requireNumbers(action, options, { mean, deviation });
  if (deviation < 0) refuseOption(RangeError, action, "deviation", "at least 0", deviation);
  const finish = (value: ExpressionNode) => castNode(value, dtype);
  return random(action, "normal_at", shape, options, finish, [
    double(mean),
    double(deviation),
  ]);
}

/**
 * Options of random functions of tensors.
 * @category Random numbers
 */
export interface SampleOptions extends TensorOptions {
  /**
   * An integer in 0..2^64-1. The same seed gives the same result on every device. Without it, each
   * call takes new numbers; see {@linkcode setSeed}.
   */
  readonly seed?: number | bigint;
}

/** Integers from `low` on; a count of 0 stands for 2^64. */
function integers<D extends DType>(
  action: string,
  shape: Shape,
  low: bigint,
  count: bigint,
  options: RandomOptions<D>,
): Tensor<D> {
  const { dtype = "int64" as D } = options;
  const finish = (value: ExpressionNode) => castNode(value, dtype);
  return random(action, "integer_at", shape, { ...options, dtype }, finish, [
    { dtype: "int64", value: low },
    { dtype: "uint64", value: count },
  ]);
}

/**
 * A tensor of random integers from `low` up to but not including `high`, all as likely but for 2⁻⁶⁴.
 *
 * @param low The smallest integer.
 * @param high The integer after the largest one.
 * @param shape The shape of the result.
 * @param options The element type is `int64` by default.
 * @throws {RangeError} If a limit is no integer in -2^63..2^63, `high` is not above `low`, an integer
 * does not fit the element type, or the seed is no integer in 0..2^64-1.
 * @throws {TypeError} If the element type is no type of integers.
 *
 * @example
 * ```ts
 * import { randint } from "@gridstride/cuda/tensor";
 *
 * using dice = randint(1, 7, [5], { seed: 3 });
 * console.log(dice.dtype, await dice.toNested());
 * ```
 * @category Random numbers
 */
export function randint<D extends DType = "int64">(
  low: number | bigint,
  high: number | bigint,
  shape: Shape,
  options: RandomOptions<D> = {},
): Tensor<D> {
  const action = "make random integers";
  requireOptions(options, NAMES, action);
  const { dtype = "int64" } = options;
  const range = integerRange(dtype);
  if (range === undefined) {
    refuseOption(TypeError, action, "dtype", "a type of integers", dtype);
  }
  const [first, end] = [low, high].map((limit, at) => {
    const isInteger = typeof limit === "bigint" || Number.isSafeInteger(limit);
    const value = isInteger ? BigInt(limit) : 2n ** 64n;
    // The kernel computes in 64 bits with a sign.
    const lowest = range!.lowest + BigInt(at);
    const highest = (range!.highest < 2n ** 63n ? range!.highest : 2n ** 63n - 1n) + BigInt(at);
    if (value >= lowest && value <= highest) return value;
    throw new RangeError(
      `${cannot(action)} as ${at === 0 ? "low" : "high"} must be an integer in ${lowest}..` +
        `${highest} for ${dtype}, beyond 2^53 as a bigint: it is ${describeValue(limit)}`,
    );
  }) as [bigint, bigint];
  if (end <= first) {
    throw new RangeError(
      `${cannot(action)} as high must be above low, which is ${low}: it is ${high}`,
    );
  }
  return integers(action, shape, first, BigInt.asUintN(64, end - first), {
    ...options,
    dtype: dtype as D,
  });
}

/** The positions 0 to n - 1 in a random order: that of random keys of 64 bits. */
function shuffled(action: string, n: number, options: RandomOptions): Tensor<"int64"> {
  const { device, stream, seed } = options;
  const place = stream === undefined ? {} : { stream };
  const keys = integers(action, [n], -(2n ** 63n), 0n, {
    ...place,
    ...(device === undefined ? {} : { device }),
    ...(seed === undefined ? {} : { seed }),
    dtype: "int64",
  });
  return argsort(keys as Tensor, place);
}

/**
 * The integers from 0 to n - 1 in a random order, each order as likely; of a tensor, the elements or
 * rows along an axis, the first by default.
 *
 * @param x A number, or a tensor.
 * @param options The axis, the seed, the device and the stream, as far as they apply.
 * @throws {RangeError} If the number is no integer of at least 0, the axis is out of range, or the
 * seed is no integer in 0..2^64-1.
 *
 * @example
 * ```ts
 * import { permutation } from "@gridstride/cuda/tensor";
 *
 * using order = permutation(5, { seed: 1 });
 * console.log(order.dtype, order.shape); // int64 [ 5 ]
 * ```
 * @category Random numbers
 */
export function permutation(
  x: number,
  options?: SampleOptions & Pick<CreationOptions, "device">,
): Tensor<"int64">;
/** The elements or rows of a tensor in a random order. */
export function permutation<D extends DType>(
  x: Tensor<D>,
  options?: SampleOptions & { readonly axis?: number },
): Tensor<D>;
export function permutation(
  x: number | Tensor,
  options: SampleOptions & { readonly axis?: number } & Pick<CreationOptions, "device"> = {},
): Tensor {
  const action = "permute at random";
  using scope = new TensorScope();
  if (!(x instanceof Tensor)) {
    requireOptions(options, ["seed", "device", "stream"], action);
    requireInteger(x, "x", action);
    return scope.keep(shuffled(action, x, options) as Tensor);
  }
  const { axis = 0, seed, ...place } = requireOptions(options, ["axis", "seed", "stream"], action);
  const whole = requireStored(x, "x", action);
  const at = requireAxis(axis, whole.rank, action);
  const given = { ...place, device: whole, ...(seed === undefined ? {} : { seed }) };
  const order = shuffled(action, whole.shape[at]!, given);
  return scope.keep(take(whole, order, { ...place, axis: at }));
}

/**
 * Options of {@linkcode choice}.
 * @category Random numbers
 */
export interface ChoiceOptions extends SampleOptions, Pick<CreationOptions, "device"> {
  /** Whether an element may be chosen again, as by default. */
  readonly replace?: boolean;
  /** How likely each element is, in proportion; all as likely by default. */
  readonly probabilities?: readonly number[];
}

/** The running sums of weights, and their total. */
function cumulated(weights: unknown, count: number, action: string): [Float64Array, number] {
  let total = 0;
  const isList = Array.isArray(weights) && weights.length === count;
  const sums = Float64Array.from(isList ? weights : [], (it) => total += it >= 0 ? it : NaN);
  if (isList && total > 0 && total < Infinity) return [sums, total];
  throw new RangeError(
    `${
      cannot(action)
    } as options.probabilities must be ${count} numbers of at least 0 with a sum ` +
      `above 0: it is ${describeValue(weights)}`,
  );
}

/**
 * Random elements of a tensor, or rows of its first axis; of a number n, integers from 0 to n - 1.
 *
 * @param x A number, or a tensor.
 * @param shape The shape of the choices; one by default.
 * @param options `replace`, `probabilities`, the seed, the device of choices of numbers, and the stream.
 * @throws {RangeError} If there is nothing to choose, more is to be chosen without `replace` than
 * there is, the probabilities do not fit, or the seed is no integer in 0..2^64-1.
 * @throws {TypeError} If there are probabilities without `replace`.
 *
 * @example
 * ```ts
 * import { choice, tensor } from "@gridstride/cuda/tensor";
 *
 * using x = tensor([10, 20, 30]);
 * using some = choice(x, [4], { probabilities: [1, 0, 0] });
 * console.log(await some.toNested()); // [ 10, 10, 10, 10 ]
 * ```
 * @category Random numbers
 */
export function choice(x: number, shape?: Shape, options?: ChoiceOptions): Tensor<"int64">;
/** Random elements of a tensor, or rows of its first axis. */
export function choice<D extends DType>(
  x: Tensor<D>,
  shape?: Shape,
  options?: Omit<ChoiceOptions, "device">,
): Tensor<D>;
export function choice(
  x: number | Tensor,
  shape: Shape = [],
  options: ChoiceOptions = {},
): Tensor {
  const action = "choose at random";
  const isTensor = x instanceof Tensor;
  const names = ["replace", "probabilities", "seed", "stream", ...isTensor ? [] : ["device"]];
  const { replace = true, probabilities, ...all } = requireOptions(options, names, action);
  const whole = isTensor ? requireStored(x, "x", action) : undefined;
  if (whole?.rank === 0) requireAxis(0, 0, action);
  const count = whole?.shape[0] ?? x as number;
  requireInteger(count, isTensor ? "the first extent of x" : "x", action);
  const size = sizeOf(requireShape(shape, action));
  if (size > 0 && (replace ? count === 0 : size > count)) {
    throw new RangeError(
      `${cannot(action)} as shape must have at most ${count} elements` +
        `${count > 0 ? " without options.replace" : ""}: it has ${size}`,
    );
  }
  if (probabilities !== undefined && !replace) {
    throw new TypeError(
      `${cannot(action)} as options.replace must be true with options.probabilities: it is false`,
    );
  }
  const place = all.stream === undefined ? {} : { stream: all.stream };
  const given = whole === undefined ? all : { ...all, device: whole };
  using scope = new TensorScope();
  const positions = (): Tensor<"int64"> => {
    if (size === 0) return zeros(shape, { ...place, ...deviceOf(given), dtype: "int64" });
    if (!replace) return shuffled(action, count, given).slice([{ stop: size }]).reshape(shape);
    if (probabilities === undefined) {
      return integers(action, shape, 0n, BigInt(count), {
        ...given,
        dtype: "int64",
      });
    }
    const [sums, total] = cumulated(probabilities, count, action);
    const numbers = uniform(shape, { ...given, dtype: "float64", high: total });
    const ends = fromTypedArray(sums, [count], { ...place, device: numbers });
    return searchsorted(ends as Tensor, numbers as Tensor, { ...place, side: "right" });
  };
  const chosen = positions();
  return scope.keep(
    whole === undefined ? chosen as Tensor : take(whole, chosen, { ...place, axis: 0 }),
  );
}

const deviceOf = ({ device }: Pick<CreationOptions, "device">) =>
  device === undefined ? {} : { device };

/**
 * A copy of `x` in which each element is 0 with the probability `p`, and the others are divided by
 * 1 - p, so that the mean stays. The gradient is `dropout(dy, p, { seed })` with the same seed.
 *
 * @param x The tensor.
 * @param p In 0..1; 0.5 by default.
 * @param options The seed and the stream.
 * @throws {RangeError} If `p` is out of range, or the seed is no integer in 0..2^64-1.
 * @throws {TypeError} If the elements are not `float64`, `float32`, `float16` or `bfloat16`.
 *
 * @example
 * ```ts
 * import { dropout, ones } from "@gridstride/cuda/tensor";
 *
 * using y = dropout(ones([8]), 0.25, { seed: 5 });
 * console.log(await y.toArray()); // [ 0, 0, 1.3333, 1.3333, 0, 1.3333, 1.3333, 1.3333 ]
 * ```
 * @category Random numbers
 */
export function dropout<D extends DType>(
  x: Tensor<D>,
  p = 0.5,
  options: SampleOptions = {},
): Tensor<D> {
  const action = "dropout";
  const { seed, ...place } = requireOptions(options, ["seed", "stream"], action);
  const whole = requireDType(x, "x", DTYPES_OF_RANDOM, action);
  if (typeof p !== "number" || !(p >= 0 && p <= 1)) {
    throw new RangeError(`${cannot(action)} as p must be in 0..1: it is ${describeValue(p)}`);
  }
  const type = whole.dtype === "float64" ? "float64" : "float32";
  using scope = new TensorScope();
  const numbers = uniform(whole.shape, {
    ...place,
    device: whole,
    ...(seed === undefined ? {} : { seed }),
  });
  const build = ([element, number, limit, scale, zero]: readonly ExpressionNode[]) => {
    const condition = operationNode("greaterEqual", [number!, limit!], "float32");
    const scaled = operationNode("multiply", [castNode(element!, type), scale!], type);
    const operands = [castNode(scaled, whole.dtype), zero!] as const;
    return { kind: "select", dtype: whole.dtype, condition, operands } as const;
  };
  return scope.keep(applyExpression({
    action,
    key: action,
    operands: [whole, numbers as Tensor, p, p < 1 ? 1 / (1 - p) : 0, 0],
    scalarTypes: [whole.dtype, "float32", "float32", type, whole.dtype],
    dtype: whole.dtype,
    build,
  }, place)) as Tensor as Tensor<D>;
}
