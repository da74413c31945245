/**
 * The distinct elements of a tensor: the set functions of the array API standard.
 *
 * @module
 */

import { requireOptions } from "../../ffi/arguments.ts";
import type { DType } from "../../memory/dtype.ts";
import { full, ones, zeros } from "../creation.ts";
import { subtract } from "../elementwise.ts";
import { applyExpression } from "../elementwise_kernel.ts";
import { take } from "../indexing.ts";
import type { TensorOptions } from "../kit/checks.ts";
import { type ExpressionNode, operationNode } from "../kit/expression/node.ts";
import { diff } from "../manipulation.ts";
import { TensorScope } from "../scope.ts";
import { argsort, cumulativeSum, positionsOfTrue, requireOrdered } from "../sorting.ts";
import type { Tensor } from "../tensor.ts";

/**
 * The result of {@linkcode uniqueAll}: for each distinct element its value, and more.
 * @category Sorting
 */
export interface UniqueAll<D extends DType> extends UniqueCounts<D>, UniqueInverse<D> {
  /** The first position of each value, in row-major order. */
  readonly indices: Tensor<"int64">;
}

/**
 * The result of {@linkcode uniqueCounts}.
 * @category Sorting
 */
export interface UniqueCounts<D extends DType> {
  /** The distinct elements in ascending order. */
  readonly values: Tensor<D>;
  /** How often each value occurs. */
  readonly counts: Tensor<"int64">;
}

/**
 * The result of {@linkcode uniqueInverse}.
 * @category Sorting
 */
export interface UniqueInverse<D extends DType> {
  /** The distinct elements in ascending order. */
  readonly values: Tensor<D>;
  /** The position in `values` of each element, in the shape of the argument. */
  readonly inverseIndices: Tensor<"int64">;
}

/** Elements in order, where they were, and where equal ones begin. */
interface Groups {
  readonly sorted: Tensor;
  readonly order: Tensor<"int64">;
  /** Whether an element differs from the one before. */
  readonly flags: Tensor;
  /** The positions of these in `sorted`. */
  readonly places: Tensor<"int64">;
}

/** Sorts elements. With `nanOnce`, all NaNs are one element, else each is one of its own. */
function sortedWithFlags(
  action: string,
  x: Tensor,
  nanOnce: boolean,
  options: TensorOptions,
): Omit<Groups, "places"> {
  using scope = new TensorScope();
  const flat = x.flatten();
  const order = argsort(flat, options);
  const sorted = take(flat, order, options);
  const flags = ones([flat.size], { ...options, device: x, dtype: "bool" }) as Tensor;
  const build = ([a, b]: readonly ExpressionNode[]): ExpressionNode => {
    const differ = operationNode("notEqual", [a!, b!], x.dtype);
    if (!nanOnce) return differ;
    const isNumber = operationNode("equal", [a!, a!], x.dtype);
    return operationNode("logicalAnd", [differ, isNumber], "bool");
  };
  if (flat.size > 1) {
    applyExpression({
      action,
      key: nanOnce ? "changes" : "notEqual",
      operands: [sorted.slice([{ stop: -1 }]), sorted.slice([{ start: 1 }])],
      scalarTypes: [],
      dtype: "bool",
      build,
    }, { ...options, out: flags.slice([{ start: 1 }]) });
  }
  return scope.keep({ sorted, order, flags });
}

/** Finds groups of equal elements, and makes a result of them. */
async function grouped<Result>(
  action: string,
  x: Tensor,
  options: TensorOptions,
  finish: (groups: Groups, options: TensorOptions) => Result,
  nanOnce = false,
): Promise<Result> {
  requireOptions(options, ["stream"], action);
  const made = sortedWithFlags(action, requireOrdered(x, "x", action), nanOnce, options);
  using sorted = made.sorted;
  using order = made.order;
  using flags = made.flags;
  using places = flags.size === 0
    ? zeros([0], { ...options, device: flags, dtype: "int64" })
    : await positionsOfTrue(flags, options);
  // Only now: a scope that lasts while others run would take their tensors.
  using scope = new TensorScope();
  return scope.keep(finish({ sorted, order, flags, places }, options));
}

function valuesOf({ sorted, places }: Groups, options: TensorOptions): Tensor {
  return take(sorted, places, options);
}

function countsOf({ sorted, places }: Groups, options: TensorOptions): Tensor<"int64"> {
  const place = { ...options, device: sorted, dtype: "int64" } as const;
  const append = full([1], BigInt(sorted.size), place);
  return diff(places, { ...options, append });
}

function inverseOf(groups: Groups, x: Tensor, options: TensorOptions): Tensor<"int64"> {
  const numbers = cumulativeSum(groups.flags, options) as Tensor;
  const inOrder = subtract(numbers, 1, options) as Tensor as Tensor<"int64">;
  return take(inOrder, argsort(groups.order as Tensor, options), options).reshape(x.shape);
}

/**
 * The distinct elements in ascending order. NaN differs from everything, also from NaN, so each one
 * is there, at the end; {@linkcode unique} has it once.
 *
 * @param x The tensor.
 * @param options The stream.
 * @returns Resolves when the number of elements is known.
 * @throws {TypeError} If the elements are 8-bit floats.
 *
 * @example
 * ```ts
 * import { tensor, uniqueValues } from "@gridstride/cuda/tensor";
 *
 * using y = await uniqueValues(tensor([3, 1, 3]));
 * console.log(await y.toNested()); // [ 1, 3 ]
 * ```
 * @category Sorting
 */
export async function uniqueValues<D extends DType>(
  x: Tensor<D>,
  options: TensorOptions = {},
): Promise<Tensor<D>> {
  return await grouped("uniqueValues", x as Tensor, options, valuesOf) as Tensor as Tensor<D>;
}

/**
 * The distinct elements in ascending order, as by {@linkcode uniqueValues}; NaN once, as the last.
 *
 * @param x The tensor.
 * @param options The stream.
 * @returns Resolves when the number of elements is known.
 * @throws {TypeError} If the elements are 8-bit floats.
 *
 * @example
 * ```ts
 * import { tensor, unique } from "@gridstride/cuda/tensor";
 *
 * using y = await unique(tensor([NaN, 1, NaN]));
 * console.log(await y.toNested()); // [ 1, NaN ]
 * ```
 * @category Sorting
 */
export async function unique<D extends DType>(
  x: Tensor<D>,
  options: TensorOptions = {},
): Promise<Tensor<D>> {
  return await grouped("unique", x as Tensor, options, valuesOf, true) as Tensor as Tensor<D>;
}

/**
 * The distinct elements of {@linkcode uniqueValues}, and how often each occurs.
 *
 * @param x The tensor.
 * @param options The stream.
 * @returns Resolves when the number of elements is known.
 * @throws {TypeError} If the elements are 8-bit floats.
 *
 * @example
 * ```ts
 * import { tensor, uniqueCounts } from "@gridstride/cuda/tensor";
 *
 * using x = tensor([3, 1, 3, 3]);
 * const { values, counts } = await uniqueCounts(x);
 * console.log(await values.toNested(), await counts.toNested()); // [ 1, 3 ] [ 1n, 3n ]
 * values.dispose();
 * counts.dispose();
 * ```
 * @category Sorting
 */
export async function uniqueCounts<D extends DType>(
  x: Tensor<D>,
  options: TensorOptions = {},
): Promise<UniqueCounts<D>> {
  return await grouped("uniqueCounts", x as Tensor, options, (groups, place) => ({
    values: valuesOf(groups, place) as Tensor & Tensor<D>,
    counts: countsOf(groups, place),
  }));
}

/**
 * The distinct elements of {@linkcode uniqueValues}, and which of them each element is:
 * `take(values, inverseIndices)` is `x`.
 *
 * @param x The tensor.
 * @param options The stream.
 * @returns Resolves when the number of elements is known.
 * @throws {TypeError} If the elements are 8-bit floats.
 *
 * @example
 * ```ts
 * import { tensor, uniqueInverse } from "@gridstride/cuda/tensor";
 *
 * const { values, inverseIndices } = await uniqueInverse(tensor([30, 10, 30]));
 * console.log(await values.toNested(), await inverseIndices.toNested()); // [ 10, 30 ] [ 1n, 0n, 1n ]
 * ```
 * @category Sorting
 */
export async function uniqueInverse<D extends DType>(
  x: Tensor<D>,
  options: TensorOptions = {},
): Promise<UniqueInverse<D>> {
  return await grouped("uniqueInverse", x as Tensor, options, (groups, place) => ({
    values: valuesOf(groups, place) as Tensor & Tensor<D>,
    inverseIndices: inverseOf(groups, x as Tensor, place),
  }));
}

/**
 * The distinct elements of {@linkcode uniqueValues}, where each is first, which of them each element
 * is, and how often it occurs.
 *
 * @param x The tensor.
 * @param options The stream.
 * @returns Resolves when the number of elements is known.
 * @throws {TypeError} If the elements are 8-bit floats.
 *
 * @example
 * ```ts
 * import { tensor, uniqueAll } from "@gridstride/cuda/tensor";
 *
 * using x = tensor([30, 10, 30]);
 * const { values, indices, inverseIndices, counts } = await uniqueAll(x);
 * console.log(await values.toNested(), await indices.toNested()); // [ 10, 30 ] [ 1n, 0n ]
 * console.log(await inverseIndices.toNested(), await counts.toNested()); // [ 1n, 0n, 1n ] [ 1n, 2n ]
 * for (const each of [values, indices, inverseIndices, counts]) each.dispose();
 * ```
 * @category Sorting
 */
export async function uniqueAll<D extends DType>(
  x: Tensor<D>,
  options: TensorOptions = {},
): Promise<UniqueAll<D>> {
  return await grouped("uniqueAll", x as Tensor, options, (groups, place) => ({
    values: valuesOf(groups, place) as Tensor & Tensor<D>,
    indices: take(groups.order, groups.places, place),
    inverseIndices: inverseOf(groups, x as Tensor, place),
    counts: countsOf(groups, place),
  }));
}
