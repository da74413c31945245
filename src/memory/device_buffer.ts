/**
 * Typed memory on a device.
 *
 * @module
 */

import { requireInstance, requireObject } from "../ffi/arguments.ts";
import { DeviceContext } from "../hardware/device_context.ts";
import { defaultStream, type Stream } from "../stream/stream.ts";
import { type Allocation, frees } from "./allocation.ts";
import {
  bytesOfLength,
  checkAlignment,
  foreignAllocation,
  lengthAs,
  requireSameLibrary,
  requireViewRange,
} from "./buffer_checks.ts";
import { streamFor } from "./buffer_copy.ts";
import type {
  BufferPlace,
  CopyOptions,
  ForeignMemoryOptions,
  PlacementOptions,
  StreamChoice,
} from "./buffer_options.ts";
import { copyInto, copyOut, copyOutSync } from "./buffer_transfer.ts";
import { bytesPerElement, createTypedArray, type DType, type TypedArrayOf } from "./dtype.ts";
import type { PinnedBuffer } from "./pinned_buffer.ts";
import { poolOf } from "./pool/device_pools.ts";
import type { BlockPool } from "./pool/block_pool.ts";

/** In place of a number of withdrawals: the buffer is freed. */
const FREED = -1;

/** What a view is of, and where it begins. */
class ViewOrigin {
  constructor(readonly root: DeviceBuffer, readonly address: number) {}
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
  // Where the memory comes from: a pool, which knows it by the number of its block, or else. Fields
  // are few, as a pair of allocate() and free() writes them all; an address would be an object.
  readonly #pool: BlockPool | undefined;
  readonly #block: number;
  readonly #origin: Allocation | ViewOrigin | undefined;
  readonly #stream: Stream | undefined;
  // How many blocks of the pool had been freed by their address when this was looked at last;
  // FREED once the buffer is freed.
  #addressFrees: number;
  #lastUse: Stream | undefined = undefined;

  private constructor(
    context: DeviceContext,
    dtype: D,
    length: number,
    stream: Stream | undefined,
    pool: BlockPool | undefined,
    block: number,
    origin: Allocation | ViewOrigin | undefined,
  ) {
    this.context = context;
    this.dtype = dtype;
    this.length = length;
    this.#pool = pool;
    this.#block = block;
    this.#origin = origin;
    this.#stream = stream;
    this.#addressFrees = pool === undefined ? 0 : pool.addressFrees;
  }

  /** The size in bytes. */
  get byteLength(): number {
    return this.length * bytesPerElement(this.dtype);
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
   * @param usualStream The device's default stream, for who has it at hand.
   * @internal For pools and devices, which have checked that the options are an object.
   */
  static fromPool<D extends DType>(
    pool: BlockPool,
    context: DeviceContext,
    dtype: D,
    length: number,
    options: PlacementOptions,
    usualStream: Stream = defaultStream(context),
  ): DeviceBuffer<D> {
    const bytes = bytesOfLength(length, dtype);
    const { stream: wanted, alignment } = options;
    const stream = wanted === undefined ? usualStream : streamFor(context, wanted);
    const block = alignment === undefined
      ? pool.allocate(bytes, stream)
      : pool.allocate(bytes, stream, checkAlignment(alignment));
    return DeviceBuffer.ofBlock(pool, block, context, dtype, length, stream);
  }

  /**
   * Makes the buffer of a block that a pool has given.
   *
   * @internal For pools.
   */
  static ofBlock<D extends DType>(
    pool: BlockPool,
    block: number,
    context: DeviceContext,
    dtype: D,
    length: number,
    stream: Stream,
  ): DeviceBuffer<D> {
    const buffer = new DeviceBuffer(context, dtype, length, stream, pool, block, undefined);
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
    return new DeviceBuffer(allocation.context, dtype, length, undefined, undefined, 0, allocation);
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
    const allocation = foreignAllocation(address, bytes, options);
    const dtype = options.dtype ?? ("uint8" as D);
    return DeviceBuffer.ofAllocation(allocation, dtype, bytes / bytesPerElement(dtype));
  }

  /**
   * The address of the first element; 0 for an empty buffer.
   *
   * @throws {TypeError} If the buffer is disposed.
   */
  get address(): number {
    if (this.#root().#isFreed()) {
      throw new TypeError(`Cannot use a ${this.dtype} buffer as it is disposed`);
    }
    return this.#address();
  }

  #address(): number {
    const pool = this.#pool;
    return pool === undefined ? +this.#origin!.address : pool.addressOf(this.#block);
  }

  /**
   * What a launch on a stream passes for a buffer: its address; -1 if the value is no buffer of the
   * device, or it is freed. The memory's pool then knows that the stream uses it.
   *
   * @internal For launches: asking a buffer for one of these after the other takes longer by half.
   */
  static addressForLaunch(value: object, context: object, stream: Stream | undefined): number {
    if (!(#block in value)) return -1;
    const buffer = value as DeviceBuffer;
    if (buffer.context !== context) return -1;
    const pool = buffer.#pool;
    if (pool?.addressFrees === buffer.#addressFrees && buffer.#stream === stream) {
      return pool.addressOf(buffer.#block);
    }
    if (buffer.#root().#isFreed()) return -1;
    if (stream !== undefined) buffer.recordStream(stream);
    return buffer.#address();
  }

  /** The buffer that owns the memory. No accessor: V8 leaves optimised code for private ones. */
  #root(): DeviceBuffer {
    const origin = this.#origin;
    return origin instanceof ViewOrigin ? origin.root : this as DeviceBuffer;
  }

  /** Whether the memory is given back. */
  get disposed(): boolean {
    return this.#root().#isFreed();
  }

  /** Whether the memory is given back, by this buffer or, past it, by its address. */
  #isFreed(): boolean {
    if (this.#addressFrees === FREED) return true;
    if (this.#pool === undefined) return (this.#origin as Allocation).freed;
    const { addressFrees } = this.#pool;
    if (addressFrees === this.#addressFrees) return false;
    const isFreed = this.#pool.wasFreedByAddress(this.#block, this.#addressFrees);
    this.#addressFrees = isFreed ? FREED : addressFrees;
    return isFreed;
  }

  /**
   * The stream that the memory belongs to: work that is enqueued there after the buffer is freed
   * may have the memory at once. `undefined` where the memory is of no pool.
   */
  get stream(): Stream | undefined {
    return this.#root().#stream;
  }

  /**
   * Declares that another stream uses the buffer: when it is freed, its memory stays untouched
   * until that stream has done the work that it has by then. Copies and launches through this
   * module declare it themselves; it is for uses that they do not see.
   *
   * @throws {TypeError} If the buffer is disposed, or the stream is of another library.
   */
  recordStream(stream: Stream): void {
    const root = this.#root();
    if (stream === root.#stream || stream === root.#lastUse) return;
    requireSameLibrary(stream, this.context);
    void this.address;
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
  static placeOf(buffer: DeviceBuffer): BufferPlace {
    const root = buffer.#root();
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
    requireViewRange(start, end, this.length);
    return this.#view(this.dtype, start * bytesPerElement(this.dtype), end - start);
  }

  /**
   * A view of the same bytes as another element type.
   *
   * @throws {RangeError} If the size or the address is no multiple of the element size.
   */
  as<E extends DType>(dtype: E): DeviceBuffer<E> {
    return this.#view(dtype, 0, lengthAs(dtype, this.address, this.byteLength));
  }

  #view<E extends DType>(dtype: E, offset: number, length: number): DeviceBuffer<E> {
    const { address } = this;
    const origin = new ViewOrigin(this.#root(), address === 0 ? 0 : address + offset);
    return new DeviceBuffer(this.context, dtype, length, undefined, undefined, 0, origin);
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
    copyInto(this, source, options);
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
    await copyOut(this, target, options);
  }

  /** The blocking twin of {@linkcode DeviceBuffer.copyTo}. */
  copyToSync(target: TypedArrayOf<D>, options: CopyOptions = {}): void {
    copyOutSync(this, target, options);
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
    const pool = this.#pool;
    if (pool === undefined) return this.#freeOther();
    if (pool.addressFrees !== this.#addressFrees && this.#isFreed()) return;
    this.#addressFrees = FREED;
    frees.count++;
    pool.free(this.#block);
  }

  #freeOther(): void {
    if (!(this.#origin instanceof ViewOrigin)) this.#origin!.free();
  }

  /** Gives the memory back; see {@linkcode DeviceBuffer.free}. */
  [Symbol.dispose](): void {
    this.free();
  }
}
