/**
 * Tables, sizes and rates as text.
 *
 * @module
 */

import { bold, setColorEnabled, stripAnsiCode } from "@std/fmt/colors";
import { Help } from "commander";

/** The width of output that goes to no terminal. */
const COLUMNS = 80;

/** The width of the terminal, and 80 without one. */
export function columns(): number {
  return Deno.stdout.isTerminal() ? Math.min(100, Deno.consoleSize().columns || COLUMNS) : COLUMNS;
}

const WRAPPER = Object.assign(new Help(), { minWidthToWrap: 1 });

/** Breaks lines between words. A longer word, such as a path, stays whole. */
export function wrapText(text: string, width = columns()): string {
  return WRAPPER.boxWrap(text, width);
}

/** A text of a file on one line: its control sequences must not reach the terminal. */
export function printable(value: unknown, maxLength = Infinity): string {
  const text = String(value).replaceAll(/[\s\p{C}]+/gu, " ").trim();
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}…`;
}

/** Colors are for terminals, unless `NO_COLOR` is set. */
export function usesColor(): boolean {
  const isUsed = !Deno.noColor && Deno.stdout.isTerminal() && Deno.stderr.isTerminal();
  setColorEnabled(isUsed);
  return isUsed;
}

function widthOf(text: string): number {
  return stripAnsiCode(text).length;
}

/** Words of the last column that are longer go over the edge, and do not squeeze other columns. */
const WIDEST_WORD = 48;

/** The widths of columns. If the table is too wide, columns of text are narrowed, the last first. */
function columnWidths(table: readonly (readonly string[])[], alignment: string): number[] {
  const [header, ...rows] = table;
  const last = header!.length - 1;
  const widths = header!.map((_, column) =>
    Math.max(...table.map((row) => widthOf(row[column] ?? "")))
  );
  for (let column = last; column >= 0; column--) {
    const excess = widths.reduce((sum, width) => sum + width, 2 * last) - columns();
    if (excess <= 0 || alignment[column] === ">") continue;
    const words = rows.flatMap((row) => (row[column] ?? "").split(/\s+/)).map(widthOf)
      .filter((width) => column < last || width <= WIDEST_WORD);
    const least = Math.max(widthOf(header![column]!), ...words);
    widths[column] = Math.max(least, widths[column]! - excess);
  }
  return widths;
}

/**
 * A table with aligned columns under a header line. If it is too wide, cells of text are wrapped.
 *
 * @param alignment One character for each column: `<` for left, `>` for right; left by default.
 */
export function textTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  alignment = "",
): string {
  const widths = columnWidths([header, ...rows], alignment);
  const lines = rows.flatMap((row) => {
    const cells = row.map((cell, column) =>
      widthOf(cell) <= widths[column]! ? [cell] : wrapText(cell, widths[column]).split("\n")
    );
    const height = Math.max(...cells.map((cell) => cell.length));
    return Array.from({ length: height }, (_, at) => cells.map((cell) => cell[at] ?? ""));
  });
  const line = (cells: readonly string[]) =>
    cells.map((cell, column) => {
      const space = " ".repeat(Math.max(0, widths[column]! - widthOf(cell)));
      return alignment[column] === ">" ? space + cell : cell + space;
    }).join("  ").trimEnd();
  const rule = line(widths.map((width) => "─".repeat(width))).slice(0, columns());
  return [bold(line(header)), rule, ...lines.map(line)].join("\n");
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

const BAR_WIDTH = 24;

/** A bar of a share of 0 to 1, such as `████░░░░`. */
export function progressBar(share: number): string {
  const full = Math.round(Math.min(Math.max(share, 0), 1) * BAR_WIDTH);
  return "█".repeat(full) + "░".repeat(BAR_WIDTH - full);
}
