/**
 * Draws the first requests of an access pattern: lanes × sectors, or lanes × banks.
 *
 * @module
 */

import * as Plot from "@observablehq/plot";
import type { AccessReport } from "../../lab/analysis/mod.ts";
import { formatNumber, formatPercent, plural } from "../format.ts";
import type { Picture } from "../picture_file.ts";
import {
  type BankRequest,
  bankRequests,
  BANKS,
  LANES,
  SECTOR_BYTES,
  type SectorRequest,
  sectorRequests,
} from "./request_layout.ts";
import { COLORS, element, legend, MARGIN, pictureOf, plotAt, textLine, textWidth } from "./svg.ts";

export interface PicturedAccess {
  readonly subject: string;
  readonly indices: readonly number[];
  readonly elementBytes: number;
  readonly offset: number;
  readonly isShared: boolean;
  readonly report: AccessReport;
  readonly advice: string;
}

interface Panel {
  readonly width: number;
  readonly height: number;
  readonly svg: string;
}

const MAX_REQUESTS = 4;
const WIDTH = 1000;
const GAP = 28;
const TOP = 108;
const LEFT = 34;
const HEADER = 40;
const LABEL = { fontSize: 10, fill: COLORS.muted } as const;
const TICKS = [0, 8, 16, 24, 31];

export function accessPicture(access: PicturedAccess): Picture {
  const { subject, indices, elementBytes, offset, isShared, report, advice } = access;
  const panels = isShared
    ? equalRuns(bankRequests(indices, elementBytes).slice(0, MAX_REQUESTS)).map(bankPanel)
    : sectorPanels(sectorRequests(indices, elementBytes, offset).slice(0, MAX_REQUESTS));
  const arranged = arrange(panels);
  const colors = legend(MARGIN, 86, isShared ? BANK_COLORS : SECTOR_COLORS);
  const from = offset === 0 ? "" : ` from byte ${offset} on`;
  const pattern = report.kind === "strided" ? `strided by ${report.stride}` : report.kind;
  const caption = `${plural(report.count, "access", "accesses")} of ${elementBytes} B${from}, ` +
    `${pattern}; ${isShared ? bankFigures(report) : sectorFigures(report)}`;
  const size = {
    width: Math.max(arranged.width, 2 * MARGIN + colors.width),
    height: arranged.height + (panels.length === 0 ? 40 : 0),
  };
  const title = `${isShared ? "Banks" : "Sectors"} that lanes access: ${subject}`;
  return pictureOf(size, title, caption, advice, [
    colors.svg,
    panels.length === 0 ? textLine(MARGIN, TOP + 20, "no accesses") : arranged.svg,
  ]);
}

/** Requests that follow each other and look the same, which share a panel. */
interface Run<Request> {
  readonly request: Request;
  readonly first: number;
  readonly last: number;
}

/** Divides requests into runs that differ at most in their addresses. */
function equalRuns<Request extends object>(requests: readonly Request[]): Run<Request>[] {
  const textOf = (request: Request) =>
    JSON.stringify({ ...request, firstByte: 0 }, (_, it) => typeof it === "bigint" ? `${it}` : it);
  const runs: Run<Request>[] = [];
  requests.forEach((request, index) => {
    const run = runs.at(-1);
    if (run === undefined || textOf(run.request) !== textOf(request)) {
      runs.push({ request, first: index, last: index });
    } else {
      runs[runs.length - 1] = { ...run, last: index };
    }
  });
  return runs;
}

/** `request 2`, or `each of requests 0 to 3`. */
function nameOf({ first, last }: Run<object>): string {
  return first === last ? `request ${first}` : `each of requests ${first} to ${last}`;
}

function sectorFigures({ requests, sectors, idealSectors, efficiency }: AccessReport): string {
  if (requests === 0) return "no requests";
  return `${plural(formatNumber(sectors / requests), "sector")} per request, ` +
    `ideal ${formatNumber(idealSectors / requests)}, efficiency ${formatPercent(efficiency)}`;
}

function bankFigures({ requests, bankConflicts }: AccessReport): string {
  if (requests === 0) return "no requests";
  if (bankConflicts === 0) return "no bank conflicts";
  return `${plural(formatNumber(bankConflicts / requests), "additional wavefront")} per request ` +
    "because of bank conflicts";
}

function arrange(panels: readonly Panel[]): Panel {
  let [x, y, rowHeight, width] = [MARGIN, TOP, 0, 0];
  const parts = panels.map((panel) => {
    if (x > MARGIN && x + panel.width > WIDTH - MARGIN) {
      [x, y, rowHeight] = [MARGIN, y + rowHeight + GAP, 0];
    }
    const part = element("g", { transform: `translate(${x},${y})` }, panel.svg);
    x += panel.width + GAP;
    width = Math.max(width, x - GAP + MARGIN);
    rowHeight = Math.max(rowHeight, panel.height);
    return part;
  });
  return { svg: parts.join(""), width, height: y + rowHeight + MARGIN };
}

/** A panel with a row for each lane. */
function lanePanel(
  title: string,
  subtitle: string,
  size: { readonly plotWidth: number; readonly rowHeight: number; readonly footer: number },
  columns: number,
  marks: Plot.Markish[],
): Panel {
  const { plotWidth, rowHeight, footer } = size;
  const height = LANES * rowHeight + footer;
  const label = { "font-size": LABEL.fontSize, fill: LABEL.fill };
  const plot = plotAt(0, HEADER, {
    width: LEFT + plotWidth,
    height,
    marginLeft: LEFT,
    marginRight: 0,
    marginTop: 0,
    marginBottom: footer,
    x: { axis: null, domain: [0, columns] },
    y: { axis: null, domain: [LANES, 0] },
    marks: [
      ...marks,
      Plot.text(TICKS, {
        ...LABEL,
        x: 0,
        y: (lane: number) => lane + 0.5,
        text: String,
        dx: -6,
        textAnchor: "end",
      }),
    ],
  });
  return {
    width: Math.max(LEFT + plotWidth, textWidth(title, 12), LEFT + textWidth(subtitle, 11)),
    height: HEADER + height,
    svg: [
      textLine(0, 12, title, { "font-weight": 600 }),
      textLine(0, 30, "lane", label),
      textLine(LEFT, 30, subtitle, { ...label, "font-size": 11 }),
      plot,
    ].join(""),
  };
}

const SECTOR_COLORS = [
  [COLORS.used, "accessed by this lane"],
  [COLORS.shared, "accessed by another lane"],
  [COLORS.unused, "transferred and not used"],
] as const;

/** Distances of adjacent and of other sectors, in bytes of the scale. */
const [NEAR, FAR] = [2, 8];

function sectorPanels(requests: readonly SectorRequest[]): Panel[] {
  const most = Math.max(0, ...requests.map(({ sectors }) => sectors.length));
  const sectorWidth = most <= 10 ? 34 : most <= 20 ? 30 : most <= 33 ? 20 : 10;
  return equalRuns(requests).map((run) => {
    const bytes = requests.slice(run.first, run.last + 1).map(({ firstByte }) => firstByte);
    return sectorPanel(run, `from byte ${bytes.join(", ")}`, sectorWidth);
  });
}

function sectorPanel(run: Run<SectorRequest>, place: string, sectorWidth: number): Panel {
  const { sectors, used, lanes, usedShare } = run.request;
  const starts: number[] = [];
  let end = 0;
  sectors.forEach((sector, i) => {
    if (i > 0) end += sector - sectors[i - 1]! === BigInt(SECTOR_BYTES) ? NEAR : FAR;
    starts.push(end);
    end += SECTOR_BYTES;
  });
  const labels = sectors.map((byte) => `+${byte}`);
  const longest = Math.max(...labels.map((label) => textWidth(label, LABEL.fontSize)));
  const isUpright = longest > sectorWidth;
  const title = `${nameOf(run)}: ${plural(sectors.length, "sector")}, ` +
    `${formatPercent(usedShare)} used`;
  const size = {
    plotWidth: end * sectorWidth / SECTOR_BYTES,
    rowHeight: 6,
    footer: isUpright ? longest + 12 : 20,
  };
  type Span = typeof used[number];
  const x1 = ({ sector, from }: Span) => starts[sector]! + from;
  const x2 = ({ sector, to }: Span) => starts[sector]! + to;
  const whole = starts.map((_, sector) => ({ sector, from: 0, to: SECTOR_BYTES }));
  const column = { x1, x2, y1: 0, y2: LANES };
  return lanePanel(title, place, size, end, [
    Plot.rect(whole, { ...column, fill: COLORS.unused }),
    Plot.rect(used, { ...column, fill: COLORS.shared }),
    Plot.rect(lanes, {
      ...{ x1, x2, insetTop: 0.5, insetBottom: 0.5, fill: COLORS.used },
      y1: ({ lane }) => lane,
      y2: ({ lane }) => lane + 1,
    }),
    Plot.text(labels, {
      ...LABEL,
      x: (_, i) => starts[i]! + SECTOR_BYTES / 2,
      y: LANES,
      text: (label: string) => label,
      dy: isUpright ? 6 : 12,
      rotate: isUpright ? -90 : 0,
      textAnchor: isUpright ? "end" : "middle",
    }),
  ]);
}

const BANK_COLORS = [
  [COLORS.used, "served in the first wavefront"],
  [COLORS.accent, "bank conflict: served in a later wavefront, with its number"],
] as const;

function bankPanel(run: Run<BankRequest>) {
  const { accesses, group, wavefronts, idealWavefronts } = run.request;
  const grid = { stroke: COLORS.grid, strokeOpacity: 1 };
  const borders = Array.from({ length: LANES / group + 1 }, (_, i) => i * group);
  const title = `${nameOf(run)}: ${plural(wavefronts, "wavefront")}, ideal ${idealWavefronts}`;
  const size = { plotWidth: BANKS * 12, rowHeight: 11, footer: 34 };
  return lanePanel(title, "", size, BANKS, [
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
    Plot.text(TICKS, { ...LABEL, x: (bank: number) => bank + 0.5, y: LANES, text: String, dy: 11 }),
    Plot.text(["bank"], { ...LABEL, x: BANKS / 2, y: LANES, dy: 25, text: String }),
  ]);
}
