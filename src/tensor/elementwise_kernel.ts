/**
 * Runs elementwise expressions: one kernel over the elements of a result.
 *
 * @module
 */

import { type KernelTemplate, templates } from "./kit/expression/kernel_template.ts";
import { requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { streamFor } from "../memory/buffer_copy.ts";
import { cTypeOf, type DType } from "../memory/dtype.ts";
import {
  castNode,
  dtypesIn,
  type ExpressionNode,
  ExpressionWriter,
  operationNode,
  operationTypes,
  scalarTypesIn,
  storeText,
} from "./kit/expression/node.ts";
import { type OperationName, valueType } from "./kit/expression/operations.ts";
import {
  commonContext,
  commonType,
  type Operand,
  requireOut,
  requireTensor,
  scalarFor,
  type TensorOptions,
} from "./kit/checks.ts";
import {
  callKernel,
  CHUNK,
  countParameters,
  type KernelCode,
  launchSizeOf,
  MAX_PARAMETERS,
  newTensor,
  numbered,
  requireParameters,
  type Scalar,
} from "./kit/kernel_call.ts";
import { addSpace, spaceText } from "./kit/space.ts";
import {
  broadcastShapes,
  broadcastStrides,
  isDense,
  mergeDimensions,
  type Shape,
  sizeOf,
  type Space,
  strideClass,
} from "./kit/layout.ts";
import { storageOf, Tensor, tracedOf } from "./tensor.ts";

/** The edge of tiles, and tiles that a block of the block form takes. */
const TILE = 32;
const TILES = 16;
const BLOCK = 256;

/** An expression over broadcast operands. */
export interface Expression {
  readonly action: string;
  /** Distinguishes the expression from all others of these element types. */
  readonly key: string;
  readonly operands: readonly Operand[];
  /** The element types of numbers among the operands. */
  readonly scalarTypes: readonly DType[];
  /** The element type of the result. */
  readonly dtype: DType;
  readonly build: (nodes: readonly ExpressionNode[]) => ExpressionNode;
}

/** Options of operations that can write to a tensor of the caller. */
export interface OutOptions extends TensorOptions {
  readonly out?: Tensor;
}

/** Runs an elementwise operation, or adds it to the expression that `fuse()` builds. */
export function applyOperation(
  name: OperationName,
  operands: readonly Operand[],
  options: OutOptions = {},
): Tensor {
  const common = commonType(name, operands);
  const { computed, result } = operationTypes(name, common);
  return applyExpression({
    action: name,
    key: name,
    operands,
    scalarTypes: operands.map(() => computed),
    dtype: result,
    build: (nodes) => operationNode(name, nodes, common),
  }, options);
}

/** Runs an expression, or adds it to the one that `fuse()` builds. */
export function applyExpression(expression: Expression, options: OutOptions = {}): Tensor {
  const { action, operands, scalarTypes, dtype, build } = expression;
  requireOptions(options, ["stream", "out"], action);
  const tensors: Tensor[] = [];
  const scalars: Scalar[] = [];
  let isTraced = false;
  let key = `${expression.key}(`;
  operands.forEach((operand, index) => {
    if (operand instanceof Tensor) {
      operand.requireUsable(action, `operand ${index + 1}`);
      isTraced ||= tracedOf(operand) !== undefined;
      tensors.push(operand);
      key += "x";
      return;
    }
    if (!["number", "bigint", "boolean"].includes(typeof operand)) {
      throw new TypeError(
        `Cannot ${action} as operand ${index + 1} must be a tensor or a number: it is ${
          describeValue(operand)
        }`,
      );
    }
    const type = scalarTypes[index]!;
    scalars.push({ dtype: type, value: scalarFor(operand, type, action) });
    key += "c";
  });
  const nodesFor = (input: (index: number, tensor: Tensor) => ExpressionNode) => {
    let [inputs, numbers] = [0, 0];
    return operands.map((operand, index): ExpressionNode =>
      operand instanceof Tensor
        ? input(inputs++, operand)
        : { kind: "scalar", index: numbers++, dtype: scalarTypes[index]! }
    );
  };
  if (isTraced) return trace(expression, tensors, scalars, nodesFor);
  const shapes = tensors.map(({ shape }) => shape);
  const shape = broadcastShapes(action, shapes[0]!, ...shapes.slice(1));
  const root = () => {
    const nodes = nodesFor((index, tensor) => ({ kind: "input", index, dtype: tensor.dtype }));
    return castNode(build(nodes), dtype);
  };
  return runMap({ action, key, root, tensors, scalars, shape, dtype }, options);
}

/** Adds an expression to those of traced operands. */
function trace(
  { action, dtype, build }: Expression,
  tensors: readonly Tensor[],
  scalars: readonly Scalar[],
  nodesFor: (input: (index: number, tensor: Tensor) => ExpressionNode) => ExpressionNode[],
): Tensor {
  const { tracer } = tensors.map(tracedOf).find((traced) => traced !== undefined)!;
  const numbers = scalars.map((scalar) => tracer.scalar(scalar));
  const nodes = nodesFor((_, tensor) => tracer.nodeOf(tensor, action)).map((node) =>
    node.kind === "scalar" ? { ...node, index: numbers[node.index]! } : node
  );
  const shapes = tensors.map(({ shape }) => shape);
  const shape = broadcastShapes(action, shapes[0]!, ...shapes.slice(1));
  return tracer.tensor(castNode(build(nodes), dtype), shape);
}

/** What a kernel over the elements of a result computes. */
export interface MapCall {
  readonly action: string;
  /** Distinguishes the expression from all others of these element types. */
  readonly key: string;
  readonly root: () => ExpressionNode;
  /** The expression's inputs, in order. */
  readonly tensors: readonly Tensor[];
  /** The expression's numbers, in order. */
  readonly scalars?: readonly Scalar[];
  /** The shape and the element type of the result. */
  readonly shape: Shape;
  readonly dtype: DType;
  /** The device, where no operand has one. */
  readonly context?: DeviceContext;
  readonly template?: KernelTemplate;
}

/** How the elements of the inputs, and of the result after them, lie in a space. */
interface MapLayout {
  readonly rank: number;
  /** The classes of the innermost strides. */
  readonly classes: string;
  /** The dimension that tiles span beside the last one; -1 without tiles. */
  readonly cross: number;
}

/** The C++ text of the element of an operand in a row of a space. */
function elementText(name: string, operand: number, kind: string): string {
  const inner = kind === "0" ? "" : kind === "1" ? " + i" : ` + i * t${operand}`;
  return `${name}[offsets[${operand}]${inner}]`;
}

/** Composes the kernel of an expression over a space of merged dimensions. */
function mapCode(
  { root: rootOf, tensors, dtype, template = templates.map }: MapCall,
  { rank, classes, cross }: MapLayout,
): KernelCode {
  const root = rootOf();
  const writer = new ExpressionWriter((index) => elementText(`x${index}`, index, classes[index]!));
  const value = writer.value(root);
  const out = tensors.length;
  const pointers = [
    ...tensors.map((tensor, k) => ({ name: `x${k}`, type: `const ${cTypeOf(tensor.dtype)}*` })),
    { name: "out", type: `${cTypeOf(dtype)}*` },
  ].map((member, k) => ({ ...member, value: `${member.name} + o${k}` }));
  const members = [
    ...pointers,
    ...[
      ...scalarTypesIn(root).map((type, k) => ({ name: `c${k}`, type: valueType(type) })),
      ...[...classes].flatMap((kind, k) =>
        kind === "s" ? [{ name: `t${k}`, type: "long long" }] : []
      ),
    ].map((member) => ({ ...member, value: member.name })),
  ];
  return {
    template,
    dtypes: dtypesIn(root),
    definitions: [
      "struct Body {",
      ...members.map(({ name, type }) => `  ${type} ${name};`),
      "  __device__ __forceinline__ void operator()(const i64* offsets, i64 i) const {",
      ...writer.lines.map((line) => `    ${line}`),
      `    ${storeText(elementText("out", out, classes[out]!), value, dtype)}`,
      "  }",
      "};",
    ].join("\n"),
    body: [
      `  Space<${rank}, ${pointers.length}> space{};`,
      ...(rank === 1 ? [] : spaceText(rank, pointers.length, rank - 1)),
      `  map${cross < 0 ? "" : `_tiles<${cross}, ${TILE}>`}(space, elements, chunk, Body{${
        members.map((member) => member.value).join(", ")
      }});`,
    ].join("\n"),
  };
}

/**
 * The dimension in which an operand runs along memory, if it jumps in the last one; -1 if there is
 * none.
 */
function crossDimension({ shape, strides }: Space): number {
  for (const own of strides) {
    if (Math.abs(own.at(-1)!) <= 1) continue;
    const cross = own.findIndex((stride, axis) => Math.abs(stride) === 1 && shape[axis]! >= 8);
    if (cross >= 0) return cross;
  }
  return -1;
}

/** Runs one kernel over the elements of a result, which is new unless `out` is given. */
export function runMap(call: MapCall, options: OutOptions = {}): Tensor {
  const { action, tensors, scalars = [], shape, dtype } = call;
  const { out } = options;
  const named = out === undefined ? [] : [requireTensor(out, "options.out", action)];
  const context = call.context ?? commonContext(action, [...tensors, ...named]);
  const stream = streamFor(context, options.stream);
  if (out !== undefined) requireOut(action, out, call, tensors);
  const size = sizeOf(shape);
  const result = out ?? newTensor(context, dtype, shape, stream);
  if (size === 0) return result;
  const { work } = storageOf(result);
  const operands = [...tensors, result];
  const numbers: Record<string, number> = numbered("o", operands.map(({ offset }) => offset));
  let layout: MapLayout;
  let blocks = launchSizeOf(work, size, CHUNK);
  const isPlain = operands.every((it) => it.isDense && it.size === size);
  if (isPlain) {
    layout = { rank: 1, classes: "1".repeat(operands.length), cross: -1 };
    numbers.elements = size;
    numbers.chunk = CHUNK;
  } else {
    const space = mergeDimensions(shape, operands.map((it) => broadcastStrides(it, shape)));
    const rank = space.shape.length;
    const classes = space.strides.map((own) => strideClass(own.at(-1)!)).join("");
    const cross = crossDimension(space);
    layout = { rank, classes, cross };
    let [elements, chunk] = [size, CHUNK];
    if (cross >= 0) {
      const [height, width] = [space.shape[cross]!, space.shape[rank - 1]!];
      elements = Math.ceil(height / TILE) * Math.ceil(width / TILE) * (size / height / width);
      chunk = work.form === "block" ? TILES : Math.ceil(elements / 2 ** 31);
      blocks = { grid: Math.ceil(elements / chunk), block: work.form === "block" ? 1 : BLOCK };
    }
    numbers.elements = elements;
    numbers.chunk = chunk;
    space.strides.forEach((own, k) => {
      if (classes[k] === "s") numbers[`t${k}`] = own.at(-1)!;
    });
    if (rank > 1) addSpace(numbers, space, rank - 1);
  }
  const parameters = {
    inputs: numbered("x", tensors),
    results: { out: result },
    scalars: numbered("c", scalars),
    numbers,
  };
  if (countParameters(parameters) > MAX_PARAMETERS) {
    if (out === undefined) result.dispose();
    if (isPlain) requireParameters(action, parameters);
    const run = (copies: readonly Tensor[]) =>
      runMap({ ...call, tensors: copies, context }, { ...options, stream });
    return withDense(action, tensors, shape, stream, run);
  }
  const { inputs, results } = parameters;
  callKernel({
    inputs,
    results,
    scalars: parameters.scalars,
    numbers,
    action,
    key: `map ${call.key} ${layout.rank} ${layout.classes} ${layout.cross}`,
    code: () => mapCode(call, layout),
    size: blocks,
  }, stream);
  return result;
}

/** Makes the operands of a kernel dense, and disposes the copies afterwards. */
export function withDense<Result>(
  action: string,
  tensors: readonly Tensor[],
  shape: Shape,
  stream: TensorOptions["stream"],
  use: (copies: readonly Tensor[]) => Result,
): Result {
  const options = stream === undefined ? {} : { stream };
  const copies = tensors.map((tensor) => {
    const { dtype } = tensor;
    const root = (): ExpressionNode => ({ kind: "input", index: 0, dtype });
    return runMap({ action, key: "copy", root, tensors: [tensor], shape, dtype }, options);
  });
  try {
    return use(copies);
  } finally {
    for (const copy of copies) copy.dispose();
  }
}

/** A dense tensor with the elements of another one, which it may be itself. */
export function dense(tensor: Tensor, options: TensorOptions = {}): Tensor {
  return isDense(tensor) ? tensor : copyOf(tensor, tensor.dtype, options);
}

/** A dense tensor with the same elements, converted to an element type. */
export function copyOf(tensor: Tensor, dtype: DType, options: OutOptions = {}): Tensor {
  return applyExpression({
    action: "astype",
    key: `cast ${dtype}`,
    operands: [tensor],
    scalarTypes: [],
    dtype,
    build: ([x]) => castNode(x!, dtype),
  }, options);
}
