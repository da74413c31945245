/**
 * The picture of a roofline: roofs, ridges, and kernels under them, on logarithmic axes.
 *
 * @module
 */

import type { Picture } from "../picture_file.ts";
import { formatBandwidth, formatOperations } from "../text_table.ts";
import { rooflineDrawing } from "./roofline_drawing.ts";
import { dotLabels, roofLabels } from "./roofline_labels.ts";
import {
  CANVAS,
  type Dot,
  percent,
  type PicturedKernel,
  type PicturedRoofline,
  significant,
} from "./roofline_model.ts";
import { logarithmic, rangeAround } from "./roofline_scales.ts";
import { COLORS, fittedText, svgText, textLine } from "./svg_document.ts";

const MARGIN = 24;
const TITLE_SIZE = 18;
const CAPTION_SIZE = 13;
/** What title and caption have. */
const HEAD_WIDTH = CANVAS.width - 2 * MARGIN;

/** Kernels that have a place: one that calculates nothing has none on a logarithmic axis. */
function dotsOf(kernels: readonly PicturedKernel[], largest: number): Dot[] {
  return kernels.filter(({ report }) => report.intensity > 0).map((kernel) => {
    const { intensity, achieved, attainable } = kernel.report;
    return {
      kernel,
      intensity: Math.min(intensity, largest),
      operations: achieved ?? attainable,
    };
  });
}

/** Draws a roofline. */
export function rooflinePicture(roofline: PicturedRoofline): Picture {
  const { subject, memory, compute, others, kernels } = roofline;
  const roofs = [compute, ...others];
  const ridges = roofs.map(({ peak }) => peak / memory.peak);
  const intensities = kernels.map(({ report }) => report.intensity)
    .filter((intensity) => intensity > 0 && intensity < Infinity);
  const x = rangeAround([...ridges, ...intensities], 4);
  const dots = dotsOf(kernels, x.to);
  const y = rangeAround([
    ...roofs.map(({ peak }) => peak),
    Math.min(...ridges) * memory.peak / 10,
    ...dots.map(({ operations }) => operations),
  ], 1.6);
  const scales = {
    x: logarithmic(x, CANVAS.left, CANVAS.right),
    y: logarithmic(y, CANVAS.bottom, CANVAS.top),
  };
  const title = `Roofline: ${subject}`;
  const description = [
    `Memory ${formatBandwidth(memory.peak)}, ${compute.name} ${formatOperations(compute.peak)}.`,
    ...kernels.map(({ name, report }) => `${name}: ${report.sentence}`),
  ].join(" ");
  const contents = [
    textLine(MARGIN, 36, fittedText(title, HEAD_WIDTH, TITLE_SIZE, true), {
      "font-size": TITLE_SIZE,
      "font-weight": 600,
    }),
    textLine(MARGIN, 58, fittedText(captionOf(roofline), HEAD_WIDTH, CAPTION_SIZE), {
      "font-size": CAPTION_SIZE,
      fill: COLORS.muted,
    }),
    rooflineDrawing(roofline, dots, x, y),
    ...roofLabels(roofline, scales),
    ...dotLabels(roofline, dots, scales),
  ];
  return { title, description, svg: svgText(CANVAS, title, description, contents) };
}

function captionOf({ memory, compute, kernels }: PicturedRoofline): string {
  const ridge = `the roofs meet at ${significant(compute.peak / memory.peak)} operations per byte`;
  const copies = kernels.filter(({ report }) => report.intensity === 0)
    .map(({ name, report }) =>
      `${name} only moves bytes${report.share === null ? "" : `, at ${percent(report.share)}`}`
    );
  return [ridge, ...copies].join("; ");
}
