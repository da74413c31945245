/**
 * Who watches a pool, and what they can tell: tracking, debug mode, the timeline, recordings.
 *
 * A pool that nobody watches has no observer, so that watching costs it one comparison for each
 * call.
 *
 * @module
 */

import type { AllocationSite } from "../../ffi/cuda_error.ts";
import { logger } from "../../ffi/logging.ts";
import { AllocationSites } from "./allocation_sites.ts";
import { BlockTracker } from "./block_tracker.ts";
import { GuardedBlocks } from "./guarded_blocks.ts";
import { type LeakOptions, LeakReport, leakThreshold, type LiveBuffer } from "./leak_report.ts";
import { addressOf, liveBlocks } from "./live_blocks.ts";
import { OWNER, UNIT } from "./block_table.ts";
import { ObserverList } from "./observer_list.ts";
import type { PoolEngine } from "./pool_engine.ts";
import type { PoolObserver } from "./pool_observer.ts";
import type { PoolSettings } from "./pool_options.ts";
import { StreamNames } from "./stream_names.ts";

/** Most freed memory that debug mode keeps from use. */
const MOST_HELD = 64 * 2 ** 20;

/** The watchers of a pool. */
export class PoolMonitor {
  /** What is known of blocks; `undefined` where memory is not tracked. */
  readonly tracker: BlockTracker | undefined;
  /** Debug mode; `undefined` where it is off. */
  readonly guarded: GuardedBlocks | undefined;
  readonly #engine: PoolEngine;
  /** The numbers and names of streams. */
  readonly names: StreamNames = new StreamNames();
  /** The captured stacks. */
  readonly sites: AllocationSites;
  readonly #listeners = new Set<PoolObserver>();

  /** Begins to watch an engine that has no blocks yet, as the settings say. */
  constructor(engine: PoolEngine, settings: PoolSettings) {
    this.#engine = engine;
    const sites = new AllocationSites(settings.stackFrames);
    this.sites = sites;
    const { debug } = settings;
    const tracker = debug || settings.enableMemoryTracking
      ? new BlockTracker(engine, sites, this.names)
      : undefined;
    this.tracker = tracker;
    this.guarded = debug && tracker !== undefined
      ? new GuardedBlocks(engine, tracker, sites, mostHeld(settings))
      : undefined;
    engine.guards = this.guarded;
    this.#observe();
  }

  /** What is live; see `PoolCore.checkLeaks()`. */
  checkLeaks(options: LeakOptions): LeakReport {
    const olderThan = leakThreshold(options);
    if (olderThan !== undefined && this.tracker === undefined) {
      throw new TypeError(
        "Cannot check for leaks by age as the pool does not track memory: make it with " +
          "enableMemoryTracking: true",
      );
    }
    const buffers = [...liveBlocks(this.#engine)].map((block) => this.#describe(block))
      .filter(({ age }) => olderThan === undefined || age! > olderThan);
    return new LeakReport(this.#engine.upstream.label, olderThan, buffers);
  }

  /** The innermost frames that hold the most memory, largest first; none unless tracked. */
  topSites(): AllocationSite[] {
    const { tracker } = this;
    if (tracker === undefined) return [];
    const totals = new Map<string, { site: string; bytes: number; count: number }>();
    for (const block of liveBlocks(this.#engine)) {
      const site = tracker.siteOf(block).frame;
      const total = totals.get(site) ?? { site, bytes: 0, count: 0 };
      total.bytes += this.#engine.table.units(block) * UNIT;
      total.count++;
      totals.set(site, total);
    }
    return [...totals.values()].sort((a, b) => b.bytes - a.bytes || b.count - a.count);
  }

  /**
   * Has an observer of somebody else told as well.
   *
   * @returns Takes it away.
   */
  addObserver(observer: PoolObserver): () => void {
    this.#listeners.add(observer);
    this.#observe();
    return () => {
      this.#listeners.delete(observer);
      this.#observe();
    };
  }

  /** Lets a recording know of the alignment of what is taken meanwhile. */
  aligned(alignment: number, take: () => number): number {
    const { observer } = this.#engine;
    if (observer === undefined) return take();
    observer.alignment = alignment;
    try {
      return take();
    } finally {
      observer.alignment = UNIT;
    }
  }

  /** Looks at what debug mode guards; see `PoolCore.checkMemory()`. */
  checkMemory(): number {
    const action = "check memory";
    const { label, capturing } = this.#engine.upstream;
    if (this.guarded === undefined) {
      throw new TypeError(
        `Cannot ${action} as the pool of ${label} is not in debug mode: make it with debug: true`,
      );
    }
    if (capturing) {
      throw new TypeError(`Cannot ${action} while a stream is being captured: do it afterwards`);
    }
    return this.guarded.check(action);
  }

  /** Before the pool ends: what is live then is logged, and what debug mode finds is thrown. */
  end(): void {
    this.#reportLeaks();
    this.guarded?.end("dispose of the pool");
  }

  #reportLeaks(): void {
    if (this.tracker === undefined) return;
    const report = this.checkLeaks({});
    if (report.count === 0) return;
    logger("memory").warn("the pool is disposed while buffers live: {report}", {
      report: String(report),
    });
  }

  /** First who knows the sites, and then debug mode, which takes its guards out of the books. */
  #observe(): void {
    const observers = [this.tracker, this.guarded, ...this.#listeners]
      .filter((observer) => observer !== undefined);
    this.#engine.observer = observers.length > 0 ? new ObserverList(observers) : undefined;
  }

  #describe(block: number): LiveBuffer {
    const { table } = this.#engine;
    const { tracker } = this;
    return {
      address: addressOf(this.#engine, block),
      bytes: table.units(block) * UNIT,
      requested: table.requested(block),
      age: tracker?.ageOf(block) ?? null,
      stream: this.names.nameOf(tracker?.streamOf(block) ?? this.#ownerOf(block)),
      site: tracker?.siteOf(block).text ?? null,
      collected: tracker?.isLost(block) ?? false,
    };
  }

  #ownerOf(block: number): number {
    const owner = this.#engine.streams.slot(this.#engine.table.field(block, OWNER)).stream;
    return owner === undefined ? -1 : this.names.indexOf(owner);
  }
}

/** Most bytes in quarantine: free memory like all other, of which the pool keeps no more than it may. */
function mostHeld({ limitBytes, maxCachedBytes }: PoolSettings): number {
  return Math.min(MOST_HELD, maxCachedBytes / 2, limitBytes / 16);
}
