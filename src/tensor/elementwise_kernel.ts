/**
 * Runs elementwise expressions: one kernel over the elements of a result.
 *
 * @module
 */

import { type KernelTemplate, templates } from "./kit/expression/kernel_template.ts";
import { cannot, requireOptions } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import type { KernelForm } from "../kernels/kernel_form.ts";
import { bytesPerElement, cTypeOf, type DType } from "../memory/dtype.ts";
import {
  castNode,
  dtypesIn,
  type ExpressionNode,
  ExpressionWriter,
  operationNode,
  scalarTypesIn,
} from "./kit/expression/node.ts";
import { type OperationName, operationTypes, valueType } from "./kit/expression/operations.ts";
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
  type LaunchSize,
  MAX_PARAMETERS,
  newTensor,
  numbered,
  requireParameters,
  type Scalar,
} from "./kit/kernel_call.ts";
import {
  addSpace,
  broadcastShapes,
  broadcastStrides,
  isDense,
  mergeDimensions,
  type Shape,
  sizeOf,
  type Space,
  spaceText,
  strideClass,
} from "./kit/layout.ts";
import { operationStream } from "./kit/storage.ts";
import { storageOf, Tensor, tracedOf } from "./tensor.ts";

/** The edge of tiles in the block form, and tiles that a block takes. */
const TILE = 32;
const TILES = 16;
/** The threads of a block that takes a tile, or elements without operands; of others. */
const BLOCK = 256;
const PACKET_BLOCK = 128;
/** Bytes of operands that a CUDA thread loads at once. */
const MAX_LOADED = 64;
/** Packets of a thread: more would make the pieces that a block reads and then writes larger. */
const MAX_PACKETS = 2;

/** The smallest extent for tiles of CUDA threads. */
const MIN_TILED = 8;
/** The shared memory of a block without opt-in, and the most elements that pad a line of a tile. */
const MAX_SHARED = 49_152;
const TILE_PADDING = 4;

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

/**
 * Options of elementwise operations.
 * @category Tensors
 */
export interface ElementwiseOptions<D extends DType> extends TensorOptions {
  /** A tensor that takes the result, of its shape and element type. It may be an operand. */
  readonly out?: Tensor<D>;
}

/** Runs an elementwise operation, or adds it to the expression that `fuse()` builds. */
export function applyOperation<D extends DType>(
  name: OperationName,
  operands: readonly Operand[],
  options: ElementwiseOptions<D> = {},
): Tensor<D> {
  const common = commonType(name, operands);
  const { computed, result } = operationTypes(name, common);
  return applyExpression({
    action: name,
    key: name,
    operands,
    scalarTypes: operands.map(() => computed),
    dtype: result,
    build: (nodes) => operationNode(name, nodes, common),
  }, options as object) as Tensor as Tensor<D>;
}

/** Runs an expression, or adds it to the one that `fuse()` builds. */
export function applyExpression(
  expression: Expression,
  options: ElementwiseOptions<DType> = {},
): Tensor {
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
        `${cannot(action)} as operand ${index + 1} must be a tensor or a number: it is ${
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
  /** The inputs that go through shared memory, as they run along memory in that dimension. */
  readonly crossing: readonly number[];
  /** The edge of tiles. */
  readonly edge: number;
}

/** The layouts of dense operands, by their number. */
const PLAIN: MapLayout[] = [];

/** How CUDA threads take the elements of a result: packets of neighbours, and packets of a thread. */
interface Packets {
  readonly threads: number;
  readonly elements: number;
  readonly count: number;
}

/**
 * The packets of an expression: 16 bytes of the result, so a warp writes whole lines, and up to 64
 * bytes of operands for each thread, which with a multiprocessor full of threads covers the latency
 * of memory.
 */
function packetsOf(tensors: readonly Tensor[], dtype: DType, classes: string): Packets {
  let [widest, loaded] = [1, 0];
  for (let k = 0; k < tensors.length; k++) {
    if (classes[k] === "0") continue;
    const bytes = bytesPerElement(tensors[k]!.dtype);
    widest = Math.max(widest, bytes);
    loaded += bytes;
  }
  const elements = Math.min(16 / bytesPerElement(dtype), MAX_LOADED / widest);
  const count = Math.round(MAX_LOADED / (loaded * elements));
  return loaded === 0
    ? { threads: BLOCK, elements, count: 1 }
    : { threads: PACKET_BLOCK, elements, count: Math.max(1, Math.min(count, MAX_PACKETS)) };
}

/** The C++ of a part of the body of an expression, for N elements. */
function partOf(head: string, lines: readonly string[]): string[] {
  return [
    "  template <int N>",
    `  __device__ __forceinline__ ${head} const {`,
    ...lines.map((line) => `    ${line}`),
    "  }",
  ];
}

/** The body of an expression over operands of some classes, as `map.cuh` takes it. */
function bodyText(
  root: ExpressionNode,
  { tensors, dtype }: MapCall,
  { classes, crossing, edge }: MapLayout,
): string {
  const types = tensors.map((tensor) => cTypeOf(tensor.dtype));
  const result = cTypeOf(dtype);
  const out = tensors.length;
  const writer = new ExpressionWriter((index) =>
    classes[index] === "0" ? `inputs.x${index}` : `inputs.x${index}.element[j]`
  );
  const value = writer.storedValue(root);
  // The arguments of the access to an operand.
  const place = (name: string, k: number) =>
    classes[k] === "0"
      ? `${name} + offsets[${k}]`
      : classes[k] === "1"
      ? `${name} + offsets[${k}] + i`
      : `${name} + offsets[${k}] + i * t${k}, t${k}`;
  const aligned = [...types.keys(), out].filter((k) => classes[k] === "1")
    .map((k) => `space.template is_aligned<N>(${k === out ? "out" : `x${k}`}, ${k})`);
  return [
    "struct Body {",
    `  using Result = ${result};`,
    `  static constexpr bool has_inputs = ${tensors.length > 0};`,
    ...types.map((type, k) => `  const ${type}* x${k};`),
    `  ${result}* out;`,
    ...scalarTypesIn(root).map((type, k) => `  ${valueType(type)} c${k};`),
    ...strided(classes).map((k) => `  i64 t${k};`),
    "  template <int N>",
    "  struct Inputs {",
    ...types.map((type, k) => `    ${classes[k] === "0" ? type : `Packet<${type}, N>`} x${k};`),
    "  };",
    ...partOf(
      "void read(Inputs<N>& inputs, const i64* offsets, i64 i)",
      types.flatMap((_, k) =>
        crossing.includes(k)
          ? []
          : classes[k] === "0"
          ? [`inputs.x${k} = *(${place(`x${k}`, k)});`]
          : [`inputs.x${k}.read(${place(`x${k}`, k)});`]
      ),
    ),
    ...partOf(
      "Result compute(const Inputs<N>& inputs, int j, i64 i)",
      [...writer.lines, `return store<Result>(${value});`],
    ),
    ...partOf(
      "void write(const Packet<Result, N>& results, const i64* offsets, i64 i)",
      [`results.write(${place("out", out)});`],
    ),
    "  template <int N, typename Any>",
    "  __device__ __forceinline__ bool is_aligned(const Any& space) const {",
    `    return ${aligned.join(" && ") || "true"};`,
    "  }",
    ...(crossing.length === 0 ? [] : tilesText(types, crossing, edge)),
    "};",
  ].join("\n");
}

/** The parts of a body whose inputs cross: their tiles in shared memory. */
function tilesText(types: readonly string[], crossing: readonly number[], edge: number): string[] {
  return [
    "  struct Tiles {",
    ...crossing.map((k) => `    Tile<${types[k]}, ${edge}> x${k};`),
    "  };",
    "  template <int Cross, int Threads, typename Any, typename Place>",
    "  __device__ __forceinline__ void read_tiles(Tiles& tiles, const Any& space,",
    "                                             const Place& place, int height,",
    "                                             int width) const {",
    ...crossing.flatMap((k) => [
      `    const i64 s${k} = space.stride[Cross][${k}];`,
      `    tiles.x${k}.template load<Threads>(`,
      `        x${k} + place.offsets[${k}] + place.top * s${k} + place.left * t${k},`,
      `        t${k}, s${k}, height, width);`,
    ]),
    "  }",
    ...partOf(
      "void take(Inputs<N>& inputs, const Tiles& tiles, int row, int column)",
      crossing.map((k) => `tiles.x${k}.read(inputs.x${k}, row, column);`),
    ),
  ];
}

/** The operands whose elements lie any number of elements apart in the last dimension. */
function strided(classes: string): number[] {
  return [...classes].flatMap((kind, k) => kind === "s" ? [k] : []);
}

/** Composes the kernel of an expression over a space of merged dimensions. */
function mapCode(call: MapCall, layout: MapLayout): KernelCode {
  const { rank, classes, cross, edge } = layout;
  const { tensors, dtype, template = templates.map } = call;
  const root = call.root();
  const { threads, elements, count } = packetsOf(tensors, dtype, classes);
  const map = cross < 0
    ? `map_expression<${threads}, ${elements}, ${count}>`
    : `map_tiles<${cross}, ${edge}, ${BLOCK}, ${elements}>`;
  const operands = tensors.length + 1;
  const members = [
    ...tensors.map((_, k) => `x${k} + o${k}`),
    `out + o${tensors.length}`,
    ...scalarTypesIn(root).map((_, k) => `c${k}`),
    ...strided(classes).map((k) => `t${k}`),
  ];
  return {
    template,
    dtypes: dtypesIn(root),
    definitions: bodyText(root, call, layout),
    body: [
      `  Space<${rank}, ${operands}> space{};`,
      ...(rank === 1 ? [] : spaceText(rank, operands, rank - 1)),
      `  ${map}(space, elements, chunk, Body{${members.join(", ")}});`,
    ].join("\n"),
  };
}

/**
 * The dimension in which an input runs along memory, if it jumps in the last one; -1 if there is
 * none. The result runs along memory in the last one.
 */
function crossDimension({ shape, strides }: Space): number {
  for (const own of strides.slice(0, -1)) {
    if (Math.abs(own.at(-1)!) <= 1) continue;
    const cross = own.findIndex((stride, axis) => Math.abs(stride) === 1 && shape[axis]! >= 8);
    if (cross >= 0) return cross;
  }
  return -1;
}

/** The layout of operands in a space for a form of kernels. */
function layoutOf(
  { shape, strides }: Space,
  { tensors, dtype }: MapCall,
  form: KernelForm,
): MapLayout {
  const rank = shape.length;
  const classes = strides.map((own) => strideClass(own.at(-1)!)).join("");
  const cross = crossDimension({ shape, strides });
  const plain = { rank, classes, cross, crossing: [], edge: TILE };
  if (form === "block" || cross < 0) return plain;
  // The accesses of few columns are next to each other without tiles.
  if (shape[rank - 1]! < MIN_TILED) return { ...plain, cross: -1 };
  const crossing = [...tensors.keys()].filter((k) =>
    classes[k] === "s" && Math.abs(strides[k]![cross]!) === 1
  );
  const bytes = tensors.map((tensor) => bytesPerElement(tensor.dtype));
  const widest = Math.max(...bytes, bytesPerElement(dtype));
  const all = crossing.reduce((sum, k) => sum + bytes[k]!, 0);
  let edge = widest === 8 ? 32 : widest === 1 ? 128 : 64;
  while (edge * (edge + TILE_PADDING) * all > MAX_SHARED) edge /= 2;
  return { rank, classes, cross, crossing, edge };
}

/** The axes of a shape, and the largest steps of the result in memory first. */
function axesOf(result: Tensor): number[] {
  const axes = [...result.shape.keys()];
  if (result.isDense) return axes;
  const step = (axis: number) => Math.abs(result.strides[axis]!);
  return axes.sort((a, b) => step(b) - step(a));
}

/** The launch of an expression that takes the elements in their order. */
function launchSize(
  { tensors, dtype }: MapCall,
  classes: string,
  size: number,
  form: KernelForm,
): LaunchSize {
  if (form === "block") return { grid: Math.ceil(size / CHUNK), block: 1 };
  const { threads, elements, count } = packetsOf(tensors, dtype, classes);
  return { grid: Math.ceil(size / (threads * elements * count)), block: threads };
}

/** Runs one kernel over the elements of a result, which is new unless `out` is given. */
export function runMap(call: MapCall, options: ElementwiseOptions<DType> = {}): Tensor {
  const { action, tensors, scalars = [], shape, dtype } = call;
  const { out } = options;
  const named = out === undefined ? [] : [requireTensor(out, "options.out", action)];
  const context = call.context ?? commonContext(action, [...tensors, ...named]);
  const stream = operationStream(context, options.stream, tensors.map(storageOf));
  if (out !== undefined) requireOut(action, out, call, tensors);
  const size = sizeOf(shape);
  const result = out ?? newTensor(context, dtype, shape, stream);
  if (size === 0) return result;
  const { work } = storageOf(result);
  const operands = [...tensors, result];
  const numbers: Record<string, number> = numbered("o", operands.map(({ offset }) => offset));
  let layout: MapLayout;
  let blocks: LaunchSize | undefined;
  const isPlain = operands.every((it) => it.isDense && it.size === size);
  if (isPlain) {
    layout = PLAIN[operands.length] ??= {
      rank: 1,
      classes: "1".repeat(operands.length),
      cross: -1,
      crossing: [],
      edge: TILE,
    };
    numbers.elements = size;
    numbers.chunk = CHUNK;
  } else {
    const axes = axesOf(result);
    const strides = operands.map((it) => {
      const own = broadcastStrides(it, shape);
      return axes.map((axis) => own[axis]!);
    });
    const space = mergeDimensions(axes.map((axis) => shape[axis]!), strides);
    layout = layoutOf(space, call, work.form);
    const { rank, classes, cross, edge } = layout;
    let [elements, chunk] = [size, CHUNK];
    if (cross >= 0) {
      const [height, width] = [space.shape[cross]!, space.shape[rank - 1]!];
      elements = Math.ceil(height / edge) * Math.ceil(width / edge) * (size / height / width);
      chunk = work.form === "block" ? TILES : 1;
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
    key: `map ${call.key} ${layout.rank} ${layout.classes} ${layout.cross} ${layout.crossing}`,
    code: () => mapCode(call, layout),
    size: blocks ?? launchSize(call, layout.classes, size, work.form),
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
export function copyOf(
  tensor: Tensor,
  dtype: DType,
  options: ElementwiseOptions<DType> = {},
): Tensor {
  return applyExpression({
    action: "astype",
    key: `cast ${dtype}`,
    operands: [tensor],
    scalarTypes: [],
    dtype,
    build: ([x]) => castNode(x!, dtype),
  }, options);
}
