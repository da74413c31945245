/**
 * One request to shared memory as lanes × banks.
 *
 * @module
 */

import * as Plot from "@observablehq/plot";
import type { Panel } from "./access_pictures.ts";
import type { RequestBanks } from "./request_banks.ts";
import { COLORS, element, plotGroup, textLine } from "./svg_document.ts";

const BANKS = 32;
const LANES = 32;
const CELL_WIDTH = 12;
const CELL_HEIGHT = 11;
const HEADER = 36;
const LEFT = 34;
const FOOTER = 34;
const LABEL_SIZE = 10;

/** Pixels that a panel is wide. */
export const BANK_PANEL_WIDTH: number = LEFT + BANKS * CELL_WIDTH;

/** Draws a request. */
export function bankPanel(request: RequestBanks, index: number): Panel {
  const { wavefronts, idealWavefronts } = request;
  const height = LANES * CELL_HEIGHT;
  const title = `request ${index}: ${wavefronts} ${
    wavefronts === 1 ? "wavefront" : "wavefronts"
  }, ${idealWavefronts} at best`;
  return {
    width: BANK_PANEL_WIDTH,
    height: HEADER + height + FOOTER,
    draw: (x, y) =>
      element(
        "g",
        { transform: `translate(${x},${y})` },
        textLine(0, 12, title, { "font-weight": 600 }),
        textLine(0, 29, "lane", { "font-size": LABEL_SIZE, fill: COLORS.muted }),
        plotGroup(
          {
            width: BANK_PANEL_WIDTH,
            height: height + FOOTER,
            marginLeft: LEFT,
            marginRight: 0,
            marginTop: 0,
            marginBottom: FOOTER,
            x: { axis: null, domain: [0, BANKS] },
            y: { axis: null, domain: [LANES, 0] },
            marks: marksOf(request),
          },
          0,
          HEADER,
        ),
      ),
  };
}

function marksOf({ accesses, group }: RequestBanks): Plot.Markish[] {
  const ticks = [0, 8, 16, 24, 31];
  const label = { fontSize: LABEL_SIZE, fill: COLORS.muted } as const;
  const grid = { stroke: COLORS.grid, strokeOpacity: 1 };
  const borders = Array.from({ length: LANES / group + 1 }, (_, i) => i * group);
  return [
    Plot.gridX(Array.from({ length: BANKS + 1 }, (_, bank) => bank), grid),
    Plot.gridY(borders, { ...grid, stroke: COLORS.muted }),
    Plot.rect(accesses, {
      x1: ({ bank }) => bank,
      x2: ({ bank }) => bank + 1,
      y1: ({ lane }) => lane,
      y2: ({ lane }) => lane + 1,
      inset: 0.75,
      fill: ({ wavefront }) => wavefront === 0 ? COLORS.used : COLORS.accent,
    }),
    Plot.text(accesses.filter(({ wavefront }) => wavefront > 0), {
      x: ({ bank }) => bank + 0.5,
      y: ({ lane }) => lane + 0.5,
      text: ({ wavefront }) => String(wavefront + 1),
      fontSize: 8,
      fill: COLORS.surface,
    }),
    Plot.text(ticks, {
      ...label,
      x: 0,
      y: (lane: number) => lane + 0.5,
      text: String,
      dx: -6,
      textAnchor: "end",
    }),
    Plot.text(ticks, { ...label, x: (bank: number) => bank + 0.5, y: LANES, text: String, dy: 11 }),
    Plot.text(["bank"], { ...label, x: BANKS / 2, y: LANES, dy: 25, text: String }),
  ];
}
