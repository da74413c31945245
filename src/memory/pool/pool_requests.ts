/**
 * Requests that are more than a look into the cache: aligned ones, those of debug mode, and all that
 * no free memory serves.
 *
 * @module
 */

import { OutOfMemoryError } from "../../ffi/cuda_error.ts";
import { AllocationLadder } from "./allocation_ladder.ts";
import { UNIT } from "./block_table.ts";
import type { MemoryStream } from "./memory_upstream.ts";
import { REQUESTED_BYTES, RESERVED_BYTES } from "./pool_counters.ts";
import type { PoolEngine } from "./pool_engine.ts";
import type { BlockRequest } from "./block_request.ts";
import type { PoolMonitor } from "./pool_monitor.ts";
import type { MemoryPressureEvent, PoolSettings } from "./pool_options.ts";
import { poolStatistics } from "./pool_statistics.ts";

/** What the status of CUDA for "no memory" is. */
const MEMORY_ALLOCATION = 2;

/** Serves the requests of a pool. */
export class PoolRequests {
  readonly #engine: PoolEngine;
  readonly #settings: PoolSettings;
  readonly #monitor: PoolMonitor;
  readonly #ladder: AllocationLadder;
  readonly #requireUsable: (stream: MemoryStream) => void;
  #mayWait = true;
  /** Whether the program is being asked for room. */
  #isAsking = false;
  #missed: BlockRequest | undefined;

  /**
   * Serves what an engine's cache does not from now on.
   *
   * @param requireUsable Called whenever the program has had its way in the midst of a request:
   * throws if there is nothing to allocate for any more.
   */
  constructor(
    engine: PoolEngine,
    settings: PoolSettings,
    monitor: PoolMonitor,
    requireUsable: (stream: MemoryStream) => void,
  ) {
    this.#requireUsable = requireUsable;
    this.#engine = engine;
    this.#settings = settings;
    this.#monitor = monitor;
    this.#ladder = new AllocationLadder(engine, {
      virtualMemory: settings.virtualMemory && engine.upstream.granularity > 0,
      limitBytes: settings.limitBytes,
      reclaimShare: settings.reclaimShare,
      refuseShare: settings.refuseShare,
      onPressure: (request) => this.#makeRoom(request),
    });
    engine.onMiss = (request) => this.#serve(request);
  }

  /**
   * A block, with guards where debug mode is on.
   *
   * @throws {OutOfMemoryError} If there is no memory.
   */
  take(bytes: number, stream: MemoryStream, alignment: number): number {
    const block = this.#guard(bytes, alignment, (all) => this.#obtain(all, stream, alignment));
    if (block !== 0) return block;
    throw this.outOfMemory(bytes);
  }

  /** The twin of {@linkcode PoolRequests.take} that waits for streams by promises. */
  async takeAsync(bytes: number, stream: MemoryStream, alignment: number): Promise<number> {
    const block = this.#guard(
      bytes,
      alignment,
      (all) => this.#obtainWithoutWaiting(all, stream, alignment),
    );
    if (block !== 0) return block;
    const request = this.#missed!;
    const climb = this.#ladder.climb(request);
    for (let step = climb.next();; step = climb.next()) {
      if (step.done) return this.#finish(bytes, step.value, request);
      this.noteWait();
      await this.#engine.upstream.wait(step.value.event);
      this.#requireUsable(stream);
    }
  }

  /** Notes that somebody waits for a stream. */
  noteWait(): void {
    this.#engine.counters.count("syncs");
    this.#engine.observer?.waited();
  }

  /** What is thrown when there is no memory; counts it. */
  outOfMemory(bytes: number): OutOfMemoryError {
    const { counters, observer, upstream } = this.#engine;
    counters.count("outOfMemory");
    observer?.failed(bytes);
    const { largestFree, fragmentation, pending } = poolStatistics(this.#engine);
    // What the device has left for this pool: within its limit, and as far as it can be asked.
    const left = this.#settings.limitBytes - counters.current(RESERVED_BYTES);
    return new OutOfMemoryError({
      code: MEMORY_ALLOCATION,
      action: `allocate ${bytes} bytes`,
      call: this.#settings.virtualMemory ? "cuMemCreate" : "cudaMalloc",
      device: upstream.label,
      requested: bytes,
      free: Math.max(0, Math.min(left, upstream.freeBytes())),
      total: upstream.totalBytes,
      largestBlock: largestFree,
      fragmentation: fragmentation.external,
      pendingBytes: pending,
      topSites: this.#monitor.topSites(),
    });
  }

  #finish(bytes: number, found: number, request: BlockRequest): number {
    if (found === 0) throw this.outOfMemory(bytes);
    const { alignment } = request;
    return this.#guard(
      bytes,
      alignment,
      () => this.#monitor.aligned(alignment, () => this.#engine.finish(found, request)),
    );
  }

  /** Takes a block with what debug mode needs around it. */
  #guard(bytes: number, alignment: number, attempt: (bytes: number) => number): number {
    const { guarded } = this.#monitor;
    return guarded === undefined ? attempt(bytes) : guarded.take(bytes, alignment, attempt);
  }

  #obtain(bytes: number, stream: MemoryStream, alignment: number): number {
    if (alignment <= UNIT) return this.#engine.take(bytes, stream);
    return this.#monitor.aligned(
      alignment,
      () => this.#engine.takeAligned(bytes, stream, alignment),
    );
  }

  #obtainWithoutWaiting(bytes: number, stream: MemoryStream, alignment: number): number {
    this.#mayWait = false;
    try {
      return this.#obtain(bytes, stream, alignment);
    } finally {
      this.#mayWait = true;
    }
  }

  #serve(request: BlockRequest): number {
    const found = this.#ladder.find(request);
    this.#engine.counters.recount();
    if (found !== 0) return found;
    if (!this.#mayWait) {
      this.#missed = request;
      return 0;
    }
    const climb = this.#ladder.climb(request);
    for (let step = climb.next();; step = climb.next()) {
      if (step.done) return step.value;
      this.noteWait();
      this.#engine.upstream.waitSync(step.value.event);
    }
  }

  /** Lets go what debug mode holds, then asks the program; whether there may be room now. */
  #makeRoom(request: BlockRequest): boolean {
    if (this.#monitor.guarded?.release("allocate a buffer")) return true;
    const { onMemoryPressure } = this.#settings;
    // What the program allocates to make room must not ask it for room again, for ever.
    if (onMemoryPressure === undefined || this.#isAsking) return false;
    this.#isAsking = true;
    let hasFreed: boolean;
    try {
      hasFreed = onMemoryPressure(this.#pressureOf(request));
    } finally {
      this.#isAsking = false;
    }
    this.#requireUsable(request.stream);
    return hasFreed;
  }

  #pressureOf(request: BlockRequest): MemoryPressureEvent {
    const { counters, upstream } = this.#engine;
    const { pending } = poolStatistics(this.#engine);
    return {
      device: upstream.label,
      requested: request.bytes,
      live: counters.current(REQUESTED_BYTES),
      reserved: counters.current(RESERVED_BYTES),
      pending,
      limit: this.#settings.limitBytes,
    };
  }
}
