/**
 * Shared parts of the page's script: elements, keys, colours, descriptions and the tooltip.
 *
 * @module
 */

import { formatBytes } from "../../../../ffi/describe_value.ts";
import type {
  BlockState,
  MemorySnapshot,
  TIMELINE_ACTIONS,
} from "../../snapshot/memory_snapshot.ts";
import { formatCount, shortFrame } from "../quantities.ts";
import type {
  CanvasPattern,
  CanvasRenderingContext2D,
  Document,
  HTMLCanvasElement,
  HTMLElement,
  HTMLElementTagNameMap,
  Node,
  Window,
} from "./dom.ts";

declare const document: Document;
declare const devicePixelRatio: number;
declare const innerWidth: number;
declare const innerHeight: number;
declare const requestAnimationFrame: Window["requestAnimationFrame"];
declare const getComputedStyle: Window["getComputedStyle"];

export interface PageData
  extends Pick<MemorySnapshot, "streams" | "sites" | "segments" | "timeline"> {
  readonly actions: typeof TIMELINE_ACTIONS;
  /** The largest number of bytes that the pool may reserve; `null` if unknown. */
  readonly limit: number | null;
}

export interface Description {
  readonly title: string;
  /** Labels and values, the most important first. */
  readonly rows: readonly (readonly [string, string])[];
  /** The call site, one frame per line; empty if unknown. */
  readonly site: string;
}

export type Palette = (name: string) => string;

export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`Cannot find the element ${id} of the page`);
  return element as T;
}

export function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  className: string,
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  if (className !== "") element.className = className;
  element.append(...children);
  return element;
}

/** Runs an action for each key. `Shift+` before the name of a key means with Shift. */
export function onKeys(element: HTMLElement, actions: Readonly<Record<string, () => void>>): void {
  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const shifted = `Shift+${event.key}`;
    const key = event.shiftKey && Object.hasOwn(actions, shifted) ? shifted : event.key;
    if (!Object.hasOwn(actions, key)) return;
    event.preventDefault();
    actions[key]!();
  });
}

/** Returns a function that requests a frame; several requests make one. */
export function onFrame(draw: () => void): () => void {
  let isRequested = false;
  return () => {
    if (isRequested) return;
    isRequested = true;
    requestAnimationFrame(() => {
      isRequested = false;
      draw();
    });
  };
}

/** Counts the values up to a limit, of ascending values. */
export function countUntil(values: ArrayLike<number>, limit: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle]! <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Reads the colours of the current scheme, each once. */
export function currentPalette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const colors = new Map<string, string>();
  return (name) => {
    if (!colors.has(name)) colors.set(name, style.getPropertyValue(`--${name}`).trim());
    return colors.get(name)!;
  };
}

/** The fill of a state: hatched for cached blocks, dotted for pending ones, else plain. */
export function stateFill(state: BlockState, palette: Palette): string | CanvasPattern {
  if (state !== "cached" && state !== "pending") return palette(state);
  const tile = make("canvas", "");
  tile.width = tile.height = 6;
  const context = tile.getContext("2d")!;
  context.fillStyle = palette(state);
  context.fillRect(0, 0, 6, 6);
  context.fillStyle = context.strokeStyle = palette("mark");
  if (state === "pending") context.fillRect(2, 2, 2, 2);
  // Three strokes continue the line across the corners of the tile.
  for (const shift of state === "cached" ? [-6, 0, 6] : []) {
    context.moveTo(shift - 1, 7);
    context.lineTo(shift + 7, -1);
  }
  context.stroke();
  return context.createPattern(tile, "repeat") ?? palette(state);
}

/** Clears a canvas at the resolution of the screen. Drawing uses CSS pixels. */
export function prepareCanvas(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D {
  const ratio = devicePixelRatio;
  const [columns, rows] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== columns) canvas.width = columns;
  if (canvas.height !== rows) canvas.height = rows;
  const context = canvas.getContext("2d")!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/** Formats a size, with the exact number of bytes if it is rounded. */
export function exactBytes(bytes: number): string {
  return bytes < 1024 ? formatBytes(bytes) : `${formatBytes(bytes)} (${formatCount(bytes)} B)`;
}

/** Shows a description near a point inside the window. */
export function showTooltip({ title, rows, site }: Description, x: number, y: number): void {
  const tooltip = byId("tooltip");
  tooltip.replaceChildren(
    make("strong", "", title),
    ...rows.slice(1, 4).map(([label, value]) => make("div", "", `${label} ${value}`)),
    make("code", "", site === "" ? "site unknown" : shortFrame(site)),
  );
  tooltip.hidden = false;
  const { offsetWidth, offsetHeight } = tooltip;
  const below = y + 18;
  const top = below + offsetHeight > innerHeight ? y - offsetHeight - 12 : below;
  tooltip.style.left = `${Math.max(Math.min(x + 14, innerWidth - offsetWidth - 8), 8)}px`;
  tooltip.style.top = `${Math.max(top, 8)}px`;
}

export function hideTooltip(): void {
  byId("tooltip").hidden = true;
}

/** Announces a description to screen readers. */
export function announce({ title, rows, site }: Description): void {
  const parts = rows.slice(1).map(([label, value]) => `${label} ${value}`);
  byId("announcement").textContent = [
    title,
    ...parts,
    site === "" ? "site unknown" : shortFrame(site),
  ].join(", ");
}

/** Creates a selection of a pointed and a pinned item, −1 for none, described in a panel. */
export function createSelection(
  panel: HTMLElement,
  note: string,
  describe: (index: number) => Description,
  changed: () => void,
) {
  const show = () => {
    const index = selection.pinned >= 0 ? selection.pinned : selection.pointed;
    if (index < 0) return panel.replaceChildren(make("p", "note", note));
    const { title, rows, site } = describe(index);
    const cells = rows.flatMap(([label, value]) => [make("dt", "", label), make("dd", "", value)]);
    panel.replaceChildren(
      make("h3", "", title),
      make("dl", "", ...cells),
      site === "" ? make("p", "note", "Its site was not recorded.") : make("pre", "", site),
    );
  };
  const selection = {
    pointed: -1,
    pinned: -1,
    point(index: number): void {
      if (selection.pointed === index) return;
      selection.pointed = index;
      if (selection.pinned < 0) show();
      changed();
    },
    pin(index: number): void {
      selection.pinned = selection.pinned === index ? -1 : index;
      show();
      changed();
    },
  };
  show();
  return selection;
}
