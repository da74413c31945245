/**
 * Typed memory on a device.
 *
 * @module
 */

import { formatBytes } from "../ffi/describe_value.ts";
import { displayAs } from "../ffi/display.ts";
import { lockProperties, requireInstance, requireOptions } from "../ffi/arguments.ts";
import { DeviceContext, labelOf } from "../hardware/device_context.ts";
import type { Stream } from "../stream/stream.ts";
import { captureOf, isCapturing } from "../stream/running_captures.ts";
import { type Allocation, frees } from "./allocation.ts";
import { copyInto, copyOut, copyOutSync, streamFor } from "./buffer_copy.ts";
import {
  bytesOfLength,
  checkAlignment,
  type CopyOptions,
  foreignAllocation,
  lengthAs,
  type PlacementOptions,
  requireSameLibrary,
  requireViewRange,
  type StreamChoice,
} from "./buffer_options.ts";
import { bytesPerElement, createTypedArray, type DType, type TypedArrayOf } from "./dtype.ts";
import type { PinnedBuffer } from "./pinned_buffer.ts";
import { readWait } from "./pool/allocation_queue.ts";
import type { BlockPool } from "./pool/block_pool.ts";
import { poolOf } from "./pool/device_pools.ts";
import type { Lease } from "./pool/dropped_buffers.ts";

/** The first elements, which Jupyter shows. */
const SHOWN_ELEMENTS = 16;

/** The owner of a buffer's memory. */
type Origin =
  | { readonly kind: "block"; readonly pool: BlockPool; readonly block: number }
  | { readonly kind: "allocation"; readonly allocation: Allocation }
  | { readonly kind: "view"; readonly root: DeviceBuffer; readonly address: number };

const KEY = Symbol();

/** Keeps the memory of a buffer, even if it is freed, until the returned function is first called. */
export let holdBuffer: (buffer: DeviceBuffer) => () => void;

// Access to private members for the layers above, which the class does not offer to its users.

let makeBuffer: <D extends DType>(
  context: DeviceContext,
  dtype: D,
  length: number,
  origin: Origin,
  stream?: Stream,
) => DeviceBuffer<D>;

/** The pool and block of a buffer's memory, and whether the buffer is a view. */
export let placeOfBuffer: (buffer: DeviceBuffer) => {
  readonly pool: BlockPool | undefined;
  readonly block: number;
  readonly isView: boolean;
};

/**
 * The address that a launch passes for a buffer, or -1 if the value is not a live buffer of the
 * context. Records the use of the buffer on the stream.
 */
export let launchAddress: (value: object, context: object, stream: Stream | undefined) => number;

/**
 * Typed memory on a device, made by `device.allocate()` and `device.upload()`.
 *
 * Keep the buffer as long as its memory is used. Free it by `using` or `free()`. Memory of a dropped
 * buffer is freed too, but not before the garbage collector has run. Pools that track memory log such
 * a buffer as a leak.
 *
 * A view made by {@linkcode DeviceBuffer.view} or {@linkcode DeviceBuffer.as} owns nothing and ends
 * with its buffer.
 *
 * @typeParam D The element type.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 *
 * using device = openDevice();
 * using x = device.upload(new Float32Array([1, 2, 3]));
 * console.log(await x.toArray()); // Float32Array(3) [ 1, 2, 3 ]
 * ```
 * @category Memory
 */
export class DeviceBuffer<D extends DType = DType> implements Disposable {
  readonly #context: DeviceContext;
  readonly #dtype: D;
  readonly #length: number;
  readonly #origin: Origin;
  readonly #stream: Stream | undefined;
  #freed = false;
  // The pool's count of frees by address at the last check: such a free may have ended this buffer.
  #addressFrees: number;
  #lastUse: Stream | undefined = undefined;
  #lease: Lease | undefined;
  // Copies that have not been enqueued yet, and whether the buffer was freed meanwhile.
  #holders = 0;
  #isFreedLater = false;

  private constructor(
    key: symbol,
    context: DeviceContext,
    dtype: D,
    length: number,
    origin: Origin,
    stream: Stream | undefined,
  ) {
    if (key !== KEY) {
      throw new TypeError("Cannot make a DeviceBuffer by new: call device.allocate() instead");
    }
    this.#context = context;
    this.#dtype = dtype;
    this.#length = length;
    this.#origin = origin;
    this.#stream = stream;
    this.#addressFrees = origin.kind === "block" ? origin.pool.addressFrees : 0;
    if (origin.kind === "block" && origin.block !== 0) {
      this.#lease = origin.pool.dropped.lease(origin.block);
    }
    // No property of its own can hide a getter below.
    Object.preventExtensions(this);
  }

  static {
    makeBuffer = (context, dtype, length, origin, stream) =>
      new DeviceBuffer(KEY, context, dtype, length, origin, stream);
    holdBuffer = (buffer) => {
      const root = buffer.#root();
      root.#holders++;
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        if (--root.#holders === 0 && root.#isFreedLater) root.#returnBlock();
      };
    };
    placeOfBuffer = (buffer) => {
      const root = buffer.#root();
      const origin = root.#origin;
      const isView = root !== buffer;
      return origin.kind === "block"
        ? { pool: origin.pool, block: origin.block, isView }
        : { pool: undefined, block: 0, isView };
    };
    launchAddress = (value, context, stream) => {
      if (!(#origin in value)) return -1;
      const buffer = value as DeviceBuffer;
      const root = buffer.#root();
      if (buffer.#context !== context || root.#isFreed()) return -1;
      if (stream !== undefined && (stream !== root.#stream || isCapturing())) {
        buffer.recordStream(stream);
      }
      return buffer.#address();
    };
    lockProperties(this.prototype, "context", "dtype", "length", "byteLength", "address");
  }

  /** Whether a value is a buffer, and not an imitation of one such as a proxy. */
  static [Symbol.hasInstance](value: unknown): value is DeviceBuffer {
    return typeof value === "object" && value !== null && #origin in value;
  }

  /** The device of the memory. */
  get context(): DeviceContext {
    return this.#context;
  }

  /** The element type. */
  get dtype(): D {
    return this.#dtype;
  }

  /** The number of elements. */
  get length(): number {
    return this.#length;
  }

  /** The size in bytes. */
  get byteLength(): number {
    return this.#length * bytesPerElement(this.#dtype);
  }

  /**
   * Allocates a buffer with undefined content from the pool of a device.
   *
   * @param context The device.
   * @param dtype The element type.
   * @param length The number of elements; 0 gives a valid empty buffer.
   * @throws {RangeError} If the length is negative, fractional, not a number or too large, or the
   * alignment is not a power of two.
   * @throws {OutOfMemoryError} If the device has no room.
   */
  static allocate<D extends DType>(
    context: DeviceContext,
    dtype: D,
    length: number,
    options: PlacementOptions = {},
  ): DeviceBuffer<D> {
    requireInstance(context, DeviceContext, "context", "allocate a buffer");
    requireOptions(options, ["stream", "alignment"], "allocate a buffer");
    return bufferFromPool(poolOf(context), context, dtype, length, options);
  }

  /**
   * Wraps device memory of another library. Disposing the buffer does not free the memory.
   *
   * @param address The address of the first byte.
   * @param bytes The size; a multiple of the element size.
   * @throws {RangeError} If the address or the size is impossible.
   */
  static fromAddress<D extends DType = "uint8">(
    address: number,
    bytes: number,
    options: {
      /** The device, or another object with its context. */
      readonly device: { readonly context: DeviceContext };
      /** The element type; `uint8` by default. */
      readonly dtype?: D;
      /** An object to keep reachable as long as the buffer is used. */
      readonly owner?: unknown;
    },
  ): DeviceBuffer<D> {
    const allocation = foreignAllocation(address, bytes, options);
    const dtype = options.dtype ?? ("uint8" as D);
    return bufferOfAllocation(allocation, dtype, bytes / bytesPerElement(dtype));
  }

  /**
   * The address of the first element; 0 for an empty buffer.
   *
   * @throws {TypeError} If the buffer is disposed.
   */
  get address(): number {
    if (this.disposed) {
      throw new TypeError(`Cannot use a ${this.dtype} buffer as it is disposed`);
    }
    return this.#address();
  }

  #address(): number {
    const origin = this.#origin;
    if (origin.kind === "block") return origin.pool.addressOf(origin.block);
    return origin.kind === "view" ? origin.address : origin.allocation.address;
  }

  /** The buffer that owns the memory. */
  #root(): DeviceBuffer {
    const origin = this.#origin;
    return origin.kind === "view" ? origin.root : this as DeviceBuffer;
  }

  /** Whether the memory is freed. */
  get disposed(): boolean {
    return this.#root().#isFreed();
  }

  /** Whether the memory is freed, by this buffer or through its address. */
  #isFreed(): boolean {
    const origin = this.#origin;
    if (origin.kind === "allocation") return origin.allocation.freed;
    if (this.#freed || origin.kind === "view") return this.#freed;
    const { addressFrees } = origin.pool;
    if (addressFrees !== this.#addressFrees) {
      this.#freed = origin.pool.wasFreedByAddress(origin.block, this.#addressFrees);
      this.#addressFrees = addressFrees;
    }
    return this.#freed;
  }

  /**
   * The stream of the allocation, whose later work may reuse the memory as soon as it is freed;
   * `undefined` for memory outside the pools.
   */
  get stream(): Stream | undefined {
    return this.#root().#stream;
  }

  /**
   * Declares that another stream uses the buffer. After the buffer is freed, its memory is not reused
   * until that stream has finished the work enqueued so far. Copies and launches of this module
   * declare their streams themselves.
   *
   * @throws {TypeError} If the buffer is disposed, or the stream belongs to another library.
   */
  recordStream(stream: Stream): void {
    const root = this.#root();
    const isKnown = stream === root.#stream || stream === root.#lastUse;
    if (isKnown && !isCapturing()) return;
    requireSameLibrary(stream, this.#context);
    void this.address;
    // The graph uses the memory at each of its launches, even if the program drops the buffer.
    captureOf(stream)?.keep(root, (launched) => root.disposed || root.recordStream(launched));
    if (isKnown) return;
    const origin = root.#origin;
    if (origin.kind !== "block" || origin.block === 0) return;
    origin.pool.use(origin.block, stream);
    // A use inside a capture must not hide a later use outside of it.
    if (stream.captureToken === undefined) root.#lastUse = stream;
  }

  /**
   * A view of the elements from `start` to `end`, like `TypedArray.subarray()` without negative
   * positions.
   *
   * @throws {RangeError} Unless 0 ≤ start ≤ end ≤ length.
   */
  view(start = 0, end: number = this.length): DeviceBuffer<D> {
    void this.address;
    requireViewRange(start, end, this.length);
    return this.#view(this.dtype, start * bytesPerElement(this.dtype), end - start);
  }

  /**
   * A view of the same bytes as another element type.
   *
   * @throws {RangeError} If the size or the address is not a multiple of the element size.
   */
  as<E extends DType>(dtype: E): DeviceBuffer<E> {
    return this.#view(dtype, 0, lengthAs(dtype, this.address, this.byteLength));
  }

  #view<E extends DType>(dtype: E, offset: number, length: number): DeviceBuffer<E> {
    const address = this.address === 0 ? 0 : this.address + offset;
    const origin = { kind: "view", root: this.#root(), address } as const;
    return new DeviceBuffer(KEY, this.#context, dtype, length, origin, undefined);
  }

  /**
   * Enqueues a copy into this buffer. A JavaScript array may be changed at once. A pinned or device
   * buffer must not change until the copy has finished.
   *
   * Arrays are staged in up to 256 MiB of pinned memory. An array beyond that is copied before this
   * returns, which blocks until the stream's earlier work has finished.
   *
   * @param source A typed array of this buffer's element type, or a pinned or device buffer of it.
   * @throws {RangeError} If the source does not fit, or overlaps.
   * @throws {TypeError} If the element types differ.
   */
  copyFrom(
    source: TypedArrayOf<D> | DeviceBuffer<D> | PinnedBuffer<D>,
    options: CopyOptions = {},
  ): void {
    copyInto(this, source, options);
  }

  /**
   * Copies this buffer into a typed array after the work enqueued so far on the stream, without
   * blocking the event loop. Work of other streams is not awaited: see {@linkcode Stream.wait}.
   *
   * All bytes pass through pinned memory; {@linkcode DeviceBuffer.copyToSync} needs none. A copy takes
   * at most 32 MiB of it: what is larger takes a copy of the rest on the device first, which needs as
   * much memory of its pool. Without that device memory, and on integrated devices, a copy takes as
   * much pinned memory as it has bytes.
   *
   * @param target A typed array of this buffer's element type; its length is the number of elements.
   * @returns Resolves when the elements have arrived.
   * @throws {TypeError} If the element types differ.
   * @throws {RangeError} If the target is longer than the rest of the buffer.
   * @throws {CudaError} If earlier work failed.
   */
  async copyTo(target: TypedArrayOf<D>, options: CopyOptions = {}): Promise<void> {
    await copyOut(this, target, options);
  }

  /** The blocking twin of {@linkcode DeviceBuffer.copyTo}. */
  copyToSync(target: TypedArrayOf<D>, options: CopyOptions = {}): void {
    copyOutSync(this, target, options);
  }

  /**
   * Returns the elements after the work enqueued so far on the stream, without blocking the event
   * loop.
   *
   * @throws {CudaError} If earlier work failed.
   * @returns A typed array of this buffer's element type. `bfloat16` is returned as bits in a
   * `Uint16Array`, `float8_*` and `bool` in a `Uint8Array`.
   */
  async toArray(options: StreamChoice = {}): Promise<TypedArrayOf<D, ArrayBuffer>> {
    const target = createTypedArray(this.dtype, this.length);
    await this.copyTo(target, options);
    return target;
  }

  /** The blocking twin of {@linkcode DeviceBuffer.toArray}. */
  toArraySync(options: StreamChoice = {}): TypedArrayOf<D, ArrayBuffer> {
    const target = createTypedArray(this.dtype, this.length);
    this.copyToSync(target, options);
    return target;
  }

  /**
   * Frees the memory without waiting. Later work of the buffer's stream may reuse it at once; other
   * streams may reuse it when this stream, and every stream that used the buffer, has reached this
   * point. Repeated calls, and calls on views, have no effect.
   */
  free(): void {
    const origin = this.#origin;
    if (origin.kind === "allocation") origin.allocation.free();
    if (origin.kind !== "block" || this.#isFreed()) return;
    this.#freed = true;
    frees.count++;
    const lease = this.#lease;
    if (lease !== undefined) {
      this.#lease = undefined;
      origin.pool.dropped.takeBack(origin.block, lease);
    }
    if (this.#holders > 0) this.#isFreedLater = true;
    else this.#returnBlock();
  }

  #returnBlock(): void {
    const origin = this.#origin;
    if (origin.kind === "block") origin.pool.free(origin.block);
  }

  /** Frees the memory; see {@linkcode DeviceBuffer.free}. */
  [Symbol.dispose](): void {
    this.free();
  }
}

displayAs<DeviceBuffer>(DeviceBuffer.prototype, "DeviceBuffer", {
  dtype: ({ dtype }) => dtype,
  length: ({ length }) => length,
  size: ({ byteLength }) => formatBytes(byteLength),
  device: labelOf,
  disposed: ({ disposed }) => disposed,
}, {
  more: { elements: (buffer) => buffer.view(0, Math.min(buffer.length, SHOWN_ELEMENTS)).toArray() },
});

/** Allocates a buffer from a pool. */
export function bufferFromPool<D extends DType>(
  pool: BlockPool,
  context: DeviceContext,
  dtype: D,
  length: number,
  options: PlacementOptions,
): DeviceBuffer<D> {
  const bytes = bytesOfLength(length, dtype);
  const { alignment } = options;
  const stream = streamFor(context, options.stream);
  const aligned = alignment === undefined ? pool.settings.alignment : checkAlignment(alignment);
  const block = pool.allocate(bytes, stream, aligned);
  return bufferOfBlock(pool, block, context, dtype, length, stream);
}

/** The twin of {@linkcode bufferFromPool} that never blocks the event loop. */
export async function bufferFromPoolAsync<D extends DType>(
  pool: BlockPool,
  context: DeviceContext,
  dtype: D,
  length: number,
  options: Parameters<typeof readWait>[0],
): Promise<DeviceBuffer<D>> {
  const wait = readWait(options);
  const bytes = bytesOfLength(length, dtype);
  const { alignment } = options;
  const stream = streamFor(context, options.stream);
  const aligned = alignment === undefined ? pool.settings.alignment : checkAlignment(alignment);
  // The device must not close while this waits for its streams.
  context.retain();
  try {
    const block = await pool.allocateAsync(bytes, stream, aligned, wait);
    return bufferOfBlock(pool, block, context, dtype, length, stream);
  } finally {
    context.release();
  }
}

function bufferOfBlock<D extends DType>(
  pool: BlockPool,
  block: number,
  context: DeviceContext,
  dtype: D,
  length: number,
  stream: Stream,
): DeviceBuffer<D> {
  return makeBuffer(context, dtype, length, { kind: "block", pool, block }, stream);
}

/** Makes a buffer of memory outside the pools. */
export function bufferOfAllocation<D extends DType>(
  allocation: Allocation,
  dtype: D,
  length: number,
): DeviceBuffer<D> {
  return makeBuffer(allocation.context, dtype, length, { kind: "allocation", allocation });
}
