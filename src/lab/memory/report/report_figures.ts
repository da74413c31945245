/**
 * A snapshot's figures for programs.
 *
 * @module
 */

import type { MemorySnapshot } from "../snapshot/memory_snapshot.ts";
import { type SnapshotSummary, summarizeSnapshot } from "./snapshot_summary.ts";

/** What one site holds, with the site itself. */
export interface SiteFigures {
  /** The stack, a frame per line, the innermost first; `null` where nobody knows. */
  readonly site: string | null;
  /** Live bytes. */
  readonly live: number;
  /** Live blocks. */
  readonly count: number;
  /** The largest of them, in bytes. */
  readonly largest: number;
}

/** A live block with names for what the snapshot has in tables. */
export interface BlockFigures {
  /** The first address. */
  readonly address: number;
  /** Its size. */
  readonly bytes: number;
  /** What was asked for, in bytes. */
  readonly requested: number;
  /** Its stream; `null` where any may have it. */
  readonly stream: string | null;
  /** How long it has been live, in milliseconds. */
  readonly age: number;
  /** The stack, a frame per line, the innermost first; `null` where nobody knows. */
  readonly site: string | null;
}

/** What the report in text says, as values: `gridstride memory report FILE --json`. */
export interface MemoryReportFigures extends Omit<SnapshotSummary, "sites" | "oldest"> {
  /** What the snapshot was taken of. */
  readonly source: MemorySnapshot["source"];
  /** When, as ISO 8601; `null` where the source does not tell. */
  readonly takenAt: string | null;
  /** The device. */
  readonly device: MemorySnapshot["device"];
  /** Every site with a live block, the one that holds most first. */
  readonly sites: readonly SiteFigures[];
  /** Up to ten live blocks of known age, the oldest first. */
  readonly oldest: readonly BlockFigures[];
}

/**
 * The figures of a snapshot, complete in themselves: no index refers to the snapshot.
 *
 * @example
 * ```ts ignore
 * const { totals, sites } = memoryReportFigures(snapshotPool(pool));
 * console.log(totals.live, sites[0]?.site);
 * ```
 */
export function memoryReportFigures(snapshot: MemorySnapshot): MemoryReportFigures {
  const { sites, oldest, ...figures } = summarizeSnapshot(snapshot);
  const siteAt = (index: number | null) => index === null ? null : snapshot.sites[index] ?? null;
  return {
    source: snapshot.source,
    takenAt: snapshot.takenAt,
    device: snapshot.device,
    ...figures,
    sites: sites.map(({ site, live, count, largest }) => ({
      site: siteAt(site),
      live,
      count,
      largest,
    })),
    oldest: oldest.map(({ address, block: { bytes, requested, stream, age, site } }) => ({
      address,
      bytes,
      requested,
      stream: stream === null ? null : snapshot.streams[stream] ?? null,
      age: age!,
      site: siteAt(site),
    })),
  };
}
