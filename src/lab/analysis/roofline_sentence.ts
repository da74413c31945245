/**
 * Where a kernel stands under its roofline, in words.
 *
 * @module
 */

import type { Roofline, RooflineBound, RooflineOptions } from "./roofline_report.ts";

type Figures = Omit<Roofline, "sentence">;

/**
 * Makes the sentence of a report.
 *
 * @param options What the kernel does.
 * @param figures The rest of the report.
 * @param roof Which roof is over the kernel, whether or not it gets there.
 */
export function rooflineSentence(
  options: RooflineOptions,
  figures: Figures,
  roof: RooflineBound,
): string {
  return [placeSentence(figures, roof), ...reachSentence(options, figures, roof)].join(" ");
}

function placeSentence({ intensity, ridge, attainable }: Figures, roof: RooflineBound): string {
  if (intensity === 0) return "It only moves bytes: memory bounds it.";
  if (intensity === Infinity) return "It moves no bytes: arithmetic bounds it.";
  const side = roof === "memory" ? "below" : "above";
  const [own, meeting] = [significant(intensity), significant(ridge)];
  // Of what is printed alike nobody wants to read that one is above the other.
  const place = own === meeting ? "" : ` ${side} the ${meeting}`;
  const bounded = roof === "memory" ? "memory bounds it" : "arithmetic bounds it";
  return `At ${own} ${
    own === "1" ? "operation" : "operations"
  } per byte,${place} where the roofs ` +
    `meet, ${bounded} to ${rate(attainable, "operations")}.`;
}

function reachSentence(
  { bandwidth, throughput }: RooflineOptions,
  { share, achieved, achievedBandwidth, bound }: Figures,
  roof: RooflineBound,
): string[] {
  if (share === null) return [];
  const [got, peak] = roof === "memory"
    ? [rate(achievedBandwidth!, "B"), rate(bandwidth, "B")]
    : [rate(achieved!, "operations"), rate(throughput, "operations")];
  const reach = `It reaches ${percent(share)} of the roof: ${got} of ${peak}.`;
  if (share > 1) {
    return [
      reach + " More than a roof allows comes from caches, or was counted and not done.",
    ];
  }
  if (bound !== "latency") return [reach];
  return [
    reach + " Neither memory nor arithmetic is busy enough to be what it waits for: latency, too" +
    " few threads, or the launch itself.",
  ];
}

const PREFIXES = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]] as const;

function rate(perSecond: number, unit: "B" | "operations"): string {
  const [scale, prefix] = PREFIXES.find(([least]) => perSecond >= least) ?? [1, ""];
  const value = significant(perSecond / scale);
  if (unit === "B") return `${value} ${prefix}B/s`;
  return prefix === "" ? `${value} operations/s` : `${value} ${prefix}OP/s`;
}

function significant(value: number): string {
  if (value >= 1e6 && value < Infinity) return Number(value.toPrecision(3)).toExponential();
  return String(value >= 1000 ? Math.round(value) : Number(value.toPrecision(3)));
}

function percent(share: number): string {
  return `${Number((100 * share).toPrecision(3))} %`;
}
