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

/** A bandwidth in decimal units, as vendors and benchmarks give it: `4.8 TB/s`. */
export function formatBandwidth(bytesPerSecond: number): string {
  return bytesPerSecond >= 1e12
    ? `${(bytesPerSecond / 1e12).toFixed(2)} TB/s`
    : `${(bytesPerSecond / 1e9).toFixed(1)} GB/s`;
}
