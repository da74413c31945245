/**
 * The timeline with its pointer, wheel, keys, buttons and panel.
 *
 * @module
 */

import { formatCount } from "../quantities.ts";
import { describeEvent, showDescription, spoken } from "./describe.ts";
import type {
  PageCanvas,
  PageElement,
  PageKeyEvent,
  PagePointerEvent,
  PageWheelEvent,
  PageWindow,
} from "./dom.ts";
import { canvasOf, elementOf, fieldOf, listen } from "./elements.ts";
import { Frames } from "./frames.ts";
import type { Report } from "./report.ts";
import type { Theme } from "./theme.ts";
import { Timeline } from "./timeline.ts";
import { TimelineChart } from "./timeline_chart.ts";
import type { Tooltip } from "./tooltip.ts";

/** The section of the page that shows what happened. */
export class TimelineView {
  readonly #window: PageWindow;
  readonly #report: Report;
  readonly #timeline: Timeline;
  readonly #chart: TimelineChart;
  readonly #canvas: PageCanvas;
  readonly #tooltip: Tooltip;
  readonly #range: PageElement;
  readonly #frames: Frames;
  /** Where the pointer went down and was last while it is down, and whether it went far. */
  #drag: { start: number; last: number; isFar: boolean } | null = null;

  /** Draws the timeline and begins to listen. */
  constructor(window: PageWindow, report: Report, theme: Theme, tooltip: Tooltip) {
    this.#window = window;
    this.#report = report;
    this.#tooltip = tooltip;
    this.#canvas = canvasOf(window.document, "timeline");
    this.#range = elementOf(window.document, "timeline-range");
    this.#timeline = new Timeline(report.events!, report.actions);
    this.#chart = new TimelineChart(window, this.#canvas, theme, this.#timeline);
    this.#frames = new Frames(window, () => this.draw());
    this.#listen();
    this.#describe();
    this.draw();
  }

  /** Draws what is seen. */
  draw(): void {
    this.#chart.draw();
    const { axis, count } = this.#timeline;
    // An event before the window's left border is not seen, one on it is.
    const before = axis.isWhole ? 0 : axis.countUntil(-1e-12);
    const seen = axis.countUntil(1) - before;
    this.#range.textContent = axis.isWhole
      ? `all ${formatCount(count)} events`
      : `${formatCount(seen)} of ${formatCount(count)} events`;
  }

  /** Asks for a frame. */
  request(): void {
    this.#frames.request();
  }

  #listen(): void {
    const { document } = this.#window;
    listen(this.#canvas, "pointerdown", (event) => this.#press(event));
    listen(this.#canvas, "pointermove", (event) => this.#move(event));
    listen(this.#canvas, "pointerup", (event) => this.#release(event));
    listen(this.#canvas, "pointercancel", () => this.#drag = null);
    listen(this.#canvas, "pointerleave", () => this.#leave());
    listen(this.#canvas, "wheel", (event) => this.#turn(event));
    listen(this.#canvas, "keydown", (event) => this.#key(event));
    listen(elementOf(document, "timeline-in"), "click", () => this.#zoom(0.5, 0.5));
    listen(elementOf(document, "timeline-out"), "click", () => this.#zoom(2, 0.5));
    listen(elementOf(document, "timeline-whole"), "click", () => this.#zoom(Infinity, 0.5));
    const axis = fieldOf(document, "timeline-axis");
    listen(axis, "change", () => {
      this.#timeline.arrange(axis.value === "time");
      this.request();
    });
  }

  #press(event: PagePointerEvent): void {
    if (event.button !== 0) return;
    this.#canvas.setPointerCapture(event.pointerId);
    this.#drag = { start: event.clientX, last: event.clientX, isFar: false };
  }

  #move(event: PagePointerEvent): void {
    if (this.#drag !== null && (event.buttons & 1) !== 0) {
      this.#pull(this.#drag, event.clientX);
      return;
    }
    if (event.pointerType !== "mouse") return;
    const index = this.#eventAt(event.offsetX);
    this.#point(index);
    if (index >= 0) {
      this.#tooltip.show(describeEvent(this.#report, index), event.clientX, event.clientY);
    }
  }

  #pull(drag: { start: number; last: number; isFar: boolean }, x: number): void {
    this.#timeline.axis.pan((drag.last - x) / this.#chart.plotWidth);
    drag.last = x;
    drag.isFar ||= Math.abs(x - drag.start) > 4;
    this.#tooltip.hide();
    this.request();
  }

  /** A pointer that stayed near where it went down has clicked, and pins. */
  #release(event: PagePointerEvent): void {
    const drag = this.#drag;
    this.#drag = null;
    if (drag === null || drag.isFar) return;
    this.#pin(this.#eventAt(event.offsetX));
  }

  #leave(): void {
    this.#tooltip.hide();
    this.#point(-1);
  }

  #eventAt(x: number): number {
    const half = 3 / this.#chart.plotWidth;
    const share = this.#chart.shareAt(x);
    if (share < -half || share > 1 + half) return -1;
    return this.#timeline.eventBetween(share - half, share + half);
  }

  #turn(event: PageWheelEvent): void {
    event.preventDefault();
    const unit = event.deltaMode === 0 ? 1 : event.deltaMode === 1 ? 16 : 400;
    this.#timeline.axis.pan(event.deltaX * unit / this.#chart.plotWidth);
    const share = Math.min(Math.max(this.#chart.shareAt(event.offsetX), 0), 1);
    this.#zoom(2 ** (event.deltaY * unit / 240), share);
  }

  #zoom(factor: number, share: number): void {
    this.#timeline.axis.zoom(factor, share);
    this.request();
  }

  #key(event: PageKeyEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { axis } = this.#timeline;
    const actions: Record<string, () => void> = {
      ArrowLeft: () => event.shiftKey ? this.#step(-1) : axis.pan(-0.1),
      ArrowRight: () => event.shiftKey ? this.#step(1) : axis.pan(0.1),
      "+": () => axis.zoom(0.5, 0.5),
      "=": () => axis.zoom(0.5, 0.5),
      "-": () => axis.zoom(2, 0.5),
      "0": () => axis.zoom(Infinity, 0.5),
      Home: () => axis.select(axis.first, axis.span),
      End: () => axis.select(axis.last - axis.span, axis.span),
      o: () => this.#toFailure(),
      Enter: () => this.#pin(this.#chart.pointed),
      Escape: () => this.#pin(-1),
    };
    const action = Object.hasOwn(actions, event.key) ? actions[event.key] : undefined;
    if (action === undefined) return;
    event.preventDefault();
    action();
    this.request();
  }

  /** Points at the event before or after the one that is pointed at. */
  #step(direction: number): void {
    const from = this.#chart.pointed >= 0 ? this.#chart.pointed : this.#chart.pinned;
    const first = Math.max(this.#timeline.axis.countUntil(0) - 1, 0);
    const index = from < 0 ? first : from + direction;
    this.#show(Math.min(Math.max(index, 0), this.#timeline.count - 1));
  }

  /** Points at the next event that was out of memory, beginning anew after the last. */
  #toFailure(): void {
    const { failures } = this.#timeline;
    const next = failures.find((index) => index > this.#chart.pointed) ?? failures[0];
    if (next !== undefined) this.#show(next);
  }

  #show(index: number): void {
    this.#timeline.axis.reveal(index);
    this.#point(index);
    elementOf(this.#window.document, "announcement").textContent = spoken(
      describeEvent(this.#report, index),
    );
  }

  #point(index: number): void {
    if (this.#chart.pointed === index) return;
    this.#chart.pointed = index;
    if (this.#chart.pinned < 0) this.#describe();
    this.request();
  }

  #pin(index: number): void {
    this.#chart.pinned = this.#chart.pinned === index ? -1 : index;
    this.#describe();
    this.request();
  }

  #describe(): void {
    const index = this.#chart.pinned >= 0 ? this.#chart.pinned : this.#chart.pointed;
    showDescription(
      this.#window.document,
      elementOf(this.#window.document, "event"),
      index < 0 ? null : describeEvent(this.#report, index),
      "Point at the timeline to see an event; click to keep it.",
    );
  }
}
