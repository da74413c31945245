/**
 * Tensors: typed, shaped memory on a device, and views of it.
 *
 * @module
 */

import { describeValue } from "../ffi/describe_value.ts";
import { cannot, requireOptions } from "../ffi/arguments.ts";
import { displayAs } from "../ffi/display.ts";
import { type DeviceContext, labelOf } from "../hardware/device_context.ts";
import type { DeviceBuffer } from "../memory/device_buffer.ts";
import type { DType, TypedArrayOf } from "../memory/dtype.ts";
import { widenToFloat32 } from "../memory/element_bits.ts";
import { isCapturing } from "../stream/running_captures.ts";
import type { Operand, TensorOptions } from "./kit/checks.ts";
import { arrayText } from "./kit/array_text.ts";
import type { ExpressionNode } from "./kit/expression/node.ts";
import type { Tracer } from "./fusion.ts";
import {
  broadcastShapes,
  broadcastStrides,
  denseStrides,
  extentOf,
  inferShape,
  isDense,
  type Layout,
  positionsOf,
  requireAxes,
  requireAxis,
  requireShape,
  reshapedStrides,
  type Shape,
  shapeText,
  sizeOf,
  type Slice,
  sliceLayout,
} from "./kit/layout.ts";
import { contextOfDevice, copiedTo, isNear, type TensorDevice } from "./kit/placement.ts";
import type { Absorbed, ElementValue } from "./kit/promotion.ts";
import { addToScope } from "./scope.ts";
import type { Selector } from "./selection/selection.ts";
import { operations, TensorMethods } from "./tensor_methods.ts";
import type { TensorStorage } from "./kit/storage.ts";

/**
 * Nested arrays of elements; a single element for a tensor without dimensions.
 * @category Tensors
 */
export type Nested<Element> = Element | readonly Nested<Element>[];

/** A value in the expression that `fuse()` builds. */
export interface TracedValue {
  readonly tracer: Tracer;
  readonly node: ExpressionNode;
}

const KEY = Symbol();

/** The largest tensor that `console.log()` prints, and the largest range of memory that it reads. */
const MAX_SHOWN = 1000;
const MAX_SHOWN_RANGE = 2 ** 20;

/** The elements that iteration over rows reads at once. */
const MAX_ROWS_ELEMENTS = 2 ** 16;

/** Elements of typed arrays as JavaScript values. */
function valuesOf(dtype: DType, elements: unknown): (number | bigint | boolean)[] {
  if (dtype === "bool") return Array.from(elements as Uint8Array, (bit) => bit !== 0);
  if (dtype === "bfloat16" || dtype === "float8_e4m3" || dtype === "float8_e5m2") {
    return [...widenToFloat32(dtype, elements as Uint8Array | Uint16Array)];
  }
  return Array.from(elements as ArrayLike<number | bigint>);
}

// Access to private members for the modules of operations.
/** Makes a tensor over memory, which it holds. */
export let makeTensor: <D extends DType>(
  storage: TensorStorage,
  dtype: D,
  layout: Layout,
) => Tensor<D>;
/** Makes a tensor that stands for a value in an expression. */
export let makeTraced: (traced: TracedValue, shape: Shape, context: DeviceContext) => Tensor;
/** The memory of a tensor, shared with views. */
export let storageOf: (tensor: Tensor) => TensorStorage;
/** The value in an expression, if `fuse()` made the tensor. */
export let tracedOf: (tensor: Tensor) => TracedValue | undefined;

/**
 * A tensor: elements of one type in a shape, on a device. Made by {@linkcode tensor},
 * {@linkcode zeros} and their like, and by operations on other tensors.
 *
 * Names and semantics of operations are those of the Python array API standard, in camelCase. An
 * operation returns at once; the device works in the order of the calls. The first use of an
 * operation compiles its kernel while the program continues.
 *
 * Views, such as slices, share memory. The memory is freed when the tensor and all of its views are
 * disposed (`using`, {@linkcode tidy}), or collected as garbage.
 *
 * @typeParam D The element type.
 *
 * @example
 * ```ts
 * import { tensor } from "@gridstride/cuda/tensor";
 *
 * using x = tensor([[1, 2], [3, 4]]);
 * using y = x.multiply(10).add(x.permute([1, 0]));
 * console.log(await y.toNested()); // [ [ 11, 23 ], [ 32, 44 ] ]
 * ```
 * @category Tensors
 */
export class Tensor<D extends DType = DType> extends TensorMethods<D> implements Disposable {
  /** The element type. */
  readonly dtype: D;
  /** The extents, outermost first; empty for a single element. */
  readonly shape: Shape;
  /** The distances of neighbours along each axis, in elements. */
  readonly strides: readonly number[];
  /** The position of the first element in the buffer. */
  readonly offset: number;
  /** The number of elements. */
  readonly size: number;
  /** Whether the elements lie in row-major order without gaps. */
  readonly isDense: boolean;
  /** @ignore The context of the memory's device. */
  readonly context: DeviceContext;
  readonly #storage: TensorStorage | undefined;
  readonly #traced: TracedValue | undefined;
  #disposed = false;
  // Where it was disposed, if the pool tracks memory.
  #disposedAt: string | undefined;

  private constructor(
    key: symbol,
    dtype: D,
    layout: Layout,
    context: DeviceContext,
    storage: TensorStorage | undefined,
    traced: TracedValue | undefined,
  ) {
    super();
    if (key !== KEY) {
      throw new TypeError("Cannot make a Tensor by new: call tensor(), zeros() or their like");
    }
    this.dtype = dtype;
    this.shape = Object.freeze(layout.shape);
    this.strides = Object.freeze(layout.strides);
    this.offset = layout.offset;
    this.size = sizeOf(layout.shape);
    this.isDense = isDense(layout);
    this.context = context;
    this.#storage = storage;
    this.#traced = traced;
    storage?.hold();
    if (storage !== undefined) addToScope(this);
    Object.freeze(this);
  }

  static {
    makeTensor = (storage, dtype, layout) =>
      new Tensor(KEY, dtype, layout, storage.context, storage, undefined);
    makeTraced = (traced, shape, context) => {
      const layout = { shape, strides: shape.map(() => 0), offset: 0 };
      return new Tensor(KEY, traced.node.dtype, layout, context, undefined, traced);
    };
    storageOf = (tensor) => {
      const storage = tensor.#storage;
      if (storage !== undefined) return storage;
      throw new TypeError(
        "Cannot use a tensor inside of fuse() like this: only elementwise operations and a final " +
          "reduction can be fused",
      );
    };
    tracedOf = (tensor) => tensor.#traced;
    displayAs<Tensor>(Tensor.prototype, "Tensor", {
      dtype: ({ dtype }) => dtype,
      shape: ({ shape }) => shapeText(shape),
      device: labelOf,
      disposed: ({ disposed }) => disposed,
    }, { more: { elements: (tensor) => tensor.toText() } });
    const inspect = Symbol.for("Deno.customInspect");
    const plain = (Tensor.prototype as Tensor & Record<symbol, typeof Deno.inspect>)[inspect]!;
    Object.defineProperty(Tensor.prototype, inspect, {
      configurable: true,
      value(this: Tensor, ...options: [never, never]) {
        const text = this.#shownElements();
        return text === undefined
          ? plain.apply(this, options)
          : `Tensor ${this.dtype} ${shapeText(this.shape)} on ${labelOf(this)}\n${text}`;
      },
    });
  }

  /** The elements as NumPy prints them; undefined if reading them would block for long. */
  #shownElements(): string | undefined {
    const storage = this.#storage;
    const isReadable = storage !== undefined && !this.disposed && !storage.isPending &&
      storage.failure === undefined && this.size > 0 && this.size <= MAX_SHOWN && !isCapturing();
    if (!isReadable) return undefined;
    const [first, last] = extentOf(this);
    if (last - first >= MAX_SHOWN_RANGE) return undefined;
    try {
      // No operation waits to write this memory, so waiting operations need not be compiled first.
      const memory = storage.work.order.aside(() => storage.readSync(first, last + 1 - first));
      const values = valuesOf(this.dtype, memory);
      return arrayText(this.dtype, this.shape, positionsOf(this).map((it) => values[it - first]!));
    } catch {
      return undefined; // Earlier work failed, and console.log() must not throw.
    }
  }

  /** The name of the device of the memory, such as `cuda:0` or `host:0`. */
  get device(): string {
    return this.context.label;
  }

  /** The number of dimensions. */
  get rank(): number {
    return this.shape.length;
  }

  /** Whether the tensor is disposed. */
  get disposed(): boolean {
    return this.#disposed || this.#storage?.freed === true;
  }

  /** @ignore Throws if the tensor is disposed. */
  requireUsable(action: string, name = "the tensor"): void {
    if (!this.disposed) return;
    const place = this.#disposedAt === undefined ? "" : `, ${this.#disposedAt}`;
    throw new TypeError(`${cannot(action)} as ${name} must not be disposed: it is${place}`);
  }

  /**
   * The buffer of a dense tensor, for kernels of the program. Ends with the tensor. Operations that
   * wait for a kernel are compiled first, which blocks this thread: `await tensor.ready()` does not.
   *
   * @throws {TypeError} If the elements are not dense.
   * @throws {CompileError} If the kernel of an operation that wrote the tensor did not compile.
   */
  get buffer(): DeviceBuffer<D> {
    this.requireUsable("use the buffer");
    const storage = storageOf(this as Tensor);
    storage.work.order.settleNow("use the buffer");
    if (storage.failure !== undefined) throw storage.failure;
    if (!this.isDense) {
      throw new TypeError(
        `Cannot use the buffer as the elements must be dense: the strides are ${
          shapeText(this.strides)
        }. Make a dense copy by astype()`,
      );
    }
    storage.moveToDefaultStream();
    const end = this.offset + this.size;
    return storage.buffer.view(this.offset, end) as DeviceBuffer as DeviceBuffer<D>;
  }

  /**
   * Resolves when all operations before are enqueued on the device.
   *
   * @throws {CompileError} If the kernel of an operation that wrote the tensor did not compile.
   */
  async ready(): Promise<this> {
    const storage = storageOf(this as Tensor);
    await storage.work.order.inOrder(this.context, () => Promise.resolve());
    if (storage.failure !== undefined) throw storage.failure;
    return this;
  }

  #view<E extends DType>(layout: Layout, dtype: E): Tensor<E> {
    return makeTensor(storageOf(this as Tensor), dtype, layout);
  }

  /**
   * The elements on another device: a dense copy in the order of the calls, or a view if the tensor is
   * on that device already. The program continues meanwhile. A copy between a GPU and the CPU passes
   * through an array, and operations of the other device wait for it.
   *
   * @param device Such as `"cuda:1"`, `"host"`, or an open `Device`.
   * @param options A stream of that device.
   * @throws {NoDeviceError} If there is no such device.
   *
   * @example
   * ```ts
   * import { tensor } from "@gridstride/cuda/tensor";
   *
   * using x = tensor([1, 2]);
   * using y = x.to("host:0");
   * console.log(y.device); // host:0
   * ```
   */
  to(device: TensorDevice, options: TensorOptions = {}): Tensor<D> {
    const action = "move a tensor";
    this.requireUsable(action);
    const { stream } = requireOptions(options, ["stream"], action);
    const own = storageOf(this as Tensor);
    const context = contextOfDevice(device, "device", action);
    if (context.isSameDevice(this.context)) return this.#view(this, this.dtype);
    // Memory that is not copied at once must not be overwritten meanwhile.
    const source = isNear(context, own)
      ? operations.dense(this as Tensor)
      : operations.astype(this as Tensor, this.dtype);
    try {
      const { offset, size } = source;
      const storage = copiedTo(context, storageOf(source), [offset, size], stream);
      const { shape } = this;
      return makeTensor(storage, this.dtype, { shape, strides: denseStrides(shape), offset: 0 });
    } finally {
      if (storageOf(source) !== own) source.dispose();
    }
  }

  /**
   * A view of some positions: for each axis a position, which drops the axis, or a range. Missing
   * axes stay whole.
   *
   * @param index Such as `[{ start: 1, step: 2 }, 0]` for Python's `[1::2, 0]`.
   * @throws {RangeError} If a position is out of range, or there are more entries than axes.
   */
  slice(index: readonly (number | Slice)[]): Tensor<D> {
    const action = "slice a tensor";
    this.requireUsable(action);
    if (!Array.isArray(index) || index.length > this.rank) {
      throw new RangeError(
        `${cannot(action)} as index must be an array of at most ${this.rank} entries: it is ${
          describeValue(index)
        }`,
      );
    }
    const mask = index.findIndex((entry: unknown) => entry instanceof Tensor);
    if (mask >= 0) {
      throw new TypeError(
        `${cannot(action)} as index[${mask}] must be a position or a range: it is a Tensor. ` +
          "Call await x.select(index) for the elements of a mask, x.set(index, value) to write " +
          "them, or take() for positions",
      );
    }
    return this.#view(sliceLayout(this, index, action), this.dtype);
  }

  /**
   * A dense copy of the elements that an index with a mask selects, in row-major order: `x[mask]` and
   * `x[1:, mask]` of NumPy. A mask replaces the axes that it covers, whose shape it has, by one axis of
   * its true elements; this axis is the first if a range is between the mask and a position.
   *
   * The elements are read when their number is known. Until then `x` must not be written.
   *
   * @param index One mask among positions and ranges, such as `[{ start: 1 }, x.at(0).greater(2)]`.
   * @returns Resolves when the number of elements is known.
   * @throws {RangeError} If a position is out of range, there are more entries than axes, or the mask
   * has another shape than its axes.
   * @throws {TypeError} If there is no mask, more than one, or it is not `bool`.
   *
   * @example
   * ```ts
   * import { tensor } from "@gridstride/cuda/tensor";
   *
   * using x = tensor([[1, -2], [-3, 4]]);
   * using negative = await x.select([x.less(0)]);
   * using rows = await x.select([x.slice([{}, 0]).less(0)]);
   * console.log(await negative.toNested(), await rows.toNested()); // [ -2, -3 ] [ [ -3, 4 ] ]
   * ```
   */
  select(index: readonly Selector[], options: TensorOptions = {}): Promise<Tensor<D>> {
    return operations.selectElements(this as Tensor, index, options) as
      & Promise<Tensor>
      & Promise<Tensor<D>>;
  }

  /**
   * Writes elements in place, also those of views of the same memory: `x[1:, mask] = value` of NumPy.
   * The index selects as in {@linkcode Tensor.slice} and {@linkcode Tensor.select}; `[]` is the whole
   * tensor. Nothing is read from the device.
   *
   * @param value A number, or a tensor that broadcasts to the selection. Its type must be that of `x`,
   * or one that promotes to it: cast others. Along the axis of a mask it has one element, or as many as
   * the mask has true ones.
   * @throws {RangeError} If the index is out of range, or the value does not broadcast. If its elements
   * are not as many as the true ones of a mask, reading `x` throws.
   * @throws {TypeError} If the index or the type of the value is wrong.
   *
   * @example
   * ```ts
   * import { arange, tensor } from "@gridstride/cuda/tensor";
   *
   * using x = arange(6).reshape([2, 3]);
   * x.set([{}, 0], tensor([10, 20]));
   * x.set([x.equal(2)], -1);
   * console.log(await x.toNested()); // [ [ 10, 1, -1 ], [ 20, 4, 5 ] ]
   * ```
   */
  set(
    index: readonly Selector[],
    value: number | bigint | boolean | Tensor<D | Absorbed[D]>,
    options: TensorOptions = {},
  ): void {
    operations.setElements(this as Tensor, index, value as Operand, options);
  }

  /** A view of one position of the first axes: `x.at(2)` is row 2. */
  at(...positions: readonly number[]): Tensor<D> {
    return this.slice(positions);
  }

  /** A view with reordered axes: `x.permute([2, 0, 1])`. */
  permute(axes: readonly number[]): Tensor<D> {
    const action = "permute a tensor";
    this.requireUsable(action);
    const isWhole = Array.isArray(axes) && axes.length === this.rank;
    if (!isWhole || requireAxes(axes, this.rank, action).length !== this.rank) {
      throw new RangeError(
        `${cannot(action)} as axes must name each of the ${this.rank} axes once: it is ${
          describeValue(axes)
        }`,
      );
    }
    const order = axes.map((axis) => requireAxis(axis, this.rank, action));
    return this.#view({
      shape: order.map((axis) => this.shape[axis]!),
      strides: order.map((axis) => this.strides[axis]!),
      offset: this.offset,
    }, this.dtype);
  }

  /** A view with the last two axes exchanged. */
  transpose(): Tensor<D> {
    if (this.rank < 2) {
      throw new RangeError(
        `Cannot transpose a tensor as it must have at least 2 dimensions: it has ${this.rank}`,
      );
    }
    const axes = this.shape.map((_, axis) => axis);
    axes.splice(-2, 2, this.rank - 1, this.rank - 2);
    return this.permute(axes);
  }

  /**
   * A tensor of these elements in another shape: a view where possible, else a dense copy.
   *
   * @param shape The extents; one of them may be -1.
   * @throws {RangeError} If the number of elements differs.
   */
  reshape(shape: Shape): Tensor<D> {
    const action = "reshape a tensor";
    this.requireUsable(action);
    const target = inferShape(shape, this.size, action);
    const strides = reshapedStrides(this, target);
    if (strides !== undefined) {
      return this.#view({ shape: target, strides, offset: this.offset }, this.dtype);
    }
    using copy = operations.dense(this as Tensor) as Tensor as Tensor<D>;
    return copy.reshape(target);
  }

  /** A view of one dimension, or a dense copy. */
  flatten(): Tensor<D> {
    return this.reshape([-1]);
  }

  /** A view without the axes of extent 1, or without the named ones. */
  squeeze(axis?: number | readonly number[]): Tensor<D> {
    const action = "squeeze a tensor";
    this.requireUsable(action);
    const named = requireAxes(axis, this.rank, action);
    const wide = axis === undefined ? undefined : named.find((it) => this.shape[it] !== 1);
    if (wide !== undefined) {
      throw new RangeError(
        `${cannot(action)} as the extent of axis ${wide} must be 1: it is ${this.shape[wide]}`,
      );
    }
    const isKept = (_: number, axis: number) => !(named.includes(axis) && this.shape[axis] === 1);
    const [shape, strides] = [this.shape.filter(isKept), this.strides.filter(isKept)];
    return this.#view({ shape, strides, offset: this.offset }, this.dtype);
  }

  /** A view with a new axis of extent 1 before the given one. */
  expandDims(axis: number): Tensor<D> {
    this.requireUsable("expand a tensor");
    const at = requireAxis(axis, this.rank + 1, "expand a tensor");
    const [shape, strides] = [this.shape.toSpliced(at, 0, 1), this.strides.toSpliced(at, 0, 0)];
    return this.#view({ shape, strides, offset: this.offset }, this.dtype);
  }

  /** A view that repeats axes of extent 1, and new leading axes. */
  broadcastTo(shape: Shape): Tensor<D> {
    const action = "broadcast a tensor";
    this.requireUsable(action);
    const target = requireShape(shape, action);
    const common = broadcastShapes(action, target, this.shape);
    if (common.length !== target.length || common.some((extent, axis) => extent !== target[axis])) {
      throw new RangeError(
        `${cannot(action)} as shape must contain ${shapeText(this.shape)}: it is ${
          shapeText(target)
        }`,
      );
    }
    const strides = broadcastStrides(this, target);
    return this.#view({ shape: target, strides, offset: this.offset }, this.dtype);
  }

  /** A view with the elements along axes in reverse order; along all axes by default. */
  flip(axis?: number | readonly number[]): Tensor<D> {
    const axes = requireAxes(axis, this.rank, "flip a tensor");
    return this.slice(this.shape.map((_, axis) => axes.includes(axis) ? { step: -1 } : {}));
  }

  /**
   * The elements in row-major order, without blocking the event loop.
   *
   * @returns A typed array of the element type; see `DeviceBuffer.toArray()`. `float16` gives a
   * `Float16Array`; the elements of `bfloat16` and the 8-bit floats are their bits, in a `Uint16Array`
   * or `Uint8Array`, and those of `bool` are 0 and 1. {@linkcode Tensor.toNested} gives their values.
   * @throws {CudaError} If earlier work failed.
   * @throws {RangeError} If the operation that wrote the tensor, or one that it was computed from,
   * met an index out of range.
   */
  async toArray(): Promise<TypedArrayOf<D, ArrayBuffer>> {
    this.requireUsable("read a tensor");
    const source = operations.dense(this as Tensor);
    const { offset, size } = source;
    const reading = storageOf(source).read(offset, size);
    // The read holds the memory.
    if (source !== this as Tensor) source.dispose();
    return await reading as unknown as TypedArrayOf<D, ArrayBuffer>;
  }

  /**
   * The element type, shape and device, for `JSON.stringify()`, which cannot wait for the elements:
   * write `await x.toNested()` for these.
   */
  toJSON(): { readonly dtype: D; readonly shape: Shape; readonly device: string } {
    const { dtype, shape, device } = this;
    return { dtype, shape, device };
  }

  /** The text that `console.log()` shows; see {@linkcode Tensor.toText} for the elements alone. */
  override toString(): string {
    return Deno.inspect(this, { colors: false });
  }

  /** The extent of the first axis. */
  #rows(): number {
    this.requireUsable("iterate over a tensor");
    if (this.rank > 0) return this.shape[0]!;
    throw new TypeError(
      "Cannot iterate over a tensor as it must have at least 1 dimension: it has 0",
    );
  }

  /** Views of the positions of the first axis: `for (using row of x)` disposes each. */
  *[Symbol.iterator](): Generator<Tensor<D>, void, undefined> {
    const rows = this.#rows();
    for (let row = 0; row < rows; row++) yield this.at(row);
  }

  /**
   * The elements of each position of the first axis as nested arrays, read in parts of some 65,536
   * elements, for tensors that are too large for {@linkcode Tensor.toNested}.
   *
   * @example
   * ```ts
   * import { tensor } from "@gridstride/cuda/tensor";
   *
   * using x = tensor([[1, 2], [3, 4]]);
   * console.log(await Array.fromAsync(x)); // [ [ 1, 2 ], [ 3, 4 ] ]
   * ```
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<Nested<ElementValue<D>>, void, undefined> {
    const rows = this.#rows();
    const count = Math.max(1, Math.floor(MAX_ROWS_ELEMENTS * rows / Math.max(1, this.size)));
    for (let start = 0; start < rows; start += count) {
      using part = this.slice([{ start, stop: Math.min(rows, start + count) }]);
      yield* await part.toNested() as readonly Nested<ElementValue<D>>[];
    }
  }

  /** The elements as JavaScript values in row-major order. */
  async #values(): Promise<(number | bigint | boolean)[]> {
    return valuesOf(this.dtype, await this.toArray());
  }

  /**
   * The elements as nested arrays of JavaScript values: numbers, also of `bfloat16` and 8-bit floats,
   * big integers of 64-bit integers, and booleans of `bool`.
   */
  async toNested(): Promise<Nested<ElementValue<D>>> {
    const values = await this.#values();
    let index = 0;
    const build = (axis: number): Nested<unknown> =>
      axis === this.rank
        ? values[index++]
        : Array.from({ length: this.shape[axis]! }, () => build(axis + 1));
    return build(0) as Nested<ElementValue<D>>;
  }

  /**
   * The only element.
   *
   * @throws {RangeError} If there is not exactly one.
   */
  async item(): Promise<ElementValue<D>> {
    if (this.size !== 1) {
      throw new RangeError(
        `Cannot read an item as the tensor must have 1 element: its shape is ${
          shapeText(this.shape)
        }`,
      );
    }
    return (await this.#values())[0] as ElementValue<D>;
  }

  /** The elements as NumPy prints them. */
  async toText(): Promise<string> {
    return arrayText(this.dtype, this.shape, await this.#values());
  }

  /** Gives up the tensor; the memory is freed with the last view. Repeated calls have no effect. */
  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    const storage = this.#storage;
    if (storage?.isTracked) {
      const frame = new Error().stack?.split("\n").find((line) =>
        !/\/tensor\.ts:|^Error/.test(line)
      );
      this.#disposedAt = `disposed ${frame?.trim() ?? ""}`.trim();
    }
    storage?.release();
  }

  /** Gives up the tensor; see {@linkcode Tensor.dispose}. */
  [Symbol.dispose](): void {
    this.dispose();
  }
}
