/**
 * Typed memory on a device.
 *
 * @module
 */

import { requireInstance, requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { contextOf, DeviceContext } from "../hardware/device_context.ts";
import type { Stream } from "../stream/stream.ts";
import { type Allocation, ForeignAllocation, OwnedAllocation } from "./allocation.ts";
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

/** Options of operations that are enqueued on a stream. */
export interface StreamChoice {
  /** The stream; the device's default stream when absent. */
  readonly stream?: Stream;
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
  readonly #allocation: Allocation;
  readonly #offset: number;
  readonly #isView: boolean;

  private constructor(
    allocation: Allocation,
    dtype: D,
    length: number,
    offset: number,
    isView: boolean,
  ) {
    this.context = allocation.context;
    this.dtype = dtype;
    this.length = length;
    this.byteLength = length * bytesPerElement(dtype);
    this.#allocation = allocation;
    this.#offset = offset;
    this.#isView = isView;
  }

  /**
   * Allocates a buffer; its content is undefined.
   *
   * @param context The device.
   * @param dtype The element type.
   * @param length The number of elements; 0 gives a valid empty buffer.
   * @throws {RangeError} If the length is negative, fractional, not a number or too large.
   * @throws {OutOfMemoryError} If the device has no room.
   */
  static allocate<D extends DType>(
    context: DeviceContext,
    dtype: D,
    length: number,
  ): DeviceBuffer<D> {
    requireInstance(context, DeviceContext, "context", "allocate a buffer");
    const bytes = bytesOfLength(length, dtype);
    return new DeviceBuffer(new OwnedAllocation(context, bytes), dtype, length, 0, false);
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
    return new DeviceBuffer(allocation, dtype, bytes / size, 0, false);
  }

  /**
   * The address of the first element; 0 for an empty buffer.
   *
   * @throws {TypeError} If the buffer is disposed.
   */
  get address(): number {
    if (this.#allocation.freed) {
      throw new TypeError(`Cannot use a ${this.dtype} buffer as it is disposed`);
    }
    return this.#allocation.address + this.#offset;
  }

  /** Whether the memory is given back. */
  get disposed(): boolean {
    return this.#allocation.freed;
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
    const offset = this.#offset + start * bytesPerElement(this.dtype);
    return new DeviceBuffer(this.#allocation, this.dtype, end - start, offset, true);
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
    return new DeviceBuffer(this.#allocation, dtype, this.byteLength / size, this.#offset, true);
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
      const target = this.#range(source.length, options.offset, "copy into a buffer");
      copyBetween(target, source, target.byteLength, stream);
      return;
    }
    this.#requireArray(source, "source");
    upload(this.#range(source.length, options.offset, "copy into a buffer"), source, stream);
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
      this.#range(target.length, options.offset, "copy from a buffer"),
      stream,
    );
  }

  /** The blocking twin of {@linkcode DeviceBuffer.copyTo}. */
  copyToSync(target: TypedArrayOf<D>, options: CopyOptions = {}): void {
    requireObject(options, "options", "copy from a buffer");
    const stream = streamFor(this.context, options.stream);
    this.#requireArray(target, "target");
    downloadSync(target, this.#range(target.length, options.offset, "copy from a buffer"), stream);
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
   * Gives the memory back after the work that uses it, for which it blocks this thread: `cudaFree`
   * waits until the device is idle. Doing it twice is allowed; a view gives nothing back.
   */
  free(): void {
    if (!this.#isView) this.#allocation.free();
  }

  /** Gives the memory back; see {@linkcode DeviceBuffer.free}. */
  [Symbol.dispose](): void {
    this.free();
  }

  #range(length: number, offset = 0, action: string) {
    if (!Number.isInteger(offset) || offset < 0 || offset + length > this.length) {
      throw new RangeError(
        `Cannot ${action} as offset and count must stay within its ${this.length} elements: they are ${
          describeValue(offset)
        } and ${length}`,
      );
    }
    const size = bytesPerElement(this.dtype);
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
