/**
 * A pool that keeps nothing: every buffer comes from the device and goes back to it. What a manager
 * does can be told apart from what a pool does with it.
 *
 * @module
 */

import type { DeviceContext } from "../../../src/hardware/device_context.ts";
import { allocateDirect, type ManagedPool } from "../../../src/memory/manager/managed_pool.ts";
import type { DeviceBuffer } from "../../../src/memory/device_buffer.ts";
import type { DType } from "../../../src/memory/dtype.ts";
import { Environment } from "../../../src/hardware/environment.ts";
import { InMemoryUpstream } from "../pool/in_memory_upstream.ts";
import { PoolCore } from "../../../src/memory/pool/pool_core.ts";
import { resolvePoolSettings } from "../../../src/memory/pool/pool_settings.ts";
import type { PoolStatistics } from "../../../src/memory/pool/pool_statistics.ts";

/** The statistics of a pool that was never used. */
function unusedStatistics(): PoolStatistics {
  const upstream = new InMemoryUpstream();
  const unset = new Environment({ readable: () => true, get: () => undefined });
  const settings = resolvePoolSettings({}, unset, {
    totalBytes: upstream.totalBytes,
    virtualMemory: true,
    usableBytes: () => upstream.totalBytes,
  });
  return new PoolCore(upstream, settings).stats();
}

/** A pool that keeps nothing. */
export class PlainPool implements ManagedPool {
  readonly context: DeviceContext;
  readonly limitBytes: number;
  /** The lengths of the requests that came past it. */
  readonly direct: number[] = [];
  /** How often it was asked to give free memory back. */
  emptied = 0;
  /** What its statistics say instead. */
  pretended: Partial<PoolStatistics> = {};
  #buffers: DeviceBuffer[] = [];

  constructor(context: DeviceContext, limitBytes = Infinity) {
    this.context = context;
    this.limitBytes = limitBytes;
  }

  allocate<D extends DType>(dtype: D, length: number): DeviceBuffer<D> {
    const buffer = allocateDirect(this.context, dtype, length);
    this.#buffers.push(buffer as unknown as DeviceBuffer);
    return buffer;
  }

  allocateDirect<D extends DType>(dtype: D, length: number): DeviceBuffer<D> {
    this.direct.push(length);
    return allocateDirect(this.context, dtype, length);
  }

  memoryAllocated(): number {
    return this.pretended.currentUsage ?? this.#live();
  }

  #live(): number {
    return [...this.liveSizes()].reduce((sum, bytes) => sum + bytes, 0);
  }

  stats(): PoolStatistics {
    const live = this.#live();
    return { ...unusedStatistics(), currentUsage: live, reserved: live, ...this.pretended };
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
