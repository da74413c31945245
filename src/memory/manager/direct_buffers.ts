/**
 * Buffers that were allocated past the pool.
 *
 * @module
 */

import type { DeviceBuffer } from "../device_buffer.ts";

/**
 * The direct buffers of a manager. Those that are freed are forgotten when somebody looks.
 *
 * They are held: one that was lost without having been freed still holds its memory, and of one that
 * is not there any more nobody could tell whether it was freed.
 */
export class DirectBuffers {
  #buffers: DeviceBuffer[] = [];

  /** Notes a buffer. */
  add(buffer: DeviceBuffer): void {
    this.#buffers.push(buffer);
  }

  /** Those that live. */
  #live(): readonly DeviceBuffer[] {
    if (this.#buffers.some(({ disposed }) => disposed)) {
      this.#buffers = this.#buffers.filter(({ disposed }) => !disposed);
    }
    return this.#buffers;
  }

  /** What was asked for of each, in bytes. */
  sizes(): number[] {
    return this.#live().map(({ byteLength }) => byteLength);
  }

  /** What they hold together, in bytes. */
  get bytes(): number {
    return this.#live().reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** Whether an address lies in one of them. */
  owns(address: number): boolean {
    return this.#live().some((buffer) =>
      address >= buffer.address && address < buffer.address + buffer.byteLength
    );
  }
}
