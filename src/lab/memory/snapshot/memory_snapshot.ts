/**
 * The snapshot of a memory pool: its segments and blocks, and the events before it.
 *
 * These types follow version 1 of the published JSON schema. Sizes are bytes, times milliseconds.
 * Sites and streams repeat, so blocks and events refer to them by index.
 *
 * @module
 */

/** The format of all snapshots. */
export const SNAPSHOT_FORMAT = "gridstride memory snapshot";
/** The version of the schema. */
export const SNAPSHOT_VERSION = 1;

/**
 * The state of a block.
 * @category Snapshots
 */
export type BlockState =
  /** Allocated by the program. */
  | "live"
  /** Free, kept whole for the next request of its size class. */
  | "cached"
  /** Free. */
  | "free"
  /** Freed, but a stream may still use it. */
  | "pending"
  /** Addresses without memory. */
  | "unmapped";

/**
 * A block of a segment.
 * @category Snapshots
 */
export interface SnapshotBlock {
  /** Its distance from the address of the segment. */
  readonly offset: number;
  /** Its size. */
  readonly bytes: number;
  /** The requested size; 0 unless the block is live. */
  readonly requested: number;
  /** Its state. */
  readonly state: BlockState;
  /** Its stream, an index of {@linkcode MemorySnapshot.streams}; `null` for blocks of no stream. */
  readonly stream: number | null;
  /** The time since it entered its state; `null` if unknown. */
  readonly age: number | null;
  /** The call site, an index of {@linkcode MemorySnapshot.sites}; `null` if unknown. */
  readonly site: number | null;
}

/**
 * A range of addresses that the pool reserved in one request.
 * @category Snapshots
 */
export interface SnapshotSegment {
  /** Its first address. */
  readonly address: number;
  /** Its size, including unmapped addresses. */
  readonly bytes: number;
  /** `virtual` if memory is mapped and unmapped in pieces. */
  readonly kind: "plain" | "virtual";
  /** The requests that it serves; `graph` for memory owned by a graph. */
  readonly pool: "small" | "large" | "graph";
  /** Its blocks by offset, without gaps. */
  readonly blocks: readonly SnapshotBlock[];
}

/**
 * The actions of a timeline; {@linkcode SnapshotTimeline} refers to them by index.
 * @category Snapshots
 */
export const TIMELINE_ACTIONS = [
  "allocate",
  "free",
  "reserve",
  "unreserve",
  "wait",
  "out of memory",
] as const;

/**
 * The recorded events, oldest first, one array per column.
 * @category Snapshots
 */
export interface SnapshotTimeline {
  /** The number of earlier events that were dropped. */
  readonly dropped: number;
  /** Milliseconds since the creation of the pool. */
  readonly time: readonly number[];
  /** Indices of {@linkcode TIMELINE_ACTIONS}; `reserve` takes memory from the device. */
  readonly action: readonly number[];
  /** Addresses; 0 for none. */
  readonly address: readonly number[];
  /** Sizes. */
  readonly bytes: readonly number[];
  /** Indices of {@linkcode MemorySnapshot.streams}; −1 for none. */
  readonly stream: readonly number[];
  /** Indices of {@linkcode MemorySnapshot.sites}; −1 for none. */
  readonly site: readonly number[];
  /** Allocated bytes after the event. */
  readonly live: readonly number[];
  /** Reserved bytes after the event. */
  readonly reserved: readonly number[];
  /** The largest free block after the event; −1 if unknown. */
  readonly largestFree: readonly number[];
  /**
   * Free bytes, cached and pending ones apart, after the event; −1 if unknown. If present,
   * `largestFree` leaves out cached blocks, too.
   */
  readonly free?: readonly number[];
}

/**
 * A snapshot.
 * @category Snapshots
 */
export interface MemorySnapshot {
  /** The format. */
  readonly format: "gridstride memory snapshot";
  /** The version of the schema. */
  readonly version: 1;
  /** The allocator. */
  readonly source: "gridstride" | "pytorch";
  /** The time of the snapshot as ISO 8601; `null` if unknown. */
  readonly takenAt: string | null;
  /** The device. */
  readonly device: {
    /** Its label in messages: `cuda:0`. */
    readonly label: string;
    /** Its marketing name; empty if unknown. */
    readonly name: string;
    /** `true` for a fake device. */
    readonly fake: boolean;
    /** Its memory; `null` if unknown. */
    readonly totalBytes: number | null;
  };
  /** The options of the pool. */
  readonly settings: Readonly<Record<string, string | number | boolean | null>>;
  /** Statistics by name. */
  readonly statistics: Readonly<Record<string, number>>;
  /** Names of streams. */
  readonly streams: readonly string[];
  /** Call sites: stacks as text, one frame per line, the innermost first. */
  readonly sites: readonly string[];
  /** The memory of the pool. */
  readonly segments: readonly SnapshotSegment[];
  /** The recorded events; `null` if the pool recorded none. */
  readonly timeline: SnapshotTimeline | null;
}
