/**
 * Our own pool as a policy: the very code that serves buffers, over a device in memory.
 *
 * @module
 */

import { OutOfMemoryError } from "../../../ffi/cuda_error.ts";
import { type SimulatedStream, SimulatedUpstream } from "../simulated_upstream.ts";
import { PoolCore } from "../../../memory/pool/pool_core.ts";
import type { PoolSettings } from "../../../memory/pool/pool_options.ts";
import { POOL_DEFAULTS } from "../../../memory/pool/pool_presets.ts";
import { DEFAULT_ALIGNMENT, DEFAULT_RECLAIM } from "../../../memory/pool/pool_settings.ts";
import type { ReplayAllocator, ReplayPolicy, ReplayPolicyOptions } from "./replay_policy.ts";

/** What a pool without options has on a device of this size. */
function settingsFor(capacityBytes: number, virtualMemory: boolean): PoolSettings {
  return {
    ...POOL_DEFAULTS,
    preset: null,
    limitBytes: capacityBytes,
    initialBytes: 0,
    virtualMemory,
    reclaimShare: DEFAULT_RECLAIM,
    refuseShare: Infinity,
    onMemoryPressure: undefined,
    alignment: DEFAULT_ALIGNMENT,
  };
}

/** The pool. */
class GridstridePool implements ReplayAllocator {
  readonly #upstream: SimulatedUpstream;
  readonly #pool: PoolCore;
  readonly #streams: SimulatedStream[] = [];
  // Blocks by the trace's numbers; a typed array, so that it does not distort the timing.
  #blocks = new Int32Array(1024);

  constructor({ capacityBytes }: ReplayPolicyOptions, virtualMemory: boolean) {
    this.#upstream = new SimulatedUpstream({
      capacity: capacityBytes,
      ...(virtualMemory ? {} : { granularity: 0 }),
    });
    this.#pool = new PoolCore(this.#upstream, settingsFor(capacityBytes, virtualMemory));
  }

  get reservedBytes(): number {
    return this.#upstream.usedBytes;
  }

  get upstreamCalls(): number {
    return this.#pool.engine.counters.counted("upstreamCalls");
  }

  get retries(): number {
    return this.#pool.engine.counters.counted("retries");
  }

  allocate(block: number, bytes: number, stream: number, alignment?: number): boolean {
    if (block >= this.#blocks.length) {
      const longer = new Int32Array(Math.max(block + 1, this.#blocks.length * 2));
      longer.set(this.#blocks);
      this.#blocks = longer;
    }
    try {
      this.#blocks[block] = alignment === undefined
        ? this.#pool.take(bytes, this.#stream(stream))
        : this.#pool.take(bytes, this.#stream(stream), alignment);
      return true;
    } catch (error) {
      if (error instanceof OutOfMemoryError) return false;
      throw error;
    }
  }

  free(block: number): void {
    this.#pool.give(this.#blocks[block]!);
  }

  use(block: number, stream: number): void {
    if (this.#blocks[block] !== 0) this.#pool.use(this.#blocks[block]!, this.#stream(stream));
  }

  /** Waiting tells the pool nothing: it asks when it needs to know. */
  synchronize(): void {}

  dispose(stream: number): void {
    this.#streams[stream]?.[Symbol.dispose]();
    delete this.#streams[stream];
  }

  #stream(stream: number): SimulatedStream {
    return this.#streams[stream] ??= this.#upstream.createStream();
  }
}

/** Our pool with virtual memory. */
export const GRIDSTRIDE: ReplayPolicy = {
  name: "gridstride",
  description: "the pool of this module, on a device with virtual memory management",
  isModel: false,
  create: (options) => new GridstridePool(options, true),
};

/** Our pool without virtual memory. */
export const GRIDSTRIDE_PLAIN: ReplayPolicy = {
  name: "gridstride-plain",
  description: "the pool of this module, on a device without virtual memory management",
  isModel: false,
  create: (options) => new GridstridePool(options, false),
};
