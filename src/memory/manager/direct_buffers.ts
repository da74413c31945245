/**
 * Buffers that were allocated past the pool.
 *
 * @module
 */

import type { DeviceBuffer } from "../device_buffer.ts";

interface DirectBuffer {
  readonly address: number;
  readonly bytes: number;
  /** Weak, so that the manager keeps nothing alive that the program has lost. */
  readonly buffer: WeakRef<DeviceBuffer>;
}

/** The direct buffers of a manager. Those that are freed are forgotten when somebody looks. */
export class DirectBuffers {
  #buffers: DirectBuffer[] = [];

  /** Notes a buffer. */
  add(buffer: DeviceBuffer): void {
    this.#buffers.push({
      address: buffer.address,
      bytes: buffer.byteLength,
      buffer: new WeakRef(buffer),
    });
  }

  /** Those that live. One that was lost without having been freed still holds its memory. */
  #live(): readonly DirectBuffer[] {
    this.#buffers = this.#buffers.filter(({ buffer }) => buffer.deref()?.disposed !== true);
    return this.#buffers;
  }

  /** What was asked for of each, in bytes. */
  sizes(): number[] {
    return this.#live().map(({ bytes }) => bytes);
  }

  /** What they hold together, in bytes. */
  get bytes(): number {
    return this.#live().reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Whether an address lies in one of them. */
  owns(address: number): boolean {
    return this.#live().some((buffer) =>
      address >= buffer.address && address < buffer.address + buffer.bytes
    );
  }
}
