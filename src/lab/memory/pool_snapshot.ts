/**
 * Snapshots of memory pools.
 *
 * @module
 */

import { displaySnapshot } from "./report/memory_report.ts";
import type { BlockPool } from "../../memory/pool/block_pool.ts";
import { UNIT } from "../../memory/pool/block_table.ts";
import { blocksOf, type MemoryPool } from "../../memory/pool/memory_pool.ts";
import { type BlockView, walkSegments } from "../../memory/pool/segment_walk.ts";
import {
  type MemorySnapshot,
  SNAPSHOT_FORMAT,
  SNAPSHOT_VERSION,
  type SnapshotBlock,
  type SnapshotSegment,
  type SnapshotTimeline,
  TIMELINE_ACTIONS,
} from "./snapshot/memory_snapshot.ts";
import type { CapturedSite } from "../../memory/pool/block_tracker.ts";
import type { MemoryStream } from "../../memory/pool/memory_upstream.ts";

/**
 * Takes a snapshot of a pool: every segment and block, the settings and the statistics, as plain
 * JSON for `gridstride memory report` and {@linkcode memoryReport}. Makes no native call.
 *
 * @param pool The pool.
 * @param history Its history, from {@linkcode recordHistory}; by default the one that records it
 * now. Without any the snapshot has no timeline.
 * @throws {TypeError} If the history is of another pool.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 * import { memoryReportText, snapshotPool } from "@gridstride/cuda/memory";
 *
 * using device = openDevice(undefined, { memory: { preset: "development" } });
 * using _weights = device.allocate("float16", 1000);
 * console.log(memoryReportText(snapshotPool(device.pool)));
 * ```
 * @category Snapshots
 */
export function snapshotPool(pool: MemoryPool, history?: PoolHistory): MemorySnapshot {
  const blocks = blocksOf(pool, "take a snapshot");
  const { label, info: { name, fake, totalMemory: totalBytes } } = pool.context;
  return displaySnapshot(snapshotBlocks(blocks, { label, name, fake, totalBytes }, history));
}

export function snapshotBlocks(
  pool: BlockPool,
  device: MemorySnapshot["device"],
  history?: PoolHistory,
): MemorySnapshot {
  if (history instanceof BlockHistory && history.blocks !== pool) {
    throw new TypeError("Cannot take a snapshot as history must be of the same pool");
  }
  for (const { stream } of pool.streams.slots()) {
    if (stream !== undefined) pool.names.indexOf(stream);
  }
  // Blocks and events come first, because describing them adds streams and sites.
  const segments = segmentsOf(pool);
  const timeline = (history ?? RECORDING.get(pool))?.timeline() ?? null;
  return {
    format: SNAPSHOT_FORMAT,
    version: SNAPSHOT_VERSION,
    source: "gridstride",
    takenAt: new Date().toISOString(),
    device,
    settings: plainSettings(pool.settings),
    statistics: plainStatistics(pool.stats()),
    streams: pool.names.names(),
    sites: [...pool.sites.texts],
    segments,
    timeline,
  };
}

function segmentsOf(pool: BlockPool): SnapshotSegment[] {
  return [...walkSegments(pool)].map(({ address, bytes, kind, purpose, blocks }) => ({
    address,
    bytes,
    kind,
    pool: purpose,
    blocks: [...blocks].map((block) => blockOf(pool, block, address)),
  })).sort((a, b) => a.address - b.address);
}

function blockOf({ tracker, names }: BlockPool, block: BlockView, base: number): SnapshotBlock {
  const { number, address, bytes, requested, state, stream } = block;
  const isOwned = state === "live" || state === "pending";
  return {
    offset: address - base,
    bytes,
    requested: state === "live" ? requested : 0,
    state,
    stream: stream === undefined ? null : names.indexOf(stream),
    // A free block may be several that were freed at different times.
    age: tracker !== undefined && (isOwned || state === "cached") ? tracker.ageOf(number) : null,
    site: tracker !== undefined && isOwned ? tracker.siteOf(number).index : null,
  };
}

/** Settings as JSON has them: `null` for no limit. */
function plainSettings(settings: object): MemorySnapshot["settings"] {
  const plain: Record<string, string | number | boolean | null> = {};
  for (const [name, value] of Object.entries(settings)) {
    if (name === "onMemoryPressure") plain[name] = value !== undefined;
    else plain[name] = value === Infinity ? null : value;
  }
  return plain;
}

/** Statistics as numbers by path: `allocation.all.peak`. */
function plainStatistics(statistics: object, prefix = ""): Record<string, number> {
  const plain: Record<string, number> = {};
  for (const [name, value] of Object.entries(statistics)) {
    if (typeof value === "number") plain[prefix + name] = value;
    else Object.assign(plain, plainStatistics(value, `${prefix}${name}.`));
  }
  return plain;
}

const ALLOCATE = TIMELINE_ACTIONS.indexOf("allocate");
const FREE = TIMELINE_ACTIONS.indexOf("free");
const RESERVE = TIMELINE_ACTIONS.indexOf("reserve");
const UNRESERVE = TIMELINE_ACTIONS.indexOf("unreserve");
const WAIT = TIMELINE_ACTIONS.indexOf("wait");
const OUT_OF_MEMORY = TIMELINE_ACTIONS.indexOf("out of memory");

/** The largest free block is measured again after this many events. */
const SAMPLE_INTERVAL = 64;
/** Stacks kept unresolved, which take about a kilobyte each. */
const MAX_CAPTURED_STACKS = 16_384;
const MAX_LENGTH = 10_000_000;

const COLUMNS = [
  ...[
    "time",
    "action",
    "address",
    "bytes",
    "stream",
    "live",
    "reserved",
    "largestFree",
    "free",
  ] as const,
];

function columnsOf(length: number) {
  return Object.fromEntries(COLUMNS.map((name) => [name, new Float64Array(length)])) as Record<
    typeof COLUMNS[number],
    Float64Array
  >;
}

/**
 * Records the recent events of a pool: allocations, frees, growth, waits and failures. The history
 * becomes the timeline of a snapshot. Disposing it ends the recording.
 *
 * @param pool The pool.
 * @param length The number of events kept, 1 to 10 million; the oldest are dropped first.
 * @throws {RangeError} If the length is out of range.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 * import { recordHistory, snapshotPool } from "@gridstride/cuda/memory";
 *
 * using device = openDevice();
 * using history = recordHistory(device.pool);
 * device.allocate("float32", 1000).free();
 * console.log(snapshotPool(device.pool, history).timeline!.live); // [ 0, 4000, 0 ]
 * ```
 * @category Snapshots
 */
export function recordHistory(pool: MemoryPool, length = 10_000): PoolHistory {
  return new BlockHistory(blocksOf(pool, "record a history"), length);
}

/**
 * The recent events of a pool, until it is disposed; made by {@linkcode recordHistory}.
 * @category Snapshots
 */
export interface PoolHistory extends Disposable {
  /** The number of events so far, including dropped ones. */
  readonly count: number;
  /** The events that are kept, oldest first, in the form of snapshots. */
  timeline(): SnapshotTimeline;
}

/** The history that records a pool; of several, the last one. */
const RECORDING = new WeakMap<BlockPool, BlockHistory>();

export class BlockHistory implements PoolHistory {
  readonly blocks: BlockPool;
  readonly #begin = performance.now();
  readonly #length: number;
  readonly #columns: ReturnType<typeof columnsOf>;
  readonly #sites: (CapturedSite | undefined)[] = [];
  readonly #stop: () => void;
  #isRecording = true;
  #count = 0;
  #sinceSample = SAMPLE_INTERVAL;

  constructor(blocks: BlockPool, length: number) {
    if (!Number.isInteger(length) || length < 1 || length > MAX_LENGTH) {
      throw new RangeError(
        `Cannot record a history as length must be an integer in 1..${MAX_LENGTH}: it is ${length}`,
      );
    }
    this.blocks = blocks;
    this.#length = length;
    this.#columns = columnsOf(length);
    RECORDING.set(blocks, this);
    this.#stop = blocks.observe({
      allocated: (block, stream) => this.#noteBlock(ALLOCATE, block, stream),
      freed: (block) => this.#noteBlock(FREE, block, this.blocks.ownerOf(block)),
      reserved: (bytes, address) => {
        this.#note(bytes > 0 ? RESERVE : UNRESERVE, address, Math.abs(bytes), 0);
        // Free blocks are being cut: the next event measures them.
        this.#sinceSample = SAMPLE_INTERVAL;
      },
      waited: () => {
        this.#note(WAIT, 0, 0, 0);
        this.#sinceSample = SAMPLE_INTERVAL;
      },
      failed: (bytes) => {
        const at = this.#note(OUT_OF_MEMORY, 0, bytes, 0);
        this.#measure(at);
        if (this.blocks.tracker !== undefined) this.#sites[at] = this.blocks.sites.capture();
      },
    });
  }

  get count(): number {
    return this.#count;
  }

  timeline(): SnapshotTimeline {
    const kept = Math.min(this.#count, this.#length);
    const first = this.#count - kept;
    if (kept > 0 && this.#isRecording) this.#measure((this.#count - 1) % this.#length);
    const column = <T>(values: ArrayLike<T>) =>
      Array.from({ length: kept }, (_, index) => values[(first + index) % this.#length]!);
    const { time, action, address, bytes, stream, live, reserved, largestFree, free } =
      this.#columns;
    return {
      dropped: first,
      time: column(time),
      action: column(action),
      address: column(address),
      bytes: column(bytes),
      stream: column(stream),
      site: column(this.#sites).map((site) => site?.index ?? -1),
      live: column(live),
      reserved: column(reserved),
      largestFree: column(largestFree),
      free: column(free),
    };
  }

  /** Ends the recording; the events stay. */
  [Symbol.dispose](): void {
    this.#isRecording = false;
    if (RECORDING.get(this.blocks) === this) RECORDING.delete(this.blocks);
    this.#stop();
  }

  /** Measures the free memory after an event that was the last one. */
  #measure(at: number): void {
    const { largestFree, free } = this.#free();
    this.#columns.largestFree[at] = largestFree;
    this.#columns.free[at] = free;
  }

  #noteBlock(action: number, block: number, stream: MemoryStream | undefined): void {
    const { table, tracker, names } = this.blocks;
    const requested = table.requested(block);
    const at = this.#note(action, table.address(block), requested, action === FREE ? requested : 0);
    this.#columns.stream[at] = stream === undefined ? -1 : names.indexOf(stream);
    this.#sites[at] = tracker?.siteOf(block);
  }

  /** Records an event and returns its place. `gone` bytes are still counted but not live. */
  #note(action: number, address: number, bytes: number, gone: number): number {
    const { requestedBytes, reservedBytes } = this.blocks;
    const at = this.#count++ % this.#length;
    const event = {
      ...{ action, address, bytes, stream: -1 },
      time: performance.now() - this.#begin,
      live: requestedBytes - gone,
      reserved: reservedBytes,
      ...this.#sample(action),
    };
    for (const name of COLUMNS) this.#columns[name][at] = event[name];
    this.#sites[at] = undefined;
    if (this.#length > MAX_CAPTURED_STACKS) this.#resolve(at);
    return at;
  }

  /** Free memory, measured now and then and after slow events; -1 otherwise. */
  #sample(action: number): { largestFree: number; free: number } {
    this.#sinceSample++;
    if (this.#sinceSample < SAMPLE_INTERVAL || action > FREE) return { largestFree: -1, free: -1 };
    this.#sinceSample = 0;
    return this.#free();
  }

  /** The largest free block and all free bytes, cached blocks apart: these are kept whole. */
  #free(): { largestFree: number; free: number } {
    const { heap } = this.blocks;
    const units = heap.freeUnits.reduce((sum, count) => sum + count, 0);
    return { largestFree: this.blocks.largestDivisible(), free: units * UNIT };
  }

  /** Resolves the stack that was captured `MAX_CAPTURED_STACKS` events ago. */
  #resolve(at: number): void {
    const earlier = this.#sites[(at - MAX_CAPTURED_STACKS + this.#length) % this.#length];
    if (earlier !== undefined) void earlier.index;
  }
}
