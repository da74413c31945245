/**
 * Runs elementwise expressions: one kernel over the elements of a result.
 *
 * @module
 */

import { requireInstance, requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { streamFor } from "../memory/buffer_copy.ts";
import { cTypeOf, type DType, integerRange, isFloatDType } from "../memory/dtype.ts";
import type { KernelArgument } from "../launch/signature/signature_types.ts";
import type { Stream } from "../stream/stream.ts";
import type { DeviceWork, GeneratedKernel } from "./device_work.ts";
import { kernelName, type KernelText } from "./expression/kernel_text.ts";
import {
  castNode,
  dtypesIn,
  type ExpressionNode,
  ExpressionWriter,
  operationNode,
  operationTypes,
  scalarTypesIn,
  storeText,
} from "./expression/node.ts";
import { type OperationName, valueType } from "./expression/operations.ts";
import {
  broadcastShapes,
  broadcastStrides,
  denseStrides,
  extentOf,
  isDense,
  type Layout,
  mergeDimensions,
  type Shape,
  shapeText,
  sizeOf,
  type Space,
} from "./layout.ts";
import { promote } from "./promotion.ts";
import { TensorStorage } from "./storage.ts";
import { makeTensor, storageOf, Tensor, tracedOf } from "./tensor.ts";

/** A tensor, or a number that takes the element type of the tensors. */
export type Operand = Tensor | number | bigint | boolean;

/**
 * Options of operations on tensors.
 * @category Tensors
 */
export interface TensorOptions {
  /** The stream to run on; the device's default stream by default. */
  readonly stream?: Stream;
}

/** Elements that a block of the block form takes: half of a first-level cache of float32. */
export const CHUNK = 16384;
/** The edge of tiles, as `tile_size` in `map.cuh`, and tiles that a block of the block form takes. */
const TILE = 32;
const TILES = 16;
/** The largest number of a kernel's parameters; beyond, operands are made dense. */
export const MAX_PARAMETERS = 64;
const BLOCK = 256;
/** Elements that a CUDA thread takes before the grid is as large as useful. */
const PER_THREAD = 4;
const BLOCKS_PER_MULTIPROCESSOR = 32;

/** The grid for elements that `map()` and its like take. */
export function gridFor({ form, context }: DeviceWork, size: number, chunk: number) {
  if (form === "block") return { grid: Math.ceil(size / chunk), block: 1 };
  const most = context.info.multiprocessorCount * BLOCKS_PER_MULTIPROCESSOR;
  return { grid: Math.min(Math.ceil(size / (BLOCK * PER_THREAD)), most), block: BLOCK };
}

/** Refuses values that are no tensors, or are freed. */
export function requireTensor(value: unknown, name: string, action: string): Tensor {
  requireInstance(value, Tensor, name, action);
  value.requireUsable(action, name);
  return value;
}

/** Refuses values that are no tensors with memory. */
export function requireStored(value: unknown, name: string, action: string): Tensor {
  const tensor = requireTensor(value, name, action);
  storageOf(tensor);
  return tensor;
}

/** Refuses a tensor of another element type than the allowed ones. */
export function requireDType(
  value: unknown,
  name: string,
  allowed: readonly DType[],
  action: string,
): Tensor {
  const tensor = requireTensor(value, name, action);
  if (allowed.includes(tensor.dtype)) return tensor;
  throw new TypeError(
    `Cannot ${action} as ${name} must be ${allowed.join(" or ")}: it is ${tensor.dtype}`,
  );
}

/** The context of one or more tensors, which must be on one device. */
export function commonContext(action: string, tensors: readonly Tensor[]): DeviceContext {
  const { context } = tensors[0]!;
  for (const other of tensors) {
    if (other.context === context || other.context.isSameDevice(context)) continue;
    throw new TypeError(
      `Cannot ${action} as the tensors must be on one device: they are on ${context.label} and ${other.context.label}`,
    );
  }
  return context;
}

/** A number as an element of a type, as kernels take it. */
export function scalarFor(value: number | bigint | boolean, dtype: DType, action: string) {
  const refuse = (allowed: string): never => {
    throw new TypeError(
      `Cannot ${action} as a number must be ${allowed} with ${dtype} tensors: it is ${
        describeValue(value)
      }. Cast the tensor to another type, such as float32, first`,
    );
  };
  if (dtype === "bool") return typeof value === "boolean" ? value : refuse("true or false");
  if (isFloatDType(dtype)) return Number(value);
  const range = integerRange(dtype)!;
  if (typeof value === "number" && !Number.isInteger(value)) refuse("an integer");
  const integer = BigInt(value);
  if (integer < range.lowest || integer > range.highest) {
    refuse(`in ${range.lowest}..${range.highest}`);
  }
  return /64$/.test(dtype) ? integer : Number(integer);
}

/** The common element type of operands; numbers take the tensors' type. */
export function commonType(action: string, operands: readonly Operand[]): DType {
  let common: DType | undefined;
  for (const operand of operands) {
    if (!(operand instanceof Tensor)) continue;
    const wider = common === undefined ? operand.dtype : promote(common, operand.dtype);
    if (wider === undefined) {
      throw new TypeError(
        `Cannot ${action} as the element types must have a common one: they are ${common} and ` +
          `${operand.dtype}. Cast one of them first`,
      );
    }
    common = wider;
  }
  if (common === undefined) {
    throw new TypeError(`Cannot ${action} as an operand must be a tensor: there is none`);
  }
  return common;
}

/** Runs an elementwise operation, or adds it to the expression that `fuse()` builds. */
export function applyOperation(
  name: OperationName,
  operands: readonly Operand[],
  options: TensorOptions & { readonly out?: Tensor } = {},
): Tensor {
  const common = commonType(name, operands);
  const build = (nodes: readonly ExpressionNode[]) => operationNode(name, nodes, common);
  const { computed, result } = operationTypes(name, common);
  return applyExpression(
    name,
    name,
    operands,
    operands.map(() => computed),
    result,
    build,
    options,
  );
}

/**
 * Runs an expression over broadcast operands.
 *
 * @param key Distinguishes the expression from all others of these element types.
 * @param scalarTypes The element types of numbers among the operands.
 */
export function applyExpression(
  action: string,
  key: string,
  operands: readonly Operand[],
  scalarTypes: readonly DType[],
  dtype: DType,
  build: (nodes: readonly ExpressionNode[]) => ExpressionNode,
  options: TensorOptions & { readonly out?: Tensor } = {},
): Tensor {
  requireOptions(options, ["stream", "out"], action);
  const tensors: Tensor[] = [];
  const scalars: (number | bigint | boolean)[] = [];
  let isTraced = false;
  let types = "";
  operands.forEach((operand, index) => {
    if (operand instanceof Tensor) {
      operand.requireUsable(action, `operand ${index + 1}`);
      isTraced ||= tracedOf(operand) !== undefined;
      tensors.push(operand);
      types += `${operand.dtype},`;
      return;
    }
    if (!["number", "bigint", "boolean"].includes(typeof operand)) {
      throw new TypeError(
        `Cannot ${action} as operand ${index + 1} must be a tensor or a number: it is ${
          describeValue(operand)
        }`,
      );
    }
    scalars.push(scalarFor(operand, scalarTypes[index]!, action));
    types += `#${scalarTypes[index]!},`;
  });
  const nodesFor = (input: (index: number, tensor: Tensor) => ExpressionNode) => {
    let [inputs, numbers] = [0, 0];
    return operands.map((operand, index): ExpressionNode =>
      operand instanceof Tensor
        ? input(inputs++, operand)
        : { kind: "scalar", index: numbers++, dtype: scalarTypes[index]! }
    );
  };
  if (isTraced) return trace(action, tensors, scalars, dtype, nodesFor, build);
  const shapes = tensors.map(({ shape }) => shape);
  const shape = broadcastShapes(action, shapes[0]!, ...shapes.slice(1));
  const root = () => {
    const nodes = nodesFor((index, tensor) => ({ kind: "input", index, dtype: tensor.dtype }));
    return castNode(build(nodes), dtype);
  };
  return runMap(action, `${key}(${types})`, root, tensors, scalars, shape, dtype, options);
}

/** Adds an expression to those of traced operands. */
function trace(
  action: string,
  tensors: readonly Tensor[],
  scalars: readonly (number | bigint | boolean)[],
  dtype: DType,
  nodesFor: (input: (index: number, tensor: Tensor) => ExpressionNode) => ExpressionNode[],
  build: (nodes: readonly ExpressionNode[]) => ExpressionNode,
): Tensor {
  const { tracer } = tensors.map(tracedOf).find((traced) => traced !== undefined)!;
  const numbers = scalars.map((value) => tracer.scalar(value));
  const nodes = nodesFor((_, tensor) => tracer.nodeOf(tensor, action)).map((node) =>
    node.kind === "scalar" ? { ...node, index: numbers[node.index]! } : node
  );
  const shapes = tensors.map(({ shape }) => shape);
  const shape = broadcastShapes(action, shapes[0]!, ...shapes.slice(1));
  return tracer.tensor(castNode(build(nodes), dtype), shape);
}

/** The class of an innermost stride: a repeated element, dense, or any stride. */
export function strideClass(stride: number): string {
  return stride === 0 ? "0" : stride === 1 ? "1" : "s";
}

/** The C++ text of the element of an operand in a row of a space. */
function elementText(index: number | string, operand: number, kind: string): string {
  const inner = kind === "0" ? "" : kind === "1" ? " + i" : ` + i * t${operand}`;
  return `${typeof index === "number" ? `x${index}` : index}[at[${operand}]${inner}]`;
}

/** Composes the kernel of an expression over a space of merged dimensions. */
function mapText(
  action: string,
  root: ExpressionNode,
  inputs: readonly DType[],
  scalars: readonly DType[],
  dtype: DType,
  rank: number,
  classes: readonly string[],
  cross: number,
  template: KernelText["template"],
): KernelText {
  const writer = new ExpressionWriter((index) => elementText(index, index, classes[index]!));
  const value = writer.value(root);
  const out = inputs.length;
  const types = [...inputs, dtype];
  const pointers = types.map((type, k) =>
    `${k === out ? "" : "const "}${cTypeOf(type)}* ${k === out ? "out" : `x${k}`}`
  );
  const axes = Array.from({ length: rank }, (_, axis) => axis);
  const numbers = scalars.map((type, index) => `${valueType(type)} c${index}`);
  const strided = classes.flatMap((kind, k) => kind === "s" ? [`long long t${k}`] : []);
  const members = [...pointers, ...numbers, ...strided];
  const names = members.map((member) => member.split(" ").at(-1)!);
  const offset = (k: number) => `${k === out ? "out" : `x${k}`} + o${k}`;
  const values = names.map((name, k) => k < types.length ? offset(k) : name);
  const outer = axes.slice(0, -1);
  return {
    name: kernelName(action),
    template,
    dtypes: new Set([...dtypesIn(root), ...types]),
    parameters: [
      ...pointers,
      ...types.map((_, k) => `long long o${k}`),
      ...numbers,
      ...strided,
      "long long elements",
      "long long chunk",
      ...(rank === 1 ? [] : axes.map((axis) => `long long d${axis}`)),
      ...outer.flatMap((axis) => types.map((_, k) => `long long s${axis}_${k}`)),
    ],
    definitions: [
      "struct Body {",
      ...members.map((member) => `  ${member};`),
      "  __device__ __forceinline__ void operator()(const i64* at, i64 i) const {",
      ...writer.lines.map((line) => `    ${line}`),
      `    ${storeText(elementText("out", out, classes[out]!), value, dtype)}`,
      "  }",
      "};",
    ].join("\n"),
    body: [
      `  Space<${rank}, ${types.length}> space{};`,
      ...(rank === 1 ? [] : axes.map((axis) => `  space.size[${axis}] = d${axis};`)),
      ...outer.flatMap((axis) =>
        types.map((_, k) => `  space.stride[${axis}][${k}] = s${axis}_${k};`)
      ),
      `  map${cross < 0 ? "" : `_tiles<${cross}>`}(space, elements, chunk, Body{${
        values.join(", ")
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

/** Whether two layouts in one storage address the same elements in the same order. */
function isSameView(a: Layout, b: Layout): boolean {
  return a.offset === b.offset && a.shape.length === b.shape.length &&
    a.shape.every((extent, axis) => extent === b.shape[axis]) &&
    a.strides.every((stride, axis) => stride === b.strides[axis] || a.shape[axis] === 1);
}

/** Checks a tensor that takes a result. */
export function requireOut(
  action: string,
  out: Tensor,
  shape: Shape,
  dtype: DType,
  inputs: readonly Tensor[],
): Tensor {
  if (out.dtype !== dtype) {
    throw new TypeError(`Cannot ${action} as options.out must be ${dtype}: it is ${out.dtype}`);
  }
  if (out.shape.length !== shape.length || out.shape.some((it, axis) => it !== shape[axis])) {
    throw new RangeError(
      `Cannot ${action} as options.out must have the shape ${shapeText(shape)}: it has ${
        shapeText(out.shape)
      }`,
    );
  }
  // The strides of empty tensors say nothing.
  if (out.size > 0 && out.strides.some((stride, axis) => stride === 0 && shape[axis]! > 1)) {
    throw new RangeError(
      `Cannot ${action} as options.out must not repeat elements: it is broadcast`,
    );
  }
  const [first, last] = extentOf(out);
  for (const input of inputs) {
    if (storageOf(input) !== storageOf(out) || out.size === 0 || input.size === 0) continue;
    const [from, to] = extentOf(input);
    if (to < first || from > last || isSameView(input, out)) continue;
    throw new RangeError(
      `Cannot ${action} as options.out must not overlap an operand: both are views of one buffer`,
    );
  }
  return out;
}

/** Refuses a kernel with too many parameters, although its operands are dense. */
export function requireParameters(
  action: string,
  parameters: number,
  operands: number,
  numbers: number,
): void {
  if (parameters <= MAX_PARAMETERS) return;
  throw new RangeError(
    `Cannot ${action} as one kernel must have at most ${MAX_PARAMETERS} parameters: ` +
      `${operands} operands and ${numbers} numbers need ${parameters}`,
  );
}

/** Runs one kernel over the elements of a result, which is new unless `out` is given. */
export function runMap(
  action: string,
  key: string,
  root: () => ExpressionNode,
  tensors: readonly Tensor[],
  scalars: readonly (number | bigint | boolean)[],
  shape: Shape,
  dtype: DType,
  { stream: wanted, out, context: own, template = "map" }: TensorOptions & {
    readonly out?: Tensor;
    /** The device, where no operand has one. */
    readonly context?: DeviceContext;
    readonly template?: KernelText["template"];
  } = {},
): Tensor {
  const named = out === undefined ? [] : [requireTensor(out, "options.out", action)];
  const context = own ?? commonContext(action, [...tensors, ...named]);
  const stream = streamFor(context, wanted);
  if (out !== undefined) requireOut(action, out, shape, dtype, tensors);
  const size = sizeOf(shape);
  const result = out ?? newTensor(context, dtype, shape, stream);
  if (size === 0) return result;
  const operands = [...tensors, result];
  let rank = 1;
  let classes: string;
  let extra: number[] = [];
  let cross = -1;
  let count = size;
  const isPlain = operands.every((it) => it.isDense && it.size === size);
  if (isPlain) classes = "1".repeat(operands.length);
  else {
    const space = mergeDimensions(shape, operands.map((it) => broadcastStrides(it, shape)));
    rank = space.shape.length;
    const kinds = space.strides.map((own) => strideClass(own.at(-1)!));
    classes = kinds.join("");
    extra = spaceArguments(space, kinds);
    cross = crossDimension(space);
    if (cross >= 0) {
      const [height, width] = [space.shape[cross]!, space.shape[rank - 1]!];
      count = Math.ceil(height / TILE) * Math.ceil(width / TILE) * (size / height / width);
    }
  }
  const parameters = 2 * operands.length + scalars.length + extra.length + 2;
  if (parameters > MAX_PARAMETERS) {
    if (out === undefined) result.dispose();
    const options = { stream, template, context, ...(out === undefined ? {} : { out }) };
    const run = (copies: readonly Tensor[]) =>
      runMap(action, key, root, copies, scalars, shape, dtype, options);
    if (!isPlain) return withDense(action, tensors, shape, stream, run);
    requireParameters(action, parameters, tensors.length, scalars.length);
  }
  const work = storageOf(result).work;
  const kernel = work.kernel(`map ${key}${dtype} ${rank} ${classes} ${cross}`, () => {
    const node = root();
    const types = tensors.map((tensor) => tensor.dtype);
    return mapText(
      action,
      node,
      types,
      scalarTypesIn(node),
      dtype,
      rank,
      [...classes],
      cross,
      template,
    );
  });
  const inner = extra.splice(0, [...classes].filter((kind) => kind === "s").length);
  const chunk = cross < 0 ? CHUNK : work.form === "block" ? TILES : Math.ceil(count / 2 ** 31);
  const launchArguments: KernelArgument[] = [
    ...operands.map((operand) => storageOf(operand).buffer),
    ...operands.map(({ offset }) => offset),
    ...scalars as KernelArgument[],
    ...inner,
    count,
    chunk,
    ...extra,
  ];
  const grid = cross < 0
    ? gridFor(work, size, chunk)
    : { grid: Math.ceil(count / chunk), block: work.form === "block" ? 1 : BLOCK };
  enqueueKernel(kernel, operands, [result], stream, grid, launchArguments);
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
    const root = (): ExpressionNode => ({ kind: "input", index: 0, dtype: tensor.dtype });
    return runMap(
      action,
      `copy(${tensor.dtype})`,
      root,
      [tensor],
      [],
      shape,
      tensor.dtype,
      options,
    );
  });
  try {
    return use(copies);
  } finally {
    for (const copy of copies) copy.dispose();
  }
}

/** Inner strides that are arguments, then extents, then outer strides by axis. */
function spaceArguments(
  { shape, strides }: { readonly shape: number[]; readonly strides: number[][] },
  kinds: readonly string[],
): number[] {
  const inner = strides.flatMap((own, k) => kinds[k] === "s" ? [own.at(-1)!] : []);
  if (shape.length === 1) return inner;
  const outer = shape.slice(0, -1).flatMap((_, axis) => strides.map((own) => own[axis]!));
  return [...inner, ...shape, ...outer];
}

/** A dense tensor with undefined content. */
export function newTensor<D extends DType>(
  context: DeviceContext,
  dtype: D,
  shape: Shape,
  stream?: Stream,
): Tensor<D> {
  const storage = TensorStorage.allocate(context, dtype, sizeOf(shape), stream);
  return makeTensor<D>(storage, dtype, { shape, strides: denseStrides(shape), offset: 0 });
}

/**
 * Launches a kernel when it is compiled, ordered after the work that wrote its operands.
 *
 * @param launchArguments The arguments, or a function that the launch calls for them.
 */
export function enqueueKernel(
  kernel: GeneratedKernel,
  operands: readonly Tensor[],
  results: readonly Tensor[],
  stream: Stream,
  { grid, block }: { readonly grid: number; readonly block: number },
  launchArguments: readonly KernelArgument[] | (() => readonly KernelArgument[]),
): void {
  const storages = operands.map(storageOf);
  const written = results.map(storageOf);
  const { work } = written[0]!;
  // Tensors may be disposed before the launch: freeing the memory waits behind it.
  work.enqueue(kernel, storages, written, () => {
    for (const storage of storages) {
      if (written.includes(storage)) storage.orderWrite(stream);
      else storage.orderRead(stream);
    }
    const given = typeof launchArguments === "function" ? launchArguments() : launchArguments;
    kernel.kernel!.launch({ grid, block, stream }, ...given as never[]);
  });
}

/** A dense tensor with the elements of another one, which it may be itself. */
export function dense(tensor: Tensor, options: TensorOptions = {}): Tensor {
  return isDense(tensor) ? tensor : copyOf(tensor, tensor.dtype, options);
}

/** A dense tensor with the same elements, converted to an element type. */
export function copyOf(
  tensor: Tensor,
  dtype: DType,
  options: TensorOptions & { readonly out?: Tensor } = {},
): Tensor {
  const build = ([x]: readonly ExpressionNode[]) => castNode(x!, dtype);
  return applyExpression("astype", `cast ${dtype}`, [tensor], [], dtype, build, options);
}
