/**
 * Draws a roofline: the peaks of a device and a kernel on logarithmic axes.
 *
 * @module
 */

import * as Plot from "@observablehq/plot";
import type { Roofline } from "../../lab/analysis/mod.ts";
import { formatNumber, formatRate } from "../format.ts";
import type { Picture } from "../picture_file.ts";
import { COLORS, fitText, pictureOf, plotAt, textWidth } from "./svg.ts";

export interface NamedPeak {
  readonly name: string;
  /** Operations per second, or bytes per second for memory. */
  readonly peak: number;
}

export interface PicturedRoofline {
  readonly subject: string;
  readonly memory: NamedPeak;
  /** The peak of arithmetic that limits the kernel. */
  readonly compute: NamedPeak;
  readonly others: readonly NamedPeak[];
  readonly kernel: { readonly name: string; readonly report: Roofline };
}

const SIZE = { width: 880, height: 600 };
const PLOT = {
  ...SIZE,
  marginLeft: 78,
  marginRight: 28,
  marginTop: 84,
  marginBottom: 64,
};
const PLOT_WIDTH = PLOT.width - PLOT.marginLeft - PLOT.marginRight;
const PLOT_HEIGHT = PLOT.height - PLOT.marginTop - PLOT.marginBottom;
const LABEL_SIZE = 12;
const MAX_NAME_WIDTH = 260;
/** Keeps a text readable above a line. */
const HALO = { stroke: COLORS.surface, strokeWidth: 3, paintOrder: "stroke" } as const;

/** A domain with room around values; it ends at quarters of decades. */
function domainAround(values: readonly number[], room: number): [number, number] {
  const low = Math.floor(4 * Math.log10(Math.min(...values) / room)) / 4;
  const high = Math.ceil(4 * Math.log10(Math.max(...values) * room)) / 4;
  return [10 ** low, 10 ** Math.max(low + 1, high)];
}

/** At most twelve powers of ten in a domain, with equal distances. */
function powersOfTen([from, to]: readonly [number, number]): number[] {
  const [low, high] = [Math.ceil(Math.log10(from)), Math.floor(Math.log10(to))];
  const step = Math.ceil((high - low + 1) / 12);
  return Array.from(
    { length: Math.floor((high - low) / step) + 1 },
    (_, i) => 10 ** (low + i * step),
  );
}

/** Labels of the peaks; peaks with adjacent lines share one label. */
function peakLabels(peaks: readonly NamedPeak[], distance: number) {
  const labels: { text: string; peak: number }[] = [];
  for (const { name, peak } of peaks.toSorted((a, b) => b.peak - a.peak)) {
    const last = labels.at(-1);
    const rate = formatRate(peak, "OP/s");
    if (last === undefined || last.peak / peak >= distance) {
      labels.push({ text: `${name} · ${rate}`, peak });
    } else {
      const isSame = last.text.endsWith(` · ${rate}`);
      last.text = isSame ? `${name}, ${last.text}` : `${last.text}; ${name} · ${rate}`;
    }
  }
  return labels;
}

export function rooflinePicture(roofline: PicturedRoofline): Picture {
  const { subject, memory, compute, others, kernel: { name, report } } = roofline;
  const peaks = [compute, ...others];
  const ridges = peaks.map(({ peak }) => peak / memory.peak);
  const ridge = report.ridge;
  const hasDot = report.intensity > 0;
  const isFinite = hasDot && report.intensity < Infinity;
  const x = domainAround(isFinite ? [...ridges, report.intensity] : ridges, 4);
  // A kernel that transfers nothing is at the right border; one that computes nothing has no place.
  const intensity = Math.min(report.intensity, x[1]);
  const operations = report.achieved ?? report.attainable;
  const rates = [...peaks.map(({ peak }) => peak), Math.min(...ridges) * memory.peak / 10];
  const y = domainAround(hasDot ? [...rates, operations] : rates, 1.6);
  const decade = {
    x: PLOT_WIDTH / Math.log10(x[1] / x[0]),
    y: PLOT_HEIGHT / Math.log10(y[1] / y[0]),
  };
  const roof = (peak: number) => {
    const left = Math.max(x[0], y[0] / memory.peak);
    const middle = { intensity: peak / memory.peak, operations: peak };
    return [
      { intensity: left, operations: left * memory.peak },
      middle,
      { intensity: x[1], operations: peak },
    ];
  };
  const at = { x: "intensity", y: "operations" };
  const dots = hasDot ? [{ intensity, operations }] : [];
  const highest = Math.max(...rates);
  const compared = { stroke: COLORS.muted, strokeWidth: 1.25, strokeDasharray: "5 4" };
  const grid = { stroke: COLORS.grid, strokeOpacity: 1 };
  const axis = { fontSize: 11, color: COLORS.muted, tickSize: 0, label: null };
  const share = report.share === null ? "" : `, ${formatNumber(100 * report.share)} %`;
  const label = `${fitText(name, MAX_NAME_WIDTH, LABEL_SIZE)}${share}`;
  const isLeft = Math.log10(x[1] / intensity) * decade.x < textWidth(label, LABEL_SIZE) + 20;
  const isRidgeRight = Math.log10(x[1] / ridge) * decade.x < 90;
  // The label of memory stands in the middle of the visible line.
  const memoryMiddle = Math.sqrt(roof(compute.peak)[0]!.intensity * ridge);
  const plot = plotAt(0, 0, {
    ...PLOT,
    x: { type: "log", domain: x, axis: null },
    y: { type: "log", domain: y, axis: null },
    marks: [
      Plot.gridX(powersOfTen(x), grid),
      Plot.gridY(powersOfTen(y), grid),
      Plot.areaY(roof(compute.peak), {
        ...{ x: "intensity", y1: y[0], y2: "operations", fill: COLORS.used, opacity: 0.07 },
      }),
      ...others.map(({ peak }) => Plot.line(roof(peak).slice(1), { ...at, ...compared })),
      // The line of memory up to the highest peak.
      Plot.line([compute.peak, highest].map((peak) => [peak / memory.peak, peak]), compared),
      Plot.ruleX([ridge], { y1: y[0], y2: compute.peak, stroke: COLORS.used, opacity: 0.5 }),
      Plot.line(roof(compute.peak), { ...at, stroke: COLORS.used, strokeWidth: 2.5 }),
      Plot.link(dots, {
        x1: "intensity",
        x2: "intensity",
        y1: "operations",
        y2: Math.max(y[0], Math.min(compute.peak, intensity * memory.peak)),
        stroke: COLORS.accent,
        strokeDasharray: "2 3",
      }),
      Plot.dot(dots, { ...at, r: 5, fill: COLORS.accent, stroke: COLORS.surface }),
      Plot.text([`ridge ${formatNumber(ridge)}`], {
        ...{ x: ridge, y: y[0], dx: isRidgeRight ? -6 : 6, dy: -8, text: String, ...HALO },
        textAnchor: isRidgeRight ? "end" : "start",
        fill: COLORS.used,
      }),
      Plot.text(peakLabels(peaks, 10 ** ((LABEL_SIZE + 4) / decade.y)), {
        ...{ x: x[1], y: "peak", text: "text", dx: -4, dy: -8, textAnchor: "end", ...HALO },
        fontSize: LABEL_SIZE,
        fill: ({ peak }) => peak === compute.peak ? COLORS.used : COLORS.muted,
      }),
      Plot.text([`${memory.name} · ${formatRate(memory.peak, "B/s")}`], {
        ...{ x: memoryMiddle, y: memoryMiddle * memory.peak, dx: -6, dy: -9, text: String },
        rotate: -Math.atan(decade.y / decade.x) * 180 / Math.PI,
        fontSize: LABEL_SIZE,
        fill: COLORS.used,
        ...HALO,
      }),
      Plot.text(dots, {
        ...{ ...at, text: () => label, fontSize: LABEL_SIZE, fill: COLORS.ink, ...HALO },
        dx: isLeft ? -10 : 10,
        textAnchor: isLeft ? "end" : "start",
      }),
      Plot.axisX(powersOfTen(x), { ...axis, tickFormat: axisNumber }),
      Plot.axisY(powersOfTen(y), {
        ...axis,
        tickFormat: (rate: number) => formatRate(rate, "OP/s"),
      }),
      Plot.text(["arithmetic intensity, operations per byte"], {
        ...{ frameAnchor: "bottom", dy: 44, fontSize: 12, fill: COLORS.muted, text: String },
      }),
    ],
  });
  const caption = `the ridge is at ${formatNumber(ridge)} operations per byte`;
  const copies = hasDot ? "" : `; ${fitText(name, MAX_NAME_WIDTH, LABEL_SIZE)} only copies${share}`;
  const advice = `Memory ${formatRate(memory.peak, "B/s")}, ${compute.name} ` +
    `${formatRate(compute.peak, "OP/s")}. ${name}: ${report.sentence}`;
  return pictureOf(SIZE, `Roofline: ${subject}`, caption + copies, advice, [plot]);
}

function axisNumber(value: number): string {
  return value >= 1e6 || value < 1e-4 ? value.toExponential(0) : formatNumber(value);
}
