/**
 * The labels of a roofline: roofs along their lines, kernels beside their dots.
 *
 * @module
 */

import { formatBandwidth, formatOperations } from "../text_table.ts";
import {
  CANVAS,
  type Dot,
  percent,
  type PicturedRoof,
  type PicturedRoofline,
  type Scales,
} from "./roofline_model.ts";
import { type Label, type Place, placeLabels } from "./roofline_scales.ts";
import {
  COLORS,
  element,
  fittedText,
  type SvgElement,
  textLine,
  textWidth,
} from "./svg_document.ts";

const LABEL_SIZE = 12;
/** The width of a kernel's name, beside which there is room on either side for others. */
const MOST_NAME_WIDTH = 260;

/** Keeps a text readable where a line goes behind it. */
const HALO = {
  stroke: COLORS.surface,
  "stroke-width": 3,
  "stroke-linejoin": "round",
  "paint-order": "stroke",
} as const;

/** Labels of horizontal roofs at their right end, and of memory's along it. */
export function roofLabels(
  { memory, compute, others }: PicturedRoofline,
  scales: Scales,
): SvgElement[] {
  const right = CANVAS.right - 4;
  const labels = placedRoofs([compute, ...others], scales.y).map(({ text, y, isOwn }) =>
    textLine(right, y, text, {
      "font-size": LABEL_SIZE,
      "text-anchor": "end",
      ...HALO,
      fill: isOwn ? COLORS.used : COLORS.muted,
      "font-weight": isOwn ? 600 : 400,
    })
  );
  return [...labels, memoryLabel(memory, compute, scales)];
}

/** The label of one roof or of several, with its baseline. */
interface RoofLabel {
  readonly text: string;
  readonly y: number;
  readonly isOwn: boolean;
}

/** Where the baseline of a label is when it stands on its line, and when it hangs below it. */
const ABOVE = -5;
const BELOW = 14;

/**
 * Labels above their lines or below them, so that none is on another line or label; what has no
 * place is named with its neighbour. The kernels' own roof, which is the first, comes first.
 */
function placedRoofs(roofs: readonly PicturedRoof[], y: Scales["y"]): RoofLabel[] {
  const peaks = [...new Set(roofs.map(({ peak }) => peak))];
  const placed: RoofLabel[] = [];
  peaks.forEach((peak, index) => {
    const names = roofs.filter((roof) => roof.peak === peak).map(({ name }) => name);
    const text = `${names.join(", ")} · ${formatOperations(peak)}`;
    const free = [y(peak) + ABOVE, y(peak) + BELOW].find((base) =>
      peaks.every((other) =>
        other === peak || y(other) <= base - LABEL_SIZE || y(other) >= base + 3
      ) && placed.every((label) => Math.abs(label.y - base) >= LABEL_SIZE + 2)
    );
    if (free !== undefined) {
      placed.push({ text, y: free, isOwn: index === 0 });
      return;
    }
    const distance = (label: RoofLabel) => Math.abs(label.y - y(peak));
    const nearest = placed.reduce((a, b) => distance(b) < distance(a) ? b : a);
    placed[placed.indexOf(nearest)] = { ...nearest, text: `${text}, ${nearest.text}` };
  });
  return placed;
}

/** The label of memory's roof, along it. */
function memoryLabel(memory: PicturedRoof, compute: PicturedRoof, { x, y }: Scales): SvgElement {
  const ridge = { x: x(compute.peak / memory.peak), y: y(compute.peak) };
  // Pixels down for each one to the left: a decade of the one axis is a decade of the other.
  const slope = (y(1) - y(10)) / (x(10) - x(1));
  const left = Math.max(CANVAS.left, ridge.x - (CANVAS.bottom - ridge.y) / slope);
  const middle = (left + ridge.x) / 2;
  const angle = -Math.atan(slope) * 180 / Math.PI;
  return element(
    "g",
    { transform: `translate(${middle},${ridge.y + (ridge.x - middle) * slope}) rotate(${angle})` },
    textLine(0, -7, `${memory.name} · ${formatBandwidth(memory.peak)}`, {
      "font-size": LABEL_SIZE,
      "text-anchor": "middle",
      "font-weight": 600,
      fill: COLORS.used,
    }),
  );
}

/** Boxes along memory's roof and its label. */
function alongMemory(memory: PicturedRoof, compute: PicturedRoof, { x, y }: Scales) {
  const ridge = compute.peak / memory.peak;
  return Array.from({ length: 200 }, (_, i) => ridge / 10 ** (i / 40))
    .map((intensity) => ({
      x: x(intensity) - 10,
      y: y(intensity * memory.peak) + 4,
      width: 14,
      height: 20,
    }))
    .filter((box) => box.x > CANVAS.left && box.y < CANVAS.bottom);
}

/** Names of kernels beside their dots. */
export function dotLabels(
  { memory, compute, others }: PicturedRoofline,
  dots: readonly Dot[],
  { x, y }: Scales,
): SvgElement[] {
  const texts = dots.map(({ kernel: { name, report } }) => {
    const label = fittedText(name, MOST_NAME_WIDTH, LABEL_SIZE);
    return report.share === null ? label : `${label}, ${percent(report.share)}`;
  });
  const points = dots.map(({ intensity, operations }) => ({ x: x(intensity), y: y(operations) }));
  const taken = [
    // The lines of roofs, and their labels at the right.
    ...[compute, ...others].flatMap(({ peak }) => [
      { x: x(peak / memory.peak), y: y(peak) + 2, width: CANVAS.right, height: 4 },
      { x: CANVAS.right - 250, y: y(peak) + BELOW + 4, width: 250, height: 36 },
    ]),
    ...alongMemory(memory, compute, { x, y }),
  ];
  const labels = points.map((at, index) => ({
    at,
    width: textWidth(texts[index]!, LABEL_SIZE) + 4,
    height: LABEL_SIZE,
  }));
  const within = {
    x: CANVAS.left,
    y: CANVAS.bottom,
    width: CANVAS.right - CANVAS.left,
    height: CANVAS.bottom - CANVAS.top,
  };
  const places = placeLabels(labels, taken, within);
  const leaders = places.flatMap((place, index) =>
    place.isBeside ? [] : [leader(labels[index]!, place)]
  );
  // Lines first, so that texts are above them.
  return [
    ...leaders,
    ...places.map((place, index) => nameText(labels[index]!, place, texts[index]!)),
  ];
}

function nameText({ at, width }: Label, place: Place, text: string): SvgElement {
  // The width is a guess: the end that is at the point is where it has to be.
  const isRight = place.x > at.x;
  return textLine(isRight ? place.x : place.x + width, place.y, text, {
    "font-size": LABEL_SIZE,
    "text-anchor": isRight ? "start" : "end",
    fill: COLORS.ink,
    ...HALO,
  });
}

/** A line from a point to its label, where that is not beside it. */
function leader({ at, width }: Label, place: Place): SvgElement {
  return element("line", {
    x1: at.x,
    y1: at.y,
    x2: place.x > at.x ? place.x - 3 : place.x + width + 3,
    y2: place.y - LABEL_SIZE * 0.35,
    stroke: COLORS.accent,
    "stroke-width": 1,
  });
}
