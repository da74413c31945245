/**
 * Typed memory on a device.
 *
 * @module
 */

import { requireInstance, requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { contextOf, DeviceContext } from "../hardware/device_context.ts";
import { defaultStream } from "../stream/default_stream.ts";
import { Stream } from "../stream/stream.ts";
import { type Allocation, ForeignAllocation } from "./allocation.ts";
import { copyBetween, download, downloadSync, streamFor, upload } from "./buffer_copy.ts";
import {
  bytesPerElement,
  createTypedArray,
  describeArray,
  type DType,
  isLiveArrayOf,
  typedArrayName,
  type TypedArrayOf,
} from "./dtype.ts";
import { PinnedBuffer } from "./pinned_buffer.ts";
import { poolOf } from "./pool/device_pool.ts";
import type { PoolCore } from "./pool/pool_core.ts";

/** Options of operations that are enqueued on a stream. */
export interface StreamChoice {
  /** The stream; the device's default stream when absent. */
  readonly stream?: Stream;
}

/** Options of an allocation. */
export interface PlacementOptions extends StreamChoice {
  /**
   * The stream that uses the memory first: it belongs to that stream. The device's default stream
   * when absent.
   */
  readonly stream?: Stream;
  /** What the address is a multiple of: a power of two; the pool's own, 512 at least, when absent. */
  readonly alignment?: number;
}

/** Options of a copy into or out of a buffer. */
export interface CopyOptions extends StreamChoice {
  /** The first element of this buffer that is copied; 0 by default. */
  readonly offset?: number;
}

/** Options of {@linkcode DeviceBuffer.fromAddress}. */
export interface ForeignMemoryOptions<D extends DType> {
  /** The device the memory lies on, or anything else that has its context. */
  readonly device: { readonly context: DeviceContext };
  /** The element type; `uint8` by default. */
  readonly dtype?: D;
  /** What must stay reachable as long as the memory is used. */
  readonly owner?: unknown;
}

/**
 * Typed memory on a device. Made by `device.allocate()` and `device.upload()`.
 *
 * A view made by {@linkcode DeviceBuffer.view} or {@linkcode DeviceBuffer.as} owns nothing: it
 * ends with the buffer it was made from.
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
 */
export class DeviceBuffer<D extends DType = DType> implements Disposable {
  /** The device the buffer lies on. */
  readonly context: DeviceContext;
  /** The element type. */
  readonly dtype: D;
  /** The number of elements. */
  readonly length: number;
  /** The size in bytes. */
  readonly byteLength: number;
  readonly #root: DeviceBuffer;
  readonly #address: number;
  // Where the memory comes from: a pool, which knows it by the number of its block, or else.
  readonly #pool: PoolCore | undefined;
  readonly #block: number;
  readonly #other: Allocation | undefined;
  readonly #stream: Stream | undefined;
  // How many blocks of the pool had been freed by their address when this was looked at last.
  #withdrawals: number;
  #lastUse: Stream | undefined = undefined;
  #freed = false;

  private constructor(
    context: DeviceContext,
    dtype: D,
    length: number,
    byteLength: number,
    address: number,
    root: DeviceBuffer | undefined,
    pool: PoolCore | undefined,
    block: number,
    other: Allocation | undefined,
    stream: Stream | undefined,
  ) {
    this.context = context;
    this.dtype = dtype;
    this.length = length;
    this.byteLength = byteLength;
    this.#address = address;
    this.#pool = pool;
    this.#block = block;
    this.#other = other;
    this.#stream = stream;
    this.#withdrawals = pool === undefined ? 0 : pool.withdrawn.count;
    this.#root = root ?? (this as DeviceBuffer);
  }

  /**
   * Allocates a buffer from the pool of a device; its content is undefined.
   *
   * @param context The device.
   * @param dtype The element type.
   * @param length The number of elements; 0 gives a valid empty buffer.
   * @throws {RangeError} If the length is negative, fractional, not a number or too large, or the
   * alignment is no power of two.
   * @throws {OutOfMemoryError} If the device has no room.
   */
  static allocate<D extends DType>(
    context: DeviceContext,
    dtype: D,
    length: number,
    options: PlacementOptions = {},
  ): DeviceBuffer<D> {
    requireInstance(context, DeviceContext, "context", "allocate a buffer");
    requireObject(options, "options", "allocate a buffer");
    return DeviceBuffer.fromPool(poolOf(context), context, dtype, length, options);
  }

  /**
   * Allocates a buffer from a pool.
   *
   * @internal For pools and devices, which have checked that the options are an object.
   */
  static fromPool<D extends DType>(
    pool: PoolCore,
    context: DeviceContext,
    dtype: D,
    length: number,
    options: PlacementOptions,
  ): DeviceBuffer<D> {
    const bytes = bytesOfLength(length, dtype);
    const { stream: wanted, alignment } = options;
    const stream = wanted === undefined ? defaultStream(context) : streamFor(context, wanted);
    const block = alignment === undefined
      ? pool.take(bytes, stream)
      : pool.take(bytes, stream, checkAlignment(alignment));
    return DeviceBuffer.#ofBlock(pool, block, context, dtype, length, bytes, stream);
  }

  /**
   * The twin of {@linkcode DeviceBuffer.fromPool} that never blocks the event loop.
   *
   * @internal
   */
  static async fromPoolAsync<D extends DType>(
    pool: PoolCore,
    context: DeviceContext,
    dtype: D,
    length: number,
    options: PlacementOptions,
  ): Promise<DeviceBuffer<D>> {
    const bytes = bytesOfLength(length, dtype);
    const stream = streamFor(context, options.stream);
    const alignment = checkAlignment(options.alignment ?? pool.settings.alignment);
    // The device must not close while this waits for its streams.
    context.retain();
    try {
      const block = await pool.takeAsync(bytes, stream, alignment);
      return DeviceBuffer.#ofBlock(pool, block, context, dtype, length, bytes, stream);
    } finally {
      context.release();
    }
  }

  static #ofBlock<D extends DType>(
    pool: PoolCore,
    block: number,
    context: DeviceContext,
    dtype: D,
    length: number,
    bytes: number,
    stream: Stream,
  ): DeviceBuffer<D> {
    const address = pool.addressOf(block);
    const buffer = new DeviceBuffer(
      context,
      dtype,
      length,
      bytes,
      address,
      undefined,
      pool,
      block,
      undefined,
      stream,
    );
    if (pool.tracker !== undefined && block !== 0) pool.tracker.watch(buffer, block);
    return buffer;
  }

  /**
   * Makes a buffer of memory that no pool knows.
   *
   * @internal
   */
  static ofAllocation<D extends DType>(
    allocation: Allocation,
    dtype: D,
    length: number,
  ): DeviceBuffer<D> {
    const { context, address } = allocation;
    const bytes = length * bytesPerElement(dtype);
    return new DeviceBuffer(
      context,
      dtype,
      length,
      bytes,
      address,
      undefined,
      undefined,
      0,
      allocation,
      undefined,
    );
  }

  /**
   * Wraps device memory of another library. Disposing the buffer leaves the memory alone.
   *
   * @param address The address of its first byte.
   * @param bytes Its size; a multiple of the element size.
   * @throws {RangeError} If the address or the size is impossible.
   */
  static fromAddress<D extends DType = "uint8">(
    address: number,
    bytes: number,
    options: ForeignMemoryOptions<D>,
  ): DeviceBuffer<D> {
    requireObject(options, "options", "wrap device memory");
    const context = contextOf(options.device, "options.device", "wrap device memory");
    const dtype = options.dtype ?? ("uint8" as D);
    const size = bytesPerElement(dtype);
    if (!Number.isSafeInteger(address) || address <= 0 || address % size !== 0) {
      throw new RangeError(
        `Cannot wrap device memory as address must be a positive multiple of ${size}: it is ${
          describeValue(address)
        }`,
      );
    }
    if (!Number.isSafeInteger(bytes) || bytes < 0 || bytes % size !== 0) {
      throw new RangeError(
        `Cannot wrap device memory as bytes must be a multiple of ${size}: it is ${
          describeValue(bytes)
        }`,
      );
    }
    const allocation = new ForeignAllocation(context, address, bytes, options.owner);
    return DeviceBuffer.ofAllocation(allocation, dtype, bytes / size);
  }

  /**
   * The address of the first element; 0 for an empty buffer.
   *
   * @throws {TypeError} If the buffer is disposed.
   */
  get address(): number {
    if (this.#root.#isFreed()) {
      throw new TypeError(`Cannot use a ${this.dtype} buffer as it is disposed`);
    }
    return this.#address;
  }

  /** Whether the memory is given back. */
  get disposed(): boolean {
    return this.#root.#isFreed();
  }

  /** Whether the memory is given back, by this buffer or, past it, by its address. */
  #isFreed(): boolean {
    if (this.#freed || this.#pool === undefined) return this.#freed;
    const { withdrawn } = this.#pool;
    if (withdrawn.count === this.#withdrawals) return false;
    this.#freed = withdrawn.includes(this.#block, this.#withdrawals);
    this.#withdrawals = withdrawn.count;
    return this.#freed;
  }

  /**
   * The stream that the memory belongs to: work that is enqueued there after the buffer is freed
   * may have the memory at once. `undefined` where the memory is of no pool.
   */
  get stream(): Stream | undefined {
    return this.#root.#stream;
  }

  /**
   * Declares that another stream uses the buffer: when it is freed, its memory stays untouched
   * until that stream has done the work that it has by then. Copies and launches through this
   * module declare it themselves; it is for uses that they do not see.
   *
   * @throws {TypeError} If the buffer is disposed, or the stream is of another library.
   */
  recordStream(stream: Stream): void {
    const root = this.#root;
    if (stream === root.#stream || stream === root.#lastUse) return;
    requireInstance(stream, Stream, "stream", "declare that a stream uses a buffer");
    void this.address;
    if (stream.context.library !== this.context.library) {
      throw new TypeError(
        `Cannot declare that a stream uses a buffer of ${this.context.label} as it must be of the same library: it is of ${stream.context.label}`,
      );
    }
    if (root.#pool === undefined || root.#block === 0) return;
    root.#pool.use(root.#block, stream);
    // Of a capture nothing is noted, so there is nothing to be left out the next time.
    if (stream.captureToken === undefined) root.#lastUse = stream;
  }

  /**
   * Where a buffer's memory is, for its pool.
   *
   * @internal
   */
  static placeOf(
    buffer: DeviceBuffer,
  ): { pool: PoolCore | undefined; block: number; isView: boolean } {
    const root = buffer.#root;
    return { pool: root.#pool, block: root.#block, isView: root !== buffer };
  }

  /**
   * A view of the elements from `start` to `end`, as `TypedArray.subarray()` without negative
   * positions.
   *
   * @throws {RangeError} If the positions are not 0 ≤ start ≤ end ≤ length.
   */
  view(start = 0, end: number = this.length): DeviceBuffer<D> {
    void this.address;
    if (!Number.isInteger(start) || !Number.isInteger(end) || start < 0 || start > end) {
      throw new RangeError(
        `Cannot view a buffer as start and end must be integers, start at most end: they are ${
          describeValue(start)
        } and ${describeValue(end)}`,
      );
    }
    if (end > this.length) {
      throw new RangeError(
        `Cannot view a buffer as end must be at most its length ${this.length}: it is ${end}`,
      );
    }
    return this.#view(this.dtype, start * bytesPerElement(this.dtype), end - start);
  }

  /**
   * A view of the same bytes as another element type.
   *
   * @throws {RangeError} If the size or the address is no multiple of the element size.
   */
  as<E extends DType>(dtype: E): DeviceBuffer<E> {
    const size = bytesPerElement(dtype);
    if (this.byteLength % size !== 0 || this.address % size !== 0) {
      throw new RangeError(
        `Cannot view a buffer as ${dtype} as its ${this.byteLength} bytes and its address must be multiples of ${size}`,
      );
    }
    return this.#view(dtype, 0, this.byteLength / size);
  }

  #view<E extends DType>(dtype: E, offset: number, length: number): DeviceBuffer<E> {
    const bytes = length * bytesPerElement(dtype);
    const address = this.#address === 0 ? 0 : this.#address + offset;
    const root = this.#root;
    return new DeviceBuffer(
      this.context,
      dtype,
      length,
      bytes,
      address,
      root,
      undefined,
      0,
      undefined,
      undefined,
    );
  }

  /**
   * Enqueues a copy into this buffer. A JavaScript array may be changed at once; a buffer, pinned or
   * on a device, must stay as it is until the copy is done.
   *
   * Arrays are staged in up to 256 MiB of pinned memory. An array for which no room is left there
   * is copied before this returns, which blocks until the stream's earlier work is done.
   *
   * @param source A typed array of this buffer's element type, or a pinned or device buffer of it.
   * @throws {RangeError} If the source does not fit, or overlaps.
   * @throws {TypeError} If the element types differ.
   */
  copyFrom(
    source: TypedArrayOf<D> | DeviceBuffer<D> | PinnedBuffer<D>,
    options: CopyOptions = {},
  ): void {
    requireObject(options, "options", "copy into a buffer");
    if (source instanceof PinnedBuffer) {
      const { offset = 0, ...choice } = options;
      source.copyTo(this, { ...choice, deviceOffset: offset, length: source.length });
      return;
    }
    const stream = streamFor(this.context, options.stream);
    if (source instanceof DeviceBuffer) {
      this.#requireDType(source, "source");
      const target = this.#range(stream, source.length, options.offset, "copy into a buffer");
      source.recordStream(stream);
      copyBetween(target, source, target.byteLength, stream);
      return;
    }
    this.#requireArray(source, "source");
    upload(
      this.#range(stream, source.length, options.offset, "copy into a buffer"),
      source,
      stream,
    );
  }

  /**
   * Copies this buffer, as it is when the work enqueued so far on the stream is done, into a typed
   * array. Does not block the event loop. Work of other streams is not waited for: see
   * {@linkcode Stream.wait}.
   *
   * All of it passes through pinned memory; {@linkcode DeviceBuffer.copyToSync} needs none.
   *
   * @param target A typed array of this buffer's element type; its length says how much is copied.
   * @returns Resolves when the elements have arrived.
   * @throws {TypeError} If the element types differ.
   * @throws {RangeError} If the target is longer than what is there to copy.
   * @throws {CudaError} If work before the copy failed.
   */
  async copyTo(target: TypedArrayOf<D>, options: CopyOptions = {}): Promise<void> {
    requireObject(options, "options", "copy from a buffer");
    const stream = streamFor(this.context, options.stream);
    this.#requireArray(target, "target");
    await download(
      target,
      this.#range(stream, target.length, options.offset, "copy from a buffer"),
      stream,
    );
  }

  /** The blocking twin of {@linkcode DeviceBuffer.copyTo}. */
  copyToSync(target: TypedArrayOf<D>, options: CopyOptions = {}): void {
    requireObject(options, "options", "copy from a buffer");
    const stream = streamFor(this.context, options.stream);
    this.#requireArray(target, "target");
    downloadSync(
      target,
      this.#range(stream, target.length, options.offset, "copy from a buffer"),
      stream,
    );
  }

  /**
   * The elements, as they are when the work enqueued so far on the stream is done. Does not block
   * the event loop.
   *
   * @throws {CudaError} If work before the copy failed.
   * @returns A typed array of this buffer's element type. `bfloat16` comes as the bits in a
   * `Uint16Array`, `float8_*` and `bool` in a `Uint8Array`.
   */
  async toArray(options: StreamChoice = {}): Promise<TypedArrayOf<D>> {
    const target = createTypedArray(this.dtype, this.length);
    await this.copyTo(target, options);
    return target;
  }

  /** The blocking twin of {@linkcode DeviceBuffer.toArray}. */
  toArraySync(options: StreamChoice = {}): TypedArrayOf<D> {
    const target = createTypedArray(this.dtype, this.length);
    this.copyToSync(target, options);
    return target;
  }

  /**
   * Gives the memory back, without waiting: work that is enqueued later on the buffer's stream may
   * have it at once, other streams when that stream, and every other that used the buffer, has got
   * this far. Memory of no pool is given back to whom it came from. Doing it twice is allowed; a
   * view gives nothing back.
   */
  free(): void {
    if (this.#freed || this.#root !== this as DeviceBuffer) return;
    if (this.#pool !== undefined) {
      if (this.#pool.withdrawn.count !== this.#withdrawals && this.#isFreed()) return;
      this.#freed = true;
      this.#pool.give(this.#block);
      return;
    }
    this.#other!.free();
    this.#freed = true;
  }

  /** Gives the memory back; see {@linkcode DeviceBuffer.free}. */
  [Symbol.dispose](): void {
    this.free();
  }

  #range(stream: Stream, length: number, offset = 0, action: string) {
    if (!Number.isInteger(offset) || offset < 0 || offset + length > this.length) {
      throw new RangeError(
        `Cannot ${action} as offset and count must stay within its ${this.length} elements: they are ${
          describeValue(offset)
        } and ${length}`,
      );
    }
    const size = bytesPerElement(this.dtype);
    this.recordStream(stream);
    return {
      context: this.context,
      address: this.address + offset * size,
      byteLength: length * size,
    };
  }

  #requireDType(other: { readonly dtype: DType }, name: string): void {
    if (other.dtype === (this.dtype as DType)) return;
    throw new TypeError(
      `Cannot copy as ${name} must be ${this.dtype}, as the buffer is: it is ${other.dtype}`,
    );
  }

  #requireArray(array: unknown, name: string): asserts array is TypedArrayOf<D> {
    if (isLiveArrayOf(array, this.dtype)) return;
    const wanted = typedArrayName(this.dtype);
    throw new TypeError(
      `Cannot copy as ${name} must be a ${wanted}, as the buffer is ${this.dtype}: it is ${
        describeArray(array)
      }`,
    );
  }
}

function checkAlignment(alignment: number): number {
  if (Number.isSafeInteger(alignment) && alignment > 0 && Math.log2(alignment) % 1 === 0) {
    return alignment;
  }
  throw new RangeError(
    `Cannot allocate a buffer as alignment must be a power of two: it is ${
      describeValue(alignment)
    }`,
  );
}

function bytesOfLength(length: number, dtype: DType): number {
  const size = bytesPerElement(dtype);
  if (Number.isSafeInteger(length) && length >= 0 && Number.isSafeInteger(length * size)) {
    return length * size;
  }
  throw new RangeError(
    `Cannot allocate a ${dtype} buffer as length must be an integer of at least 0, and its bytes below 2^53: it is ${
      describeValue(length)
    }`,
  );
}
