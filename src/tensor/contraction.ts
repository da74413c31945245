/**
 * Products that sum over axes: matrix products of reordered tensors.
 *
 * @module
 */

import { cannot, requireInteger, requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { DType } from "../memory/dtype.ts";
import { requireStored, type TensorOptions } from "./kit/checks.ts";
import { requireAxisOrder, shapeText, sizeOf } from "./kit/layout.ts";
import type { Promote } from "./kit/promotion.ts";
import { multiply } from "./elementwise.ts";
import { matmul } from "./matmul/matmul.ts";
import { moveaxis } from "./rearrangement.ts";
import { TensorScope } from "./scope.ts";
import type { Tensor } from "./tensor.ts";

/** Pairs of contracted axes: a number of last and first ones, or the axes of each tensor. */
function contractedAxes(
  action: string,
  x: Tensor,
  y: Tensor,
  axes: unknown,
): readonly [readonly number[], readonly number[]] {
  if (typeof axes === "number") {
    requireInteger(axes, "options.axes", action, 0, Math.min(x.rank, y.rank));
    const count = Array.from({ length: axes }, (_, index) => index);
    return [count.map((index) => x.rank - axes + index), count];
  }
  if (!Array.isArray(axes) || axes.length !== 2 || !axes.every(Array.isArray)) {
    throw new TypeError(
      `${cannot(action)} as options.axes must be a number, or the axes of x and those of y: it is ${
        describeValue(axes)
      }`,
    );
  }
  const own = requireAxisOrder(axes[0]!, x.rank, action);
  const other = requireAxisOrder(axes[1]!, y.rank, action);
  if (own.length === other.length) return [own, other];
  throw new RangeError(
    `${
      cannot(action)
    } as options.axes must have as many axes of y as of x: they are ${own.length} and ${other.length}`,
  );
}

/**
 * Options of {@linkcode tensordot}.
 * @category Tensors
 */
export interface TensordotOptions extends TensorOptions {
  /**
   * A number: the sum is over so many last axes of `x` and first ones of `y`, 2 by default. Two arrays:
   * over these axes of each, pair by pair.
   */
  readonly axes?: number | readonly [readonly number[], readonly number[]];
}

/**
 * The sum of products over pairs of axes. The result has the other axes of `x`, then those of `y`.
 *
 * @param x The left operand.
 * @param y The right operand.
 * @param options The pairs of axes, and the stream.
 * @throws {RangeError} If the extents of a pair differ.
 *
 * @example
 * ```ts
 * import { ones, tensordot } from "@gridstride/cuda/tensor";
 *
 * using x = ones([2, 3, 4]);
 * using y = ones([4, 3, 5]);
 * using z = tensordot(x, y, { axes: [[1, 2], [1, 0]] });
 * console.log(z.shape, await z.sum().item()); // [ 2, 5 ] 120
 * ```
 * @category Linear algebra
 */
export function tensordot<D extends DType, E extends DType>(
  x: Tensor<D>,
  y: Tensor<E>,
  options: TensordotOptions = {},
): Tensor<Promote<D, E>> {
  const action = "tensordot";
  const { axes = 2, ...place } = requireOptions(options, ["axes", "stream"], action);
  const left = requireStored(x, "x", action);
  const right = requireStored(y, "y", action);
  const [own, other] = contractedAxes(action, left, right, axes);
  const differing = own.findIndex((axis, at) => left.shape[axis] !== right.shape[other[at]!]);
  if (differing >= 0) {
    throw new RangeError(
      `${cannot(action)} as the extents of axis ${own[differing]} of x and axis ${
        other[differing]
      } of y must be equal: the shapes are ${shapeText(left.shape)} and ${shapeText(right.shape)}`,
    );
  }
  const free = ({ shape }: Tensor, used: readonly number[]) =>
    [...shape.keys()].filter((axis) => !used.includes(axis));
  const [rows, columns] = [free(left, own), free(right, other)];
  const extents = ({ shape }: Tensor, kept: readonly number[]) => kept.map((axis) => shape[axis]!);
  const depth = sizeOf(extents(left, own));
  using scope = new TensorScope();
  const product = matmul(
    left.permute([...rows, ...own]).reshape([sizeOf(extents(left, rows)), depth]),
    right.permute([...other, ...columns]).reshape([depth, sizeOf(extents(right, columns))]),
    place,
  );
  return scope.keep(product.reshape([...extents(left, rows), ...extents(right, columns)])) as
    & Tensor
    & Tensor<Promote<D, E>>;
}

/**
 * The products of all pairs of elements of two vectors: one row for each element of `x`.
 *
 * @param x A vector: the rows of the result.
 * @param y A vector: the columns of the result.
 * @param options The stream.
 * @throws {RangeError} If an operand has not one dimension.
 *
 * @example
 * ```ts
 * import { outer, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = outer(tensor([1, 2]), tensor([10, 20]));
 * console.log(await y.toNested()); // [ [ 10, 20 ], [ 20, 40 ] ]
 * ```
 * @category Linear algebra
 */
export function outer<D extends DType, E extends DType>(
  x: Tensor<D>,
  y: Tensor<E>,
  options: TensorOptions = {},
): Tensor<Promote<D, E>> {
  const action = "outer";
  requireOptions(options, ["stream"], action);
  for (const [name, operand] of Object.entries({ x, y })) {
    const { rank } = requireStored(operand, name, action);
    if (rank === 1) continue;
    throw new RangeError(`${cannot(action)} as ${name} must have 1 dimension: it has ${rank}`);
  }
  using scope = new TensorScope();
  return scope.keep(multiply(x.expandDims(1), y.expandDims(0), options)) as
    & Tensor
    & Tensor<Promote<D, E>>;
}

/**
 * The sums of products of vectors along an axis, the last by default. Other axes are broadcast.
 *
 * @param x The left operand.
 * @param y The right operand.
 * @param options `axis`: a negative one, counted from the end of both shapes.
 * @throws {RangeError} If the extents of the axis differ, or the axis is not negative.
 *
 * @example
 * ```ts
 * import { tensor, vecdot } from "@gridstride/cuda/tensor";
 *
 * using y = vecdot(tensor([[1, 2], [3, 4]]), tensor([10, 1]));
 * console.log(await y.toNested()); // [ 12, 34 ]
 * ```
 * @category Linear algebra
 */
export function vecdot<D extends DType, E extends DType>(
  x: Tensor<D>,
  y: Tensor<E>,
  options: TensorOptions & { readonly axis?: number } = {},
): Tensor<Promote<D, E>> {
  const action = "vecdot";
  const { axis = -1, ...place } = requireOptions(options, ["axis", "stream"], action);
  const left = requireStored(x, "x", action);
  const right = requireStored(y, "y", action);
  requireInteger(axis, "options.axis", action, -Math.min(left.rank, right.rank), -1);
  if (left.shape.at(axis) !== right.shape.at(axis)) {
    throw new RangeError(
      `${cannot(action)} as the extents of axis ${axis} must be equal: the shapes are ${
        shapeText(left.shape)
      } and ${shapeText(right.shape)}`,
    );
  }
  using scope = new TensorScope();
  const row = moveaxis(left, axis, -1).expandDims(-2);
  const column = moveaxis(right, axis, -1).expandDims(-1);
  const product = matmul(row, column, place);
  return scope.keep(product.squeeze([-2, -1])) as Tensor & Tensor<Promote<D, E>>;
}
