/**
 * The snapshot of a pool: what is where, since when, who asked for it, and what happened.
 *
 * This is the published JSON schema, version 1. All sizes are bytes, all times milliseconds. Sites
 * and streams are named by their index in a table, since they repeat.
 *
 * @module
 */

/** The value of {@linkcode MemorySnapshot.format}. */
export const SNAPSHOT_FORMAT = "gridstride memory snapshot";
/** The version of the schema. */
export const SNAPSHOT_VERSION = 1;

/** What a block is at the moment. */
export type BlockState =
  /** Somebody has it. */
  | "live"
  /** Free, kept whole for the next request of its size class. */
  | "cached"
  /** Free. */
  | "free"
  /** Freed, but a stream may still use it. */
  | "pending"
  /** Addresses without memory. */
  | "unmapped";

/** A block of a segment. */
export interface SnapshotBlock {
  /** Where it begins, from the segment's address. */
  readonly offset: number;
  /** Its size. */
  readonly bytes: number;
  /** What was asked for; 0 unless it is live. */
  readonly requested: number;
  /** What it is. */
  readonly state: BlockState;
  /** Its stream, an index of {@linkcode MemorySnapshot.streams}; `null` where any may have it. */
  readonly stream: number | null;
  /** How long it has been what it is; `null` where nobody knows. */
  readonly age: number | null;
  /** Who asked for it, an index of {@linkcode MemorySnapshot.sites}; `null` where nobody knows. */
  readonly site: number | null;
}

/** A range of addresses that was taken from the device as one. */
export interface SnapshotSegment {
  /** Its first address. */
  readonly address: number;
  /** Its size, with what has no memory. */
  readonly bytes: number;
  /** `virtual` where memory is mapped and unmapped in pieces. */
  readonly kind: "plain" | "virtual";
  /** Which requests it serves: `small`, `large`, or `graph` for what a graph owns. */
  readonly pool: "small" | "large" | "graph";
  /** Its blocks by offset, without gaps. */
  readonly blocks: readonly SnapshotBlock[];
}

/** What happened; an index into this list stands for each in {@linkcode SnapshotTimeline}. */
export const TIMELINE_ACTIONS = [
  "allocate",
  "free",
  "reserve",
  "unreserve",
  "wait",
  "out of memory",
] as const;

/** An action by name. */
export type TimelineAction = typeof TIMELINE_ACTIONS[number];

/** What happened, oldest first, one array per column. */
export interface SnapshotTimeline {
  /** How many earlier events are not here because only the last ones are kept. */
  readonly dropped: number;
  /** Milliseconds since the pool was made. */
  readonly time: readonly number[];
  /** Indices of {@linkcode TIMELINE_ACTIONS}; `reserve` is memory taken from the device. */
  readonly action: readonly number[];
  /** Addresses; 0 where there is none. */
  readonly address: readonly number[];
  /** Sizes. */
  readonly bytes: readonly number[];
  /** Indices of {@linkcode MemorySnapshot.streams}; −1 for none. */
  readonly stream: readonly number[];
  /** Indices of {@linkcode MemorySnapshot.sites}; −1 for none. */
  readonly site: readonly number[];
  /** Bytes that somebody had, after the event. */
  readonly live: readonly number[];
  /** Bytes taken from the device, after the event. */
  readonly reserved: readonly number[];
  /** The largest free block after the event, for fragmentation over time; −1 where unknown. */
  readonly largestFree: readonly number[];
}

/** A snapshot. */
export interface MemorySnapshot {
  /** {@linkcode SNAPSHOT_FORMAT}. */
  readonly format: typeof SNAPSHOT_FORMAT;
  /** {@linkcode SNAPSHOT_VERSION}. */
  readonly version: typeof SNAPSHOT_VERSION;
  /** What it was taken of: our pool, or what a file of PyTorch tells. */
  readonly source: "gridstride" | "pytorch";
  /** When, as ISO 8601; `null` where the source does not tell. */
  readonly takenAt: string | null;
  /** The device. */
  readonly device: {
    /** As messages name it: `cuda:0`. */
    readonly label: string;
    /** Its marketing name, empty where the source does not tell. */
    readonly name: string;
    /** Whether it is a fake. */
    readonly fake: boolean;
    /** Its memory; `null` where the source does not tell. */
    readonly totalBytes: number | null;
  };
  /** The pool's options, or what the source tells of its allocator's. */
  readonly settings: Readonly<Record<string, string | number | boolean | null>>;
  /** Figures by name, in the source's own names. */
  readonly statistics: Readonly<Record<string, number>>;
  /** Names of streams. */
  readonly streams: readonly string[];
  /** Who asked for memory: a stack as text, one frame per line, the innermost first. */
  readonly sites: readonly string[];
  /** What the pool has. */
  readonly segments: readonly SnapshotSegment[];
  /** What happened, where it was recorded. */
  readonly timeline: SnapshotTimeline | null;
}
