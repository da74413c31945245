/**
 * The report as text of at most 100 columns.
 *
 * @module
 */

import type { MemorySnapshot } from "../snapshot/memory_snapshot.ts";
import {
  formatAddress,
  formatBytes,
  formatCount,
  formatDuration,
  formatShare,
  innermostFrame,
} from "./quantities.ts";
import { deviceTitle, memoryReportFigures, origin } from "./report_figures.ts";

const COLUMNS = 100;
const SITES = 10;

/** Replaces control and formatting characters, which terminals interpret. */
function plain(text: string): string {
  return text.replace(/\p{C}+/gu, " ").trim();
}

/** Shortens a text to a number of columns. */
function fit(text: string, columns: number = COLUMNS): string {
  const characters = [...text];
  return characters.length <= columns ? text : `${characters.slice(0, columns - 1).join("")}…`;
}

/** Aligns the columns of rows to the right, but for the last column, which is shortened. */
function table(...rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.slice(0, -1).map((_, column) =>
    Math.max(...rows.map((row) => row[column]!.length))
  );
  return rows.map((row) => {
    const cells = widths.map((width, column) => row[column]!.padStart(width));
    return fit(`  ${[...cells, row.at(-1)!].join("  ")}`).trimEnd();
  });
}

/** Formats a number of things: `1 block`, `2 blocks`. */
export function counted(count: number, thing: string): string {
  return `${formatCount(count)} ${thing}${count === 1 ? "" : "s"}`;
}

function siteName(site: string | null): string {
  return site === null ? "unknown" : plain(innermostFrame(site));
}

/**
 * Formats a snapshot as text: totals, fragmentation, segments, the largest call sites and the oldest
 * live blocks. No line has more than 100 columns.
 *
 * @example
 * ```ts ignore
 * console.log(memoryReportText(snapshotPool(pool)));
 * ```
 */
export function memoryReportText(snapshot: MemorySnapshot): string {
  const figures = memoryReportFigures(snapshot);
  const { totals, reservedPerLive, segments, sites, oldest } = figures;
  const ratio = reservedPerLive === null
    ? "nothing is live"
    : `${reservedPerLive.toFixed(3)} of live`;
  const blocks = `${counted(totals.segments, "segment")}, ${counted(totals.blocks, "block")}`;
  const live = `${counted(totals.liveBlocks, "block")}, ${formatBytes(totals.requested)} requested`;
  const largest = `the largest free block has ${formatBytes(totals.largestFree)}`;
  const more = sites.length - SITES;
  const states = ["live", "cached", "free", "pending", "unmapped"] as const;
  return [
    [
      fit(plain(`Memory of ${deviceTitle(snapshot)}${snapshot.device.fake ? " (fake)" : ""}`)),
      fit(plain(origin(snapshot))),
    ],
    [
      "Totals",
      ...table(
        ["live", formatBytes(totals.live), live],
        ["cached", formatBytes(totals.cached), ""],
        ["free", formatBytes(totals.free), ""],
        ["pending", formatBytes(totals.pending), ""],
        ["reserved", formatBytes(totals.reserved), `${ratio}, ${blocks}`],
        ["unmapped", formatBytes(totals.unmapped), "addresses without memory"],
      ),
    ],
    [
      "Fragmentation",
      ...table(
        [
          "external",
          formatShare(figures.externalFragmentation),
          `1 − largest free ÷ total free; ${largest}`,
        ],
        ["internal", formatShare(figures.internalFragmentation), "1 − requested ÷ reserved"],
      ),
    ],
    [
      "Segments",
      ...segments.length === 0 ? ["  none"] : table(
        ["count", ...states, "pool"],
        ...segments.map(({ pool, kind, count, bytes }) => [
          formatCount(count),
          ...states.map((state) => formatBytes(bytes[state])),
          `${pool}, ${kind}`,
        ]),
      ),
    ],
    [
      "Top sites",
      ...sites.length === 0 ? ["  none"] : table(
        ["live", "blocks", "largest", "site"],
        ...sites.slice(0, SITES).map(({ site, live, count, largest }) => [
          formatBytes(live),
          formatCount(count),
          formatBytes(largest),
          siteName(site),
        ]),
      ),
      ...(more > 0 ? [`  and ${formatCount(more)} more`] : []),
    ],
    [
      "Oldest live blocks",
      ...oldest.length === 0 ? ["  none of known age"] : table(
        ["age", "size", "address", "stream", "site"],
        ...oldest.map(({ age, bytes, address, stream, site }) => [
          formatDuration(age),
          formatBytes(bytes),
          formatAddress(address),
          stream === null ? "any" : fit(plain(stream), 24),
          siteName(site),
        ]),
      ),
    ],
  ].map((lines) => lines.join("\n")).join("\n\n");
}
