/**
 * A device that is open: what it is, its streams and events, waiting for its work and timing it, and
 * its end.
 *
 * @module
 */

import { requireInstance } from "../ffi/arguments.ts";
import { giveBack } from "../ffi/give_back.ts";
import { deviceMemory, synchronizeDevice, synchronizeDeviceSync } from "../ffi/native_device.ts";
import { DeviceContext } from "../hardware/device_context.ts";
import type { DeviceInfo } from "../hardware/device_information.ts";
import { type UsableMemory, usableMemory } from "../hardware/memory_reserve.ts";
import { autotune } from "../lab/tuning/autotune.ts";
import type { TuningValue } from "../lab/tuning/canonical_text.ts";
import type { AutotuneOptions, TuningResult } from "../lab/tuning/tuning_options.ts";
import { defaultStream } from "../stream/default_stream.ts";
import { Event, type EventOptions } from "../stream/event.ts";
import { duringDeviceWait, refuseDeviceWait } from "../stream/running_captures.ts";
import { Stream, type StreamOptions } from "../stream/stream.ts";

/** What every opened device has; {@linkcode MemoryDevice} adds memory, {@linkcode Device} kernels. */
export abstract class OpenedDevice implements Disposable {
  /** The device as the lower layers see it. */
  readonly context: DeviceContext;
  #disposed = false;

  /** Makes a device of an opened context, which it holds until it is disposed. */
  constructor(context: DeviceContext) {
    requireInstance(context, DeviceContext, "context", "make a device");
    context.retain();
    this.context = context;
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
    return defaultStream(this.use());
  }

  /** Whether the device is disposed. */
  get disposed(): boolean {
    return this.#disposed;
  }

  /** Makes a stream. */
  createStream(options: StreamOptions = {}): Stream {
    return new Stream(this.use(), options);
  }

  /** Makes an event; nothing is recorded yet. */
  createEvent(options: EventOptions = {}): Event {
    return new Event(this.use(), options);
  }

  /** Free, total, reserved and usable memory in bytes. */
  memoryInfo(): UsableMemory {
    const { library, ordinal } = this.use();
    return usableMemory(deviceMemory(library, ordinal));
  }

  /**
   * Waits for all work of the device, also that of other isolates, without blocking the event loop.
   *
   * @throws {CudaError} If work failed.
   */
  async done(): Promise<void> {
    const { library, ordinal } = this.use();
    refuseDeviceWait(library, `wait for ${this.label}`);
    await duringDeviceWait(library, () => synchronizeDevice(library, ordinal));
  }

  /** The blocking twin of {@linkcode OpenedDevice.done}. */
  doneSync(): void {
    const { library, ordinal } = this.use();
    refuseDeviceWait(library, `wait for ${this.label}`);
    synchronizeDeviceSync(library, ordinal);
  }

  /**
   * Finds the fastest of several configurations of some work, such as block sizes of a kernel, by
   * timing them in turn on the device. What was timed before, by this process or another, is not
   * timed again. A configuration that fails is reported and not chosen.
   *
   * One that faults, by a wild access for example, takes the device from this process as on every
   * other occasion: that ends the tuning with an error that names it, and the next process leaves it
   * out. Configurations that may do so belong into a process of their own.
   *
   * @throws {TypeError | RangeError} If an option is wrong.
   * @throws {TuningError} If all configurations fail, or one takes the device with it.
   * @throws {OutOfMemoryError} If there is no room for copies of the buffers to restore.
   *
   * @example
   * ```ts
   * import { openDevice } from "@gridstride/cuda";
   *
   * using device = openDevice();
   * using x = device.allocate("float32", 100_000, { fill: 1 });
   * const { best, report } = await device.autotune({
   *   name: "double",
   *   configurations: [{ each: 1 }, { each: 2 }, { each: 4 }],
   *   key: { elements: x.length },
   *   prepare: ({ each }) =>
   *     device.compile(`
   *       __global__ void twice(float* x, int n) {
   *         int first = (blockIdx.x * blockDim.x + threadIdx.x) * EACH;
   *         for (int i = first; i < min(first + EACH, n); i++) x[i] *= 2;
   *       }`, { defines: { EACH: each } }),
   *   launch: ({ each }, module) =>
   *     module.kernel("twice")
   *       .launch({ grid: Math.ceil(x.length / (256 * each)), block: 256 }, x, x.length),
   *   restore: [x],
   * });
   * console.log(best, report.map(({ medianMicroseconds }) => medianMicroseconds));
   * ```
   */
  async autotune<const Configuration extends TuningValue, Prepared = undefined>(
    options: AutotuneOptions<Configuration, Prepared>,
  ): Promise<TuningResult<Configuration>> {
    return await autotune(this.use(), options);
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

  /**
   * The context, for whoever is about to use it.
   *
   * @throws {TypeError} If the device is disposed.
   */
  protected use(): DeviceContext {
    if (this.#disposed === true) throw new TypeError(`Cannot use ${this.label} as it is disposed`);
    return this.context;
  }
}
