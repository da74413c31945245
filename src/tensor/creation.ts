/**
 * Functions that make tensors.
 *
 * @module
 */

import { cannot, requireInteger, requireOptions, trueArray } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { streamFor } from "../memory/buffer_copy.ts";
import { DeviceBuffer } from "../memory/device_buffer.ts";
import { fill } from "../kernels/elementwise.ts";
import {
  createTypedArray,
  type DType,
  type DTypeOf,
  dtypeOf,
  type ElementOf,
  integerRange,
  isFloatDType,
  isIntegerDType,
  requireArrayOf,
  type SelfDescribingArray,
  type TypedArrayOf,
  typedArrayOver,
} from "../memory/dtype.ts";
import { elementBits, narrowFromFloat32 } from "../memory/element_bits.ts";
import { newTensor, type Scalar } from "./kit/kernel_call.ts";
import { type MapCall, runMap } from "./elementwise_kernel.ts";
import type { TensorOptions } from "./kit/checks.ts";
import { castNode, type ExpressionNode, operationNode } from "./kit/expression/node.ts";
import {
  denseStrides,
  MAX_RANK,
  requireShape,
  type Shape,
  shapeText,
  sizeOf,
} from "./kit/layout.ts";
import { placeOf, type TensorDevice } from "./kit/placement.ts";
import { TensorStorage } from "./kit/storage.ts";
import { makeTensor, type Nested, storageOf, type Tensor } from "./tensor.ts";

/**
 * Options of functions that make tensors.
 * @category Tensors
 */
export interface CreationOptions<D extends DType = DType> extends TensorOptions {
  /**
   * The device, such as `"cuda:1"` or an open `Device`; by default the one that `openDevice()` opens,
   * opened on first use.
   */
  readonly device?: TensorDevice;
  /** The element type; `float32` by default, which numbers of JavaScript are rounded to. */
  readonly dtype?: D;
}

/** Names of options. */
export const CREATION_NAMES: readonly string[] = ["device", "stream", "dtype"];

/** A tensor of elements in JavaScript memory, which may be changed at once. */
function uploaded<D extends DType>(
  elements: TypedArrayOf<D>,
  dtype: D,
  shape: Shape,
  options: CreationOptions,
  action: string,
): Tensor<D> {
  const result = newTensor(placeOf(options, action), dtype, shape, options.stream);
  const { buffer, stream, work } = storageOf(result);
  const target = buffer as DeviceBuffer as DeviceBuffer<D>;
  // The memory is new: no operation that waits uses it.
  work.order.aside(() => target.copyFrom(elements, { stream }));
  return result;
}

/** Whether a value is an array or a typed array. */
function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) || trueArray(value) !== undefined;
}

/** The shape of nested arrays, their elements in order, and the element types of typed arrays. */
function flatten(data: unknown, action: string) {
  const shape: number[] = [];
  const dtypes = new Set<DType | undefined>();
  // Arrays that contain themselves have no end.
  for (let level = data; isList(level) && shape.length <= MAX_RANK; level = level[0]) {
    shape.push(level.length);
  }
  requireShape(shape, action);
  const elements: unknown[] = [];
  const visit = (value: unknown, axis: number): void => {
    if (axis === shape.length && !isList(value)) return void elements.push(value);
    if (isList(value) && value.length === shape[axis]) {
      if (ArrayBuffer.isView(value)) dtypes.add(dtypeOf(value));
      for (const part of value) visit(part, axis + 1);
      return;
    }
    throw new RangeError(
      `${cannot(action)} as nested arrays must have equal lengths: at depth ${axis} is ${
        describeValue(value)
      }, where the shape is ${shapeText(shape)}`,
    );
  };
  visit(data, 0);
  return { shape, elements, dtypes: [...dtypes] };
}

/** Elements as a typed array of an element type; floats are rounded, integers must fit. */
function typedElements(dtype: DType, elements: readonly unknown[], action: string): unknown {
  const isNumber = (value: unknown) =>
    typeof value === "number" || typeof value === "bigint" || typeof value === "boolean";
  const wrong = elements.findIndex((value) => !isNumber(value));
  if (wrong >= 0) {
    throw new TypeError(
      `${cannot(action)} as the elements must be numbers: one is ${describeValue(elements[wrong])}`,
    );
  }
  if (dtype === "float32") return Float32Array.from(elements as number[], Number);
  if (dtype === "float64") return Float64Array.from(elements as number[], Number);
  if (isFloatDType(dtype)) {
    return narrowFromFloat32(dtype as "float16", Float32Array.from(elements as number[], Number));
  }
  const target = createTypedArray(dtype, elements.length) as unknown as Record<number, unknown>;
  elements.forEach((value, index) => {
    const isNarrow = typeof value === "bigint" && !dtype.endsWith("64");
    const isTruth = typeof value === "boolean" && dtype !== "bool";
    const element = isNarrow || isTruth ? Number(value) : value;
    target[index] = elementBits(dtype, element as ElementOf<DType>);
  });
  return target as unknown as Float32Array;
}

/**
 * Makes a tensor of nested arrays, of a typed array or nested ones, or of a number. Arrays are copied.
 *
 * @param data Numbers give `float32`, big integers `int64`, booleans `bool`, and typed arrays their
 * element type, unless the options name another type. {@linkcode fromTypedArray} gives the elements
 * another shape, or takes them for the bits of `bfloat16`, 8-bit floats or `bool`.
 * @param options The element type, the device and the stream.
 * @throws {RangeError} If the arrays are ragged, or an integer does not fit the type.
 * @throws {TypeError} If an element is no number, or typed arrays differ and no type is named.
 *
 * @example
 * ```ts
 * import { tensor } from "@gridstride/cuda/tensor";
 *
 * using x = tensor([[1, 2], [3, 4]]);
 * console.log(x.shape, x.dtype); // [ 2, 2 ] float32
 * using y = tensor(new Int16Array([1, 2]));
 * console.log(y.dtype); // int16
 * ```
 * @category Making tensors
 */
export function tensor(
  data: Nested<number>,
  options?: CreationOptions & { readonly dtype?: never },
): Tensor<"float32">;
/** Makes a tensor of booleans. */
export function tensor(
  data: Nested<boolean>,
  options?: CreationOptions & { readonly dtype?: never },
): Tensor<"bool">;
/** Makes a tensor of 64-bit integers. */
export function tensor(
  data: Nested<bigint>,
  options?: CreationOptions & { readonly dtype?: never },
): Tensor<"int64">;
/** Makes a tensor of typed arrays, with their element type; arrays of `any` give `float32`. */
export function tensor<A extends SelfDescribingArray>(
  data: Nested<A>,
  options?: CreationOptions & { readonly dtype?: never },
): Tensor<0 extends 1 & A ? "float32" : DTypeOf<A> & DType>;
/** Makes a tensor of the element type in the options. */
export function tensor<D extends DType>(
  data: Nested<number | bigint | boolean | SelfDescribingArray>,
  options: CreationOptions<D> & { readonly dtype: D },
): Tensor<D>;
export function tensor(
  data: Nested<number | bigint | boolean | SelfDescribingArray>,
  options: CreationOptions = {},
): Tensor {
  const action = "make a tensor";
  requireOptions(options, CREATION_NAMES, action);
  if (ArrayBuffer.isView(data) && (options.dtype ?? dtypeOf(data)) === dtypeOf(data)) {
    return fromTypedArray(data, undefined, options) as Tensor;
  }
  const { shape, elements, dtypes: [own, other] } = flatten(data, action);
  if (other !== undefined && options.dtype === undefined) {
    throw new TypeError(
      `${
        cannot(action)
      } as options.dtype must be given for typed arrays of several types: they are ${own} and ${other}`,
    );
  }
  const [first] = elements;
  const implied = typeof first === "boolean"
    ? "bool"
    : typeof first === "bigint"
    ? "int64"
    : "float32";
  const dtype = options.dtype ?? own ?? implied;
  return uploaded(
    typedElements(dtype, elements, action) as Float32Array,
    dtype as "float32",
    shape,
    options,
    action,
  ) as Tensor;
}

/**
 * Makes a tensor of the elements of a typed array, in row-major order. The array is copied.
 *
 * @param array Its class gives the element type, unless the options name another one for its bits.
 * @param shape One dimension by default.
 * @param options The element type of the bits, the device and the stream.
 * @throws {RangeError} If the shape has another number of elements.
 *
 * @example
 * ```ts
 * import { fromTypedArray } from "@gridstride/cuda/tensor";
 *
 * using y = fromTypedArray(Int16Array.of(1, 2, 3, 4), [2, 2]);
 * console.log(await y.toNested()); // [ [ 1, 2 ], [ 3, 4 ] ]
 * ```
 * @category Making tensors
 */
export function fromTypedArray<A extends SelfDescribingArray, D extends DType = DTypeOf<A> & DType>(
  array: A,
  shape?: Shape,
  options: CreationOptions<D> = {},
): Tensor<D> {
  const action = "make a tensor of a typed array";
  requireOptions(options, CREATION_NAMES, action);
  const dtype = (options.dtype ?? (trueArray(array) && dtypeOf(array))) as D | undefined;
  if (dtype === undefined) {
    throw new TypeError(
      `${cannot(action)} as array must be a typed array: it is ${describeValue(array)}`,
    );
  }
  const { buffer, byteOffset } = requireArrayOf(array, dtype, action, "array");
  const extents = requireShape(shape ?? [array.length], action);
  requireSize(array.length, extents, action);
  const elements = typedArrayOver(dtype, buffer, byteOffset, array.length);
  return uploaded(elements, dtype, extents, options, action);
}

export function requireSize(length: number, shape: Shape, action: string): void {
  if (length === sizeOf(shape)) return;
  throw new RangeError(
    `${cannot(action)} as shape must have ${length} elements: ${shapeText(shape)} has ${
      sizeOf(shape)
    }`,
  );
}

/**
 * Makes a tensor over a buffer, without a copy. The tensor frees the buffer; work that wrote the
 * buffer must be on its stream.
 *
 * @param buffer The elements in row-major order.
 * @param shape The extents of the axes; one dimension by default.
 * @param options The stream.
 * @throws {RangeError} If the shape has another number of elements than the buffer.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 * import { fromBuffer } from "@gridstride/cuda/tensor";
 *
 * using device = openDevice();
 * using x = fromBuffer(device.allocate("float32", 4, { fill: 1 }), [2, 2]);
 * console.log(await x.toNested()); // [ [ 1, 1 ], [ 1, 1 ] ]
 * ```
 * @category Making tensors
 */
export function fromBuffer<D extends DType>(
  buffer: DeviceBuffer<D>,
  shape?: Shape,
  options: TensorOptions = {},
): Tensor<D> {
  const action = "make a tensor over a buffer";
  requireOptions(options, ["stream"], action);
  if (!(buffer instanceof DeviceBuffer) || buffer.disposed) {
    throw new TypeError(
      `${cannot(action)} as buffer must be a live DeviceBuffer: it is ${describeValue(buffer)}`,
    );
  }
  const extents = requireShape(shape ?? [buffer.length], action);
  requireSize(buffer.length, extents, action);
  const stream = streamFor(buffer.context, options.stream ?? buffer.stream);
  const storage = new TensorStorage(buffer as DeviceBuffer, stream);
  const layout = { shape: extents, strides: denseStrides(extents), offset: 0 };
  return makeTensor(storage, buffer.dtype, layout);
}

/**
 * A tensor with one value in all elements.
 *
 * @param shape The extents of the axes.
 * @param value The value of all elements.
 * @param options The element type, the device and the stream.
 * @throws {RangeError} If the value does not fit the element type.
 *
 * @example
 * ```ts
 * import { full } from "@gridstride/cuda/tensor";
 *
 * using y = full([2, 2], 7, { dtype: "int32" });
 * console.log(await y.toNested()); // [ [ 7, 7 ], [ 7, 7 ] ]
 * ```
 * @category Making tensors
 */
export function full<D extends DType = "float32">(
  shape: Shape,
  value: ElementOf<D>,
  options: CreationOptions<D> = {},
): Tensor<D> {
  const action = "make a full tensor";
  requireOptions(options, CREATION_NAMES, action);
  const { dtype = "float32" as D } = options;
  elementBits(dtype, value); // Throws for wrong values before memory is allocated.
  const extents = requireShape(shape, action);
  const result = newTensor(placeOf(options, action), dtype, extents, options.stream);
  const storage = storageOf(result);
  const { buffer, stream, context, work } = storage;
  const out = buffer as DeviceBuffer as DeviceBuffer<D>;
  const written = [{ storage, isWhole: true }];
  const launch = () => fill(context, out, value, { stream });
  const logged = work.log?.timed("full", [result], stream, launch);
  work.enqueue(undefined, [], written, logged ?? launch);
  return result;
}

/**
 * A tensor of zeros.
 *
 * @param shape The extents of the axes.
 * @param options The element type, the device and the stream.
 * @throws {RangeError} If an extent is negative, or there are more than 8 dimensions.
 * @throws {TypeError} If the shape is no array, or the element type is unknown.
 *
 * @example
 * ```ts
 * import { zeros } from "@gridstride/cuda/tensor";
 *
 * using y = zeros([2, 2]);
 * console.log(await y.toNested()); // [ [ 0, 0 ], [ 0, 0 ] ]
 * ```
 * @category Making tensors
 */
export function zeros<D extends DType = "float32">(
  shape: Shape,
  options: CreationOptions<D> = {},
): Tensor<D> {
  return full(shape, (options?.dtype === "bool" ? false : 0) as ElementOf<D>, options);
}

/**
 * A tensor of ones.
 *
 * @param shape The extents of the axes.
 * @param options The element type, the device and the stream.
 * @throws {RangeError} If an extent is negative, or there are more than 8 dimensions.
 * @throws {TypeError} If the shape is no array, or the element type is unknown.
 *
 * @example
 * ```ts
 * import { ones } from "@gridstride/cuda/tensor";
 *
 * using y = ones([2, 2]);
 * console.log(await y.toNested()); // [ [ 1, 1 ], [ 1, 1 ] ]
 * ```
 * @category Making tensors
 */
export function ones<D extends DType = "float32">(
  shape: Shape,
  options: CreationOptions<D> = {},
): Tensor<D> {
  return full(shape, (options?.dtype === "bool" ? true : 1) as ElementOf<D>, options);
}

/** A tensor of a function of the position in row-major order. */
export function generated<D extends DType>(
  call: Pick<MapCall, "action" | "key" | "root" | "scalars" | "shape" | "template">,
  options: CreationOptions<D>,
): Tensor<D> {
  const { action } = call;
  const context = placeOf(options, action);
  const { dtype = "float32" as D } = options;
  const place = options.stream === undefined ? {} : { stream: options.stream };
  const shape = requireShape(call.shape, action);
  return runMap({ ...call, tensors: [], shape, dtype, context }, place) as Tensor as Tensor<D>;
}

/** The position of an element. */
export const positionNode: ExpressionNode = { kind: "name", name: "i", dtype: "int64" };

/**
 * start + position · step, in double precision or exact integers.
 *
 * @param stop The last element, which the rounded step may miss.
 */
function progression<D extends DType>(
  action: string,
  length: number,
  start: number,
  step: number,
  options: CreationOptions<D>,
  stop?: number,
): Tensor<D> {
  requireOptions(options, CREATION_NAMES, action);
  const { dtype = "float32" } = options;
  const range = integerRange(dtype);
  for (
    const value of range === undefined || length === 0
      ? []
      : [start, stop ?? start + (length - 1) * step]
  ) {
    const element = BigInt(stop === undefined ? Math.trunc(value) : Math.floor(value));
    if (element >= range!.lowest && element <= range!.highest) continue;
    throw new RangeError(
      `${cannot(action)} as all elements must be in ${range!.lowest}..${
        range!.highest
      } for ${dtype}: one is ${element}`,
    );
  }
  const isInteger = isIntegerDType(dtype) && Number.isInteger(start) && Number.isInteger(step);
  const integer = dtype === "uint64" ? dtype : "int64";
  const type = isInteger ? integer : "float64";
  const isClosed = stop !== undefined && !isInteger;
  const number = (it: number) => {
    if (!isInteger) return it;
    return integer === "int64" ? BigInt(it) : BigInt.asUintN(64, BigInt(it));
  };
  const scalars: Scalar[] = [
    { dtype: type, value: number(start) },
    { dtype: type, value: number(step) },
  ];
  if (isClosed) {
    scalars.push({ dtype: "int64", value: BigInt(length - 1) }, { dtype: type, value: stop });
  }
  const root = () => {
    const nodes = scalars.map(({ dtype }, index): ExpressionNode => ({
      kind: "scalar",
      index,
      dtype,
    }));
    const [first, factor, last, end] = nodes;
    const distance = operationNode("multiply", [castNode(positionNode, type), factor!], type);
    const element = operationNode("add", [first!, distance], type);
    if (!isClosed) return castNode(element, dtype);
    const condition = operationNode("equal", [positionNode, last!], "int64");
    const operands = [end!, element] as const;
    const value: ExpressionNode = { kind: "select", dtype: type, condition, operands };
    // NumPy rounds down here; a cast would round towards 0.
    return castNode(isIntegerDType(dtype) ? operationNode("floor", [value], type) : value, dtype);
  };
  const key = `progression ${type} ${dtype} ${isClosed}`;
  return generated({ action, key, root, scalars, shape: [length] }, options);
}

/**
 * The numbers from `start` up to but not including `stop`; `arange(stop)` begins with 0.
 *
 * @param start The first number; the end if `stop` is missing.
 * @param stop The end, which is not included.
 * @param step The difference of neighbours; 1 by default.
 * @param options The element type, the device and the stream.
 * @throws {RangeError} If a number is not finite, the step is 0, or an element is out of the range
 * of an integer type.
 *
 * @example
 * ```ts
 * import { arange } from "@gridstride/cuda/tensor";
 *
 * using y = arange(2, 10, 3);
 * console.log(await y.toNested()); // [ 2, 5, 8 ]
 * ```
 * @category Making tensors
 */
export function arange<D extends DType = "float32">(
  start: number,
  stop?: number,
  step = 1,
  options: CreationOptions<D> = {},
): Tensor<D> {
  const action = "make a range";
  const [first, end] = stop === undefined ? [0, start] : [start, stop];
  for (const [name, value] of Object.entries({ start: first, stop: end, step })) {
    if (typeof value === "number" && Number.isFinite(value) && (name !== "step" || value !== 0)) {
      continue;
    }
    throw new RangeError(
      `${cannot(action)} as ${name} must be a finite number${
        name === "step" ? " other than 0" : ""
      }: ` +
        `it is ${describeValue(value)}`,
    );
  }
  const length = Math.max(0, Math.ceil((end - first) / step));
  return progression(action, length, first, step, options);
}

/**
 * Evenly spaced numbers from `start` to `stop`, both included.
 *
 * @param start The first number.
 * @param stop The last number.
 * @param count The number of elements.
 * @param options The element type, the device and the stream.
 * @throws {RangeError} If a number is not finite, the count is no integer of at least 0, or an
 * element is out of the range of an integer type.
 *
 * @example
 * ```ts
 * import { linspace } from "@gridstride/cuda/tensor";
 *
 * using y = linspace(0, 1, 5);
 * console.log(await y.toNested()); // [ 0, 0.25, 0.5, 0.75, 1 ]
 * ```
 * @category Making tensors
 */
export function linspace<D extends DType = "float32">(
  start: number,
  stop: number,
  count: number,
  options: CreationOptions<D> = {},
): Tensor<D> {
  const action = "space numbers";
  requireInteger(count, "count", action, 0, Number.MAX_SAFE_INTEGER);
  if (!Number.isFinite(start) || !Number.isFinite(stop)) {
    throw new RangeError(
      `${cannot(action)} as start and stop must be finite numbers: they are ${
        describeValue(start)
      } and ${describeValue(stop)}`,
    );
  }
  const [step, end] = count > 1 ? [(stop - start) / (count - 1), stop] : [0, undefined];
  return progression(action, count, start, step, options, end);
}
