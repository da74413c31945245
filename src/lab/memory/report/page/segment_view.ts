/**
 * The map of segments with its pointer, wheel, keys, filters and panel.
 *
 * @module
 */

import { formatBytes, formatCount } from "../quantities.ts";
import { BlockFilter, sizeOf } from "./block_filter.ts";
import { describeBlock, showDescription, spoken } from "./describe.ts";
import type { PageCanvas, PageElement, PageKeyEvent, PageWheelEvent, PageWindow } from "./dom.ts";
import { canvasOf, elementOf, fieldOf, listen } from "./elements.ts";
import { Frames } from "./frames.ts";
import type { Report } from "./report.ts";
import { SegmentMap } from "./segment_map.ts";
import type { Theme } from "./theme.ts";
import type { Tooltip } from "./tooltip.ts";

/** The section of the page that shows what is where. */
export class SegmentView {
  /** The most lines, as powers of two of what fits into the box: no browser has room for many millions of pixels. */
  readonly #mostZoom = 14;

  readonly #window: PageWindow;
  readonly #report: Report;
  readonly #filter: BlockFilter;
  readonly #map: SegmentMap;
  readonly #canvas: PageCanvas;
  readonly #box: PageElement;
  readonly #tooltip: Tooltip;
  readonly #frames: Frames;

  /** Draws the map and begins to listen. */
  constructor(window: PageWindow, report: Report, theme: Theme, tooltip: Tooltip) {
    const { document } = window;
    this.#window = window;
    this.#report = report;
    this.#tooltip = tooltip;
    this.#canvas = canvasOf(document, "map");
    this.#box = elementOf(document, "map-box");
    this.#filter = new BlockFilter(report);
    const elements = {
      canvas: this.#canvas,
      box: this.#box,
      space: elementOf(document, "map-space"),
    };
    this.#map = new SegmentMap(window, elements, theme, report, this.#filter);
    this.#frames = new Frames(window, () => this.#map.draw());
    this.#listenToMap();
    this.#listenToFilters();
    this.#describe();
    this.#showCount();
    this.#map.draw();
  }

  /** Lays everything out for another width. */
  resize(): void {
    this.#map.arrange();
    this.request();
  }

  /** Asks for a frame. */
  request(): void {
    this.#frames.request();
  }

  /** Shows the blocks of one site only; `null`: of all. */
  highlight(site: number | null): void {
    this.#filter.sites = site === null ? null : new Set([site]);
    fieldOf(this.#window.document, "filter-site").value = "";
    this.#applyFilter();
    const first = this.#filter.matches.indexOf(1);
    if (site !== null && first >= 0) this.#map.reveal(first);
  }

  #listenToMap(): void {
    const { document } = this.#window;
    listen(this.#box, "scroll", () => this.request());
    listen(this.#canvas, "pointermove", (event) => {
      const index = this.#map.blockAt(event.offsetX, event.offsetY);
      this.#point(index);
      if (index < 0 || event.pointerType !== "mouse") return this.#tooltip.hide();
      this.#tooltip.show(describeBlock(this.#report, index), event.clientX, event.clientY);
    });
    listen(this.#canvas, "pointerleave", () => {
      this.#tooltip.hide();
      this.#point(-1);
    });
    listen(this.#canvas, "pointerup", (event) => {
      if (event.button === 0) this.#pin(this.#map.blockAt(event.offsetX, event.offsetY));
    });
    listen(this.#canvas, "wheel", (event) => this.#turn(event));
    listen(this.#canvas, "keydown", (event) => this.#key(event));
    listen(elementOf(document, "map-in"), "click", () => this.#zoom(1));
    listen(elementOf(document, "map-out"), "click", () => this.#zoom(-1));
  }

  #listenToFilters(): void {
    const { document } = this.#window;
    this.#report.states.forEach((state, index) => {
      const field = fieldOf(document, `state-${state}`);
      listen(field, "change", () => {
        if (field.checked) this.#filter.states.add(index);
        else this.#filter.states.delete(index);
        this.#applyFilter();
      });
    });
    const fold = fieldOf(document, "map-fold");
    listen(fold, "change", () => {
      this.#map.isFolded = fold.checked;
      this.resize();
    });
    const stream = fieldOf(document, "filter-stream");
    listen(stream, "change", () => {
      this.#filter.stream = stream.value === "" ? null : Number(stream.value);
      this.#applyFilter();
    });
    const site = fieldOf(document, "filter-site");
    listen(site, "input", () => {
      this.#filter.sites = this.#sitesWith(site.value);
      this.#applyFilter();
    });
    this.#listenToMinimum();
  }

  #listenToMinimum(): void {
    const minimum = fieldOf(this.#window.document, "filter-size");
    listen(minimum, "input", () => {
      const bytes = sizeOf(minimum.value);
      minimum.setAttribute("aria-invalid", String(Number.isNaN(bytes)));
      if (Number.isNaN(bytes)) return;
      this.#filter.minimum = bytes;
      this.#applyFilter();
    });
  }

  /** The sites whose stacks contain a text, in any case; `null` when there is no text. */
  #sitesWith(text: string): Set<number> | null {
    if (text.trim() === "") return null;
    const wanted = text.trim().toLowerCase();
    return new Set(
      this.#report.sites.flatMap((site, index) =>
        site.toLowerCase().includes(wanted) ? [index] : []
      ),
    );
  }

  #applyFilter(): void {
    this.#filter.apply();
    this.#showCount();
    this.request();
  }

  #showCount(): void {
    const { count, bytes, matches } = this.#filter;
    elementOf(this.#window.document, "filter-count").textContent = `${formatCount(count)} of ${
      formatCount(matches.length)
    } blocks, ${formatBytes(bytes)}`;
  }

  /** The wheel scrolls; with Control, and by pinching, it zooms. */
  #turn(event: PageWheelEvent): void {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.#zoom(event.deltaY < 0 ? 1 : -1);
  }

  /** Twice or half as many lines; what is pointed at, pinned or first seen stays in sight. */
  #zoom(step: number): void {
    const zoom = Math.min(Math.max(this.#map.zoom + step, -3), this.#mostZoom);
    if (zoom === this.#map.zoom) return;
    const { pointed, pinned, layout } = this.#map;
    const line = Math.floor(this.#box.scrollTop / this.#map.pitch);
    const seen = Math.max(layout.countUntil(line * layout.width) - 1, 0);
    this.#map.zoom = zoom;
    this.#map.arrange();
    if (layout.starts.length > 0) {
      this.#map.reveal(pointed >= 0 ? pointed : pinned >= 0 ? pinned : seen);
    }
    this.request();
  }

  #key(event: PageKeyEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { starts } = this.#map.layout;
    const actions: Record<string, () => void> = {
      ArrowLeft: () => this.#step(this.#current() - 1, -1),
      ArrowRight: () => this.#step(this.#current() + 1, 1),
      ArrowUp: () => this.#stepLine(-1),
      ArrowDown: () => this.#stepLine(1),
      Home: () => this.#step(0, 1),
      End: () => this.#step(starts.length - 1, -1),
      "+": () => this.#zoom(1),
      "=": () => this.#zoom(1),
      "-": () => this.#zoom(-1),
      Enter: () => this.#pin(this.#map.pointed),
      Escape: () => this.#pin(-1),
    };
    const action = Object.hasOwn(actions, event.key) ? actions[event.key] : undefined;
    if (action === undefined) return;
    event.preventDefault();
    action();
  }

  /** The block that keys start from; −1 at first. */
  #current(): number {
    return this.#map.pointed >= 0 ? this.#map.pointed : this.#map.pinned;
  }

  /** Points at the first block from here on, in one direction, that the filter lets through. */
  #step(from: number, direction: number): void {
    const { matches } = this.#filter;
    for (let index = from; index >= 0 && index < matches.length; index += direction) {
      if (matches[index] !== 1) continue;
      this.#point(index);
      this.#map.reveal(index);
      elementOf(this.#window.document, "announcement").textContent = spoken(
        describeBlock(this.#report, index),
      );
      return;
    }
  }

  #stepLine(direction: number): void {
    const { starts, ends, width } = this.#map.layout;
    const current = this.#current();
    if (current < 0) return this.#step(0, 1);
    const middle = (starts[current]! + ends[current]!) / 2;
    const index = this.#map.layout.countUntil(middle + direction * width) - 1;
    if (index === current) return this.#step(current + direction, direction);
    this.#step(Math.max(index, 0), direction);
  }

  #point(index: number): void {
    if (this.#map.pointed === index) return;
    this.#map.pointed = index;
    if (this.#map.pinned < 0) this.#describe();
    this.request();
  }

  #pin(index: number): void {
    this.#map.pinned = this.#map.pinned === index ? -1 : index;
    this.#describe();
    this.request();
  }

  #describe(): void {
    const index = this.#map.pinned >= 0 ? this.#map.pinned : this.#map.pointed;
    showDescription(
      this.#window.document,
      elementOf(this.#window.document, "block"),
      index < 0 ? null : describeBlock(this.#report, index),
      "Point at a block to see what it is; click to keep it.",
    );
  }
}
