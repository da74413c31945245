/**
 * The figures of a snapshot that every form of the report shows.
 *
 * @module
 */

import type {
  BlockState,
  MemorySnapshot,
  SnapshotBlock,
  SnapshotSegment,
} from "../snapshot/memory_snapshot.ts";

/** What the blocks of a snapshot come to, in bytes unless said otherwise. */
export interface SnapshotTotals {
  /** In live blocks. */
  readonly live: number;
  /** What was asked for, of the live blocks. */
  readonly requested: number;
  /** In free blocks kept whole. */
  readonly cached: number;
  /** In other free blocks. */
  readonly free: number;
  /** In freed blocks that a stream may still use. */
  readonly pending: number;
  /** In ranges of addresses without memory. */
  readonly unmapped: number;
  /** Taken from the device: all but what is unmapped. */
  readonly reserved: number;
  /** The largest block that is free or cached. */
  readonly largestFree: number;
  /** Number of live blocks. */
  readonly liveBlocks: number;
  /** Number of blocks. */
  readonly blocks: number;
  /** Number of segments. */
  readonly segments: number;
}

/** What the segments of one kind in one pool come to, in bytes unless said otherwise. */
export interface SegmentGroup {
  /** The requests they serve. */
  readonly pool: SnapshotSegment["pool"];
  /** What they are made of. */
  readonly kind: SnapshotSegment["kind"];
  /** How many there are. */
  readonly count: number;
  /** By state of their blocks. */
  readonly bytes: Readonly<Record<BlockState, number>>;
}

/** What one site holds. */
export interface SiteTotal {
  /** Index into the sites of the snapshot; `null` for blocks of which nobody knows the site. */
  readonly site: number | null;
  /** Live bytes. */
  readonly live: number;
  /** Live blocks. */
  readonly count: number;
  /** The largest of them, in bytes. */
  readonly largest: number;
}

/** A live block and where it is. */
export interface PlacedBlock {
  /** The first address. */
  readonly address: number;
  /** The block. */
  readonly block: SnapshotBlock;
}

/** The figures of a snapshot. */
export interface SnapshotSummary {
  /** Totals over all segments. */
  readonly totals: SnapshotTotals;
  /** Reserved ÷ live; `null` when nothing is live. */
  readonly reservedPerLive: number | null;
  /**
   * External fragmentation, 1 − largest free block ÷ (free + cached): how far what is free is from
   * being of use to one request. 0 when nothing is free.
   */
  readonly externalFragmentation: number;
  /**
   * Internal fragmentation, 1 − requested ÷ reserved: how much of what was taken from the device
   * nobody asked for. 0 when nothing is reserved.
   */
  readonly internalFragmentation: number;
  /** Segments by pool and kind, in the order in which they first appear. */
  readonly segments: readonly SegmentGroup[];
  /** Every site with a live block, the one that holds most first. */
  readonly sites: readonly SiteTotal[];
  /** Up to ten live blocks of known age, the oldest first. */
  readonly oldest: readonly PlacedBlock[];
}

const OLDEST_BLOCKS = 10;

function bytesByState(blocks: readonly SnapshotBlock[]): Record<BlockState, number> {
  const bytes = { live: 0, cached: 0, free: 0, pending: 0, unmapped: 0 };
  for (const block of blocks) bytes[block.state] += block.bytes;
  return bytes;
}

function groupSegments(segments: readonly SnapshotSegment[]): SegmentGroup[] {
  const groups = new Map<string, { -readonly [Key in keyof SegmentGroup]: SegmentGroup[Key] }>();
  for (const { pool, kind, blocks } of segments) {
    const bytes = bytesByState(blocks);
    const group = groups.get(`${pool} ${kind}`);
    if (group === undefined) {
      groups.set(`${pool} ${kind}`, { pool, kind, count: 1, bytes });
      continue;
    }
    const before = group.bytes;
    group.count++;
    group.bytes = {
      live: before.live + bytes.live,
      cached: before.cached + bytes.cached,
      free: before.free + bytes.free,
      pending: before.pending + bytes.pending,
      unmapped: before.unmapped + bytes.unmapped,
    };
  }
  return [...groups.values()];
}

function totalsOf(snapshot: MemorySnapshot, groups: readonly SegmentGroup[]): SnapshotTotals {
  const sum = (state: BlockState) => groups.reduce((total, { bytes }) => total + bytes[state], 0);
  let requested = 0;
  let largestFree = 0;
  let liveBlocks = 0;
  let blocks = 0;
  for (const segment of snapshot.segments) {
    blocks += segment.blocks.length;
    for (const block of segment.blocks) {
      if (block.state === "live") {
        requested += block.requested;
        liveBlocks++;
      } else if (block.state === "free" || block.state === "cached") {
        largestFree = Math.max(largestFree, block.bytes);
      }
    }
  }
  const [live, cached, free, pending] = [sum("live"), sum("cached"), sum("free"), sum("pending")];
  return {
    live,
    requested,
    cached,
    free,
    pending,
    unmapped: sum("unmapped"),
    reserved: live + cached + free + pending,
    largestFree,
    liveBlocks,
    blocks,
    segments: snapshot.segments.length,
  };
}

function sitesOf(live: readonly PlacedBlock[]): SiteTotal[] {
  const sites = new Map<
    number | null,
    { -readonly [Key in keyof SiteTotal]: SiteTotal[Key] }
  >();
  for (const { block: { site, bytes } } of live) {
    const total = sites.get(site);
    if (total === undefined) {
      sites.set(site, { site, live: bytes, count: 1, largest: bytes });
      continue;
    }
    total.live += bytes;
    total.count++;
    total.largest = Math.max(total.largest, bytes);
  }
  return [...sites.values()].sort((a, b) => b.live - a.live || b.count - a.count);
}

function liveBlocksOf(segments: readonly SnapshotSegment[]): PlacedBlock[] {
  return segments.flatMap(({ address, blocks }) =>
    blocks.filter(({ state }) => state === "live")
      .map((block) => ({ address: address + block.offset, block }))
  );
}

function oldestOf(live: readonly PlacedBlock[]): PlacedBlock[] {
  return live.filter(({ block }) => block.age !== null)
    .sort((a, b) => b.block.age! - a.block.age! || b.block.bytes - a.block.bytes)
    .slice(0, OLDEST_BLOCKS);
}

/**
 * Adds up a snapshot.
 *
 * @example
 * ```ts ignore
 * const { totals, externalFragmentation } = summarizeSnapshot(snapshotPool(pool));
 * console.log(totals.reserved, externalFragmentation);
 * ```
 */
export function summarizeSnapshot(snapshot: MemorySnapshot): SnapshotSummary {
  const segments = groupSegments(snapshot.segments);
  const totals = totalsOf(snapshot, segments);
  const totalFree = totals.free + totals.cached;
  const live = liveBlocksOf(snapshot.segments);
  return {
    totals,
    reservedPerLive: totals.live === 0 ? null : totals.reserved / totals.live,
    externalFragmentation: totalFree === 0 ? 0 : 1 - totals.largestFree / totalFree,
    internalFragmentation: totals.reserved === 0 ? 0 : 1 - totals.requested / totals.reserved,
    segments,
    sites: sitesOf(live),
    oldest: oldestOf(live),
  };
}
