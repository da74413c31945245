/**
 * A device that is open: what it is, its streams and events, waiting for it, and its end.
 *
 * @module
 */

import { requireInstance } from "../ffi/arguments.ts";
import { giveBack } from "../ffi/give_back.ts";
import { deviceMemory, synchronizeDevice, synchronizeDeviceSync } from "../ffi/native_device.ts";
import { DeviceContext } from "../hardware/device_context.ts";
import type { DeviceInfo } from "../hardware/device_information.ts";
import { type UsableMemory, usableMemory } from "../hardware/memory_reserve.ts";
import { defaultStream } from "../stream/default_stream.ts";
import { Event, type EventOptions } from "../stream/event.ts";
import { duringDeviceWait, refuseDeviceWait } from "../stream/running_captures.ts";
import { Stream, type StreamOptions } from "../stream/stream.ts";

/** What every opened device has; {@linkcode Device} adds memory and kernels. */
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
