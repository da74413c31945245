/**
 * Builds SVG documents from elements and plots.
 *
 * Elements have the colors of the light scheme, for viewers without style sheets. The style sheet
 * replaces them in the dark scheme.
 *
 * @module
 */

import { escape } from "@std/html/entities";
import * as Plot from "@observablehq/plot";
import { parseHTML } from "linkedom";
import type { Picture } from "../picture_file.ts";

/** The colors of the light and of the dark scheme. */
const SCHEMES = {
  surface: ["#ffffff", "#14171b"],
  ink: ["#1b1f24", "#e6e9ec"],
  muted: ["#59636e", "#9aa4af"],
  grid: ["#d5dae0", "#343b43"],
  used: ["#0072b2", "#4fb0ee"],
  shared: ["#b9d9ec", "#1d4966"],
  unused: ["#f6d3b0", "#5d3c1d"],
  accent: ["#c2410c", "#ff9a5c"],
} as const;

/** The colors of the light scheme. */
export const COLORS = Object.fromEntries(
  Object.entries(SCHEMES).map(([name, [light]]) => [name, light]),
) as { readonly [Name in keyof typeof SCHEMES]: string };

export const MARGIN = 24;
const TITLE_SIZE = 18;

// deno-lint-ignore no-control-regex
const INVALID_IN_XML = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g;

function escaped(text: string): string {
  return escape(text.toWellFormed().replace(INVALID_IN_XML, "\ufffd"));
}

/** An element with attributes. The contents are elements. */
export function element(
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  ...contents: readonly string[]
): string {
  const list = Object.entries(attributes).map(([key, value]) =>
    ` ${key}="${escaped(String(value))}"`
  );
  return `<${name}${list.join("")}>${contents.join("")}</${name}>`;
}

export function textLine(
  x: number,
  y: number,
  text: string,
  attributes: Readonly<Record<string, string | number>> = {},
): string {
  return element(
    "text",
    { x, y, "font-size": 12, "text-anchor": "start", ...attributes },
    escaped(text),
  );
}

export function plotAt(x: number, y: number, options: Plot.PlotOptions): string {
  const { document } = parseHTML("<!doctype html><html><body></body></html>") as unknown as {
    document: NonNullable<Plot.PlotOptions["document"]>;
  };
  const plot = Plot.plot({ ...options, document });
  // Its style sheet is for HTML pages.
  plot.querySelector("style")?.remove();
  return element(
    "g",
    { transform: `translate(${x},${y})`, "text-anchor": "middle", "font-size": 11 },
    plot.innerHTML,
  );
}

export function legend(
  x: number,
  y: number,
  entries: readonly (readonly [color: string, text: string])[],
): { svg: string; width: number } {
  let end = x;
  const parts = entries.flatMap(([fill, text]) => {
    const swatch = element("rect", { x: end, y: y - 10, width: 12, height: 12, rx: 2, fill });
    const label = textLine(end + 18, y, text, { fill: COLORS.muted });
    end += 38 + textWidth(text, 12);
    return [swatch, label];
  });
  return { svg: parts.join(""), width: end - x };
}

const BOLD = 0.68;
const REGULAR = 0.56;

/** Estimates the width of a text; there is no font to measure. Ideographs are square. */
export function textWidth(text: string, fontSize: number, latin = REGULAR): number {
  let width = 0;
  for (const character of text) width += character >= "\u1100" ? 1 : latin;
  return width * fontSize;
}

export function fitText(text: string, width: number, fontSize: number, latin = REGULAR): string {
  const characters = [...text];
  let short = text;
  while (textWidth(short, fontSize, latin) > width && characters.length > 0) {
    characters.pop();
    short = `${characters.join("")}…`;
  }
  return short;
}

/**
 * Assembles a picture with a title and a caption at its top.
 *
 * @param size The size in pixels; the picture is wider if the caption requires it.
 * @param advice Further sentences for the description.
 */
export function pictureOf(
  size: { readonly width: number; readonly height: number },
  title: string,
  caption: string,
  advice: string,
  contents: readonly string[],
): Picture {
  const { height } = size;
  const width = Math.ceil(Math.max(size.width, 2 * MARGIN + textWidth(caption, 13)));
  const description = advice === "" ? `${caption}.` : `${caption}. ${advice}`;
  const rules = Object.values(SCHEMES).flatMap(([light, dark]) =>
    ["fill", "stroke"].map((part) => `[${part}="${light}"] { ${part}: ${dark} }`)
  );
  const style = `svg { color: ${COLORS.ink} }
@media (prefers-color-scheme: dark) {
svg { color: ${SCHEMES.ink[1]} }
${rules.join("\n")}
}`;
  const svg = element(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      fill: "currentColor",
      "font-family": "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif",
      role: "img",
    },
    element("title", {}, escaped(title)),
    element("desc", {}, escaped(description)),
    element("style", {}, style),
    element("rect", { width, height, fill: COLORS.surface }),
    textLine(MARGIN, 36, fitText(title, width - 2 * MARGIN, TITLE_SIZE, BOLD), {
      "font-size": TITLE_SIZE,
      "font-weight": 600,
    }),
    textLine(MARGIN, 58, caption, { "font-size": 13, fill: COLORS.muted }),
    ...contents,
  );
  return { title, description, svg };
}
