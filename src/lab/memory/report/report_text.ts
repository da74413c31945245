/**
 * A snapshot as text of at most 100 columns.
 *
 * @module
 */

import type { MemorySnapshot } from "../snapshot/memory_snapshot.ts";
import { counted, deviceTitle, origin } from "./page_header.ts";
import {
  formatAddress,
  formatBytes,
  formatCount,
  formatDuration,
  formatShare,
  innermostFrame,
} from "./quantities.ts";
import { type SnapshotSummary, summarizeSnapshot } from "./snapshot_summary.ts";

const COLUMNS = 100;
const SITES = 10;

/** Text on one line: what would move the cursor or colour the terminal is taken out. */
function plain(text: string): string {
  return text.replace(/\p{C}+/gu, " ").trim();
}

/** A text that fits, with its end left out when it does not. */
function fit(text: string, columns: number): string {
  const characters = [...text];
  return characters.length <= columns ? text : `${characters.slice(0, columns - 1).join("")}…`;
}

/** Rows with aligned columns; all but the last are to the right, and the last is cut to fit. */
function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.slice(0, -1).map((_, column) =>
    Math.max(...rows.map((row) => row[column]!.length))
  );
  return rows.map((row) => {
    const cells = widths.map((width, column) => row[column]!.padStart(width));
    return fit(`  ${[...cells, row.at(-1)!].join("  ")}`, COLUMNS).trimEnd();
  });
}

function totals({ totals, reservedPerLive }: SnapshotSummary): string[] {
  const ratio = reservedPerLive === null
    ? "nothing is live"
    : `${reservedPerLive.toFixed(3)} of live`;
  return [
    "Totals",
    ...table([
      [
        "live",
        formatBytes(totals.live),
        `${counted(totals.liveBlocks, "block")}, ${formatBytes(totals.requested)} requested`,
      ],
      ["cached", formatBytes(totals.cached), ""],
      ["free", formatBytes(totals.free), ""],
      ["pending", formatBytes(totals.pending), ""],
      [
        "reserved",
        formatBytes(totals.reserved),
        `${ratio}, ${counted(totals.segments, "segment")}, ${counted(totals.blocks, "block")}`,
      ],
      ["unmapped", formatBytes(totals.unmapped), "addresses without memory"],
    ]),
  ];
}

function fragmentation(summary: SnapshotSummary): string[] {
  const { largestFree } = summary.totals;
  return [
    "Fragmentation",
    ...table([
      [
        "external",
        formatShare(summary.externalFragmentation),
        `1 − largest free ÷ total free; the largest free block has ${formatBytes(largestFree)}`,
      ],
      ["internal", formatShare(summary.internalFragmentation), "1 − requested ÷ reserved"],
    ]),
  ];
}

function segments({ segments }: SnapshotSummary): string[] {
  if (segments.length === 0) return ["Segments", "  none"];
  return [
    "Segments",
    ...table([
      ["count", "live", "cached", "free", "pending", "unmapped", "pool"],
      ...segments.map(({ pool, kind, count, bytes }) => [
        formatCount(count),
        formatBytes(bytes.live),
        formatBytes(bytes.cached),
        formatBytes(bytes.free),
        formatBytes(bytes.pending),
        formatBytes(bytes.unmapped),
        `${pool}, ${kind}`,
      ]),
    ]),
  ];
}

function siteName(snapshot: MemorySnapshot, site: number | null): string {
  return site === null ? "unknown" : plain(innermostFrame(snapshot.sites[site] ?? "unknown"));
}

function sites(snapshot: MemorySnapshot, { sites }: SnapshotSummary): string[] {
  if (sites.length === 0) return ["Top sites", "  none"];
  const rest = sites.length - SITES;
  return [
    "Top sites",
    ...table([
      ["live", "blocks", "largest", "site"],
      ...sites.slice(0, SITES).map(({ site, live, count, largest }) => [
        formatBytes(live),
        formatCount(count),
        formatBytes(largest),
        siteName(snapshot, site),
      ]),
    ]),
    ...(rest > 0 ? [`  and ${formatCount(rest)} more`] : []),
  ];
}

function oldest(snapshot: MemorySnapshot, { oldest }: SnapshotSummary): string[] {
  if (oldest.length === 0) return ["Oldest live blocks", "  none of known age"];
  return [
    "Oldest live blocks",
    ...table([
      ["age", "size", "address", "stream", "site"],
      ...oldest.map(({ address, block }) => [
        formatDuration(block.age!),
        formatBytes(block.bytes),
        formatAddress(address),
        block.stream === null ? "any" : fit(plain(snapshot.streams[block.stream] ?? "none"), 24),
        siteName(snapshot, block.site),
      ]),
    ]),
  ];
}

/**
 * A snapshot as text: totals, both measures of fragmentation, segments, the sites that hold most
 * and the oldest live blocks. No line has more than 100 columns.
 *
 * @example
 * ```ts ignore
 * console.log(memoryReportText(snapshotPool(pool)));
 * ```
 */
export function memoryReportText(snapshot: MemorySnapshot): string {
  const summary = summarizeSnapshot(snapshot);
  const fake = snapshot.device.fake ? " (fake)" : "";
  return [
    [
      fit(plain(`Memory of ${deviceTitle(snapshot)}${fake}`), COLUMNS),
      fit(plain(origin(snapshot)), COLUMNS),
    ],
    totals(summary),
    fragmentation(summary),
    segments(summary),
    sites(snapshot, summary),
    oldest(snapshot, summary),
  ].map((lines) => lines.join("\n")).join("\n\n");
}
