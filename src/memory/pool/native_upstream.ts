/**
 * A device of a native library, as the upstream of a pool.
 *
 * @module
 */

import { giveBack } from "../../ffi/give_back.ts";
import { copyToHostSync } from "../../ffi/native_memory.ts";
import { deviceMemory } from "../../ffi/native_device.ts";
import { freeMemory, setMemory, tryAllocateMemory } from "../../ffi/native_memory.ts";
import {
  createEvent,
  destroyEvent,
  queryEvent,
  recordEvent,
  synchronizeEventSync,
} from "../../ffi/native_stream.ts";
import {
  declareBlock,
  devicePressure,
  mapMemory,
  pressMemory,
  readPressure,
  releaseAddresses,
  reserveAddresses,
  unmapMemory,
  virtualGranularity,
} from "../../ffi/native_memory.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import { eventDone } from "../../stream/event.ts";
import { Stream } from "../../stream/stream.ts";
import { isCapturing } from "../../stream/running_captures.ts";
import { AwaitedEvents } from "./awaited_events.ts";
import { shareMapping } from "./device_pools.ts";
import type { MemoryStream, MemoryUpstream } from "./memory_upstream.ts";

/** What is given back is noted by the pool, which asks for it once and forgets it before. */
function nothingToForget(): void {}

/**
 * An opened device as an upstream. It does not hold the device open: its owner does.
 *
 * A device that is lost took its memory and events with it. Giving them back then throws the first
 * time that anybody hears of the loss, and is quiet from then on.
 */
export class NativeUpstream implements MemoryUpstream {
  /** How messages name the device. */
  readonly label: string;
  /** The device's total memory in bytes. */
  readonly totalBytes: number;
  /** What mapped addresses and sizes are multiples of; 0 where there is only plain memory. */
  readonly granularity: number;
  readonly #context: DeviceContext;
  readonly #onPress: () => void;
  /** The devices of events that are of another one than this. */
  readonly #foreignEvents = new Map<number, DeviceContext>();
  readonly #awaited = new AwaitedEvents((event) => this.#destroyNow(event));
  #pressed: number;

  /**
   * Looks at a device; takes nothing from it.
   *
   * @param context The device.
   * @param virtualMemory Whether to use its virtual memory management, if it has it.
   * @param onPress Has the other pools of this isolate give back what is free.
   */
  constructor(
    context: DeviceContext,
    virtualMemory = true,
    onPress: () => void = () => {},
  ) {
    this.#onPress = onPress;
    this.#context = context;
    this.#pressed = devicePressure(context.library, context.ordinal);
    this.label = context.label;
    this.totalBytes = context.info.totalMemory;
    this.granularity = virtualMemory && context.info.virtualMemoryManagement
      ? virtualGranularity(context.library, context.ordinal)
      : 0;
  }

  /** Free memory of the device in bytes. */
  freeBytes(): number {
    const { library, ordinal } = this.#context;
    return deviceMemory(library, ordinal).free;
  }

  /** Plain memory; 0 where there is none left. */
  allocate(bytes: number): number {
    const { library, ordinal } = this.#context;
    return tryAllocateMemory(library, ordinal, bytes);
  }

  /** Gives plain memory back; waits for the device, as `cudaFree` does. */
  free(address: number): void {
    const { library, ordinal } = this.#context;
    giveBack(this.#context, () => freeMemory(library, ordinal, address), nothingToForget);
  }

  /** A range of addresses without memory; 0 where there is none. */
  reserve(bytes: number): number {
    const { library, ordinal } = this.#context;
    return reserveAddresses(library, ordinal, bytes);
  }

  /** Gives a range of addresses back. */
  release(address: number): void {
    const { library, ordinal } = this.#context;
    giveBack(this.#context, () => releaseAddresses(library, ordinal, address), nothingToForget);
  }

  /** Puts memory behind addresses; false where there is none left. */
  map(address: number, bytes: number, handleBytes: number): boolean {
    const { library, ordinal } = this.#context;
    if (!mapMemory(library, ordinal, address, bytes, handleBytes)) return false;
    try {
      shareMapping(this.#context, address, bytes);
    } catch (error) {
      unmapMemory(library, ordinal, address, bytes);
      throw error;
    }
    return true;
  }

  /** Takes the memory behind whole pieces away at once. */
  unmap(address: number, bytes: number): void {
    const { library, ordinal } = this.#context;
    giveBack(this.#context, () => unmapMemory(library, ordinal, address, bytes), nothingToForget);
  }

  /** Whether this thread captures a stream. */
  get capturing(): boolean {
    return isCapturing();
  }

  /** Whether the device is lost, and somebody has been told. */
  get lost(): boolean {
    return this.#context.library.lostDevices.has(this.#context.ordinal);
  }

  /** Whether the device of a stream is lost, and somebody has been told. */
  isLostFor(stream: MemoryStream): boolean {
    const { library, ordinal } = stream instanceof Stream ? stream.context : this.#context;
    return library.lostDevices.has(ordinal);
  }

  /** A new event, for waiting, on the stream's device. */
  createEvent(stream: MemoryStream): number {
    const device = stream instanceof Stream ? stream.context : this.#context;
    const event = createEvent(device.library, device.ordinal, false);
    if (device.ordinal !== this.#context.ordinal) this.#foreignEvents.set(event, device);
    return event;
  }

  /** Forgets an event; it stays until those who {@linkcode wait} for it have been told. */
  destroyEvent(event: number): void {
    this.#awaited.destroy(event);
  }

  #destroyNow(event: number): void {
    const device = this.#foreignEvents.get(event) ?? this.#context;
    giveBack(
      device,
      () => destroyEvent(device.library, device.ordinal, event),
      () => this.#foreignEvents.delete(event),
    );
  }

  /** Marks the point that the stream's work has reached when all enqueued so far is done. */
  recordEvent(event: number, stream: MemoryStream): void {
    const { library, ordinal } = stream instanceof Stream ? stream.context : this.#context;
    recordEvent(library, ordinal, stream.id, event);
  }

  /** Whether the event's last recorded point has been reached. */
  queryEvent(event: number): boolean {
    const { library, ordinal } = this.#context;
    return queryEvent(library, ordinal, event);
  }

  /** Waits for it, blocking this thread. */
  waitSync(event: number): void {
    const { library, ordinal } = this.#context;
    synchronizeEventSync(library, ordinal, event);
  }

  /** Waits for it without blocking the event loop. */
  async wait(event: number): Promise<void> {
    await this.#awaited.during(event, () => eventDone(this.#context, event));
  }

  /** Whether somebody waits for it who is still to be told. */
  isAwaited(event: number): boolean {
    return this.#awaited.has(event);
  }

  /** Tells the library of a live block, or of its end. */
  declare(address: number, bytes: number, isLive: boolean): void {
    const { library, ordinal } = this.#context;
    declareBlock(library, ordinal, address, bytes, isLive);
  }

  /** Sets bytes on the stream. */
  fill(address: number, bytes: number, pattern: number, stream: MemoryStream): void {
    const { library, ordinal } = this.#context;
    setMemory(library, ordinal, stream.id, address, pattern, 1, bytes);
  }

  /** Reads bytes after the stream's work so far, blocking this thread. */
  read(address: number, target: Uint8Array<ArrayBuffer>, stream: MemoryStream): void {
    const { library, ordinal } = this.#context;
    copyToHostSync(library, ordinal, stream.id, target, address, target.byteLength);
  }

  /** Asks the pools of other isolates to trim. */
  press(): void {
    const { library, ordinal } = this.#context;
    pressMemory(library, ordinal);
    this.#onPress();
  }

  /** A number that changes when somebody pressed, a device was lost, or a capture began or ended. */
  get signal(): number {
    const { library } = this.#context;
    // Both grow. Of floats the engine adds slower, as it makes sure of integers meanwhile.
    return readPressure(library) - -library.interruptions;
  }

  /** Whether somebody pressed for this device since this was asked last. */
  wasPressed(): boolean {
    const { library, ordinal } = this.#context;
    const count = devicePressure(library, ordinal);
    const isMore = count !== this.#pressed;
    this.#pressed = count;
    return isMore;
  }
}
