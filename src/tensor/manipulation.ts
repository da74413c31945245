/**
 * Joining, splitting, repeating and padding: copies into and from views.
 *
 * @module
 */

import { cannot, requireInteger, requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { DType, ElementOf } from "../memory/dtype.ts";
import { applyExpression, copyOf } from "./elementwise_kernel.ts";
import {
  commonContext,
  commonType,
  requireStored,
  requireTensors,
  type TensorOptions,
} from "./kit/checks.ts";
import { newTensor } from "./kit/kernel_call.ts";
import {
  arange,
  CREATION_NAMES,
  type CreationOptions,
  fromTypedArray,
  full,
  ones,
  zeros,
} from "./creation.ts";
import { subtract } from "./elementwise.ts";
import { castNode, type ExpressionNode, operationNode } from "./kit/expression/node.ts";
import { take } from "./indexing.ts";
import { requireAxis, type Shape, shapeText } from "./kit/layout.ts";
import type { Promote } from "./kit/promotion.ts";
import { TensorScope } from "./scope.ts";
import { makeTensor, storageOf, type Tensor } from "./tensor.ts";

/**
 * A tensor of any element type. Naming none, it leaves the default of `ones([2])` in a list alone,
 * which the type `Tensor` would turn into "any element type".
 * @category Tensors
 */
export type AnyTensor = Pick<Tensor, "shape" | "strides" | "isDense" | "requireUsable">;

/**
 * The common element type of several tensors.
 * @category Tensors
 */
export type CommonType<T extends readonly AnyTensor[]> = T extends readonly [Tensor<infer D>] ? D
  : T extends readonly [Tensor<infer D>, ...infer Rest extends readonly AnyTensor[]]
    ? Promote<D, CommonType<Rest>>
  : T[number] extends Tensor<infer D> ? D
  : DType;

/**
 * Options of functions that work along one axis.
 * @category Tensors
 */
export interface AxisOptions extends TensorOptions {
  /** The axis; negative ones count from the end. */
  readonly axis?: number;
}

/** The largest number of views that `split()` makes. */
const MAX_SECTIONS = 2 ** 24;

/** The largest sum of numbers that `repeat()` takes for each position: they become an array. */
const MAX_REPEATS = 2 ** 30;

/** A view of a range of positions along an axis; negative positions count from the end. */
function rangeOf(x: Tensor, axis: number, start: number, stop?: number): Tensor {
  const range = stop === undefined ? { start } : { start, stop };
  return x.slice([...new Array<object>(axis).fill({}), range]);
}

function requireEqualShapes(list: readonly Tensor[], action: string, except?: number): void {
  const [first] = list;
  const other = list.find(({ shape }) =>
    shape.length !== first!.rank ||
    shape.some((extent, axis) => axis !== except && extent !== first!.shape[axis])
  );
  if (other === undefined) return;
  const where = except === undefined ? "" : ` but for axis ${except}`;
  throw new RangeError(
    `${cannot(action)} as the shapes must be equal${where}: they are ${
      shapeText(first!.shape)
    } and ${shapeText(other.shape)}`,
  );
}

/**
 * Joins tensors along an axis, the first by default; with `null`, their elements in row-major order.
 * The result has the common element type.
 *
 * @param tensors At least one tensor.
 * @param options The axis, and the stream.
 * @throws {RangeError} If the other extents differ, or the axis is out of range.
 *
 * @example
 * ```ts
 * import { concat, tensor } from "@gridstride/cuda/tensor";
 *
 * using x = tensor([[1, 2]]);
 * using y = tensor([[3, 4], [5, 6]]);
 * using both = concat([x, y]);
 * console.log(await both.toNested()); // [ [ 1, 2 ], [ 3, 4 ], [ 5, 6 ] ]
 * ```
 * @category Joining and splitting
 */
export function concat<const T extends readonly AnyTensor[]>(
  tensors: T,
  options: TensorOptions & { readonly axis?: number | null } = {},
): Tensor<CommonType<T>> {
  const list = requireTensors(tensors, "tensors", "concat", 1);
  const { axis = 0, ...rest } = requireOptions(options, ["axis", "stream"], "concat");
  if (axis !== null) {
    return joined("concat", list, { ...rest, axis }) as Tensor & Tensor<CommonType<T>>;
  }
  using scope = new TensorScope();
  const flat = list.map((it) => it.flatten());
  return scope.keep(joined("concat", flat, rest)) as Tensor & Tensor<CommonType<T>>;
}

function joined(action: string, list: readonly Tensor[], options: AxisOptions): Tensor {
  const { axis = 0, ...rest } = options;
  using scope = new TensorScope();
  const [first] = list;
  const at = requireAxis(axis, first!.rank, action);
  requireEqualShapes(list, action, at);
  const extent = list.reduce((sum, { shape }) => sum + shape[at]!, 0);
  const shape = first!.shape.with(at, extent);
  const result = newTensor(
    commonContext(action, list),
    commonType(action, list),
    shape,
    rest.stream,
  );
  let begin = 0;
  for (const part of list) {
    const end = begin + part.shape[at]!;
    using target = rangeOf(result, at, begin, end);
    copyOf(part, result.dtype, { ...rest, out: target });
    begin = end;
  }
  return scope.keep(result);
}

/**
 * Joins tensors of one shape along a new axis, the first by default.
 *
 * @param tensors At least one tensor.
 * @param options The axis, and the stream.
 * @throws {RangeError} If the shapes differ, or the axis is out of range.
 *
 * @example
 * ```ts
 * import { stack, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = stack([tensor([1, 2]), tensor([3, 4])]);
 * console.log(await y.toNested()); // [ [ 1, 2 ], [ 3, 4 ] ]
 * ```
 * @category Joining and splitting
 */
export function stack<const T extends readonly AnyTensor[]>(
  tensors: T,
  options: AxisOptions = {},
): Tensor<CommonType<T>> {
  const list = requireTensors(tensors, "tensors", "stack", 1);
  requireEqualShapes(list, "stack");
  const { axis: requested = 0 } = requireOptions(options, ["axis", "stream"], "stack");
  const axis = requireAxis(requested, list[0]!.rank + 1, "stack");
  using scope = new TensorScope();
  const views = list.map((it) => it.expandDims(axis));
  return scope.keep(joined("stack", views, { ...options, axis })) as
    & Tensor
    & Tensor<CommonType<T>>;
}

/**
 * Splits a tensor into views along an axis, the first by default.
 *
 * @param x The tensor.
 * @param sections The number of equal parts, or the positions at which parts begin after the first.
 * @param options The axis.
 * @throws {RangeError} If the parts would not be equal, or a position is out of order.
 *
 * @example
 * ```ts
 * import { split, tensor } from "@gridstride/cuda/tensor";
 *
 * const [x, y] = split(tensor([1, 2, 3, 4]), 2);
 * console.log(await x!.toNested(), await y!.toNested()); // [ 1, 2 ] [ 3, 4 ]
 * ```
 * @category Joining and splitting
 */
export function split<D extends DType>(
  x: Tensor<D>,
  sections: number | readonly number[],
  options: { readonly axis?: number } = {},
): Tensor<D>[] {
  const { axis = 0 } = requireOptions(options, ["axis"], "split");
  const whole = requireStored(x, "x", "split");
  const at = requireAxis(axis, whole.rank, "split");
  const extent = whole.shape[at]!;
  let bounds: readonly number[];
  if (Array.isArray(sections)) {
    bounds = [0, ...sections, extent];
    bounds.forEach((bound, index) =>
      requireInteger(bound, `sections[${index - 1}]`, "split", bounds[index - 1] ?? 0, extent)
    );
  } else {
    requireInteger(sections, "sections", "split", 1, MAX_SECTIONS);
    if (extent % sections !== 0) {
      throw new RangeError(
        `Cannot split as sections must divide the extent ${extent}: it is ${sections}`,
      );
    }
    bounds = Array.from({ length: sections + 1 }, (_, part) => part * extent / sections);
  }
  return bounds.slice(1).map((end, index) => rangeOf(whole, at, bounds[index]!, end)) as
    & Tensor[]
    & Tensor<D>[];
}

/**
 * A view with the elements along axes in reverse order; along all axes by default.
 *
 * @param x The tensor.
 * @param options The axes.
 * @throws {RangeError} If an axis is out of range or repeats.
 * @throws {TypeError} If `x` is no tensor.
 *
 * @example
 * ```ts
 * import { flip, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = flip(tensor([1, 2, 3]));
 * console.log(await y.toNested()); // [ 3, 2, 1 ]
 * ```
 * @category Joining and splitting
 */
export function flip<D extends DType>(
  x: Tensor<D>,
  options: { readonly axis?: number | readonly number[] } = {},
): Tensor<D> {
  const { axis } = requireOptions(options, ["axis"], "flip");
  return requireStored(x, "x", "flip").flip(axis) as Tensor as Tensor<D>;
}

/**
 * Moves elements along axes, and those at the end to the begin. Without an axis, elements move in
 * row-major order.
 *
 * @param x The tensor.
 * @param shift The distance, or one for each axis; negative ones move to the begin.
 * @param options The axes, and the stream.
 * @throws {RangeError} If the numbers of distances and axes differ.
 *
 * @example
 * ```ts
 * import { roll, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = roll(tensor([1, 2, 3]), 1);
 * console.log(await y.toNested()); // [ 3, 1, 2 ]
 * ```
 * @category Joining and splitting
 */
export function roll<D extends DType>(
  x: Tensor<D>,
  shift: number | readonly number[],
  options: TensorOptions & { readonly axis?: number | readonly number[] } = {},
): Tensor<D> {
  const action = "roll";
  const { axis, ...rest } = requireOptions(options, ["axis", "stream"], action);
  const whole = requireStored(x, "x", action);
  const axes = axis === undefined ? undefined : Array.isArray(axis) ? axis : [axis];
  const shifts: readonly number[] = Array.isArray(shift) ? shift : (axes ?? [0]).map(() => shift);
  if (shifts.length !== (axes?.length ?? 1) || !shifts.every(Number.isSafeInteger)) {
    throw new RangeError(
      `${cannot(action)} as shift must be an integer, or one for each axis: it is ${
        describeValue(shift)
      }`,
    );
  }
  if (axes === undefined) {
    using flat = whole.flatten();
    using moved = roll(flat, shifts, { axis: 0, ...rest });
    return moved.reshape(x.shape) as Tensor as Tensor<D>;
  }
  using scope = new TensorScope();
  let result = whole;
  axes.forEach((it, index) => {
    const at = requireAxis(it, whole.rank, action);
    const extent = Math.max(1, whole.shape[at]!);
    const cut = extent - ((shifts[index]! % extent) + extent) % extent;
    const source = result;
    const parts = [rangeOf(source, at, cut), rangeOf(source, at, 0, cut)];
    result = joined(action, parts, { ...rest, axis: at });
    if (source !== whole) source.dispose();
  });
  if (result === whole) result = copyOf(whole, whole.dtype, rest);
  return scope.keep(result) as Tensor as Tensor<D>;
}

/**
 * Repeats each element along an axis; without an axis, of all elements in row-major order.
 *
 * @param x The tensor.
 * @param repeats The number of times, or one number for each position.
 * @param options The axis, and the stream.
 * @throws {RangeError} If a number is negative, or the numbers are not one for each position.
 *
 * @example
 * ```ts
 * import { repeat, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = repeat(tensor([1, 2]), 2);
 * console.log(await y.toNested()); // [ 1, 1, 2, 2 ]
 * ```
 * @category Joining and splitting
 */
export function repeat<D extends DType>(
  x: Tensor<D>,
  repeats: number | readonly number[],
  options: AxisOptions = {},
): Tensor<D> {
  const action = "repeat";
  const { axis, ...rest } = requireOptions(options, ["axis", "stream"], action);
  using flat = axis === undefined ? requireStored(x, "x", action).flatten() : undefined;
  const whole = flat ?? requireStored(x, "x", action);
  const at = requireAxis(axis === undefined ? 0 : axis, whole.rank, action);
  if (!Array.isArray(repeats)) {
    requireInteger(repeats, "repeats", action);
    using expanded = whole.expandDims(at + 1);
    using wide = expanded.broadcastTo(expanded.shape.with(at + 1, repeats));
    using copy = copyOf(wide, wide.dtype, rest);
    return copy.reshape(whole.shape.with(at, whole.shape[at]! * repeats)) as Tensor as Tensor<D>;
  }
  const extent = whole.shape[at]!;
  if (repeats.length !== extent) {
    throw new RangeError(
      `${
        cannot(action)
      } as repeats must have a number for each of ${extent} positions: it has ${repeats.length}`,
    );
  }
  let total = 0;
  repeats.forEach((count, position) => {
    requireInteger(count, `repeats[${position}]`, action, 0, MAX_REPEATS - total);
    total += count;
  });
  const positions = new BigInt64Array(total);
  let end = 0;
  repeats.forEach((count, position) => positions.fill(BigInt(position), end, end += count));
  using indices = fromTypedArray(positions, [total], { ...rest, device: whole });
  return take(whole, indices, { ...rest, axis: at }) as Tensor as Tensor<D>;
}

/**
 * Adds elements of one value at the ends of axes.
 *
 * @param x The tensor.
 * @param widths The number of new elements at each end, or before and after: one pair for all axes,
 * or one for each axis.
 * @param options `value`: of the new elements; 0 by default.
 * @throws {RangeError} If a width is negative, or there is not one pair for each axis.
 *
 * @example
 * ```ts
 * import { pad, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = pad(tensor([1, 2]), [1, 2]);
 * console.log(await y.toNested()); // [ 0, 1, 2, 0, 0 ]
 * ```
 * @category Joining and splitting
 */
export function pad<D extends DType>(
  x: Tensor<D>,
  widths: number | readonly [number, number] | readonly (readonly [number, number])[],
  options: TensorOptions & { readonly value?: ElementOf<D> } = {},
): Tensor<D> {
  const { value, ...rest } = requireOptions(options, ["value", "stream"], "pad");
  const whole = requireStored(x, "x", "pad");
  const list: readonly unknown[] = Array.isArray(widths) ? widths : [widths, widths];
  const isPair = list.length === 2 && !list.some(Array.isArray);
  const pairs = (isPair ? whole.shape.map(() => list) : list) as [number, number][];
  if (pairs.length !== whole.rank || !pairs.every((it) => Array.isArray(it) && it.length === 2)) {
    throw new RangeError(
      `Cannot pad as widths must be a number, a pair, or a pair for each of ${whole.rank} axes: it is ${
        describeValue(widths)
      }`,
    );
  }
  for (const width of pairs.flat()) requireInteger(width, "widths", "pad");
  const shape = whole.shape.map((extent, axis) => extent + pairs[axis]![0] + pairs[axis]![1]);
  using scope = new TensorScope();
  const fill = value ?? (x.dtype === "bool" ? false : 0) as ElementOf<D>;
  const result = full(shape, fill, { ...rest, device: whole, dtype: x.dtype });
  const inner = result.slice(
    whole.shape.map((extent, axis) => ({ start: pairs[axis]![0], stop: pairs[axis]![0] + extent })),
  );
  copyOf(whole, whole.dtype, { ...rest, out: inner as Tensor });
  return scope.keep(result);
}

/**
 * Options of {@linkcode diff}.
 * @category Tensors
 */
export interface DiffOptions extends AxisOptions {
  /** How many times differences are taken; 1 by default. */
  readonly n?: number;
  /** Elements before those of `x` along the axis. */
  readonly prepend?: Tensor<DType>;
  /** Elements behind those of `x` along the axis. */
  readonly append?: Tensor<DType>;
}

/**
 * The differences of neighbours along an axis, the last by default: each element less the one before.
 *
 * @param x The tensor.
 * @param options The axis, the number `n` of repetitions, tensors before and after, and the stream.
 * @throws {RangeError} If `n` is negative, the axis is out of range, or other extents differ.
 *
 * @example
 * ```ts
 * import { diff, tensor } from "@gridstride/cuda/tensor";
 *
 * using x = tensor([1, 4, 9, 16]);
 * using once = diff(x);
 * using twice = diff(x, { n: 2 });
 * console.log(await once.toNested(), await twice.toNested()); // [ 3, 5, 7 ] [ 2, 2 ]
 * ```
 * @category Elementwise functions
 */
export function diff<D extends DType>(x: Tensor<D>, options: DiffOptions = {}): Tensor<D> {
  const action = "diff";
  const names = ["axis", "n", "prepend", "append", "stream"];
  const { axis = -1, n = 1, prepend, append, ...place } = requireOptions(options, names, action);
  const whole = requireStored(x, "x", action);
  const at = requireAxis(axis, whole.rank, action);
  requireInteger(n, "options.n", action);
  const parts = [prepend, whole, append].filter((it) => it !== undefined);
  parts.forEach((it) => requireStored(it, "options.prepend and options.append", action));
  using scope = new TensorScope();
  let result = parts.length === 1
    ? whole
    : joined(action, parts as readonly Tensor[], { ...place, axis: at });
  for (let time = 0; time < n; time++) {
    const extent = result.shape[at]!;
    result = subtract(
      rangeOf(result, at, Math.min(1, extent)),
      rangeOf(result, at, 0, Math.max(0, extent - 1)),
      place,
    ) as Tensor;
  }
  return scope.keep(result === whole ? copyOf(whole, whole.dtype, place) : result) as
    & Tensor
    & Tensor<D>;
}

/**
 * Options of {@linkcode tril}, {@linkcode triu} and {@linkcode eye}.
 * @category Tensors
 */
export interface DiagonalOptions extends TensorOptions {
  /** The diagonal: 0 is the main one, positive ones are above it. */
  readonly k?: number;
}

function triangle(
  action: "tril" | "triu",
  x: Tensor,
  all: DiagonalOptions,
): Tensor {
  const { k = 0, ...options } = requireOptions(all, ["k", "stream"], action);
  const { shape, dtype, rank } = requireStored(x, "x", action);
  if (rank < 2) {
    throw new RangeError(`${cannot(action)} as x must have at least 2 dimensions: it has ${rank}`);
  }
  if (!Number.isSafeInteger(k)) {
    throw new TypeError(
      `${cannot(action)} as options.k must be an integer: it is ${describeValue(k)}`,
    );
  }
  const place = { ...options, device: x, dtype: "int64" } as const;
  using columns = arange(0, shape.at(-1)!, 1, place);
  using line = arange(0, shape.at(-2)!, 1, place);
  using rows = line.expandDims(1);
  const build = ([element, row, column, diagonal]: readonly ExpressionNode[]): ExpressionNode => {
    const distance = operationNode("subtract", [column!, row!], "int64");
    const name = action === "tril" ? "lessEqual" : "greaterEqual";
    const condition = operationNode(name, [distance, diagonal!], "int64");
    const zero = castNode({ kind: "name", name: "0.0f", dtype: "float32" }, dtype);
    return { kind: "select", dtype, condition, operands: [element!, zero] };
  };
  const scalarTypes = [dtype, "int64", "int64", "int64"] as const;
  const operands = [x, rows as Tensor, columns as Tensor, k];
  return applyExpression({ action, key: action, operands, scalarTypes, dtype, build }, options);
}

/**
 * The elements of matrices on and below a diagonal, and zeros above. Leading axes are batches.
 *
 * @param x The tensor.
 * @param options The diagonal, and the stream.
 * @throws {RangeError} If there are fewer than two dimensions.
 *
 * @example
 * ```ts
 * import { tensor, tril } from "@gridstride/cuda/tensor";
 *
 * using y = tril(tensor([[1, 2], [3, 4]]));
 * console.log(await y.toNested()); // [ [ 1, 0 ], [ 3, 4 ] ]
 * ```
 * @category Joining and splitting
 */
export function tril<D extends DType>(x: Tensor<D>, options: DiagonalOptions = {}): Tensor<D> {
  return triangle("tril", x as Tensor, options) as Tensor as Tensor<D>;
}

/**
 * The elements of matrices on and above a diagonal, and zeros below; see {@linkcode tril}.
 *
 * @param x The tensor.
 * @param options The diagonal, and the stream.
 * @throws {RangeError} If there are fewer than two dimensions.
 * @throws {TypeError} If the diagonal is no integer.
 *
 * @example
 * ```ts
 * import { tensor, triu } from "@gridstride/cuda/tensor";
 *
 * using y = triu(tensor([[1, 2], [3, 4]]));
 * console.log(await y.toNested()); // [ [ 1, 2 ], [ 0, 4 ] ]
 * ```
 * @category Joining and splitting
 */
export function triu<D extends DType>(x: Tensor<D>, options: DiagonalOptions = {}): Tensor<D> {
  return triangle("triu", x as Tensor, options) as Tensor as Tensor<D>;
}

/**
 * A matrix with ones on a diagonal, and zeros elsewhere; square by default.
 *
 * @param rows The number of rows.
 * @param columns The number of columns.
 * @param options `k`: the diagonal, above the main one if positive; the element type, the device
 * and the stream.
 * @throws {RangeError} If an extent is negative.
 *
 * @example
 * ```ts
 * import { eye } from "@gridstride/cuda/tensor";
 *
 * using y = eye(2);
 * console.log(await y.toNested()); // [ [ 1, 0 ], [ 0, 1 ] ]
 * ```
 * @category Making tensors
 */
export function eye<D extends DType = "float32">(
  rows: number,
  columns: number = rows,
  options: CreationOptions<D> & { readonly k?: number } = {},
): Tensor<D> {
  const action = "make an identity matrix";
  const { k = 0, ...others } = requireOptions(options, ["k", ...CREATION_NAMES], action);
  requireInteger(k, "options.k", action, -Number.MAX_SAFE_INTEGER);
  using scope = new TensorScope();
  const result = zeros<D>([rows, columns], others);
  const length = Math.min(rows + Math.min(k, 0), columns - Math.max(k, 0));
  if (length <= 0) return scope.keep(result);
  const shape: Shape = [length];
  const layout = { shape, strides: [columns + 1], offset: k < 0 ? -k * columns : k };
  using diagonal = makeTensor(storageOf(result as Tensor), result.dtype as DType, layout);
  const stream = others.stream === undefined ? {} : { stream: others.stream };
  using one = ones([1], { ...others, device: result, dtype: result.dtype as DType });
  using line = one.broadcastTo(shape);
  copyOf(line, one.dtype, { ...stream, out: diagonal });
  return scope.keep(result);
}
