/**
 * The memory pool of this package as replay policies, over a simulated device.
 *
 * @module
 */

import { OutOfMemoryError } from "../../../ffi/cuda_error.ts";
import { BlockPool } from "../../../memory/pool/block_pool.ts";
import { defaultSettings } from "../../../memory/pool/pool_options.ts";
import { type SimulatedStream, SimulatedUpstream } from "../simulated_upstream.ts";
import type { ReplayAllocator, ReplayPolicy } from "./replay_policy.ts";

class GridstridePool implements ReplayAllocator {
  readonly #upstream: SimulatedUpstream;
  readonly #pool: BlockPool;
  readonly #streams: SimulatedStream[] = [];
  /** Handles of the pool by block number. */
  readonly #blocks: number[] = [];

  constructor(capacityBytes: number, virtualMemory: boolean) {
    this.#upstream = new SimulatedUpstream({
      capacity: capacityBytes,
      ...(virtualMemory ? {} : { granularity: 0 }),
    });
    this.#pool = new BlockPool(this.#upstream, {
      ...defaultSettings(capacityBytes),
      virtualMemory,
    });
  }

  get reservedBytes(): number {
    return this.#upstream.usedBytes;
  }

  get upstreamCalls(): number {
    return this.#pool.counters.counted("upstreamCalls");
  }

  get retries(): number {
    return this.#pool.counters.counted("retries");
  }

  allocate(block: number, bytes: number, stream: number, alignment?: number): boolean {
    try {
      this.#blocks[block] = alignment === undefined
        ? this.#pool.allocate(bytes, this.#stream(stream))
        : this.#pool.allocate(bytes, this.#stream(stream), alignment);
      return true;
    } catch (error) {
      if (error instanceof OutOfMemoryError) return false;
      throw error;
    }
  }

  free(block: number): void {
    this.#pool.free(this.#blocks[block]!);
  }

  use(block: number, stream: number): void {
    if (this.#blocks[block] !== 0) this.#pool.use(this.#blocks[block]!, this.#stream(stream));
  }

  /** Does nothing: the pool queries its events when it needs memory. */
  synchronize(): void {}

  dispose(stream: number): void {
    this.#streams[stream]?.[Symbol.dispose]();
    delete this.#streams[stream];
  }

  #stream(stream: number): SimulatedStream {
    return this.#streams[stream] ??= this.#upstream.createStream();
  }
}

/**
 * The policies of this package: its memory pool with and without virtual memory management.
 *
 * @example
 * ```ts
 * import { REPLAY_POLICIES } from "@gridstride/cuda/memory";
 *
 * for (const { name, description } of REPLAY_POLICIES) console.log(name, description);
 * ```
 */
export const REPLAY_POLICIES: readonly ReplayPolicy[] = [
  {
    name: "gridstride",
    description: "the pool of this module, on a device with virtual memory management",
    isModel: false,
    create: ({ capacityBytes }) => new GridstridePool(capacityBytes, true),
  },
  {
    name: "gridstride-plain",
    description: "the pool of this module, on a device without virtual memory management",
    isModel: false,
    create: ({ capacityBytes }) => new GridstridePool(capacityBytes, false),
  },
];
