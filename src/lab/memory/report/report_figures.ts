/**
 * The figures of a snapshot, for programs and for all forms of the report.
 *
 * @module
 */

import type { BlockState, MemorySnapshot } from "../snapshot/memory_snapshot.ts";

/** The figures of a snapshot; sizes are bytes, ages milliseconds. */
export interface MemoryReportFigures extends Pick<MemorySnapshot, "source" | "takenAt" | "device"> {
  /** Totals over all segments. */
  readonly totals: Readonly<Record<BlockState, number>> & {
    /** The requested sizes of the live blocks. */
    readonly requested: number;
    /** Memory taken from the device: all states but `unmapped`. */
    readonly reserved: number;
    /** The largest free or cached block. */
    readonly largestFree: number;
    /** The number of live blocks. */
    readonly liveBlocks: number;
    /** The number of blocks. */
    readonly blocks: number;
    /** The number of segments. */
    readonly segments: number;
  };
  /** Reserved ÷ live; `null` if nothing is live. */
  readonly reservedPerLive: number | null;
  /** 1 − largest free block ÷ (free + cached); 0 if nothing is free. */
  readonly externalFragmentation: number;
  /** 1 − requested ÷ reserved; 0 if nothing is reserved. */
  readonly internalFragmentation: number;
  /** Segments by pool and kind, in the order of their first appearance. */
  readonly segments: readonly {
    readonly pool: "small" | "large" | "graph";
    readonly kind: "plain" | "virtual";
    readonly count: number;
    /** By state of their blocks. */
    readonly bytes: Record<BlockState, number>;
  }[];
  /** Call sites with live blocks, the largest total first; the site is `null` if unknown. */
  readonly sites: readonly {
    readonly site: string | null;
    readonly live: number;
    readonly count: number;
    readonly largest: number;
  }[];
  /** Up to ten live blocks of known age, the oldest first. */
  readonly oldest: readonly {
    readonly address: number;
    readonly bytes: number;
    readonly requested: number;
    readonly stream: string | null;
    readonly age: number;
    readonly site: string | null;
  }[];
}

const OLDEST_BLOCKS = 10;

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] extends number ? number : T[Key] };

function noBytes(): Record<BlockState, number> {
  return { live: 0, cached: 0, free: 0, pending: 0, unmapped: 0 };
}

/**
 * Computes the figures of a snapshot. They do not refer to the snapshot.
 *
 * @example
 * ```ts ignore
 * const { totals, sites } = memoryReportFigures(snapshotPool(pool));
 * console.log(totals.live, sites[0]?.site);
 * ```
 */
export function memoryReportFigures(snapshot: MemorySnapshot): MemoryReportFigures {
  const totals = {
    ...noBytes(),
    ...{ requested: 0, reserved: 0, largestFree: 0, liveBlocks: 0, blocks: 0 },
    segments: snapshot.segments.length,
  };
  const groups = new Map<string, Mutable<MemoryReportFigures["segments"][number]>>();
  const sites = new Map<number | null, { live: number; count: number; largest: number }>();
  const aged: MemoryReportFigures["oldest"][number][] = [];
  const siteAt = (index: number | null) => snapshot.sites[index ?? -1] ?? null;
  for (const { pool, kind, address, blocks } of snapshot.segments) {
    const key = `${pool} ${kind}`;
    const group = groups.get(key) ?? { pool, kind, count: 0, bytes: noBytes() };
    groups.set(key, group);
    group.count++;
    totals.blocks += blocks.length;
    for (const { state, bytes, offset, requested, age, site, stream } of blocks) {
      group.bytes[state] += bytes;
      totals[state] += bytes;
      if (state !== "unmapped") totals.reserved += bytes;
      if (state === "free" || state === "cached") {
        totals.largestFree = Math.max(totals.largestFree, bytes);
      }
      if (state !== "live") continue;
      totals.requested += requested;
      totals.liveBlocks++;
      if (age !== null) {
        const name = snapshot.streams[stream ?? -1] ?? null;
        const at = address + offset;
        aged.push({ address: at, bytes, requested, stream: name, age, site: siteAt(site) });
      }
      const held = sites.get(site) ?? { live: 0, count: 0, largest: 0 };
      sites.set(site, held);
      held.live += bytes;
      held.count++;
      held.largest = Math.max(held.largest, bytes);
    }
  }
  const free = totals.free + totals.cached;
  const { source, takenAt, device } = snapshot;
  return {
    source,
    takenAt,
    device,
    totals,
    reservedPerLive: totals.live === 0 ? null : totals.reserved / totals.live,
    externalFragmentation: free === 0 ? 0 : 1 - totals.largestFree / free,
    internalFragmentation: totals.reserved === 0 ? 0 : 1 - totals.requested / totals.reserved,
    segments: [...groups.values()],
    sites: Array.from(sites, ([site, held]) => ({ site: siteAt(site), ...held }))
      .sort((a, b) => b.live - a.live || b.count - a.count),
    oldest: aged.sort((a, b) => b.age - a.age || b.bytes - a.bytes).slice(0, OLDEST_BLOCKS),
  };
}

/** The label and the name of a device. */
export function deviceTitle({ device: { label, name } }: Pick<MemorySnapshot, "device">): string {
  return name === "" ? label : `${label}, ${name}`;
}

/** The allocator and the time of a snapshot. */
export function origin({ takenAt, source }: Pick<MemorySnapshot, "takenAt" | "source">): string {
  const by = source === "pytorch" ? "a snapshot of PyTorch" : "a snapshot of the pool";
  return takenAt === null ? by : `${by}, taken ${takenAt}`;
}
