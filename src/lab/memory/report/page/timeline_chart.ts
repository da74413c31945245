/**
 * Draws the timeline: one column of pixels after the other, each with the least and the greatest
 * of the events that fall into it, so that no peak is lost however far away one looks.
 *
 * @module
 */

import { formatBytes, formatCount } from "../quantities.ts";
import type { PageCanvas, PageContext, PageWindow } from "./dom.ts";
import type { Extremes } from "./extremes.ts";
import { prepareCanvas, type Theme, type ThemeColor } from "./theme.ts";
import { byteTicks, multiplesOf, roundStep, timeLabel } from "./ticks.ts";
import type { Timeline } from "./timeline.ts";

/** The chart of live and reserved memory with fragmentation below, on one axis. */
export class TimelineChart {
  /** From the left of the canvas to the plots, in CSS pixels. */
  readonly left = 66;
  /** From the plots to the right of the canvas. */
  readonly right = 14;
  /** Above the plots, where failures are marked. */
  readonly top = 16;
  /** The height of the plot of memory. */
  readonly memoryHeight = 200;
  /** Where the plot of fragmentation begins. */
  readonly shareTop = 250;
  /** Its height. */
  readonly shareHeight = 56;
  /** The height of the canvas. */
  readonly height = 340;

  /** The event that is pointed at; −1: none. */
  pointed = -1;
  /** The event that is pinned; −1: none. */
  pinned = -1;

  readonly #window: PageWindow;
  readonly #canvas: PageCanvas;
  readonly #theme: Theme;
  readonly #timeline: Timeline;
  #context!: PageContext;
  #width = 0;
  #counts = new Float64Array(0);
  #lows = new Float64Array(0);
  #highs = new Float64Array(0);

  /** Draws nothing yet. */
  constructor(window: PageWindow, canvas: PageCanvas, theme: Theme, timeline: Timeline) {
    this.#window = window;
    this.#canvas = canvas;
    this.#theme = theme;
    this.#timeline = timeline;
  }

  /** The width of the plots, in CSS pixels. */
  get plotWidth(): number {
    return Math.max(1, this.#canvas.clientWidth - this.left - this.right);
  }

  /** The share of the plots' width at a distance from the left of the canvas. */
  shareAt(x: number): number {
    return (x - this.left) / this.plotWidth;
  }

  /** Draws everything. */
  draw(): void {
    this.#width = this.plotWidth;
    this.#context = prepareCanvas(
      this.#window,
      this.#canvas,
      this.#canvas.clientWidth,
      this.height,
    );
    this.#context.font = "11px system-ui, sans-serif";
    this.#countColumns();
    this.#drawByteGrid();
    this.#drawShareGrid();
    this.#drawTimeTicks();
    this.#drawMemory();
    this.#drawFragmentation();
    this.#drawFailures();
    this.#drawEvent(this.pinned, "ink");
    if (this.pointed !== this.pinned) this.#drawEvent(this.pointed, "accent");
    this.#drawTitle();
    this.#drawExtent();
  }

  /** How many events lie up to each border between two columns of the screen's pixels. */
  #countColumns(): void {
    const columns = Math.ceil(this.#width * this.#window.devicePixelRatio);
    if (this.#counts.length !== columns + 1) {
      this.#counts = new Float64Array(columns + 1);
      this.#lows = new Float64Array(columns);
      this.#highs = new Float64Array(columns);
    }
    for (let column = 0; column <= columns; column++) {
      this.#counts[column] = this.#timeline.axis.countUntil(column / columns);
    }
  }

  /** Measures each column, with the value it begins with. */
  #measure(extremes: Extremes): void {
    for (let column = 0; column < this.#lows.length; column++) {
      const from = Math.max(this.#counts[column]! - 1, 0);
      extremes.measure(from, Math.max(this.#counts[column + 1]!, from + 1));
      this.#lows[column] = extremes.low;
      this.#highs[column] = extremes.high;
    }
  }

  #x(column: number): number {
    return this.left + column / this.#lows.length * this.#width;
  }

  /** The area under the greatest values. */
  #fillArea(bottom: number, height: number, top: number): void {
    const context = this.#context;
    context.beginPath();
    context.moveTo(this.left, bottom);
    for (let column = 0; column < this.#highs.length; column++) {
      const y = bottom - this.#highs[column]! / top * height;
      context.lineTo(this.#x(column), y);
      context.lineTo(this.#x(column + 1), y);
    }
    context.lineTo(this.left + this.#width, bottom);
    context.closePath();
    context.fill();
  }

  /**
   * From the least to the greatest value of each column; nothing where there is none. As a column
   * includes the value that it begins with, the line has no gaps.
   */
  #fillLine(bottom: number, height: number, top: number, thickness: number): void {
    const step = this.#width / this.#lows.length;
    this.#context.beginPath();
    for (let column = 0; column < this.#lows.length; column++) {
      const low = this.#lows[column]!;
      const high = this.#highs[column]!;
      if (high < low) continue;
      const y = bottom - high / top * height - thickness / 2;
      this.#context.rect(this.#x(column), y, step, (high - low) / top * height + thickness);
    }
    this.#context.fill();
  }

  #drawMemory(): void {
    const bottom = this.top + this.memoryHeight;
    const { peak, live, reserved } = this.#timeline;
    const context = this.#context;
    this.#measure(reserved);
    context.fillStyle = this.#theme.color("reserved");
    context.globalAlpha = 0.14;
    this.#fillArea(bottom, this.memoryHeight, peak);
    context.globalAlpha = 1;
    this.#fillLine(bottom, this.memoryHeight, peak, 1.5);
    this.#measure(live);
    context.fillStyle = this.#theme.color("live");
    context.globalAlpha = 0.45;
    this.#fillArea(bottom, this.memoryHeight, peak);
    context.globalAlpha = 1;
    this.#fillLine(bottom, this.memoryHeight, peak, 1);
  }

  #drawFragmentation(): void {
    this.#measure(this.#timeline.fragmentationExtremes);
    this.#context.fillStyle = this.#theme.color("fragmentation");
    const bottom = this.shareTop + this.shareHeight;
    this.#fillLine(bottom, this.shareHeight, 1, 1.5);
  }

  #drawFailures(): void {
    const context = this.#context;
    const color = this.#theme.color("alarm");
    let drawn = -Infinity;
    for (const index of this.#timeline.failures) {
      const share = this.#timeline.axis.shareOf(index);
      const x = this.left + share * this.#width;
      // Marks on one pixel are one mark.
      if (share < 0 || share > 1 || x - drawn < 1) continue;
      drawn = x;
      context.strokeStyle = context.fillStyle = color;
      context.lineWidth = 1;
      context.setLineDash([4, 3]);
      this.#drawVertical(x);
      context.setLineDash([]);
      context.beginPath();
      context.moveTo(x, this.top);
      context.lineTo(x - 6, this.top - 11);
      context.lineTo(x + 6, this.top - 11);
      context.closePath();
      context.fill();
    }
  }

  #drawVertical(x: number): void {
    this.#context.beginPath();
    this.#context.moveTo(x, this.top);
    this.#context.lineTo(x, this.shareTop + this.shareHeight);
    this.#context.stroke();
  }

  #drawEvent(index: number, color: ThemeColor): void {
    if (index < 0) return;
    const share = this.#timeline.axis.shareOf(index);
    if (share < 0 || share > 1) return;
    const context = this.#context;
    const x = this.left + share * this.#width;
    context.strokeStyle = context.fillStyle = this.#theme.color(color);
    context.lineWidth = 1;
    this.#drawVertical(x);
    const { peak, events } = this.#timeline;
    for (const value of [events.live[index]!, events.reserved[index]!]) {
      const y = this.top + this.memoryHeight * (1 - value / peak);
      context.beginPath();
      context.arc(x, y, 3, 0, 7);
      context.fill();
    }
  }

  #drawLevel(y: number, label: string): void {
    const context = this.#context;
    context.strokeStyle = this.#theme.color("rule");
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(this.left, Math.round(y) + 0.5);
    context.lineTo(this.left + this.#width, Math.round(y) + 0.5);
    context.stroke();
    context.fillStyle = this.#theme.color("muted");
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillText(label, this.left - 8, y);
  }

  #drawByteGrid(): void {
    const { peak } = this.#timeline;
    for (const tick of byteTicks(peak)) {
      const y = this.top + this.memoryHeight * (1 - tick / peak);
      this.#drawLevel(y, formatBytes(tick));
    }
  }

  #drawShareGrid(): void {
    for (const share of [0, 0.5, 1]) {
      const y = this.shareTop + this.shareHeight * (1 - share);
      this.#drawLevel(y, `${share * 100} %`);
    }
  }

  /** What the second plot shows, on top of the lines that cross it. */
  #drawTitle(): void {
    const context = this.#context;
    const title = "external fragmentation";
    const y = this.shareTop - 13;
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.fillStyle = this.#theme.color("paper");
    context.fillRect(this.left, y - 8, context.measureText(title).width + 4, 16);
    context.fillStyle = this.#theme.color("muted");
    context.fillText(title, this.left, y);
  }

  #drawTimeTicks(): void {
    const { axis, isByTime } = this.#timeline;
    const context = this.#context;
    const step = roundStep(Math.max(axis.span * 90 / this.#width, isByTime ? 1e-6 : 1));
    context.fillStyle = this.#theme.color("muted");
    context.strokeStyle = this.#theme.color("rule");
    context.lineWidth = 1;
    context.textAlign = "center";
    context.textBaseline = "top";
    const bottom = this.shareTop + this.shareHeight;
    for (const tick of multiplesOf(step, axis.start, axis.end)) {
      const x = this.left + (tick - axis.start) / axis.span * this.#width;
      context.beginPath();
      context.moveTo(Math.round(x) + 0.5, bottom);
      context.lineTo(Math.round(x) + 0.5, bottom + 4);
      context.stroke();
      const label = isByTime ? timeLabel(tick, axis.end, step) : `#${formatCount(tick)}`;
      // The last one may be wider than what is left of the canvas beside it.
      const most = this.#canvas.clientWidth - context.measureText(label).width / 2;
      context.fillText(label, Math.min(x, most), bottom + 7);
    }
  }

  /** Where the window lies in the whole, as a bar below. */
  #drawExtent(): void {
    const { axis } = this.#timeline;
    const whole = axis.last - axis.first;
    const context = this.#context;
    const y = this.height - 7;
    context.fillStyle = this.#theme.color("rule");
    context.fillRect(this.left, y, this.#width, 4);
    context.fillStyle = this.#theme.color("muted");
    const x = this.left + (axis.start - axis.first) / whole * this.#width;
    context.fillRect(x, y, Math.max(axis.span / whole * this.#width, 3), 4);
  }
}
