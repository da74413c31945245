/**
 * The memory of a device during a trace: activity of its pools, and their size after each change.
 *
 * @module
 */

import type { MemorySample, TraceStatistics } from "./recording.ts";
import { type DevicePlace, watchPools } from "../../memory/pool/device_pools.ts";
import type { BlockPool } from "../../memory/pool/block_pool.ts";
import type { PoolObserver } from "../../memory/pool/pool_observer.ts";
import { Ring } from "./ring.ts";

/** The memory of all pools of a device together. */
export class MemoryLog implements Disposable {
  readonly #stopWatching: () => void;
  readonly #detachers = new Map<BlockPool, () => void>();
  readonly #samples: Ring<MemorySample>;
  #live = 0;
  #reserved = 0;
  readonly #counts = {
    allocations: 0,
    allocatedBytes: 0,
    frees: 0,
    growths: 0,
    grownBytes: 0,
    shrinks: 0,
    shrunkBytes: 0,
    waits: 0,
    failures: 0,
    initialReserved: 0,
    peakReserved: 0,
    peakLive: 0,
  };

  /**
   * Observes the existing and future pools of a device.
   *
   * @param capacity The number of samples to keep.
   */
  constructor(device: DevicePlace, capacity: number) {
    this.#samples = new Ring(capacity);
    this.#stopWatching = watchPools(device, {
      added: (pool) => this.#attach(pool),
      removed: (pool) => this.#forget(pool),
    });
    this.#counts.initialReserved = this.#reserved;
    this.#sample();
  }

  /** Number of dropped samples. */
  get dropped(): number {
    return this.#samples.dropped;
  }

  /** The kept samples; times count from `begun`. */
  records(begun: number): MemorySample[] {
    return [...this.#samples].map(({ time, ...sizes }) => ({ time: time - begun, ...sizes }));
  }

  /** Counts and sums since the start. */
  statistics(): TraceStatistics["memory"] {
    return { ...this.#counts };
  }

  /** Stops observing. */
  [Symbol.dispose](): void {
    this.#stopWatching();
    for (const detach of this.#detachers.values()) detach();
    this.#detachers.clear();
  }

  #attach(pool: BlockPool): void {
    this.#live += pool.requestedBytes;
    this.#reserved += pool.reservedBytes;
    this.#raisePeaks();
    this.#detachers.set(pool, pool.observe(this.#observerOf(pool)));
  }

  /** Buffers that outlive their pool no longer count. */
  #forget(pool: BlockPool): void {
    this.#detachers.get(pool)?.();
    if (this.#detachers.delete(pool)) this.#change(-pool.requestedBytes, 0);
  }

  #observerOf({ table }: BlockPool): PoolObserver {
    const counts = this.#counts;
    return {
      allocated: (block) => {
        const bytes = table.requested(block);
        counts.allocations++;
        counts.allocatedBytes += bytes;
        this.#change(bytes, 0);
      },
      freed: (block) => {
        counts.frees++;
        this.#change(-table.requested(block), 0);
      },
      reserved: (bytes) => {
        counts[bytes > 0 ? "growths" : "shrinks"]++;
        counts[bytes > 0 ? "grownBytes" : "shrunkBytes"] += Math.abs(bytes);
        this.#change(0, bytes);
      },
      waited: () => counts.waits++,
      failed: () => counts.failures++,
    };
  }

  #change(live: number, reserved: number): void {
    this.#live += live;
    this.#reserved += reserved;
    this.#sample();
  }

  #raisePeaks(): void {
    this.#counts.peakLive = Math.max(this.#counts.peakLive, this.#live);
    this.#counts.peakReserved = Math.max(this.#counts.peakReserved, this.#reserved);
  }

  #sample(): void {
    this.#raisePeaks();
    this.#samples.add({ time: performance.now(), live: this.#live, reserved: this.#reserved });
  }
}
