/**
 * The device of a native library as the upstream of a pool.
 *
 * @module
 */

import { giveBack } from "../../ffi/give_back.ts";
import type { NativeLibrary } from "../../ffi/library.ts";
import { deviceMemory } from "../../ffi/native_device.ts";
import {
  copyToHostSync,
  declareBlock,
  devicePressure,
  freeMemory,
  mapMemory,
  pressMemory,
  readPressure,
  releaseAddresses,
  reserveAddresses,
  setMemory,
  tryAllocateMemory,
  unmapMemory,
  virtualGranularity,
} from "../../ffi/native_memory.ts";
import {
  createEvent,
  destroyEvent,
  queryEvent,
  recordEvent,
  synchronizeEventSync,
} from "../../ffi/native_stream.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import { eventDone } from "../../stream/event.ts";
import { Stream } from "../../stream/stream.ts";
import { isCapturing } from "../../stream/running_captures.ts";
import { AwaitedEvents, type MemoryStream, type MemoryUpstream } from "./memory_upstream.ts";

/**
 * An opened device as an upstream. Its owner keeps the device open.
 *
 * A lost device took its memory and events along. Returning them throws when the loss is first
 * noticed, and does nothing from then on.
 */
export class NativeUpstream implements MemoryUpstream {
  readonly label: string;
  readonly totalBytes: number;
  readonly granularity: number;
  readonly #context: DeviceContext;
  readonly #library: NativeLibrary;
  readonly #ordinal: number;
  readonly #onPress: () => void;
  readonly #onMap: (address: number, bytes: number) => void;
  readonly #foreignEvents = new Map<number, DeviceContext>();
  readonly #awaited = new AwaitedEvents((event) => this.#destroyNow(event));
  #pressed: number;

  /**
   * Wraps a device; takes nothing from it.
   *
   * @param virtualMemory Whether to use the device's virtual memory management, if it has any.
   * @param listeners Called when the pool presses for memory, and after memory was mapped.
   */
  constructor(
    context: DeviceContext,
    virtualMemory = true,
    { onPress = () => {}, onMap = () => {} }: {
      readonly onPress?: () => void;
      readonly onMap?: (address: number, bytes: number) => void;
    } = {},
  ) {
    this.#onPress = onPress;
    this.#onMap = onMap;
    this.#context = context;
    this.#library = context.library;
    this.#ordinal = context.ordinal;
    this.#pressed = devicePressure(context.library, context.ordinal);
    this.label = context.label;
    this.totalBytes = context.info.totalMemory;
    this.granularity = virtualMemory && context.info.virtualMemoryManagement
      ? virtualGranularity(context.library, context.ordinal)
      : 0;
  }

  freeBytes(): number {
    return deviceMemory(this.#library, this.#ordinal).free;
  }

  allocate(bytes: number): number {
    return tryAllocateMemory(this.#library, this.#ordinal, bytes);
  }

  free(address: number): void {
    this.#giveBack(() => freeMemory(this.#library, this.#ordinal, address));
  }

  reserve(bytes: number): number {
    return reserveAddresses(this.#library, this.#ordinal, bytes);
  }

  release(address: number): void {
    this.#giveBack(() => releaseAddresses(this.#library, this.#ordinal, address));
  }

  map(address: number, bytes: number, handleBytes: number): boolean {
    if (!mapMemory(this.#library, this.#ordinal, address, bytes, handleBytes)) return false;
    try {
      this.#onMap(address, bytes);
    } catch (error) {
      unmapMemory(this.#library, this.#ordinal, address, bytes);
      throw error;
    }
    return true;
  }

  unmap(address: number, bytes: number): void {
    this.#giveBack(() => unmapMemory(this.#library, this.#ordinal, address, bytes));
  }

  get capturing(): boolean {
    return isCapturing();
  }

  get lost(): boolean {
    return this.#library.lostDevices.has(this.#ordinal);
  }

  isLostFor(stream: MemoryStream): boolean {
    const { library, ordinal } = this.#deviceOf(stream);
    return library.lostDevices.has(ordinal);
  }

  createEvent(stream: MemoryStream): number {
    const device = this.#deviceOf(stream);
    const event = createEvent(device.library, device.ordinal, false);
    if (device.ordinal !== this.#context.ordinal) this.#foreignEvents.set(event, device);
    return event;
  }

  destroyEvent(event: number): void {
    this.#awaited.destroy(event);
  }

  recordEvent(event: number, stream: MemoryStream): void {
    const { library, ordinal } = this.#deviceOf(stream);
    recordEvent(library, ordinal, stream.id, event);
  }

  queryEvent(event: number): boolean {
    return queryEvent(this.#library, this.#ordinal, event);
  }

  waitSync(event: number): void {
    synchronizeEventSync(this.#library, this.#ordinal, event);
  }

  async wait(event: number): Promise<void> {
    await this.#awaited.during(event, () => eventDone(this.#context, event));
  }

  isAwaited(event: number): boolean {
    return this.#awaited.has(event);
  }

  declare(address: number, bytes: number, isLive: boolean): void {
    declareBlock(this.#library, this.#ordinal, address, bytes, isLive);
  }

  fill(address: number, bytes: number, pattern: number, stream: MemoryStream): void {
    setMemory(this.#library, this.#ordinal, stream.id, address, pattern, 1, bytes);
  }

  read(address: number, target: Uint8Array<ArrayBuffer>, stream: MemoryStream): void {
    copyToHostSync(this.#library, this.#ordinal, stream.id, target, address, target.byteLength);
  }

  press(): void {
    pressMemory(this.#library, this.#ordinal);
    this.#onPress();
  }

  get signal(): number {
    // Both grow.
    return readPressure(this.#library) + this.#library.interruptions;
  }

  wasPressed(): boolean {
    const count = devicePressure(this.#library, this.#ordinal);
    const isMore = count !== this.#pressed;
    this.#pressed = count;
    return isMore;
  }

  #giveBack(release: () => void): void {
    giveBack(this.#context, release, () => {}); // the pool forgets a resource itself
  }

  #deviceOf(stream: MemoryStream): DeviceContext {
    return stream instanceof Stream ? stream.context : this.#context;
  }

  #destroyNow(event: number): void {
    const device = this.#foreignEvents.get(event) ?? this.#context;
    giveBack(
      device,
      () => destroyEvent(device.library, device.ordinal, event),
      () => this.#foreignEvents.delete(event),
    );
  }
}
