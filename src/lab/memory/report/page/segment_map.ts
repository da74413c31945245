/**
 * Draws the map of segments: the lines that are seen, states one over the other, so that a live
 * block among a thousand free ones is seen even where it is narrower than a pixel.
 *
 * @module
 */

import type { BlockState } from "../../snapshot/memory_snapshot.ts";
import { formatAddress } from "../quantities.ts";
import type { BlockFilter } from "./block_filter.ts";
import type { PageCanvas, PageContext, PageElement, PageWindow } from "./dom.ts";
import type { Report } from "./report.ts";
import { SegmentLayout } from "./segment_layout.ts";
import { prepareCanvas, type Theme, type ThemeColor } from "./theme.ts";

/** The picture of all segments, in a box that scrolls. */
export class SegmentMap {
  /** From one line to the next, in CSS pixels. */
  readonly pitch = 22;
  /** The height of a line. */
  readonly lineHeight = 16;

  /** The block that is pointed at; −1: none. */
  pointed = -1;
  /** The block that is pinned; −1: none. */
  pinned = -1;
  /** Whether addresses without memory are folded. */
  isFolded = true;
  /** Powers of two by which there are more lines than fit into the box. */
  zoom = 0;
  /** Where blocks lie. */
  readonly layout: SegmentLayout;

  readonly #window: PageWindow;
  readonly #canvas: PageCanvas;
  readonly #box: PageElement;
  readonly #space: PageElement;
  readonly #theme: Theme;
  readonly #report: Report;
  readonly #filter: BlockFilter;
  #context!: PageContext;
  #from = 0;
  #to = 0;

  /** Lays the blocks out and draws nothing yet. */
  constructor(
    window: PageWindow,
    elements: { canvas: PageCanvas; box: PageElement; space: PageElement },
    theme: Theme,
    report: Report,
    filter: BlockFilter,
  ) {
    this.#window = window;
    this.#canvas = elements.canvas;
    this.#box = elements.box;
    this.#space = elements.space;
    this.#theme = theme;
    this.#report = report;
    this.#filter = filter;
    this.layout = new SegmentLayout(report);
    this.arrange();
  }

  /** Left of the lines, where there is room for addresses. */
  get margin(): number {
    return this.#box.clientWidth < 620 ? 4 : 112;
  }

  /** Bytes per CSS pixel. */
  get scale(): number {
    const lines = Math.max(Math.floor(this.#box.clientHeight / this.pitch) - 3, 1) *
      2 ** this.zoom;
    return Math.max(this.layout.bytes(this.isFolded), 1) / (this.layout.width * lines);
  }

  /** Lays the blocks out anew for the box's width. */
  arrange(): void {
    this.layout.width = Math.max(this.#box.clientWidth - this.margin - 4, 40);
    this.layout.arrange(this.layout.width, this.scale, this.isFolded);
    this.#space.style.height = `${this.layout.lines * this.pitch + 4}px`;
  }

  /** The block at a point of the canvas, or the nearest within three pixels; −1: none. */
  blockAt(x: number, y: number): number {
    const line = Math.floor((y + this.#box.scrollTop - 2) / this.pitch);
    const along = x - this.margin;
    if (line < 0 || along < -3 || along > this.layout.width + 3) return -1;
    const position = line * this.layout.width +
      Math.min(Math.max(along, 0), this.layout.width - 0.01);
    for (const shift of [0, -1, 1, -2, 2, -3, 3]) {
      const index = this.layout.blockAt(position + shift);
      if (index >= 0 && this.#filter.matches[index] === 1) return index;
    }
    return -1;
  }

  /** Scrolls so that a block is seen. */
  reveal(index: number): void {
    const line = Math.floor(this.layout.starts[index]! / this.layout.width);
    const top = line * this.pitch;
    const { scrollTop, clientHeight } = this.#box;
    if (top < scrollTop || top + this.pitch > scrollTop + clientHeight) {
      this.#box.scrollTop = top - clientHeight / 2;
    }
  }

  /** Draws the lines that are seen. */
  draw(): void {
    const { clientWidth, clientHeight, scrollTop } = this.#box;
    this.#canvas.style.width = `${clientWidth}px`;
    this.#canvas.style.height = `${clientHeight}px`;
    this.#context = prepareCanvas(this.#window, this.#canvas, clientWidth, clientHeight);
    this.#from = Math.floor(scrollTop / this.pitch);
    this.#to = Math.min(
      Math.ceil((scrollTop + clientHeight) / this.pitch),
      this.layout.lines,
    );
    this.#drawAddresses();
    const { width } = this.layout;
    const first = Math.max(this.layout.countUntil(this.#from * width) - 1, 0);
    const last = this.layout.countUntil(this.#to * width);
    this.#report.states.forEach((state, index) => this.#drawState(state, index, first, last));
    if (this.#filter.isNarrow) this.#outlineMatches(first, last);
    this.#outline(this.pinned, "ink", 2);
    if (this.pointed !== this.pinned) this.#outline(this.pointed, "accent", 2);
  }

  #drawState(state: BlockState, number: number, first: number, last: number): void {
    const { state: states } = this.#report.blocks;
    const { matches } = this.#filter;
    for (const isMatch of [0, 1]) {
      this.#context.globalAlpha = isMatch === 1 ? 1 : 0.16;
      this.#context.strokeStyle = this.#theme.color("muted");
      this.#context.lineWidth = 1;
      let covered = -Infinity;
      for (let index = first; index < last; index++) {
        if (states[index] !== number || matches[index] !== isMatch) continue;
        // What lies wholly within the pixel drawn last would not be seen.
        if (this.layout.ends[index]! <= covered) continue;
        this.#drawBlock(index, state);
        covered = Math.max(this.layout.ends[index]!, this.layout.starts[index]! + 1);
      }
    }
    this.#context.globalAlpha = 1;
  }

  #drawBlock(index: number, state: BlockState): void {
    this.#eachPart(index, (x, y, width) => {
      // A border to the next block, where there is room for one.
      const inner = width > 4 ? width - 1 : Math.max(width, 1);
      // On a narrow block a texture is but noise.
      this.#context.fillStyle = inner < 6 ? this.#theme.color(state) : this.#theme.fill(state);
      if (state === "unmapped") return this.#drawUnmapped(x, y, inner);
      this.#context.fillRect(x, y, inner, this.lineHeight);
      if (state === "free" && inner > 3) {
        this.#context.strokeRect(x + 0.5, y + 0.5, inner - 1, this.lineHeight - 1);
      }
    });
  }

  /** A thin line along the middle: addresses, but nothing there. */
  #drawUnmapped(x: number, y: number, width: number): void {
    this.#context.fillRect(x, y + this.lineHeight / 2 - 1, width, 2);
  }

  #outlineMatches(first: number, last: number): void {
    this.#context.strokeStyle = this.#theme.color("ink");
    this.#context.lineWidth = 1;
    let covered = -Infinity;
    for (let index = first; index < last; index++) {
      const start = this.layout.starts[index]!;
      if (this.#filter.matches[index] !== 1 || start < covered) continue;
      this.#eachPart(index, (x, y, width) => {
        this.#context.strokeRect(
          x - 0.5,
          y - 0.5,
          Math.max(width - 1, 1) + 1,
          this.lineHeight + 1,
        );
      });
      covered = start + 1;
    }
  }

  #outline(index: number, color: ThemeColor, thickness: number): void {
    if (index < 0) return;
    this.#context.strokeStyle = this.#theme.color(color);
    this.#context.lineWidth = thickness;
    this.#eachPart(index, (x, y, width) => {
      this.#context.strokeRect(x - 1, y - 1, Math.max(width, 1) + 1, this.lineHeight + 2);
    });
  }

  /** The parts of a block on the lines that are seen. */
  #eachPart(index: number, draw: (x: number, y: number, width: number) => void): void {
    const { starts, ends, width } = this.layout;
    const start = starts[index]!;
    const end = Math.max(ends[index]!, start + 1e-6);
    const first = Math.max(Math.floor(start / width), this.#from);
    const last = Math.min(Math.ceil(end / width), this.#to);
    for (let line = first; line < last; line++) {
      const left = Math.max(start - line * width, 0);
      const right = Math.min(end - line * width, width);
      draw(this.margin + left, this.#top(line), right - left);
    }
  }

  #top(line: number): number {
    return line * this.pitch + 4 - this.#box.scrollTop;
  }

  /** The address of what each line begins with, where there is room for it. */
  #drawAddresses(): void {
    if (this.margin < 100) return;
    const { starts, ends, width } = this.layout;
    const { address, bytes } = this.#report.blocks;
    this.#context.font = "11px ui-monospace, monospace";
    this.#context.textAlign = "right";
    this.#context.textBaseline = "middle";
    this.#context.fillStyle = this.#theme.color("muted");
    for (let line = this.#from; line < this.#to; line++) {
      const position = line * width;
      const index = this.layout.countUntil(position + 1e-6) - 1;
      if (index < 0 || position >= ends[index]!) continue;
      const share = (position - starts[index]!) / (ends[index]! - starts[index]!);
      const offset = share * bytes[index]!;
      // A line breaks where it is full; what pools hand out begins at multiples of 512 bytes.
      const first = address[index]! + Math.floor(offset - offset % 512);
      const y = this.#top(line) + this.lineHeight / 2;
      this.#context.fillText(formatAddress(first), this.margin - 10, y);
    }
  }
}
