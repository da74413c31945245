/**
 * Pictures of the first requests of an access pattern: lanes × sectors, and lanes × banks.
 *
 * @module
 */

import type { AccessReport } from "../../lab/analysis/mod.ts";
import type { Picture } from "../picture_file.ts";
import { BANK_PANEL_WIDTH, bankPanel } from "./bank_panel.ts";
import { requestBanks } from "./request_banks.ts";
import { requestSectors } from "./request_sectors.ts";
import { sectorPanel } from "./sector_panel.ts";
import {
  COLORS,
  element,
  fittedText,
  legend,
  type SvgElement,
  svgText,
  textLine,
  textWidth,
} from "./svg_document.ts";

/** What is drawn. */
export interface PicturedAccess {
  /** Where the indices come from. */
  readonly subject: string;
  /** The first indices. */
  readonly indices: readonly number[];
  /** Bytes of an element. */
  readonly elementBytes: number;
  /** Byte at which element 0 lies. */
  readonly offset: number;
  /** What the analysis of all indices says. */
  readonly report: AccessReport;
  /** What to do about it, in sentences. */
  readonly advice: string;
}

/** A part of a picture that has its place found by {@linkcode arrange}. */
export interface Panel {
  /** Its size in pixels. */
  readonly width: number;
  /** Its height. */
  readonly height: number;
  /** Draws it with its corner at a place. */
  draw(x: number, y: number): SvgElement;
}

const MOST_REQUESTS = 4;
const WIDTH = 1000;
const MARGIN = 24;
const GAP = 28;
const TITLE_SIZE = 18;
/** Where panels begin, below title, figures and legend. */
const TOP = 108;

function decimal(value: number): string {
  return String(Number(value.toFixed(2)));
}

function counted(value: number, noun: string): string {
  const number = decimal(value);
  return `${number} ${number === "1" ? noun : `${noun}s`}`;
}

function percent(share: number): string {
  return `${Number((100 * share).toFixed(1))} %`;
}

/** Draws which bytes of which sectors each lane accesses, and which are transferred for nothing. */
export function accessPicture(access: PicturedAccess): Picture {
  const { report } = access;
  const requests = requestSectors(access.indices, access).slice(0, MOST_REQUESTS);
  const most = Math.max(0, ...requests.map(({ sectors }) => sectors.length));
  const figures = report.requests === 0
    ? "there are no accesses"
    : `${counted(report.sectors / report.requests, "sector")} a request, ` +
      `${decimal(report.idealSectors / report.requests)} at best: ` +
      `efficiency ${percent(report.efficiency)}`;
  const panels = requests.map((request, index) => sectorPanel(request, index, most));
  return picture(access, `Sectors that lanes access: ${access.subject}`, figures, panels, [
    [COLORS.used, "accessed by this lane"],
    [COLORS.shared, "accessed by another lane"],
    [COLORS.unused, "transferred and not used"],
  ]);
}

/** Draws which banks each lane accesses, and which accesses wait for others. */
export function bankPicture(access: PicturedAccess): Picture {
  const { report, indices, elementBytes } = access;
  const requests = requestBanks(indices, elementBytes).slice(0, MOST_REQUESTS);
  const each = report.requests === 0 ? 0 : report.bankConflicts / report.requests;
  const figures = report.requests === 0
    ? "there are no accesses"
    : each === 0
    ? "no bank conflicts"
    : `${counted(each, "wavefront")} more a request than without bank conflicts`;
  const panels = requests.map((request, index) => bankPanel(request, index));
  return picture(access, `Banks that lanes access: ${access.subject}`, figures, panels, [
    [COLORS.used, "served in the first wavefront"],
    [COLORS.accent, "served in a later one, which is numbered: a bank conflict"],
  ]);
}

/** Places panels in rows, each as many as fit. */
function arrange(
  panels: readonly Panel[],
): { elements: SvgElement[]; width: number; height: number } {
  const elements: SvgElement[] = [];
  let [x, y, rowHeight, width] = [MARGIN, TOP, 0, 0];
  for (const panel of panels) {
    if (x > MARGIN && x + panel.width > WIDTH - MARGIN) {
      [x, y, rowHeight] = [MARGIN, y + rowHeight + GAP, 0];
    }
    elements.push(panel.draw(x, y));
    x += panel.width + GAP;
    width = Math.max(width, x - GAP + MARGIN);
    rowHeight = Math.max(rowHeight, panel.height);
  }
  return { elements, width, height: y + rowHeight + MARGIN };
}

function picture(
  { indices, elementBytes, offset, report, advice }: PicturedAccess,
  title: string,
  figures: string,
  panels: readonly Panel[],
  entries: readonly (readonly [string, string])[],
): Picture {
  const shortTitle = fittedText(title, WIDTH - 2 * MARGIN, TITLE_SIZE, true);
  const from = offset === 0 ? "" : ` from byte ${offset} on`;
  const pattern = report.kind === "strided" ? `strided by ${report.stride}` : report.kind;
  const caption = `${report.count} ${report.count === 1 ? "access" : "accesses"} of ` +
    `${elementBytes} B${from}, ${pattern}; ${figures}`;
  const arranged = arrange(panels);
  const legendWidth = entries.reduce((sum, [, text]) => sum + 38 + textWidth(text, 12), 0);
  const width = Math.ceil(Math.max(
    arranged.width,
    2 * MARGIN +
      Math.max(textWidth(shortTitle, TITLE_SIZE, true), textWidth(caption, 13), legendWidth),
    2 * MARGIN + BANK_PANEL_WIDTH,
  ));
  const contents = [
    textLine(MARGIN, 36, shortTitle, { "font-size": TITLE_SIZE, "font-weight": 600 }),
    textLine(MARGIN, 58, caption, { "font-size": 13, fill: COLORS.muted }),
    legend(MARGIN, 86, entries),
    ...(indices.length === 0 ? [textLine(MARGIN, TOP + 20, "nothing to draw")] : []),
    element("g", {}, ...arranged.elements),
  ];
  const size = { width, height: arranged.height + (indices.length === 0 ? 40 : 0) };
  const description = `${caption}.${advice === "" ? "" : ` ${advice}`}`;
  return { title, description, svg: svgText(size, title, description, contents) };
}
