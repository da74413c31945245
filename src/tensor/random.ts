/**
 * Tensors of random numbers.
 *
 * @module
 */

import { templates } from "./kit/expression/kernel_template.ts";
import type { Scalar } from "./kit/kernel_call.ts";
import { refuseOption, requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { type DType, typedArrayOver } from "../memory/dtype.ts";
import { elementBits, type NarrowFloatDType, narrowFloatValue } from "../memory/element_bits.ts";
import { CREATION_NAMES, type CreationOptions, generated, positionNode } from "./creation.ts";
import { castNode, type ExpressionNode, operationNode } from "./kit/expression/node.ts";
import type { Shape } from "./kit/layout.ts";
import type { Tensor } from "./tensor.ts";

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
    `Cannot ${action} as seed must be an integer in 0..2^64-1, beyond 2^53 as a bigint: it is ${
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

/** A tensor of a function of the position, seed, stream and two numbers; a third may be a limit. */
function random<D extends DType>(
  action: string,
  name: string,
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
    return finish({ kind: "call", name, dtype: "float64", operands }, nodes[4]);
  };
  return generated(
    { action, key: name, root, scalars, shape, template: templates.random },
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
  return random(action, "random::uniform_at", shape, options, finish, numbers);
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
  return random(action, "random::normal_at", shape, options, finish, [
    double(mean),
    double(deviation),
  ]);
}
