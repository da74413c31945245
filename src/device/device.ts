/**
 * The device: where memory, streams and kernels come from.
 *
 * @module
 */

import {
  canAccessPeer,
  deviceMemory,
  enablePeerAccess,
  synchronizeDevice,
  synchronizeDeviceSync,
} from "../ffi/native_device.ts";
import { requireInstance, requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { giveBack, giveBackAfterFailure } from "../ffi/give_back.ts";
import { DeviceContext } from "../hardware/device_context.ts";
import type { DeviceInfo } from "../hardware/device_information.ts";
import { type UsableMemory, usableMemory } from "../hardware/memory_reserve.ts";
import { fill } from "../kernels/elementwise.ts";
import { launchGeometry, type LaunchProblem } from "../launch/launch_geometry.ts";
import type { LaunchConfig } from "../launch/launch_config.ts";
import { Kernel } from "../launch/kernel.ts";
import { DeviceBuffer, type PlacementOptions, type StreamChoice } from "../memory/device_buffer.ts";
import {
  type AnyTypedArray,
  type DType,
  type DTypeOf,
  dtypeOf,
  type ElementOf,
  type SelfDescribingArray,
  type TypedArrayOf,
} from "../memory/dtype.ts";
import { PinnedBuffer } from "../memory/pinned_buffer.ts";
import { poolOf } from "../memory/pool/device_pool.ts";
import type { PoolCore } from "../memory/pool/pool_core.ts";
import { defaultStream } from "../stream/default_stream.ts";
import { Event, type EventOptions } from "../stream/event.ts";
import { duringDeviceWait, refuseDeviceWait } from "../stream/running_captures.ts";
import { Stream, type StreamOptions } from "../stream/stream.ts";
import { DeviceKernels } from "./device_kernels.ts";

/** Options of {@linkcode Device.allocate}. */
export interface AllocateOptions<D extends DType> extends PlacementOptions {
  /** What every element is set to; absent leaves the content undefined. */
  readonly fill?: ElementOf<D>;
}

/** Options of {@linkcode Device.upload}. */
export interface UploadOptions<D extends DType> extends StreamChoice {
  /**
   * The element type, where the array does not tell: `bfloat16` bits come in a `Uint16Array`,
   * `bool` and `float8_*` in a `Uint8Array`.
   */
  readonly dtype: D;
}

/**
 * An opened device. Made by `openDevice()`.
 *
 * Streams and buffers made from it stay usable until they are disposed themselves; its default
 * stream ends with the last of them.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 *
 * using device = openDevice();
 * using x = device.upload(new Float32Array([1, 2, 3]));
 * using y = device.allocate("float32", 3, { fill: 10 });
 * device.kernels.axpy(2, x, y);
 * console.log(await y.toArray()); // Float32Array(3) [ 12, 14, 16 ]
 * ```
 */
export class Device implements Disposable {
  /** The device as the lower layers see it. */
  readonly context: DeviceContext;
  /** Built-in kernels and operations on buffers. */
  readonly kernels: DeviceKernels;
  #defaultPool: PoolCore | undefined;
  #disposed = false;

  /** Makes a device of an opened context, which it holds until it is disposed. */
  constructor(context: DeviceContext) {
    requireInstance(context, DeviceContext, "context", "make a device");
    context.retain();
    this.context = context;
    this.kernels = new DeviceKernels(context);
  }

  /** What is known of the device. */
  get info(): DeviceInfo {
    return this.context.info;
  }

  /** How messages and reports name it: `cuda:0`, `host:0`. */
  get label(): string {
    return this.context.label;
  }

  /** The default stream: where work goes that names no stream. Disposing it does nothing. */
  get stream(): Stream {
    return defaultStream(this.#use());
  }

  /** Whether the device is disposed. */
  get disposed(): boolean {
    return this.#disposed;
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
    options: AllocateOptions<D> = {},
  ): DeviceBuffer<D> {
    requireObject(options, "options", "allocate a buffer");
    // Read before there is a buffer: what the options throw must not leave one behind.
    const { fill: value } = options;
    const buffer = DeviceBuffer.fromPool(this.#pool(), this.#use(), dtype, length, options);
    if (value === undefined) return buffer;
    try {
      fill(buffer, value, options);
    } catch (error) {
      giveBackAfterFailure(buffer);
      throw error;
    }
    return buffer;
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
    requireObject(options, "options", "upload");
    const dtype = options.dtype ?? this.#dtypeOf(array);
    if (!ArrayBuffer.isView(array)) throw this.#refuseArray(array);
    const { stream } = options;
    const buffer = DeviceBuffer.allocate(
      this.#use(),
      dtype,
      array.length,
      stream === undefined ? {} : { stream },
    );
    try {
      buffer.copyFrom(array, options);
    } catch (error) {
      giveBackAfterFailure(buffer);
      throw error;
    }
    return buffer;
  }

  #dtypeOf(array: unknown): DType {
    const dtype = ArrayBuffer.isView(array) ? dtypeOf(array) as DType | undefined : undefined;
    if (dtype !== undefined) return dtype;
    throw this.#refuseArray(array);
  }

  #refuseArray(array: unknown): TypeError {
    return new TypeError(
      `Cannot upload as array must be a typed array with an element type of its own, or one that options.dtype names: it is ${
        describeValue(array)
      }`,
    );
  }

  /**
   * Allocates host memory that the device copies from and to by itself.
   *
   * @param dtype The element type.
   * @param length The number of elements: 1 byte to 4 GiB in all.
   * @throws {RangeError} If the length is out of range.
   */
  allocatePinned<D extends DType>(dtype: D, length: number): PinnedBuffer<D> {
    return new PinnedBuffer(this.#use(), dtype, length);
  }

  /** Makes a stream. */
  createStream(options: StreamOptions = {}): Stream {
    return new Stream(this.#use(), options);
  }

  /** Makes an event; nothing is recorded yet. */
  createEvent(options: EventOptions = {}): Event {
    return new Event(this.#use(), options);
  }

  /**
   * A launch configuration from the kernel's and the device's limits and the size of the problem.
   *
   * @example
   * ```ts
   * import { openDevice } from "@gridstride/cuda";
   *
   * using device = openDevice();
   * using out = device.allocate("int64", 5000);
   * const fill = device.kernels.load(
   *   "fill_int64(long long* out, long long value, unsigned long long n)",
   * );
   * fill.launch(device.launchFor(fill, { elements: out.length }), out, 7n, out.length);
   * ```
   */
  launchFor(kernel: Kernel<string>, problem: LaunchProblem): LaunchConfig {
    this.#use();
    requireInstance(kernel, Kernel, "kernel", "choose launch parameters");
    return launchGeometry(kernel, problem);
  }

  /** Free, total, reserved and usable memory in bytes. */
  memoryInfo(): UsableMemory {
    const { library, ordinal } = this.#use();
    return usableMemory(deviceMemory(library, ordinal));
  }

  /** Whether this device can address the memory of another. */
  canAccessPeer(peer: Device): boolean {
    requireInstance(peer, Device, "peer", "ask for peer access");
    const { library, ordinal } = this.#use();
    return library === peer.context.library && ordinal !== peer.context.ordinal &&
      canAccessPeer(library, ordinal, peer.context.ordinal);
  }

  /**
   * Lets this device address the memory of another; doing it twice is allowed.
   *
   * @throws {TypeError} If the devices belong to different libraries.
   * @throws {CudaError} If the hardware cannot.
   */
  enablePeerAccess(peer: Device): void {
    requireInstance(peer, Device, "peer", "enable peer access");
    const { library, ordinal } = this.#use();
    if (library !== peer.context.library) {
      throw new TypeError(
        `Cannot enable peer access from ${this.label} to ${peer.label} as they belong to different libraries`,
      );
    }
    enablePeerAccess(library, ordinal, peer.context.ordinal);
  }

  /**
   * Waits for all work of the device, also that of other isolates, without blocking the event loop.
   *
   * @throws {CudaError} If work failed.
   */
  async done(): Promise<void> {
    const { library, ordinal } = this.#use();
    refuseDeviceWait(library, `wait for ${this.label}`);
    await duringDeviceWait(library, () => synchronizeDevice(library, ordinal));
  }

  /** The blocking twin of {@linkcode Device.done}. */
  doneSync(): void {
    const { library, ordinal } = this.#use();
    refuseDeviceWait(library, `wait for ${this.label}`);
    synchronizeDeviceSync(library, ordinal);
  }

  /** Lets the device go; what was made from it stays usable until disposed itself. */
  [Symbol.dispose](): void {
    if (this.#disposed) return;
    giveBack(
      this.context,
      () => this.context.release(),
      () => this.#disposed = true,
    );
  }

  #pool(): PoolCore {
    // Kept here, as looking it up would take as long as allocating.
    return this.#defaultPool ??= poolOf(this.#use());
  }

  #use(): DeviceContext {
    if (this.#disposed) throw new TypeError(`Cannot use ${this.label} as it is disposed`);
    return this.context;
  }
}
