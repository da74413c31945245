/**
 * Numbers as reports print them.
 *
 * @module
 */

import type { ComparedFigure } from "./figure.ts";

/** Digits of numbers, and at most where these do not tell two numbers apart. */
const DIGITS = 3;
const MAX_DIGITS = 9;

const UNITS = ["B", "KiB", "MiB", "GiB"] as const;

/** A size in the largest binary unit that divides it. */
export function exactBytes(bytes: number): string {
  let unit = 0;
  while (unit < UNITS.length - 1 && bytes > 0 && bytes % 1024 ** (unit + 1) === 0) unit++;
  return `${bytes / 1024 ** unit} ${UNITS[unit]}`;
}

/** A duration with three digits, or as many as are given, and the unit that fits it. */
export function formatDuration(nanoseconds: number, digits = DIGITS): string {
  const units = [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9]] as const;
  const [unit, size] = units.findLast(([, size]) => nanoseconds >= size) ?? units[0];
  return `${formatNumber(nanoseconds / size, digits)} ${unit}`;
}

/** A bandwidth with three digits in decimal units, as vendors give it. */
export function formatBandwidth(bytesPerSecond: number): string {
  return bytesPerSecond >= 1e12
    ? `${formatNumber(bytesPerSecond / 1e12)} TB/s`
    : `${formatNumber(bytesPerSecond / 1e9)} GB/s`;
}

/** Operations per second with three digits in decimal units. */
export function formatOperations(perSecond: number): string {
  return perSecond >= 1e12
    ? `${formatNumber(perSecond / 1e12)} Top/s`
    : `${formatNumber(perSecond / 1e9)} Gop/s`;
}

/** The bandwidth of a figure, and its operations per second. */
export function formatRates({ bytesPerSecond, operationsPerSecond }: ComparedFigure): string {
  return [
    ...(bytesPerSecond === null ? [] : [formatBandwidth(bytesPerSecond)]),
    ...(operationsPerSecond === null ? [] : [formatOperations(operationsPerSecond)]),
  ].join(", ");
}

/** Three digits, or as many as are given, and no exponent for numbers that people read. */
export function formatNumber(value: number, digits = DIGITS): string {
  return value >= 10 ** (digits - 1) ? value.toFixed(0) : value.toPrecision(digits);
}

/** Two numbers with as many digits as tell them apart, at least three: one is compared with the other. */
export function formatApart(
  value: number,
  other: number,
  format: (value: number, digits: number) => string,
): [value: string, other: string] {
  for (let digits = DIGITS; digits <= MAX_DIGITS; digits++) {
    const texts: [string, string] = [format(value, digits), format(other, digits)];
    if (texts[0] !== texts[1]) return texts;
  }
  return [format(value, DIGITS), format(other, DIGITS)];
}

/** A share as a percentage with one decimal. */
export function formatPercent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

/** How a figure compares with its group's baseline: in operations or bandwidth, else time. */
export function formatComparison(figure: ComparedFigure): string {
  if (figure.baseline) return "baseline";
  const share = figure.relativeOperations ?? figure.relativeBandwidth;
  if (share !== null) return formatPercent(share);
  return figure.relativeTime === null ? "" : `${formatNumber(figure.relativeTime)} ×`;
}
