/**
 * SVG documents: elements, the colours of the light and the dark scheme, and plots put together.
 *
 * Elements carry the colours of the light scheme, so that a viewer without style sheets shows them;
 * the style sheet replaces them where the dark scheme is preferred.
 *
 * @module
 */

import * as Plot from "@observablehq/plot";
import { parseHTML } from "linkedom";

/** The colours of the light scheme. */
export const COLORS = {
  surface: "#ffffff",
  ink: "#1b1f24",
  muted: "#59636e",
  grid: "#d5dae0",
  used: "#0072b2",
  shared: "#b9d9ec",
  unused: "#f6d3b0",
  accent: "#c2410c",
} as const;

const DARK: Readonly<Record<keyof typeof COLORS, string>> = {
  surface: "#14171b",
  ink: "#e6e9ec",
  muted: "#9aa4af",
  grid: "#343b43",
  used: "#4fb0ee",
  shared: "#1d4966",
  unused: "#5d3c1d",
  accent: "#ff9a5c",
};

/** What of an element is used here: there are no types of the DOM where there is no page. */
export interface SvgElement {
  /** What it contains. */
  readonly childNodes: Iterable<SvgElement>;
  /** Itself as text. */
  readonly outerHTML: string;
  /** Sets an attribute. */
  setAttribute(name: string, value: string): void;
  /** Adds contents behind those it has. */
  append(...contents: readonly SvgElement[]): void;
  /** The first element below that a selector names. */
  querySelector(selector: string): SvgElement | null;
  /** Takes it out of what it is in. */
  remove(): void;
}

interface SvgFactory {
  createElementNS(namespace: string, name: string): SvgElement;
  createTextNode(text: string): SvgElement;
}

/** Attributes of an element. */
export type Attributes = Readonly<Record<string, string | number>>;

const { document } = parseHTML("<!doctype html><html><body></body></html>") as unknown as {
  document: SvgFactory;
};
const NAMESPACE = "http://www.w3.org/2000/svg";

/** An element with attributes and contents. */
export function element(
  name: string,
  attributes: Attributes,
  ...contents: readonly (SvgElement | string)[]
): SvgElement {
  const made = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  for (const content of contents) {
    made.append(
      typeof content === "string" ? document.createTextNode(printable(content)) : content,
    );
  }
  return made;
}

/** A text without what no XML may contain, such as a file's name can. */
function printable(text: string): string {
  // deno-lint-ignore no-control-regex
  return text.toWellFormed().replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, "\ufffd");
}

/** A line of text. */
export function textLine(
  x: number,
  y: number,
  text: string,
  attributes: Attributes = {},
): SvgElement {
  return element("text", { x, y, "font-size": 12, "text-anchor": "start", ...attributes }, text);
}

/**
 * A plot as a group that can be part of a document: what Plot writes for a page of its own, such as
 * its style sheet, is left out.
 */
export function plotGroup(options: Plot.PlotOptions, x: number, y: number): SvgElement {
  const drawn: unknown = Plot.plot({ ...options, document } as Plot.PlotOptions);
  const plot = drawn as SvgElement;
  plot.querySelector("style")?.remove();
  const group = element("g", {
    transform: `translate(${x},${y})`,
    "text-anchor": "middle",
    "font-size": 11,
  });
  group.append(...plot.childNodes);
  return group;
}

function styleSheet(): string {
  const rules = Object.entries(COLORS).flatMap(([name, light]) => {
    const dark = DARK[name as keyof typeof COLORS];
    return ["fill", "stroke"].map((part) => `[${part}="${light}"] { ${part}: ${dark} }`);
  });
  return `svg { color: ${COLORS.ink} }
@media (prefers-color-scheme: dark) {
svg { color: ${DARK.ink} }
${rules.join("\n")}
}`;
}

/** Puts a document together and writes it. */
export function svgText(
  size: { readonly width: number; readonly height: number },
  title: string,
  description: string,
  contents: readonly SvgElement[],
): string {
  const { width, height } = size;
  const root = element(
    "svg",
    {
      xmlns: NAMESPACE,
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      fill: "currentColor",
      "font-family": "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif",
      role: "img",
    },
    element("title", {}, title),
    element("desc", {}, description),
    element("style", {}, styleSheet()),
    element("rect", { width, height, fill: COLORS.surface }),
    ...contents,
  );
  return root.outerHTML;
}

/** A legend in one line: swatches with what they stand for. */
export function legend(
  x: number,
  y: number,
  entries: readonly (readonly [color: string, text: string])[],
): SvgElement {
  let place = x;
  const parts = entries.flatMap(([fill, text]) => {
    const swatch = element("rect", { x: place, y: y - 10, width: 12, height: 12, rx: 2, fill });
    const label = textLine(place + 18, y, text, { fill: COLORS.muted });
    place += 18 + textWidth(text, 12) + 20;
    return [swatch, label];
  });
  return element("g", {}, ...parts);
}

/** Widths of a character, in heights: of Latin text, of the same in bold, and of ideographs. */
const [REGULAR_WIDTH, BOLD_WIDTH, IDEOGRAPH_WIDTH] = [0.56, 0.68, 1];

/** The first character of those that are as wide as high: Hangul, kana, ideographs, pictographs. */
const FIRST_IDEOGRAPH = "\u1100";

/** About how wide a text is: there is nothing here that could measure it. */
export function textWidth(text: string, fontSize: number, isBold = false): number {
  const latin = isBold ? BOLD_WIDTH : REGULAR_WIDTH;
  let width = 0;
  for (const character of text) width += character >= FIRST_IDEOGRAPH ? IDEOGRAPH_WIDTH : latin;
  return width * fontSize;
}

/** A text that is about as wide at most: of a longer one the middle is left out. */
export function fittedText(
  text: string,
  width: number,
  fontSize: number,
  isBold = false,
): string {
  if (textWidth(text, fontSize, isBold) <= width) return text;
  const characters = [...text];
  const narrowest = fontSize * (isBold ? BOLD_WIDTH : REGULAR_WIDTH);
  const most = Math.min(characters.length - 1, Math.floor(width / narrowest));
  for (let left = most; left > 0; left--) {
    const end = Math.floor(left / 2);
    const shorter = [
      ...characters.slice(0, left - end),
      "…",
      ...characters.slice(characters.length - end),
    ].join("");
    if (textWidth(shorter, fontSize, isBold) <= width) return shorter;
  }
  return "…";
}
