/**
 * The memory of a device during a trace: activity of its pools, and their size after each change.
 *
 * @module
 */

import type { MemorySample, TraceStatistics } from "./recording.ts";
import { type DevicePlace, watchPools } from "../../memory/pool/device_pools.ts";
import type { BlockPool } from "../../memory/pool/block_pool.ts";
import type { PoolObserver } from "../../memory/pool/pool_observer.ts";

/** Numbers of a sample: time, live bytes, reserved bytes. */
const COLUMNS = 3;
const FIRST_SAMPLES = 1024;

/** The memory of all pools of a device together. */
export class MemoryLog implements Disposable {
  readonly #capacity: number;
  readonly #stopWatching: () => void;
  readonly #detachers = new Map<BlockPool, () => void>();
  #samples: Float64Array<ArrayBuffer>;
  #sampled = 0;
  #live = 0;
  #reserved = 0;
  #initialReserved = 0;
  #peakLive = 0;
  #peakReserved = 0;
  #allocations = 0;
  #allocatedBytes = 0;
  #frees = 0;
  #growths = 0;
  #grownBytes = 0;
  #shrinks = 0;
  #shrunkBytes = 0;
  #waits = 0;
  #failures = 0;

  /**
   * Observes the existing and future pools of a device.
   *
   * @param capacity The number of samples to keep.
   */
  constructor(device: DevicePlace, capacity: number) {
    this.#capacity = capacity;
    this.#samples = new Float64Array(COLUMNS * Math.min(capacity, FIRST_SAMPLES));
    this.#stopWatching = watchPools(device, {
      added: (pool) => this.#attach(pool),
      removed: (pool) => this.#forget(pool),
    });
    this.#initialReserved = this.#reserved;
    this.#sample();
  }

  /** Number of dropped samples. */
  get dropped(): number {
    return Math.max(0, this.#sampled - this.#capacity);
  }

  /** The kept samples; times count from `begun`. */
  records(begun: number): MemorySample[] {
    return Array.from({ length: this.#sampled - this.dropped }, (_, index) => {
      const at = COLUMNS * ((this.dropped + index) % this.#capacity);
      const [time, live, reserved] = this.#samples.subarray(at, at + COLUMNS);
      return { time: time! - begun, live: live!, reserved: reserved! };
    });
  }

  /** Counts and sums since the start. */
  statistics(): TraceStatistics["memory"] {
    return {
      allocations: this.#allocations,
      allocatedBytes: this.#allocatedBytes,
      frees: this.#frees,
      growths: this.#growths,
      grownBytes: this.#grownBytes,
      shrinks: this.#shrinks,
      shrunkBytes: this.#shrunkBytes,
      waits: this.#waits,
      failures: this.#failures,
      initialReserved: this.#initialReserved,
      peakReserved: this.#peakReserved,
      peakLive: this.#peakLive,
    };
  }

  /** Stops observing. */
  [Symbol.dispose](): void {
    this.#stopWatching();
    for (const detach of [...this.#detachers.values()]) detach();
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
    const detach = this.#detachers.get(pool);
    if (detach === undefined) return;
    detach();
    this.#detachers.delete(pool);
    this.#live -= pool.requestedBytes;
    this.#sample();
  }

  #observerOf({ table }: BlockPool): PoolObserver {
    return {
      allocated: (block) => {
        const bytes = table.requested(block);
        this.#allocations++;
        this.#allocatedBytes += bytes;
        this.#live += bytes;
        this.#sample();
      },
      freed: (block) => {
        this.#frees++;
        this.#live -= table.requested(block);
        this.#sample();
      },
      reserved: (bytes) => this.#reserve(bytes),
      waited: () => this.#waits++,
      failed: () => this.#failures++,
    };
  }

  #reserve(bytes: number): void {
    if (bytes > 0) {
      this.#growths++;
      this.#grownBytes += bytes;
    } else {
      this.#shrinks++;
      this.#shrunkBytes -= bytes;
    }
    this.#reserved += bytes;
    this.#sample();
  }

  #raisePeaks(): void {
    this.#peakLive = Math.max(this.#peakLive, this.#live);
    this.#peakReserved = Math.max(this.#peakReserved, this.#reserved);
  }

  #sample(): void {
    this.#raisePeaks();
    const at = COLUMNS * (this.#sampled++ % this.#capacity);
    if (at >= this.#samples.length) this.#enlarge();
    this.#samples[at] = performance.now();
    this.#samples[at + 1] = this.#live;
    this.#samples[at + 2] = this.#reserved;
  }

  #enlarge(): void {
    const length = Math.min(2 * this.#samples.length, COLUMNS * this.#capacity);
    const samples = new Float64Array(length);
    samples.set(this.#samples);
    this.#samples = samples;
  }
}
