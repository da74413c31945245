/**
 * Elements at positions that a tensor holds: reading them, and adding to them.
 *
 * Positions are checked on the device. One that is out of range reads nothing and writes nothing,
 * and reading the result throws.
 *
 * @module
 */

import { templates } from "./kit/expression/kernel_template.ts";
import { cannot, requireOptions } from "../ffi/arguments.ts";
import { streamFor } from "../memory/buffer_copy.ts";
import type { DType } from "../memory/dtype.ts";
import { applyExpression, copyOf, dense } from "./elementwise_kernel.ts";
import { commonContext, requireDType, requireStored, type TensorOptions } from "./kit/checks.ts";
import { newTensor } from "./kit/kernel_call.ts";
import { type ExpressionNode, operationNode } from "./kit/expression/node.ts";
import { valueType } from "./kit/expression/operations.ts";
import {
  broadcastShapes,
  broadcastStrides,
  denseStrides,
  mergeDimensions,
  requireAxis,
  requireShape,
  type Shape,
  shapeText,
  sizeOf,
} from "./kit/layout.ts";
import { argsort } from "./sorting.ts";
import { runTemplate } from "./kit/templates.ts";
import { TensorScope } from "./scope.ts";
import { storageOf, type Tensor } from "./tensor.ts";

/**
 * Positions along an axis.
 * @category Indexing
 */
export type Indices = Tensor<"int32"> | Tensor<"int64">;

/**
 * Options of {@linkcode take} and its like.
 * @category Tensors
 */
export interface TakeOptions extends TensorOptions {
  /** The axis; without one, positions count in row-major order. */
  readonly axis?: number;
}

function requireIndices(value: unknown, action: string): Tensor {
  const indices = requireDType(value, "indices", ["int32", "int64"], action);
  storageOf(indices);
  return indices;
}

/** The error for a position that a kernel reported. */
const positionError = (action: string, extent: number) => (value: bigint) =>
  new RangeError(
    `${cannot(action)} as indices must be in ${-extent}..${extent - 1}: one is ${value}` +
      (extent === 0 ? ", and the axis has no elements" : ""),
  );

/** Elements of a tensor at positions along an axis. */
interface Gather {
  readonly action: string;
  readonly x: Tensor;
  readonly axis: number;
  readonly indices: Tensor;
  /** The shape of the result. */
  readonly shape: Shape;
  /** The strides of `x`, with 0 along the positions' axes, and of the positions. */
  readonly strides: readonly (readonly number[])[];
  /** The error for a position out of range. */
  readonly error?: ((value: bigint) => Error) | undefined;
}

function gather(
  { action, x, axis, indices, shape, strides, error }: Gather,
  options: TensorOptions,
): Tensor {
  const context = commonContext(action, [x, indices]);
  const stream = streamFor(context, options.stream);
  using scope = new TensorScope();
  const result = newTensor(context, x.dtype, requireShape(shape, action, "the result"), stream);
  if (result.size === 0) return scope.keep(result);
  const space = mergeDimensions(shape, [...strides, denseStrides(shape)]);
  const rank = space.shape.length;
  const inner = space.strides.map((own) => own.at(-1)!);
  const isRows = rank > 1 && inner.join() === "1,0,1";
  const operands = [0, 1, 2];
  const sizes = space.shape.map((size, at) => [`d${at}`, size]);
  const steps = space.shape.flatMap((_, at) =>
    operands.map((k) => [`s${at}_${k}`, space.strides[k]![at]!])
  );
  const lines = space.shape.flatMap((_, at) => [
    `  space.size[${at}] = d${at};`,
    ...operands.map((k) => `  space.stride[${at}][${k}] = s${at}_${k};`),
  ]);
  const extent = x.shape[axis]!;
  runTemplate({
    action: "take",
    template: templates.index,
    inputs: { x, indices },
    results: { out: result },
    numbers: { extent, stride: x.strides[axis]!, ...Object.fromEntries([...sizes, ...steps]) },
    body: [
      `  Space<${rank}, 3> space{};`,
      ...lines,
      `  index::gather<${isRows}>(space, size, chunk, x, indices, out, stride,`,
      "                        index::Positions{extent, faults, operation});",
    ].join("\n"),
    size: result.size,
    error: error ?? positionError(action, extent),
  }, stream);
  return scope.keep(result);
}

/**
 * The elements, rows or planes at positions along an axis: the axis is replaced by the shape of the
 * positions. Negative positions count from the end.
 *
 * @param x The tensor.
 * @param indices The positions along the axis.
 * @param options The axis, and the stream.
 * @throws {RangeError} If the axis is out of range; when the result is read if a position is.
 * @throws {TypeError} If the positions are not `int32` or `int64`.
 *
 * @example
 * ```ts
 * import { take, tensor } from "@gridstride/cuda/tensor";
 *
 * using x = tensor([[1, 2], [3, 4], [5, 6]]);
 * using rows = take(x, tensor([2, 0, -1], { dtype: "int32" }), { axis: 0 });
 * console.log(await rows.toNested()); // [ [ 5, 6 ], [ 1, 2 ], [ 5, 6 ] ]
 * ```
 * @category Indexing
 */
export function take<D extends DType>(
  x: Tensor<D>,
  indices: Indices,
  options: TakeOptions = {},
): Tensor<D> {
  const { axis, ...rest } = requireOptions(options, ["axis", "stream"], "take");
  return taken("take", requireStored(x, "x", "take"), indices, axis, rest) as Tensor as Tensor<D>;
}

/** {@linkcode take} for an action, with the error of that action for a position out of range. */
export function taken(
  action: string,
  x: Tensor,
  indices: unknown,
  axis: number | undefined,
  options: TensorOptions,
  error?: (value: bigint) => Error,
): Tensor {
  const positions = requireIndices(indices, action);
  if (axis === undefined && x.rank !== 1) {
    using flat = x.flatten();
    return taken(action, flat, indices, 0, options, error);
  }
  const at = requireAxis(axis === undefined ? 0 : axis, x.rank, action);
  const shape = x.shape.toSpliced(at, 1, ...positions.shape);
  const own = x.strides.toSpliced(at, 1, ...positions.shape.map(() => 0));
  const places = shape.map((_, k) => positions.strides[k - at] ?? 0);
  return gather(
    { action, x, axis: at, indices: positions, shape, strides: [own, places], error },
    options,
  );
}

/**
 * Elements at positions along an axis, the last by default, with positions of their own for each
 * place on the other axes: `argsort()` gives such positions. Other axes broadcast.
 *
 * @param x The tensor.
 * @param indices The positions along the axis, in a shape that broadcasts with the other axes.
 * @param options The axis, and the stream.
 * @throws {RangeError} If the shapes do not broadcast; when the result is read if a position is out
 * of range.
 * @throws {TypeError} If the positions are not `int32` or `int64`.
 *
 * @example
 * ```ts
 * import { takeAlongAxis, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = takeAlongAxis(tensor([[5, 6], [7, 8]]), tensor([[1], [0]], { dtype: "int32" }));
 * console.log(await y.toNested()); // [ [ 6 ], [ 7 ] ]
 * ```
 * @category Indexing
 */
export function takeAlongAxis<D extends DType>(
  x: Tensor<D>,
  indices: Indices,
  options: TakeOptions = {},
): Tensor<D> {
  const action = "takeAlongAxis";
  const { axis = -1, ...rest } = requireOptions(options, ["axis", "stream"], action);
  const whole = requireStored(x, "x", action);
  const positions = requireIndices(indices, action);
  const at = requireAxis(axis, whole.rank, action);
  if (positions.rank !== whole.rank) {
    throw new RangeError(
      `${cannot(action)} as indices must have as many dimensions as x: the shapes are ${
        shapeText(positions.shape)
      } and ${shapeText(whole.shape)}`,
    );
  }
  const others = whole.shape.with(at, 1);
  const shape = broadcastShapes(action, others, positions.shape);
  const layout = { shape: others, strides: whole.strides.with(at, 0), offset: whole.offset };
  const strides = [broadcastStrides(layout, shape), broadcastStrides(positions, shape)];
  const gathered = { action, x: whole, axis: at, indices: positions, shape, strides };
  return gather(gathered, rest) as Tensor as Tensor<D>;
}

/**
 * The rows of a table at positions, such as the vectors of words.
 *
 * @param weights The table: two dimensions.
 * @param indices The positions of rows.
 * @param options The stream.
 * @throws {RangeError} If the table has not two dimensions; when the result is read if a position is
 * out of range.
 * @throws {TypeError} If the positions are not `int32` or `int64`.
 *
 * @example
 * ```ts
 * import { embedding, tensor } from "@gridstride/cuda/tensor";
 *
 * using y = embedding(tensor([[1, 2], [3, 4]]), tensor([1, 0, 1], { dtype: "int32" }));
 * console.log(await y.toNested()); // [ [ 3, 4 ], [ 1, 2 ], [ 3, 4 ] ]
 * ```
 * @category Indexing
 */
export function embedding<D extends DType>(
  weights: Tensor<D>,
  indices: Indices,
  options: TensorOptions = {},
): Tensor<D> {
  const table = requireStored(weights, "weights", "embedding");
  if (table.rank === 2) {
    const place = requireOptions(options, ["stream"], "embedding");
    return taken("embedding", table, indices, 0, place) as Tensor as Tensor<D>;
  }
  throw new RangeError(
    `Cannot embedding as weights must have 2 dimensions: the shape is ${shapeText(table.shape)}`,
  );
}

/** Positions counted from the begin; those out of range stay as they are. */
function countedFromBegin(indices: Tensor, extent: number, options: TensorOptions): Tensor {
  const build = ([index, length, lowest, zero]: readonly ExpressionNode[]): ExpressionNode => {
    const isNegative = operationNode("less", [index!, zero!], "int64");
    const isInside = operationNode("greaterEqual", [index!, lowest!], "int64");
    const condition = operationNode("logicalAnd", [isNegative, isInside], "bool");
    const counted = operationNode("add", [index!, length!], "int64");
    return { kind: "select", dtype: "int64", condition, operands: [counted, index!] };
  };
  using wide = copyOf(indices, "int64", options);
  return applyExpression({
    action: "scatterAdd",
    key: "counted",
    operands: [wide, extent, -extent, 0],
    scalarTypes: ["int64", "int64", "int64", "int64"],
    dtype: "int64",
    build,
  }, options);
}

/**
 * A copy of `x` with updates added at positions along an axis, the first by default. Updates have
 * the shape of `take(x, indices, { axis })`. Several updates of one element are added in their
 * order, in `float32` for 16-bit floats, so the same input gives the same bits.
 *
 * @param x The tensor.
 * @param indices The positions along the axis.
 * @param updates The summands.
 * @param options The axis, and the stream.
 * @throws {RangeError} If the shape of the updates differs; when the result is read if a position is
 * out of range.
 * @throws {TypeError} If the positions are not `int32` or `int64`, the updates have another element
 * type than `x`, or that is an 8-bit float.
 *
 * @example
 * ```ts
 * import { scatterAdd, tensor, zeros } from "@gridstride/cuda/tensor";
 *
 * using y = scatterAdd(zeros([3]), tensor([0, 2, 0], { dtype: "int32" }), tensor([1, 2, 3]));
 * console.log(await y.toNested()); // [ 4, 0, 2 ]
 * ```
 * @category Indexing
 */
export function scatterAdd<D extends DType>(
  x: Tensor<D>,
  indices: Indices,
  updates: Tensor<D>,
  options: TakeOptions = {},
): Tensor<D> {
  const action = "scatterAdd";
  const { axis = 0, ...others } = requireOptions(options, ["axis", "stream"], action);
  const whole = requireStored(x, "x", action);
  const { dtype } = whole;
  if (dtype.startsWith("float8")) {
    throw new TypeError(
      `${cannot(action)} as x must be numbers, not 8-bit floats: it is ${dtype}. Cast it first`,
    );
  }
  const added = requireDType(updates, "updates", [dtype], action);
  const positions = requireIndices(indices, action);
  const at = requireAxis(axis, whole.rank, action);
  const shape = whole.shape.toSpliced(at, 1, ...positions.shape);
  if (shapeText(added.shape) !== shapeText(shape)) {
    throw new RangeError(
      `${cannot(action)} as updates must have the shape ${shapeText(shape)}: it has ${
        shapeText(added.shape)
      }`,
    );
  }
  const context = commonContext(action, [whole, positions, added]);
  const stream = streamFor(context, others.stream);
  using scope = new TensorScope();
  const result = copyOf(whole, dtype, others);
  if (added.size === 0) return scope.keep(result) as Tensor as Tensor<D>;
  const extent = whole.shape[at]!;
  const flat = countedFromBegin(positions, extent, others).flatten() as Tensor<"int64">;
  const order = argsort(flat, others);
  const keys = take(flat, order, others);
  const source = dense(added, others);
  const [outer, inner] = [whole.shape.slice(0, at), whole.shape.slice(at + 1)].map(sizeOf);
  runTemplate({
    action,
    template: templates.index,
    inputs: { keys, order, updates: source } as Record<string, Tensor>,
    results: { out: result },
    numbers: { extent, outer: outer!, count: positions.size, inner: inner! },
    body: `  index::scatter_add<${
      valueType(dtype)
    }>(outer, count, inner, chunk, keys, order, updates, out,
      index::Positions{extent, faults, operation});`,
    size: added.size,
    error: positionError(action, extent),
  }, stream);
  return scope.keep(result) as Tensor as Tensor<D>;
}
