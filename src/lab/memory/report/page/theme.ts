/**
 * Colours and fills of the canvases, from the style sheet, so that they follow the scheme.
 *
 * @module
 */

import type { BlockState } from "../../snapshot/memory_snapshot.ts";
import type { PageCanvas, PageContext, PagePattern, PageWindow } from "./dom.ts";

/** The colours of the style sheet, each a custom property. */
export type ThemeColor =
  | "ink"
  | "muted"
  | "rule"
  | "paper"
  | "accent"
  | "alarm"
  | "reserved"
  | "fragmentation"
  | "mark"
  | BlockState;

/** What the canvases are drawn with at the moment. */
export class Theme {
  readonly #window: PageWindow;
  readonly #colors = new Map<ThemeColor, string>();
  readonly #textures = new Map<BlockState, PagePattern>();

  /** Reads the style sheet when a colour is first asked for. */
  constructor(window: PageWindow) {
    this.#window = window;
  }

  /** Forgets all, as the scheme or the screen's resolution has changed. */
  refresh(): void {
    this.#colors.clear();
    this.#textures.clear();
  }

  /** A colour. */
  color(name: ThemeColor): string {
    const known = this.#colors.get(name);
    if (known !== undefined) return known;
    const root = this.#window.document.documentElement;
    const value = this.#window.getComputedStyle(root as never).getPropertyValue(`--${name}`).trim();
    this.#colors.set(name, value);
    return value;
  }

  /**
   * The fill of a state with its texture: what is cached is hatched and what is pending is dotted,
   * so that no state is told by its colour alone.
   */
  fill(state: BlockState): unknown {
    if (state !== "cached" && state !== "pending") return this.color(state);
    const known = this.#textures.get(state);
    if (known !== undefined) return known;
    const texture = this.#texture(state);
    if (texture !== null) this.#textures.set(state, texture);
    return texture ?? this.color(state);
  }

  #texture(state: "cached" | "pending"): PagePattern | null {
    const tile = this.#window.document.createElement("canvas") as PageCanvas;
    const size = 6;
    tile.width = size;
    tile.height = size;
    const context = tile.getContext("2d")!;
    context.fillStyle = this.color(state);
    context.fillRect(0, 0, size, size);
    context.strokeStyle = context.fillStyle = this.color("mark");
    if (state === "cached") this.#hatch(context, size);
    else context.fillRect(2, 2, 2, 2);
    return context.createPattern(tile as never, "repeat");
  }

  #hatch(context: PageContext, size: number): void {
    context.lineWidth = 1;
    context.beginPath();
    // Three strokes, so that the corners of the tile continue into each other.
    for (const shift of [-size, 0, size]) {
      context.moveTo(shift - 1, size + 1);
      context.lineTo(shift + size + 1, -1);
    }
    context.stroke();
  }
}

/** A canvas with as many pixels as the screen has where it lies; draws in CSS pixels. */
export function prepareCanvas(
  window: PageWindow,
  canvas: PageCanvas,
  width: number,
  height: number,
): PageContext {
  const ratio = window.devicePixelRatio;
  const [columns, rows] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== columns) canvas.width = columns;
  if (canvas.height !== rows) canvas.height = rows;
  const context = canvas.getContext("2d")!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}
