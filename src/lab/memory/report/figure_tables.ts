/**
 * Tables of the figures and settings that a snapshot carries, in their own names.
 *
 * @module
 */

import type { PoolStatistics } from "../../../memory/pool/pool_statistics.ts";
import type { MemorySnapshot } from "../snapshot/memory_snapshot.ts";
import { type Markup, markup } from "./markup.ts";
import { formatBytes, formatCount } from "./quantities.ts";

/** Figures of ours that are sizes though their names do not say so. */
const SIZES: ReadonlySet<string> = new Set(
  [
    "totalAllocated",
    "totalFreed",
    "currentUsage",
    "peakUsage",
    "allocated",
    "cached",
    "reserved",
    "free",
    "pending",
    "largestFree",
    "peakReserved",
    "expired",
  ] satisfies (keyof PoolStatistics)[],
);

/** What is told of a measure: the last part of a figure's name, as in `active.small.peak`. */
const COLUMNS = ["current", "peak", "allocated", "freed"] as const;

/** A number; its name tells whether it is a size. */
function written(name: string, value: number): string {
  const exact = Number.isInteger(value) ? formatCount(value) : String(Number(value.toPrecision(6)));
  const isSize = /bytes|size/i.test(name) || SIZES.has(name);
  return isSize && Math.abs(value) >= 1024 ? `${exact} (${formatBytes(value)})` : exact;
}

function nameTable(title: string, entries: readonly (readonly [string, string])[]): Markup {
  if (entries.length === 0) return markup``;
  const rows = entries.map(([name, value]) =>
    markup`<tr><th scope="row">${name}</th><td class="value">${value}</td></tr>`
  );
  return markup`<section><h2>${title}</h2><table><tbody>${rows}</tbody></table></section>`;
}

/** Figures of several measures, each with all columns, and the figures that are none of these. */
function divide(statistics: MemorySnapshot["statistics"]): {
  readonly measures: readonly string[];
  readonly others: readonly string[];
} {
  const has = (measure: string) =>
    COLUMNS.every((column) => Object.hasOwn(statistics, `${measure}.${column}`));
  const measures = new Set<string>();
  const others: string[] = [];
  for (const name of Object.keys(statistics)) {
    const [, measure, column] = /^(.+)\.(\w+)$/s.exec(name) ?? [];
    const isColumn = (COLUMNS as readonly unknown[]).includes(column);
    if (measure !== undefined && isColumn && has(measure)) measures.add(measure);
    else others.push(name);
  }
  return { measures: [...measures], others };
}

/** The figures of a snapshot that stand for themselves. */
export function statisticsTable({ statistics }: MemorySnapshot): Markup {
  const { others } = divide(statistics);
  return nameTable("Statistics", others.map((name) => [name, written(name, statistics[name]!)]));
}

/** Those that tell of one measure what there is, was at most, came and went: a row for each. */
export function measuresTable({ statistics }: MemorySnapshot): Markup {
  const { measures } = divide(statistics);
  if (measures.length === 0) return markup``;
  const titles = COLUMNS.map((column) => markup`<th scope="col" class="number">${column}</th>`);
  const rows = measures.map((measure) =>
    markup`<tr><th scope="row">${measure}</th>${
      COLUMNS.map((column) => {
        const name = `${measure}.${column}`;
        return markup`<td class="number">${written(measure, statistics[name]!)}</td>`;
      })
    }</tr>`
  );
  return markup`<section><h2>Measures</h2><div class="scroll"><table><thead><tr>
<th scope="col">measure</th>${titles}</tr></thead><tbody>${rows}</tbody></table></div></section>`;
}

/** The settings of the pool. */
export function settingsTable({ settings }: MemorySnapshot): Markup {
  return nameTable(
    "Settings",
    Object.entries(settings).map(([name, value]) => [
      name,
      typeof value === "number" ? written(name, value) : String(value ?? "none"),
    ]),
  );
}
