/**
 * A device as a place for memory: buffers, pools, uploads, pinned memory.
 *
 * @module
 */

import { requireInstance } from "../ffi/arguments.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import type { StreamChoice } from "../memory/buffer_options.ts";
import { DeviceBuffer } from "../memory/device_buffer.ts";
import type {
  AnyTypedArray,
  DType,
  DTypeOf,
  SelfDescribingArray,
  TypedArrayOf,
} from "../memory/dtype.ts";
import { MemoryManager } from "../memory/manager/memory_manager.ts";
import { PinnedBuffer } from "../memory/pinned_buffer.ts";
import { MemoryPool } from "../memory/pool/memory_pool.ts";
import type { MemoryPoolOptions } from "../memory/pool/pool_options.ts";
import {
  type FilePart,
  type PrefetchedFile,
  prefetchFiles,
  type PrefetchOptions,
} from "../memory/upload/file_prefetch.ts";
import {
  type FileIntoOptions,
  type FileUploadOptions,
  uploadFile,
  uploadFileInto,
} from "../memory/upload/file_upload.ts";
import {
  type ByteSource,
  type StreamUploadOptions,
  uploadStream,
} from "../memory/upload/stream_upload.ts";
import { UploadRing, type UploadRingOptions } from "../memory/upload/upload_ring.ts";
import { uploadArray, type UploadOptions } from "./array_upload.ts";
import { type AllocateOptions, BufferAllocator, NO_OPTIONS } from "./buffer_allocator.ts";
import { requireOnDevice } from "./device_checks.ts";
import { OpenedDevice } from "./opened_device.ts";

/** The memory of an opened device; {@linkcode Device} adds kernels. */
export abstract class MemoryDevice extends OpenedDevice {
  readonly #buffers: BufferAllocator;
  #memory: MemoryManager | undefined;

  /** Makes a device of an opened context, which it holds until it is disposed. */
  constructor(context: DeviceContext) {
    super(context);
    this.#buffers = new BufferAllocator(context);
  }

  /**
   * The pool that its buffers come from, made when it is first needed: with the options that
   * `openDevice()` was given, else as the environment says.
   *
   * @throws {EnvironmentError} If a variable for pools cannot be understood.
   *
   * @example
   * ```ts
   * import { openDevice } from "@gridstride/cuda";
   *
   * using device = openDevice(undefined, { memory: { maxPoolSize: "1GiB" } });
   * device.allocate("float32", 1000).free();
   * device.allocate("float32", 1000).free(); // the same memory again
   * console.log(device.pool.stats().hitRate); // 0.5
   * ```
   */
  get pool(): MemoryPool {
    return MemoryPool.ofDevice(this.use());
  }

  /**
   * The manager of its memory: what is usable of it, who has how much, and chunks that fit.
   *
   * @throws {CudaError} If the device cannot be asked for its memory.
   */
  get memory(): MemoryManager {
    void this.use();
    return this.#memory ??= new MemoryManager(this, { pool: this.pool });
  }

  /**
   * Allocates a buffer.
   *
   * @param dtype The element type.
   * @param length The number of elements; 0 gives a valid empty buffer.
   * @throws {RangeError} If the length is negative, fractional, not a number or too large.
   * @throws {OutOfMemoryError} If the device has no room.
   */
  allocate<D extends DType>(
    dtype: D,
    length: number,
    options: AllocateOptions<D> = NO_OPTIONS,
  ): DeviceBuffer<D> {
    void this.use();
    return this.#buffers.allocate(dtype, length, options);
  }

  /**
   * The twin of {@linkcode MemoryDevice.allocate} that never blocks the event loop, also where memory
   * becomes available only when a stream has got further.
   *
   * @throws {RangeError} If the length is negative, fractional, not a number or too large.
   * @throws {OutOfMemoryError} If the device has no room.
   */
  async allocateAsync<D extends DType>(
    dtype: D,
    length: number,
    options: AllocateOptions<D> = NO_OPTIONS,
  ): Promise<DeviceBuffer<D>> {
    void this.use();
    return await this.#buffers.allocateAsync(dtype, length, options);
  }

  /**
   * Makes a pool of its own limits and statistics on the device; see {@linkcode MemoryPool}.
   *
   * @throws {TypeError | RangeError} If an option is wrong.
   * @throws {OutOfMemoryError} If what is to be preallocated is not there.
   */
  createPool(options: MemoryPoolOptions = {}): MemoryPool {
    void this.use();
    return new MemoryPool(this, options);
  }

  /**
   * Allocates a buffer as long as an array and enqueues copying the array into it, as
   * {@linkcode DeviceBuffer.copyFrom} does. The array may be changed at once.
   *
   * @param array The elements; its kind is the buffer's element type.
   * @throws {TypeError} If the array does not tell its element type and the options do not name it.
   * @throws {OutOfMemoryError} If the device has no room.
   */
  upload<A extends SelfDescribingArray>(
    array: A,
    options?: StreamChoice & { readonly dtype?: never },
  ): DeviceBuffer<DTypeOf<A> & DType>;
  /**
   * Allocates a buffer for the elements of an array whose type the options name.
   *
   * @param array Of the kind that holds elements of that type: a `Uint16Array` for `bfloat16`.
   */
  upload<D extends DType>(array: TypedArrayOf<D>, options: UploadOptions<D>): DeviceBuffer<D>;
  upload(array: AnyTypedArray, options: Partial<UploadOptions<DType>> = {}): DeviceBuffer {
    return uploadArray(this.use(), array, options);
  }

  /**
   * Allocates a buffer and reads a file, or a part of it, into it: several threads read into pinned
   * memory while the device copies. Does not block the event loop. The buffer is there when all of
   * it has arrived; {@linkcode FileUploadOptions} has progress, cancellation and more.
   *
   * @throws {Deno.errors.NotFound | Deno.errors.NotCapable} If there is no such file, or it may not
   * be read.
   * @throws {OutOfMemoryError} If the device has no room.
   *
   * @example
   * ```ts
   * import { openDevice } from "@gridstride/cuda";
   *
   * const path = await Deno.makeTempFile();
   * await Deno.writeFile(path, new Uint8Array(1 << 20));
   * using device = openDevice();
   * using weights = await device.uploadFile(path, {
   *   dtype: "float16",
   *   onProgress: ({ bytes, totalBytes }) => console.log(`${bytes} of ${totalBytes} bytes`),
   * });
   * console.log(weights.length); // 524288
   * await Deno.remove(path);
   * ```
   */
  async uploadFile<D extends DType = "uint8">(
    path: string | URL,
    options: FileUploadOptions<D> = {},
  ): Promise<DeviceBuffer<D>> {
    return await uploadFile(this.use(), path, options);
  }

  /**
   * Reads as much of a file as a buffer, or a view of one, has room for into it.
   *
   * @throws {TypeError} If the buffer is of another device.
   */
  async uploadFileInto(
    buffer: DeviceBuffer,
    path: string | URL,
    options: FileIntoOptions = {},
  ): Promise<void> {
    const action = "upload a file into a buffer";
    requireInstance(buffer, DeviceBuffer, "buffer", action);
    requireOnDevice(this.use(), buffer, "buffer", action);
    await uploadFileInto(buffer, path, options);
  }

  /**
   * Makes pinned memory that uploads pass through, of one's own limits; see {@linkcode UploadRing}.
   *
   * @throws {RangeError} If an option is out of its range.
   */
  createUploadRing(options: UploadRingOptions = {}): UploadRing {
    return UploadRing.create(this.use(), options);
  }

  /**
   * Allocates a buffer and copies all bytes of a stream into it, such as the body of a response. A
   * slow device slows the stream down.
   */
  async uploadStream<D extends DType = "uint8">(
    source: ByteSource,
    options: StreamUploadOptions<D> = {},
  ): Promise<DeviceBuffer<D>> {
    return await uploadStream(this.use(), source, options);
  }

  /**
   * Uploads parts of files in their order and hands the buffers over one by one, whose receiver
   * frees them. While one is worked with, the next ones are on their way.
   */
  prefetchFiles<const Part extends FilePart>(
    parts: Iterable<Part>,
    options: PrefetchOptions = {},
  ): AsyncGenerator<PrefetchedFile<Part>, void, void> {
    return prefetchFiles(this.use(), parts, options);
  }

  /**
   * Allocates host memory that the device copies from and to by itself.
   *
   * @param dtype The element type.
   * @param length The number of elements: 1 byte to 4 GiB in all.
   * @throws {RangeError} If the length is out of range.
   */
  allocatePinned<D extends DType>(dtype: D, length: number): PinnedBuffer<D> {
    return new PinnedBuffer(this.use(), dtype, length);
  }
}
