/**
 * The device below the models: a capacity, and a count of what was asked of it.
 *
 * Memory of a replay has no addresses. A request is refused when the sum would exceed the capacity
 * and never for fragmentation, since a driver maps its pages wherever they are free.
 *
 * @module
 */

import type { Segment } from "./segment_part.ts";

/** A device's memory as the models of allocators take it. */
export class ReplayDevice {
  /** Bytes of memory that there are. */
  readonly capacityBytes: number;
  #reservedBytes = 0;
  #calls = 0;
  #retries = 0;
  #segments = 0;

  /** @param capacityBytes How much there is. */
  constructor(capacityBytes: number) {
    this.capacityBytes = capacityBytes;
  }

  /** Bytes taken and not given back. */
  get reservedBytes(): number {
    return this.#reservedBytes;
  }

  /** Requests so far, the refused ones included. */
  get calls(): number {
    return this.#calls;
  }

  /** Requests so far that models said they repeat. */
  get retries(): number {
    return this.#retries;
  }

  /** Bytes that nobody has taken. */
  get freeBytes(): number {
    return this.capacityBytes - this.#reservedBytes;
  }

  /** One request for memory; false when there is not that much left. */
  take(bytes: number): boolean {
    this.#calls++;
    if (bytes > this.freeBytes) return false;
    this.#reservedBytes += bytes;
    return true;
  }

  /** One request for memory in a segment of its own; `undefined` when there is not that much. */
  takeSegment(bytes: number): Segment | undefined {
    return this.take(bytes) ? this.reserveAddresses(bytes) : undefined;
  }

  /** A segment without memory, which is no request. */
  reserveAddresses(bytes: number): Segment {
    return { order: this.#segments++, bytes };
  }

  /** One request that gives memory back. */
  giveBack(bytes: number): void {
    this.#calls++;
    this.#reservedBytes -= bytes;
  }

  /** What is asked for next was refused before, within the same allocation. */
  countRetry(): void {
    this.#retries++;
  }
}
