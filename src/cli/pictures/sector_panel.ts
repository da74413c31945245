/**
 * One request as lanes × sectors.
 *
 * @module
 */

import * as Plot from "@observablehq/plot";
import type { Panel } from "./access_pictures.ts";
import type { RequestSectors } from "./request_sectors.ts";
import { COLORS, element, plotGroup, textLine, textWidth } from "./svg_document.ts";

const SECTOR_BYTES = 32;
const LANES = 32;
const LANE_HEIGHT = 6;
const HEADER = 40;
const LEFT = 34;
const LABEL_SIZE = 10;
/** What separates sectors, in bytes of the scale: those side by side, and those that are not. */
const NEAR = 2;
const FAR = 8;

/** Pixels of a sector, by how many the widest request has. */
function sectorWidth(most: number): number {
  if (most <= 10) return 34;
  return most <= 20 ? 30 : most <= 33 ? 20 : 10;
}

/** Where each sector begins on the scale, and where the last one ends. */
function positions({ sectors }: RequestSectors): { starts: number[]; end: number } {
  const starts: number[] = [];
  let end = 0;
  sectors.forEach((sector, index) => {
    if (index > 0) end += sector - sectors[index - 1]! === BigInt(SECTOR_BYTES) ? NEAR : FAR;
    starts.push(end);
    end += SECTOR_BYTES;
  });
  return { starts, end };
}

/** Draws a request; `most` is how many sectors the widest request of the picture has. */
export function sectorPanel(request: RequestSectors, index: number, most: number): Panel {
  const { starts, end } = positions(request);
  const plotWidth = end * sectorWidth(most) / SECTOR_BYTES;
  const labels = request.sectors.map((byte) => `+${byte}`);
  const longest = Math.max(...labels.map((label) => textWidth(label, LABEL_SIZE)));
  const isUpright = longest > sectorWidth(most);
  const footer = isUpright ? longest + 12 : 20;
  const height = LANES * LANE_HEIGHT;
  const used = Number((100 * request.usedShare).toFixed(1));
  const count = request.sectors.length;
  const title = `request ${index}: ${count} ${count === 1 ? "sector" : "sectors"}, ${used} % used`;
  const place = `from byte ${request.firstByte}`;
  const width = LEFT + Math.max(plotWidth, textWidth(title, 12) - LEFT, textWidth(place, 11));
  return {
    width,
    height: HEADER + height + footer,
    draw: (x, y) =>
      element(
        "g",
        { transform: `translate(${x},${y})` },
        textLine(0, 12, title, { "font-weight": 600 }),
        textLine(0, 30, "lane", { "font-size": LABEL_SIZE, fill: COLORS.muted }),
        textLine(LEFT, 30, place, { "font-size": 11, fill: COLORS.muted }),
        plotGroup(
          {
            width: LEFT + plotWidth,
            height: height + footer,
            marginLeft: LEFT,
            marginRight: 0,
            marginTop: 0,
            marginBottom: footer,
            x: { axis: null, domain: [0, end] },
            y: { axis: null, domain: [LANES, 0] },
            marks: marksOf(request, starts, labels, isUpright),
          },
          0,
          HEADER,
        ),
      ),
  };
}

function marksOf(
  request: RequestSectors,
  starts: readonly number[],
  labels: readonly string[],
  isUpright: boolean,
): Plot.Markish[] {
  const at = (sector: number, byte: number) => starts[sector]! + byte;
  return [
    Plot.rect(starts, {
      x1: (start: number) => start,
      x2: (start: number) => start + SECTOR_BYTES,
      y1: 0,
      y2: LANES,
      fill: COLORS.unused,
    }),
    Plot.rect(request.used, {
      x1: ({ sector, from }) => at(sector, from),
      x2: ({ sector, to }) => at(sector, to),
      y1: 0,
      y2: LANES,
      fill: COLORS.shared,
    }),
    Plot.rect(request.lanes, {
      x1: ({ sector, from }) => at(sector, from),
      x2: ({ sector, to }) => at(sector, to),
      y1: ({ lane }) => lane,
      y2: ({ lane }) => lane + 1,
      insetTop: 0.5,
      insetBottom: 0.5,
      fill: COLORS.used,
    }),
    Plot.text([0, 8, 16, 24, 31], {
      x: 0,
      y: (lane: number) => lane + 0.5,
      text: String,
      dx: -6,
      textAnchor: "end",
      fontSize: LABEL_SIZE,
      fill: COLORS.muted,
    }),
    Plot.text(labels, {
      x: (_, index) => starts[index]! + SECTOR_BYTES / 2,
      y: LANES,
      text: (label: string) => label,
      dy: isUpright ? 6 : 12,
      rotate: isUpright ? -90 : 0,
      textAnchor: isUpright ? "end" : "middle",
      fontSize: LABEL_SIZE,
      fill: COLORS.muted,
    }),
  ];
}
