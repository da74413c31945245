/**
 * The report as text of at most 100 columns.
 *
 * @module
 */

import { formatBytes } from "../../../ffi/describe_value.ts";
import { validateSnapshot } from "../snapshot/read_snapshot.ts";
import type { BlockState, MemorySnapshot } from "../snapshot/memory_snapshot.ts";
import {
  formatAddress,
  formatCount,
  formatDuration,
  formatShare,
  shortFrame,
} from "./quantities.ts";

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
  return site === null ? "unknown" : plain(shortFrame(site));
}

/**
 * Formats a snapshot as text: totals, fragmentation, segments, the largest call sites and the oldest
 * live blocks. No line has more than 100 columns.
 *
 * @param snapshot The snapshot.
 * @throws {SnapshotError} If the snapshot is not valid.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 * import { memoryReportText, snapshotPool } from "@gridstride/cuda/memory";
 *
 * using device = openDevice();
 * console.log(memoryReportText(snapshotPool(device.pool)));
 * ```
 * @category Reports
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

/**
 * The figures of a snapshot; sizes are bytes, ages milliseconds.
 * @category Reports
 */
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
  /** 1 − largest free block ÷ free, cached blocks apart; 0 if nothing is free. */
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
 * @param snapshot The snapshot.
 * @throws {SnapshotError} If the snapshot is not valid.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 * import { memoryReportFigures, snapshotPool } from "@gridstride/cuda/memory";
 *
 * using device = openDevice(undefined, { memory: { preset: "development" } });
 * using _x = device.allocate("float32", 1024);
 * console.log(memoryReportFigures(snapshotPool(device.pool)).totals.live); // 4096
 * ```
 * @category Reports
 */
export function memoryReportFigures(snapshot: MemorySnapshot): MemoryReportFigures {
  validateSnapshot(snapshot);
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
      if (state === "free") totals.largestFree = Math.max(totals.largestFree, bytes);
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
  const { free } = totals;
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
