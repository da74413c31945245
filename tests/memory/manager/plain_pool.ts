/**
 * A pool without a cache: every buffer comes from the device and returns to it. Tests of managers
 * use it to separate the manager from the pool.
 *
 * @module
 */

import type { DeviceContext } from "../../../src/hardware/device_context.ts";
import { Allocation } from "../../../src/memory/allocation.ts";
import { bytesOfLength } from "../../../src/memory/buffer_options.ts";
import { bufferOfAllocation, type DeviceBuffer } from "../../../src/memory/device_buffer.ts";
import type { DType } from "../../../src/memory/dtype.ts";
import { MemoryPool } from "../../../src/memory/pool/memory_pool.ts";
import type { PoolStatistics } from "../../../src/memory/pool/pool_statistics.ts";

/** The part of a pool that a manager uses. */
type ManagedPool = Pick<
  MemoryPool,
  | "allocate"
  | "allocateDirect"
  | "clearCache"
  | "context"
  | "limitBytes"
  | "liveSizes"
  | "memoryAllocated"
  | "ownsPointer"
  | "stats"
>;

/** A pool without a cache. */
export class PlainPool implements ManagedPool {
  readonly context: DeviceContext;
  readonly limitBytes: number;
  /** The lengths of the direct requests. */
  readonly direct: number[] = [];
  /** The calls of {@linkcode clearCache}. */
  emptied = 0;
  /** Replacements for its statistics. */
  pretended: Partial<PoolStatistics> = {};
  #buffers: DeviceBuffer[] = [];

  constructor(context: DeviceContext, limitBytes = Infinity) {
    this.context = context;
    this.limitBytes = limitBytes;
  }

  /** The pool as an option of a manager. */
  get asPool(): MemoryPool {
    return this as unknown as MemoryPool;
  }

  allocate<D extends DType>(dtype: D, length: number): DeviceBuffer<D> {
    const allocation = Allocation.make(this.context, bytesOfLength(length, dtype));
    const buffer = bufferOfAllocation(allocation, dtype, length);
    this.#buffers.push(buffer as unknown as DeviceBuffer);
    return buffer;
  }

  allocateDirect<D extends DType>(dtype: D, length: number): DeviceBuffer<D> {
    this.direct.push(length);
    const allocation = Allocation.make(this.context, bytesOfLength(length, dtype));
    return bufferOfAllocation(allocation, dtype, length);
  }

  memoryAllocated(): number {
    return this.pretended.currentUsage ??
      [...this.liveSizes()].reduce((sum, size) => sum + size, 0);
  }

  stats(): PoolStatistics {
    using unused = new MemoryPool(this);
    const live = [...this.liveSizes()].reduce((sum, size) => sum + size, 0);
    return { ...unused.stats(), currentUsage: live, reserved: live, ...this.pretended };
  }

  *liveSizes(): Generator<number> {
    this.#buffers = this.#buffers.filter(({ disposed }) => !disposed);
    for (const { byteLength } of this.#buffers) yield byteLength;
  }

  ownsPointer(address: number): boolean {
    return this.#buffers.some((buffer) =>
      !buffer.disposed && address >= buffer.address && address < buffer.address + buffer.byteLength
    );
  }

  clearCache(): number {
    this.emptied++;
    return this.pretended.free ?? 0;
  }
}
