/**
 * Tables and sizes for people.
 *
 * @module
 */

/** How a column is aligned. */
export type Alignment = "left" | "right";

/** A table of text with aligned columns. */
export function textTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  alignment: readonly Alignment[] = [],
): string {
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0))
  );
  const line = (cells: readonly string[]) =>
    cells.map((cell, column) =>
      alignment[column] === "right" ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!)
    ).join("  ").trimEnd();
  return [line(header), line(widths.map((width) => "─".repeat(width))), ...rows.map(line)]
    .join("\n");
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** A size in binary units with at most one decimal: `23.7 GiB`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  // From there on it would be rounded to 1024.0.
  while (value >= 1023.95 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${UNITS[unit]}`;
}

const BANDWIDTHS = [[1e12, "TB/s", 2], [1e9, "GB/s", 1], [1e6, "MB/s", 1], [
  1e3,
  "kB/s",
  1,
]] as const;

/** A bandwidth in decimal units, as vendors and benchmarks give it: `4.8 TB/s`. */
export function formatBandwidth(bytesPerSecond: number): string {
  const row = BANDWIDTHS.find(([unit]) => bytesPerSecond >= unit);
  if (row === undefined) return `${Number(bytesPerSecond.toPrecision(3))} B/s`;
  const [unit, name, digits] = row;
  return `${(bytesPerSecond / unit).toFixed(digits)} ${name}`;
}

const RATES = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]] as const;

/** From there on a number has more digits before its prefix than anybody reads. */
const BEYOND_PREFIXES = 1e18;

/** Arithmetic in decimal units, with three digits: `82.6 TOP/s`. */
export function formatOperations(operationsPerSecond: number): string {
  if (operationsPerSecond >= BEYOND_PREFIXES) {
    return `${Number(operationsPerSecond.toPrecision(3)).toExponential()} OP/s`;
  }
  const [unit, prefix] = RATES.find(([least]) => operationsPerSecond >= least) ?? [1, ""];
  return `${Number((operationsPerSecond / unit).toPrecision(3))} ${prefix}OP/s`;
}
