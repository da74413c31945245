/**
 * Axes, roofs and dots of a roofline.
 *
 * @module
 */

import * as Plot from "@observablehq/plot";
import { formatOperations } from "../text_table.ts";
import {
  axisNumber,
  CANVAS,
  type Dot,
  type PicturedRoof,
  type PicturedRoofline,
  significant,
} from "./roofline_model.ts";
import { powersOfTen, type Range } from "./roofline_scales.ts";
import { COLORS, plotGroup, type SvgElement } from "./svg_document.ts";

/** Share of the axis in which what is beside a line is on its left. */
const RIGHT_SHARE = 0.1;

/** A roof's corners, from the left border on. */
function corners(memory: PicturedRoof, { peak }: PicturedRoof, x: Range, y: Range) {
  const left = Math.max(x.from, y.from / memory.peak);
  return [
    { intensity: left, operations: left * memory.peak },
    { intensity: peak / memory.peak, operations: peak },
    { intensity: x.to, operations: peak },
  ];
}

/** Draws axes, roofs and dots. */
export function rooflineDrawing(
  { memory, compute, others }: PicturedRoofline,
  dots: readonly Dot[],
  x: Range,
  y: Range,
): SvgElement {
  const roof = corners(memory, compute, x, y);
  const at = { x: "intensity", y: "operations" };
  const ridge = compute.peak / memory.peak;
  const isRidgeRight = ridge > x.to / (x.to / x.from) ** RIGHT_SHARE;
  const highest = Math.max(compute.peak, ...others.map(({ peak }) => peak));
  const compared = { stroke: COLORS.muted, strokeWidth: 1.25, strokeDasharray: "5 4" };
  const grid = { stroke: COLORS.grid, strokeOpacity: 1 };
  const axis = { fontSize: 11, color: COLORS.muted, tickSize: 0 };
  return plotGroup(
    {
      width: CANVAS.width,
      height: CANVAS.height,
      marginLeft: CANVAS.left,
      marginRight: CANVAS.width - CANVAS.right,
      marginTop: CANVAS.top,
      marginBottom: CANVAS.height - CANVAS.bottom,
      x: { type: "log", domain: [x.from, x.to], axis: null },
      y: { type: "log", domain: [y.from, y.to], axis: null },
      marks: [
        Plot.gridX(powersOfTen(x), grid),
        Plot.gridY(powersOfTen(y), grid),
        Plot.areaY(roof, { ...at, y1: y.from, y2: "operations", fill: COLORS.used, opacity: 0.07 }),
        ...others.map((other) =>
          Plot.line(corners(memory, other, x, y).slice(1), { ...at, ...compared })
        ),
        // Memory's roof goes on to the highest of the others.
        Plot.line([compute.peak, highest].map((peak) => [peak / memory.peak, peak]), compared),
        Plot.ruleX([ridge], { y1: y.from, y2: compute.peak, stroke: COLORS.used, opacity: 0.5 }),
        Plot.text([`ridge ${significant(ridge)}`], {
          x: ridge,
          y: y.from,
          dx: isRidgeRight ? -6 : 6,
          dy: -8,
          textAnchor: isRidgeRight ? "end" : "start",
          fontSize: 11,
          fill: COLORS.used,
          text: String,
        }),
        Plot.line(roof, { ...at, stroke: COLORS.used, strokeWidth: 2.5 }),
        Plot.link(dots, {
          x1: "intensity",
          x2: "intensity",
          y1: "operations",
          // The roof may be so far below what is achieved that it is not in the picture.
          y2: ({ intensity }: Dot) =>
            Math.max(y.from, Math.min(compute.peak, intensity * memory.peak)),
          stroke: COLORS.accent,
          strokeDasharray: "2 3",
        }),
        Plot.dot(dots, {
          ...at,
          r: 5,
          fill: COLORS.accent,
          stroke: COLORS.surface,
          strokeWidth: 1.5,
        }),
        Plot.axisX(powersOfTen(x), { ...axis, tickFormat: axisNumber, label: null }),
        Plot.axisY(powersOfTen(y), { ...axis, tickFormat: formatOperations, label: null }),
        Plot.text(["arithmetic intensity, operations per byte"], {
          frameAnchor: "bottom",
          dy: 44,
          fontSize: 12,
          fill: COLORS.muted,
          text: String,
        }),
      ],
    },
    0,
    0,
  );
}
