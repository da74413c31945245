/**
 * Tables, sizes and rates as text.
 *
 * @module
 */

import { bold, setColorEnabled, stripAnsiCode } from "@std/fmt/colors";

/** The width of output that goes to no terminal. */
export const COLUMNS = 80;

/** Colors are for terminals, unless `NO_COLOR` is set. */
export function usesColor(): boolean {
  const isUsed = !Deno.noColor && Deno.stdout.isTerminal() && Deno.stderr.isTerminal();
  setColorEnabled(isUsed);
  return isUsed;
}

function widthOf(text: string): number {
  return stripAnsiCode(text).length;
}

/**
 * A table with aligned columns under a header line.
 *
 * @param alignment One character for each column: `<` for left, `>` for right; left by default.
 */
export function textTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  alignment = "",
): string {
  const widths = header.map((title, column) =>
    Math.max(widthOf(title), ...rows.map((row) => widthOf(row[column] ?? "")))
  );
  const line = (cells: readonly string[]) =>
    cells.map((cell, column) => {
      const space = " ".repeat(Math.max(0, widths[column]! - widthOf(cell)));
      return alignment[column] === ">" ? space + cell : cell + space;
    }).join("  ").trimEnd();
  return [bold(line(header)), line(widths.map((width) => "─".repeat(width))), ...rows.map(line)]
    .join("\n");
}

const PREFIXES = ["", "k", "M", "G", "T", "P"];

/** A rate in decimal units with three digits: `4.8 TB/s`, `82.6 TOP/s`. */
export function formatRate(perSecond: number, unit: "B/s" | "OP/s"): string {
  const power = Math.max(0, Math.floor(Math.log10(perSecond) / 3));
  const prefix = PREFIXES[perSecond > 0 ? power : 0];
  if (prefix === undefined) return `${perSecond.toExponential(2)} ${unit}`;
  return `${formatNumber(perSecond / 1000 ** PREFIXES.indexOf(prefix))} ${prefix}${unit}`;
}

/** A number with three digits. */
export function formatNumber(value: number): string {
  return value === Infinity ? "∞" : String(Number(value.toPrecision(3)));
}

/** A share as a percentage with at most one decimal: `12.5 %`. */
export function formatPercent(share: number): string {
  return `${Math.round(share * 1000) / 10} %`;
}

/** A count with its noun: `1 entry`, `2 entries`. */
export function plural(count: number | string, noun: string, nouns = `${noun}s`): string {
  return `${count} ${String(count) === "1" ? noun : nouns}`;
}
