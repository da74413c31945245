/**
 * Views in other shapes and orders of axes, and tiles: the manipulation functions of the array API
 * standard that need no kernel of their own.
 *
 * @module
 */

import { cannot, requireInteger, requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { DType } from "../memory/dtype.ts";
import { requireStored, requireTensors } from "./kit/checks.ts";
import {
  broadcastShapes,
  requireAxis,
  requireAxisOrder,
  type Shape,
  sizeOf,
} from "./kit/layout.ts";
import { TensorScope } from "./scope.ts";
import type { Tensor } from "./tensor.ts";

/**
 * A view that repeats axes of extent 1, and new leading axes.
 *
 * @param x The tensor.
 * @param shape The extents of the axes.
 * @throws {RangeError} If the shapes do not fit.
 *
 * @example
 * ```ts
 * import { broadcastTo, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = broadcastTo(tensor([1, 2]), [2, 2]);
 * console.log(await y.toNested()); // [ [ 1, 2 ], [ 1, 2 ] ]
 * ```
 * @category Joining and splitting
 */
export function broadcastTo<D extends DType>(x: Tensor<D>, shape: Shape): Tensor<D> {
  return requireStored(x, "x", "broadcast a tensor").broadcastTo(shape) as Tensor as Tensor<D>;
}

/**
 * A view of each tensor.
 * @category Tensors
 */
export type ViewsOf<T extends readonly Tensor<DType>[]> = { -readonly [K in keyof T]: T[K] };

/**
 * Views of tensors in their common shape.
 *
 * @param tensors The tensors.
 * @throws {RangeError} If the shapes do not combine.
 *
 * @example
 * ```ts
 * import { broadcastArrays, ones, zeros } from "@gridstride/cuda/tensor";
 *
 * using x = zeros([3, 1]);
 * using y = ones([2]);
 * const views = broadcastArrays([x, y]);
 * console.log(views.map(({ shape }) => shape)); // [ [ 3, 2 ], [ 3, 2 ] ]
 * for (const view of views) view.dispose();
 * ```
 * @category Joining and splitting
 */
export function broadcastArrays<const T extends readonly Tensor<DType>[]>(tensors: T): ViewsOf<T>;
export function broadcastArrays(tensors: readonly Tensor[]): Tensor[] {
  const action = "broadcast tensors";
  const list = requireTensors(tensors, "tensors", action);
  if (list.length === 0) return [];
  const [first, ...others] = list.map(({ shape }) => shape);
  const shape = broadcastShapes(action, first!, ...others);
  using scope = new TensorScope();
  return scope.keep(list.map((it) => it.broadcastTo(shape)));
}

/**
 * A view with a new axis of extent 1 before the given one, the first by default.
 *
 * @param x The tensor.
 * @param options The axis in the result.
 * @throws {RangeError} If the axis is out of range.
 *
 * @example
 * ```ts
 * import { expandDims, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = expandDims(tensor([1, 2]), { axis: 1 });
 * console.log(await y.toNested()); // [ [ 1 ], [ 2 ] ]
 * ```
 * @category Joining and splitting
 */
export function expandDims<D extends DType>(
  x: Tensor<D>,
  options: { readonly axis?: number } = {},
): Tensor<D> {
  const { axis = 0 } = requireOptions(options, ["axis"], "expand a tensor");
  return requireStored(x, "x", "expand a tensor").expandDims(axis) as Tensor as Tensor<D>;
}

/**
 * A view without axes of extent 1: the named ones, or all.
 *
 * @param x The tensor.
 * @param options The axes.
 * @throws {RangeError} If the extent of a named axis is not 1.
 *
 * @example
 * ```ts
 * import { squeeze, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = squeeze(tensor([[1, 2]]));
 * console.log(await y.toNested()); // [ 1, 2 ]
 * ```
 * @category Joining and splitting
 */
export function squeeze<D extends DType>(
  x: Tensor<D>,
  options: { readonly axis?: number | readonly number[] } = {},
): Tensor<D> {
  const { axis } = requireOptions(options, ["axis"], "squeeze a tensor");
  return requireStored(x, "x", "squeeze a tensor").squeeze(axis) as Tensor as Tensor<D>;
}

/**
 * A tensor of these elements in another shape: a view where possible, else a dense copy.
 *
 * @param x The tensor.
 * @param shape The extents; one of them may be -1.
 * @throws {RangeError} If the number of elements differs.
 *
 * @example
 * ```ts
 * import { reshape, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = reshape(tensor([1, 2, 3, 4]), [2, -1]);
 * console.log(await y.toNested()); // [ [ 1, 2 ], [ 3, 4 ] ]
 * ```
 * @category Joining and splitting
 */
export function reshape<D extends DType>(x: Tensor<D>, shape: Shape): Tensor<D> {
  return requireStored(x, "x", "reshape a tensor").reshape(shape) as Tensor as Tensor<D>;
}

/**
 * A view with reordered axes.
 *
 * @param x The tensor.
 * @param axes The axis of `x` for each axis of the result.
 * @throws {RangeError} If an axis is missing or repeats.
 *
 * @example
 * ```ts
 * import { permuteDims, zeros } from "@gridstride/cuda/tensor";
 *
 * using y = permuteDims(zeros([2, 3, 4]), [2, 0, 1]);
 * console.log(y.shape); // [ 4, 2, 3 ]
 * ```
 * @category Joining and splitting
 */
export function permuteDims<D extends DType>(x: Tensor<D>, axes: readonly number[]): Tensor<D> {
  return requireStored(x, "x", "permute a tensor").permute(axes) as Tensor as Tensor<D>;
}

/**
 * A view with the last two axes exchanged.
 *
 * @param x The tensor.
 * @throws {RangeError} If there are fewer than two dimensions.
 *
 * @example
 * ```ts
 * import { matrixTranspose, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = matrixTranspose(tensor([[1, 2], [3, 4]]));
 * console.log(await y.toNested()); // [ [ 1, 3 ], [ 2, 4 ] ]
 * ```
 * @category Linear algebra
 */
export function matrixTranspose<D extends DType>(x: Tensor<D>): Tensor<D> {
  return requireStored(x, "x", "transpose a matrix").transpose() as Tensor as Tensor<D>;
}

/**
 * A view whose axes are moved to other places; the others keep their order.
 *
 * @param x The tensor.
 * @param source The axes to move.
 * @param destination Their places in the result.
 * @throws {RangeError} If the numbers of sources and destinations differ, or one repeats.
 *
 * @example
 * ```ts
 * import { moveaxis, zeros } from "@gridstride/cuda/tensor";
 *
 * using images = zeros([8, 32, 24, 3]);
 * using channelsFirst = moveaxis(images, -1, 1);
 * console.log(channelsFirst.shape); // [ 8, 3, 32, 24 ]
 * ```
 * @category Joining and splitting
 */
export function moveaxis<D extends DType>(
  x: Tensor<D>,
  source: number | readonly number[],
  destination: number | readonly number[],
): Tensor<D> {
  const action = "move axes";
  const whole = requireStored(x, "x", action);
  const from = requireAxisOrder(source, whole.rank, action);
  const to = requireAxisOrder(destination, whole.rank, action);
  if (from.length !== to.length) {
    throw new RangeError(
      `${
        cannot(action)
      } as destination must have a place for each of ${from.length} axes: it has ${to.length}`,
    );
  }
  const order = [...whole.shape.keys()].filter((axis) => !from.includes(axis));
  const moves = to.map((place, index) => [place, from[index]!] as const);
  for (const [place, axis] of moves.toSorted(([a], [b]) => a - b)) order.splice(place, 0, axis);
  return whole.permute(order) as Tensor as Tensor<D>;
}

/**
 * Views of the positions of an axis, the first by default, without that axis.
 *
 * @param x The tensor.
 * @param options The axis.
 * @throws {RangeError} If the axis is out of range.
 *
 * @example
 * ```ts
 * import { tensor, unstack } from "@gridstride/cuda/tensor";
 *
 * const [x, y] = unstack(tensor([[1, 2], [3, 4]]));
 * console.log(await x!.toNested(), await y!.toNested()); // [ 1, 2 ] [ 3, 4 ]
 * ```
 * @category Joining and splitting
 */
export function unstack<D extends DType>(
  x: Tensor<D>,
  options: { readonly axis?: number } = {},
): Tensor<D>[] {
  const action = "unstack";
  const { axis = 0 } = requireOptions(options, ["axis"], action);
  const whole = requireStored(x, "x", action);
  const at = requireAxis(axis, whole.rank, action);
  const before = new Array<object>(at).fill({});
  using scope = new TensorScope();
  const views = Array.from(
    { length: whole.shape[at]! },
    (_, position) => whole.slice([...before, position]),
  );
  return scope.keep(views) as Tensor[] as Tensor<D>[];
}

/**
 * A tensor repeated as a whole along its axes.
 *
 * @param x The tensor.
 * @param repetitions The number of times along each axis; further ones are for new leading axes.
 * @throws {RangeError} If a number is negative.
 *
 * @example
 * ```ts
 * import { tensor, tile } from "@gridstride/cuda/tensor";
 *
 * using x = tensor([1, 2]);
 * using tiles = tile(x, [2, 2]);
 * console.log(await tiles.toNested()); // [ [ 1, 2, 1, 2 ], [ 1, 2, 1, 2 ] ]
 * ```
 * @category Joining and splitting
 */
export function tile<D extends DType>(x: Tensor<D>, repetitions: readonly number[]): Tensor<D> {
  const action = "tile a tensor";
  const whole = requireStored(x, "x", action);
  if (!Array.isArray(repetitions)) {
    throw new TypeError(
      `${cannot(action)} as repetitions must be an array: it is ${describeValue(repetitions)}`,
    );
  }
  repetitions.forEach((count, index) => requireInteger(count, `repetitions[${index}]`, action));
  const rank = Math.max(whole.rank, repetitions.length);
  const padded = <Value>(values: readonly Value[], one: Value): Value[] => [
    ...new Array<Value>(rank - values.length).fill(one),
    ...values,
  ];
  const counts = padded(repetitions, 1);
  using scope = new TensorScope();
  let shape = padded(whole.shape, 1);
  let result = whole.reshape(shape);
  for (const [axis, count] of counts.entries()) {
    if (count === 1) continue;
    const before = sizeOf(shape.slice(0, axis));
    const rest = sizeOf(shape.slice(axis));
    shape = shape.with(axis, shape[axis]! * count);
    result = result.reshape([before, 1, rest]).broadcastTo([before, count, rest]).reshape(shape);
  }
  return scope.keep(result) as Tensor as Tensor<D>;
}

/**
 * Options of {@linkcode meshgrid}.
 * @category Tensors
 */
export interface MeshgridOptions {
  /** `"xy"` (by default): the first two axes are exchanged, as in images; `"ij"`: as in matrices. */
  readonly indexing?: "xy" | "ij";
}

/**
 * Views of the coordinates of a grid, one for each axis.
 *
 * @param axes The coordinates along each axis: tensors of one dimension.
 * @param options The order of the first two axes.
 * @throws {RangeError} If a tensor has not one dimension.
 *
 * @example
 * ```ts
 * import { meshgrid, tensor } from "@gridstride/cuda/tensor";
 *
 * using columns = tensor([0, 1, 2]);
 * using rows = tensor([0, 10]);
 * const [x, y] = meshgrid([columns, rows]);
 * console.log(await x!.toNested()); // [ [ 0, 1, 2 ], [ 0, 1, 2 ] ]
 * console.log(await y!.toNested()); // [ [ 0, 0, 0 ], [ 10, 10, 10 ] ]
 * x!.dispose();
 * y!.dispose();
 * ```
 * @category Making tensors
 */
export function meshgrid<const T extends readonly Tensor<DType>[]>(
  axes: T,
  options?: MeshgridOptions,
): ViewsOf<T>;
export function meshgrid(axes: readonly Tensor[], options: MeshgridOptions = {}): Tensor[] {
  const action = "make a grid";
  const { indexing = "xy" } = requireOptions(options, ["indexing"], action);
  if (indexing !== "xy" && indexing !== "ij") {
    throw new TypeError(
      `${cannot(action)} as options.indexing must be "xy" or "ij": it is ${
        describeValue(indexing)
      }`,
    );
  }
  const list = requireTensors(axes, "axes", action);
  const wrong = list.findIndex(({ rank }) => rank !== 1);
  if (wrong >= 0) {
    throw new RangeError(
      `${cannot(action)} as axes must have 1 dimension: axes[${wrong}] has ${list[wrong]!.rank}`,
    );
  }
  using scope = new TensorScope();
  const shape = list.map(({ size }) => size);
  const grids = list.map((it, axis) => {
    const extents = list.map((_, other) => other === axis ? it.size : 1);
    return it.reshape(extents).broadcastTo(shape);
  });
  if (indexing === "ij" || list.length < 2) return scope.keep(grids);
  const order = [...list.keys()];
  order.splice(0, 2, 1, 0);
  return scope.keep(grids.map((grid) => grid.permute(order)));
}
