/**
 * Frees the memory of buffers that were dropped without `free()`.
 *
 * Registering every buffer with a `FinalizationRegistry` would cost as much as allocating it. A
 * buffer therefore holds a lease, a small object that is registered once per block. A freed buffer
 * returns its lease for the next buffer of the block. A dropped buffer takes its lease along, and
 * the garbage collector reports the lease.
 *
 * @module
 */

import { logger } from "../../ffi/logging.ts";
import type { BlockPool } from "./block_pool.ts";

/** Keeps the block of a buffer allocated; only the buffer holds it. */
export type Lease = object;

interface LeasedBlock {
  readonly block: number;
  readonly lease: WeakRef<Lease>;
}

export class DroppedBuffers {
  readonly #pool: BlockPool;
  // By block number.
  readonly #idle: (Lease | undefined)[] = [];
  readonly #leased: (LeasedBlock | undefined)[] = [];
  readonly #registry: FinalizationRegistry<LeasedBlock>;
  #count = 0;

  constructor(pool: BlockPool) {
    this.#pool = pool;
    this.#registry = new FinalizationRegistry((leased) => void this.#free(leased));
  }

  /** The number of buffers dropped so far. */
  get count(): number {
    return this.#count;
  }

  /** The lease for the buffer of a block that was just allocated. */
  lease(block: number): Lease {
    const idle = this.#idle[block];
    if (idle !== undefined) {
      this.#idle[block] = undefined;
      return idle;
    }
    const lease = {};
    const leased = { block, lease: new WeakRef(lease) };
    this.#leased[block] = leased;
    this.#registry.register(lease, leased);
    return lease;
  }

  /** Takes the lease of a buffer back before its block is freed. */
  takeBack(block: number, lease: Lease): void {
    this.#idle[block] = lease;
  }

  /** Notes that a block is freed while its buffer still holds the lease. */
  forget(block: number): void {
    this.#leased[block] = undefined;
  }

  /**
   * Frees the blocks of all buffers known to be collected, for a request that found no memory: the
   * collector's reports come only between the program's tasks.
   */
  reclaim(): void {
    for (const leased of this.#leased) {
      if (leased !== undefined && leased.lease.deref() === undefined) this.#free(leased);
    }
  }

  #free(leased: LeasedBlock): void {
    const { block } = leased;
    if (this.#leased[block] !== leased) return;
    this.#leased[block] = undefined;
    this.#count++;
    const pool = this.#pool;
    const { upstream: { label }, tracker } = pool;
    if (tracker !== undefined) {
      logger("memory").warn(
        "{label}: a buffer of {bytes} bytes was dropped without free(), which its collection has now done; allocated at {site}",
        { label, bytes: pool.table.requested(block), site: tracker.siteOf(block).frame },
      );
    }
    try {
      pool.free(block);
    } catch (error) {
      // The collector has no caller; a lost device reports itself at the next call.
      logger("memory").error("{label}: a dropped buffer was freed with an error: {error}", {
        label,
        error,
      });
    }
  }
}
