/**
 * Overwriting the level-2 cache, so that a timed launch finds nothing there of what ran before it.
 *
 * @module
 */

import { setMemory } from "../ffi/native_memory.ts";
import { DeviceBuffer } from "../memory/device_buffer.ts";
import type { Stream } from "../stream/stream.ts";

/** How often the level-2 cache is written over: lines that were written last may stay in it. */
const FLUSHES = 2;

/**
 * Memory that is written over the level-2 cache; none where the device does not tell its size, and
 * none on the host device, where a topology may say one that is not there.
 */
export class Level2Flush implements Disposable {
  readonly #stream: Stream;
  readonly #scratch: DeviceBuffer<"uint8">;

  /**
   * Takes the memory.
   *
   * @param enabled Whether anything is to be overwritten.
   * @throws {OutOfMemoryError} If the device has no room.
   */
  constructor(stream: Stream, enabled: boolean) {
    const { context } = stream;
    const isThere = enabled && context.library.kind === "cuda";
    const bytes = isThere ? FLUSHES * (context.info.l2CacheSize ?? 0) : 0;
    this.#stream = stream;
    this.#scratch = DeviceBuffer.allocate(context, "uint8", bytes, { stream });
  }

  /** Enqueues it. */
  enqueue(): void {
    const { length, address } = this.#scratch;
    if (length === 0) return;
    const { context, id } = this.#stream;
    setMemory(context.library, context.ordinal, id, address, 0, 1, length);
  }

  /** Gives the memory back. */
  [Symbol.dispose](): void {
    this.#scratch.free();
  }
}
