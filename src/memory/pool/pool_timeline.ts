/**
 * The last events of a pool, in typed arrays that are written round and round.
 *
 * @module
 */

import {
  type SnapshotTimeline,
  TIMELINE_ACTIONS,
} from "../../lab/memory/snapshot/memory_snapshot.ts";
import type { AllocationSites, CapturedSite } from "./allocation_sites.ts";
import type { BlockTracker } from "./block_tracker.ts";
import { OWNER } from "./block_table.ts";
import type { MemoryStream } from "./memory_upstream.ts";
import { REQUESTED_BYTES, RESERVED_BYTES } from "./pool_counters.ts";
import type { PoolEngine } from "./pool_engine.ts";
import type { PoolObserver } from "./pool_observer.ts";
import { largestFree } from "./pool_statistics.ts";
import type { StreamNames } from "./stream_names.ts";

const ALLOCATE = TIMELINE_ACTIONS.indexOf("allocate");
const FREE = TIMELINE_ACTIONS.indexOf("free");
const RESERVE = TIMELINE_ACTIONS.indexOf("reserve");
const UNRESERVE = TIMELINE_ACTIONS.indexOf("unreserve");
const WAIT = TIMELINE_ACTIONS.indexOf("wait");
const OUT_OF_MEMORY = TIMELINE_ACTIONS.indexOf("out of memory");

/** After this many events the largest free block is looked up again. */
const SAMPLE = 64;

/** Most stacks that are kept as they were captured, which takes a kilobyte each; see sites. */
const CAPTURED_STACKS = 16_384;

/** What the timeline needs to know of sites, where memory is tracked. */
export interface TimelineSites {
  /** Who asked for blocks. */
  readonly tracker: BlockTracker;
  /** All stacks. */
  readonly sites: AllocationSites;
}

/** A timeline. Sizes are what was asked for; a hit of the cache costs a fraction of a microsecond. */
export class PoolTimeline implements PoolObserver {
  readonly #engine: PoolEngine;
  readonly #streams: StreamNames;
  readonly #known: TimelineSites | undefined;
  readonly #begin = performance.now();
  readonly #length: number;
  readonly #action: Uint8Array<ArrayBuffer>;
  readonly #stream: Int32Array<ArrayBuffer>;
  readonly #time: Float64Array<ArrayBuffer>;
  readonly #address: Float64Array<ArrayBuffer>;
  readonly #bytes: Float64Array<ArrayBuffer>;
  readonly #live: Float64Array<ArrayBuffer>;
  readonly #reserved: Float64Array<ArrayBuffer>;
  readonly #largestFree: Float64Array<ArrayBuffer>;
  readonly #sites: (CapturedSite | undefined)[] = [];
  #count = 0;
  #unsampled = SAMPLE;

  /**
   * Begins a timeline.
   *
   * @param length How many events are kept.
   * @param known Who asked for blocks, where memory is tracked.
   */
  constructor(
    engine: PoolEngine,
    length: number,
    streams: StreamNames,
    known: TimelineSites | undefined,
  ) {
    this.#engine = engine;
    this.#streams = streams;
    this.#known = known;
    this.#length = length;
    this.#action = new Uint8Array(length);
    this.#stream = new Int32Array(length);
    this.#time = new Float64Array(length);
    this.#address = new Float64Array(length);
    this.#bytes = new Float64Array(length);
    this.#live = new Float64Array(length);
    this.#reserved = new Float64Array(length);
    this.#largestFree = new Float64Array(length);
  }

  /** How many events there were, with those that are not kept any more. */
  get count(): number {
    return this.#count;
  }

  /** A block became live. */
  allocated(block: number, stream: MemoryStream): void {
    const { table } = this.#engine;
    const at = this.#note(ALLOCATE, table.address(block), table.requested(block), 0);
    this.#stream[at] = this.#streams.indexOf(stream);
    this.#sites[at] = this.#known?.tracker.siteOf(block);
  }

  /** A live block was freed; the books still have it. */
  freed(block: number): void {
    const { table } = this.#engine;
    const requested = table.requested(block);
    const at = this.#note(FREE, table.address(block), requested, requested);
    const owner = this.#engine.streams.slot(table.field(block, OWNER)).stream;
    this.#stream[at] = owner === undefined ? -1 : this.#streams.indexOf(owner);
    this.#sites[at] = this.#known?.tracker.siteOf(block);
  }

  /** Uses of other streams are not in a timeline. */
  used(): void {}

  /** Memory was taken from the device or, below zero, given back. */
  reserved(bytes: number, address: number): void {
    this.#note(bytes > 0 ? RESERVE : UNRESERVE, address, Math.abs(bytes), 0);
    // The blocks are being cut, so that the next event is the first to know them.
    this.#unsampled = SAMPLE;
  }

  /** Somebody waited for a stream. */
  waited(): void {
    this.#note(WAIT, 0, 0, 0);
    this.#unsampled = SAMPLE;
  }

  /** A request failed. */
  failed(bytes: number): void {
    const at = this.#note(OUT_OF_MEMORY, 0, bytes, 0);
    this.#largestFree[at] = largestFree(this.#engine);
    this.#sites[at] = this.#known?.sites.capture();
  }

  /** The events that are kept, oldest first, as a snapshot has them. */
  columns(): SnapshotTimeline {
    const kept = Math.min(this.#count, this.#length);
    const first = this.#count - kept;
    const column = (values: ArrayLike<number>) =>
      Array.from({ length: kept }, (_, index) => values[(first + index) % this.#length]!);
    return {
      dropped: first,
      time: column(this.#time),
      action: column(this.#action),
      address: column(this.#address),
      bytes: column(this.#bytes),
      stream: column(this.#stream),
      site: Array.from(
        { length: kept },
        (_, index) => this.#sites[(first + index) % this.#length]?.index ?? -1,
      ),
      live: column(this.#live),
      reserved: column(this.#reserved),
      largestFree: column(this.#largestFree),
    };
  }

  /** Writes an event down; where it is. `gone` is what is live in the books, but not any more. */
  #note(action: number, address: number, bytes: number, gone: number): number {
    const { counters } = this.#engine;
    const at = this.#count++ % this.#length;
    this.#action[at] = action;
    this.#time[at] = performance.now() - this.#begin;
    this.#address[at] = address;
    this.#bytes[at] = bytes;
    this.#stream[at] = -1;
    this.#sites[at] = undefined;
    this.#live[at] = counters.current(REQUESTED_BYTES) - gone;
    this.#reserved[at] = counters.current(RESERVED_BYTES);
    this.#largestFree[at] = this.#sample(action);
    if (this.#length > CAPTURED_STACKS) this.#resolve(at);
    return at;
  }

  /** The largest free block, from time to time and after what was slow anyway; else −1. */
  #sample(action: number): number {
    this.#unsampled++;
    if (this.#unsampled < SAMPLE || action > FREE) return -1;
    this.#unsampled = 0;
    return largestFree(this.#engine);
  }

  /** Writes the stack down that was captured so many events ago. */
  #resolve(at: number): void {
    const earlier = this.#sites[(at - CAPTURED_STACKS + this.#length) % this.#length];
    if (earlier !== undefined) void earlier.index;
  }
}
