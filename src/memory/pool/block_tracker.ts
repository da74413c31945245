/**
 * What is known of every block where memory is tracked: since when it is what it is, who asked for
 * it and for which stream; and which buffers were lost without having been freed.
 *
 * @module
 */

import { logger } from "../../ffi/logging.ts";
import type { AllocationSites, CapturedSite } from "./allocation_sites.ts";
import type { MemoryStream } from "./memory_upstream.ts";
import type { PoolEngine } from "./pool_engine.ts";
import type { PoolObserver } from "./pool_observer.ts";
import type { StreamNames } from "./stream_names.ts";

/** Most stacks that are written down at the end of a task. */
const RESOLVED_AT_ONCE = 64;

/** As many blocks at least may be allocated in one task before those that are freed are forgotten. */
const LEAST_UNRESOLVED = 4096;

/** A buffer that is watched: its block, and who asked for it. */
interface WatchedBuffer {
  readonly block: number;
  readonly site: CapturedSite;
}

/** Keeps the books on blocks. */
export class BlockTracker implements PoolObserver {
  readonly #engine: PoolEngine;
  readonly #sites: AllocationSites;
  readonly #streams: StreamNames;
  // By block number.
  #since = new Float64Array(256);
  #streamOf = new Int32Array(256);
  readonly #siteOf: (CapturedSite | undefined)[] = [];
  readonly #lost = new Set<CapturedSite>();
  /** Blocks whose stacks are not written down yet. */
  #unresolved: WatchedBuffer[] = [];
  #mostUnresolved = LEAST_UNRESOLVED;
  #resolves = false;
  readonly #registry: FinalizationRegistry<WatchedBuffer>;
  #collected = 0;

  /** Begins to keep the books of an engine. */
  constructor(engine: PoolEngine, sites: AllocationSites, streams: StreamNames) {
    this.#engine = engine;
    this.#sites = sites;
    this.#streams = streams;
    this.#registry = new FinalizationRegistry((watched) => this.#noteCollected(watched));
  }

  /** How many buffers were collected as garbage without having been freed. */
  get collected(): number {
    return this.#collected;
  }

  /** A block became live. */
  allocated(block: number, stream: MemoryStream): void {
    if (block >= this.#since.length) this.#grow(block);
    this.#since[block] = performance.now();
    this.#streamOf[block] = this.#streams.indexOf(stream);
    const site = this.#sites.capture();
    this.#siteOf[block] = site;
    this.#unresolved.push({ block, site });
    if (this.#unresolved.length > this.#mostUnresolved) this.#forgetFreed();
    if (this.#resolves) return;
    this.#resolves = true;
    queueMicrotask(() => this.#resolveSome());
  }

  /** A live block was freed. */
  freed(block: number): void {
    this.#since[block] = performance.now();
    const site = this.#siteOf[block];
    if (site !== undefined) this.#lost.delete(site);
  }

  /** Milliseconds since the block was allocated or, where it is not live, freed. */
  ageOf(block: number): number {
    return Math.max(0, performance.now() - this.#since[block]!);
  }

  /** Who asked for a block that is or was live. */
  siteOf(block: number): CapturedSite {
    return this.#siteOf[block]!;
  }

  /** The number of the stream that a live block was allocated for. */
  streamOf(block: number): number {
    return this.#streamOf[block]!;
  }

  /** Whether nobody can free a live block any more, as its buffer was collected. */
  isLost(block: number): boolean {
    return this.#lost.has(this.siteOf(block));
  }

  /**
   * Watches a buffer: should it be collected as garbage while its block is live, that is reported.
   * The block is not freed: a garbage collector knows nothing of streams, nor of when.
   */
  watch(buffer: WeakKey, block: number): void {
    this.#registry.register(buffer, { block, site: this.siteOf(block) });
  }

  #noteCollected({ block, site }: WatchedBuffer): void {
    // The number may be another block's by now.
    if (this.#siteOf[block] !== site || !this.#engine.isLive(block)) return;
    this.#collected++;
    this.#lost.add(site);
    logger("memory").warn(
      "{device}: a buffer of {bytes} bytes was collected without having been freed, so that its memory stays taken; allocated at {site}",
      {
        device: this.#engine.upstream.label,
        bytes: this.#engine.table.requested(block),
        site: site.frame,
      },
    );
  }

  /**
   * Writes stacks down of blocks that have outlived the task that allocated them, so that nothing
   * is kept alive by them: most blocks do not live that long, and theirs are never needed.
   */
  #resolveSome(): void {
    this.#resolves = false;
    let left = RESOLVED_AT_ONCE;
    const waiting = this.#unresolved;
    while (waiting.length > 0 && left > 0) {
      const each = waiting.pop()!;
      if (!this.#isWaiting(each)) continue;
      void each.site.index;
      left--;
    }
  }

  /** A task that allocates and frees for long must not keep what it has freed. */
  #forgetFreed(): void {
    this.#unresolved = this.#unresolved.filter((each) => this.#isWaiting(each));
    this.#mostUnresolved = Math.max(LEAST_UNRESOLVED, this.#unresolved.length * 2);
  }

  #isWaiting({ block, site }: WatchedBuffer): boolean {
    return !site.resolved && this.#siteOf[block] === site && this.#engine.isLive(block);
  }

  #grow(block: number): void {
    const length = Math.max(block + 1, this.#since.length * 2);
    const since = new Float64Array(length);
    since.set(this.#since);
    this.#since = since;
    const streamOf = new Int32Array(length);
    streamOf.set(this.#streamOf);
    this.#streamOf = streamOf;
  }
}
