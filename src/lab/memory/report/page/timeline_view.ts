/**
 * The timeline of the page: live memory by call site, reserved memory, and fragmentation below, on
 * one axis.
 *
 * Each column of pixels shows the least and the greatest value of its events, so no peak is lost at
 * any zoom.
 *
 * @module
 */

import { formatBytes } from "../../../../ffi/describe_value.ts";
import type { SnapshotTimeline } from "../../snapshot/memory_snapshot.ts";
import { formatAddress, formatCount, shortFrame } from "../quantities.ts";
import { liveBySite } from "./history.ts";
import {
  announce,
  byId,
  countUntil,
  createSelection,
  currentPalette,
  type Description,
  exactBytes,
  hideTooltip,
  make,
  onFrame,
  onKeys,
  type PageData,
  prepareCanvas,
  showTooltip,
} from "./page_tools.ts";
import type { CanvasRenderingContext2D, HTMLCanvasElement, HTMLSelectElement } from "./dom.ts";

declare const devicePixelRatio: number;

/** Returns the least 1, 2 or 5 times a power of ten that is at least a positive number. */
export function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((digit) => digit * power).find((step) => step >= least * 0.999999)!;
}

export function multiplesOf(step: number, from: number, to: number): number[] {
  const first = Math.ceil(from / step);
  const count = Math.max(Math.floor(to / step) - first + 1, 0);
  return Array.from({ length: count }, (_, index) => (first + index) * step);
}

/** Formats a time in milliseconds for an axis with an end and a distance between labels. */
export function timeLabel(time: number, end: number, step: number): string {
  const [unit, size] = end >= 1000
    ? ["s", 1000] as const
    : end >= 1
    ? ["ms", 1] as const
    : ["µs", 0.001] as const;
  const decimals = Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9));
  return `${(time / size).toFixed(decimals)} ${unit}`;
}

/** External fragmentation after each event. An unknown value keeps the one before; NaN at first. */
export function fragmentationOf(
  { live, reserved, largestFree, free: measured }: SnapshotTimeline,
): number[] {
  let known = NaN;
  return largestFree.map((largest, index) => {
    if (largest < 0) return known;
    // Snapshots without the column count cached blocks as free memory.
    const free = measured?.[index] ?? reserved[index]! - live[index]!;
    known = free <= 0 ? 0 : Math.min(Math.max(1 - largest / free, 0), 1);
    return known;
  });
}

/** The visible part of ascending positions of events. */
export type Axis = ReturnType<typeof createAxis>;

export function createAxis(positions: readonly number[]) {
  const first = positions[0]!;
  const last = positions.at(-1)! > first ? positions.at(-1)! : first + 1;
  const axis = {
    positions,
    first,
    last,
    start: first,
    end: last,
    select(start: number, span: number): void {
      const whole = last - first;
      // A double cannot distinguish positions in a narrower part.
      const least = Math.max(whole * 1e-7, Math.abs(last) * 1e-12);
      const allowed = Math.min(Math.max(span, least), whole);
      axis.start = Math.min(Math.max(start, first), last - allowed);
      axis.end = axis.start + allowed;
    },
    pan(share: number): void {
      const span = axis.end - axis.start;
      axis.select(axis.start + share * span, span);
    },
    /** Scales the width; a share of it stays in place. */
    zoom(factor: number, share: number): void {
      const span = Math.min((axis.end - axis.start) * factor, last - first);
      axis.select(axis.start + share * (axis.end - axis.start - span), span);
    },
    /** The position of an event as a share of the width. */
    shareOf: (index: number): number => (positions[index]! - axis.start) / (axis.end - axis.start),
    /** The number of events up to a share of the width. */
    countUntil: (share: number): number =>
      countUntil(positions, axis.start + share * (axis.end - axis.start)),
  };
  return axis;
}

/** Finds the event to describe between two shares: a failure, else the largest, else the nearest. */
export function eventBetween(
  { bytes }: SnapshotTimeline,
  failures: readonly number[],
  axis: Axis,
  left: number,
  right: number,
): number {
  const from = axis.countUntil(left);
  const to = axis.countUntil(right);
  if (from === to) {
    if (from === 0 || from === bytes.length) return Math.min(from, bytes.length - 1);
    const middle = (left + right) / 2;
    return axis.shareOf(from) - middle < middle - axis.shareOf(from - 1) ? from : from - 1;
  }
  const failure = failures.find((index) => index >= from && index < to);
  if (failure !== undefined) return failure;
  let largest = from;
  for (let index = from; index < to; index++) if (bytes[index]! > bytes[largest]!) largest = index;
  return largest;
}

/**
 * Starts the timeline. `choose` gets the event that is kept, −1 for none. Returns a function that
 * redraws the timeline.
 */
export function startTimeline(data: PageData, choose: (event: number) => void): () => void {
  const timeline = data.timeline!;
  const { time, action, live, reserved } = timeline;
  const [left, right, top, memoryHeight, shareTop, shareHeight] = [66, 14, 16, 200, 250, 56];
  const height = 340;
  const bottom = shareTop + shareHeight;
  const fragmentation = fragmentationOf(timeline);
  const peakEvent = live.reduce((most, value, index) => value > live[most]! ? index : most, 0);
  const largest = reserved.reduce((most, value) => Math.max(most, value), live[peakEvent]!);
  // A limit far above the memory in use would flatten the curves: the legend names it.
  const limit = data.limit !== null && data.limit <= 1.6 * largest ? data.limit : null;
  const peak = Math.max(1, largest, limit === null ? 0 : limit * 1.06);
  const layers = liveBySite(data, 10);
  const colors = layers.map(({ site }, index) => site === -2 ? "site-rest" : `site-${index}`);
  const failures = [...action.keys()].filter((index) =>
    data.actions[action[index]!] === "out of memory"
  );
  const canvas = byId<HTMLCanvasElement>("timeline");
  let axis = createAxis(time);
  let isByTime = true;
  let width = 1;
  let drag: { start: number; last: number; isFar: boolean } | null = null;

  const describe = (index: number): Description => {
    const address = timeline.address[index]!;
    const at = time[index]!;
    return {
      title: `${data.actions[action[index]!]} ${formatBytes(timeline.bytes[index]!)}`,
      rows: [
        ["size", exactBytes(timeline.bytes[index]!)],
        ["stream", data.streams[timeline.stream[index]!] ?? "none"],
        ["time", at < 1000 ? `${Number(at.toFixed(6))} ms` : `${Number((at / 1000).toFixed(9))} s`],
        ["address", address === 0 ? "none" : formatAddress(address)],
        ["live after", formatBytes(live[index]!)],
        ["reserved after", formatBytes(reserved[index]!)],
      ],
      site: data.sites[timeline.site[index]!] ?? "",
    };
  };

  const draw = () => {
    const context = prepareCanvas(canvas, canvas.clientWidth, height);
    const palette = currentPalette();
    width = Math.max(1, canvas.clientWidth - left - right);
    context.font = "11px system-ui, sans-serif";
    drawGrid(context, palette("rule"), palette("muted"));
    const columns = Math.ceil(width * devicePixelRatio);
    const counts = Array.from(
      { length: columns + 1 },
      (_, column) => axis.countUntil(column / columns),
    );
    const series = (
      values: readonly number[],
      most: number,
      [base, size]: readonly [number, number],
      thickness: number,
      opacity: number,
    ) => {
      // A column includes the value that it begins with, so the line has no gaps.
      for (let column = 0; column < columns; column++) {
        const from = Math.max(counts[column]! - 1, 0);
        const to = Math.max(counts[column + 1]!, from + 1);
        let low = Infinity;
        let high = -Infinity;
        for (let index = from; index < to; index++) {
          const value = values[index]!;
          if (value < low) low = value;
          if (value > high) high = value;
        }
        if (high < low) continue;
        const x = left + column / columns * width;
        const y = base - high / most * size;
        if (opacity > 0) {
          context.globalAlpha = opacity;
          context.fillRect(x, y, width / columns, base - y);
          context.globalAlpha = 1;
        }
        const line = (high - low) / most * size + thickness;
        context.fillRect(x, y - thickness / 2, width / columns, line);
      }
    };
    context.fillStyle = palette("reserved");
    series(reserved, peak, [top + memoryHeight, memoryHeight], 1.5, 0.14);
    const base = top + memoryHeight;
    for (let column = 0; column < columns; column++) {
      const from = Math.max(counts[column]! - 1, 0);
      const to = Math.max(counts[column + 1]!, from + 1);
      if (counts[column + 1] === 0) continue;
      // The event with the most live memory stands for its column.
      let most = from;
      for (let index = from; index < to; index++) if (live[index]! > live[most]!) most = index;
      let y = base;
      layers.forEach((layer, index) => {
        const size = layer.live[most]! / peak * memoryHeight;
        context.fillStyle = palette(colors[index]!);
        context.fillRect(left + column / columns * width, y - size, width / columns, size);
        y -= size;
      });
    }
    context.fillStyle = palette("ink");
    series(live, peak, [base, memoryHeight], 1, 0);
    const most = live[peakEvent]!;
    drawMark(context, most, `peak ${formatBytes(most)}`, palette("ink"), "right");
    if (limit !== null) {
      drawMark(context, limit, `limit ${formatBytes(limit)}`, palette("alarm"), "left");
    }
    context.fillStyle = palette("fragmentation");
    series(fragmentation, 1, [bottom, shareHeight], 1.5, 0);
    drawFailures(context, palette("alarm"));
    drawEvent(context, selection.pinned, palette("ink"));
    if (selection.pointed !== selection.pinned) {
      drawEvent(context, selection.pointed, palette("accent"));
    }
    drawTitle(context, palette("paper"), palette("muted"));
    // The position of the visible part, as a bar below.
    const whole = axis.last - axis.first;
    context.fillStyle = palette("rule");
    context.fillRect(left, height - 7, width, 4);
    context.fillStyle = palette("muted");
    const x = left + (axis.start - axis.first) / whole * width;
    context.fillRect(x, height - 7, Math.max((axis.end - axis.start) / whole * width, 3), 4);
    // Events on the left border are visible.
    const isWhole = axis.start <= axis.first && axis.end >= axis.last;
    const seen = axis.countUntil(1) - (isWhole ? 0 : axis.countUntil(-1e-12));
    const total = formatCount(time.length);
    byId("timeline-range").textContent = isWhole
      ? `all ${total} events`
      : `${formatCount(seen)} of ${total} events`;
  };

  const drawGrid = (context: CanvasRenderingContext2D, rule: string, muted: string) => {
    const level = (y: number, label: string) => {
      context.fillStyle = rule;
      context.fillRect(left, Math.round(y), width, 1);
      context.fillStyle = muted;
      context.fillText(label, left - 8, y);
    };
    context.textAlign = "right";
    context.textBaseline = "middle";
    const step = 2 ** Math.max(0, Math.ceil(Math.log2(peak / 4)));
    for (const bytes of multiplesOf(step, 0, peak)) {
      level(top + memoryHeight * (1 - bytes / peak), formatBytes(bytes));
    }
    for (const share of [0, 0.5, 1]) level(bottom - shareHeight * share, `${share * 100} %`);
    context.textAlign = "center";
    context.textBaseline = "top";
    const span = axis.end - axis.start;
    const interval = roundStep(Math.max(span * 90 / width, isByTime ? 1e-6 : 1));
    for (const tick of multiplesOf(interval, axis.start, axis.end)) {
      const x = left + (tick - axis.start) / span * width;
      const label = isByTime ? timeLabel(tick, axis.end, interval) : `#${formatCount(tick)}`;
      // The last label may be wider than the space beside the plot.
      const most = canvas.clientWidth - context.measureText(label).width / 2;
      context.fillStyle = rule;
      context.fillRect(Math.round(x), bottom, 1, 4);
      context.fillStyle = muted;
      context.fillText(label, Math.min(x, most), bottom + 7);
    }
  };

  /** A dashed line at a number of bytes, with its name at one end. */
  const drawMark = (
    context: CanvasRenderingContext2D,
    bytes: number,
    name: string,
    color: string,
    side: "left" | "right",
  ) => {
    const y = Math.round(top + memoryHeight * (1 - bytes / peak)) + 0.5;
    context.strokeStyle = context.fillStyle = color;
    context.lineWidth = 1;
    context.setLineDash([2, 3]);
    context.beginPath();
    context.moveTo(left, y);
    context.lineTo(left + width, y);
    context.stroke();
    context.setLineDash([]);
    context.textAlign = side;
    context.textBaseline = "bottom";
    context.fillText(name, side === "left" ? left + 4 : left + width - 4, y - 1);
  };

  const drawTitle = (context: CanvasRenderingContext2D, paper: string, muted: string) => {
    const title = "external fragmentation";
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.fillStyle = paper;
    context.fillRect(left, shareTop - 21, context.measureText(title).width + 4, 16);
    context.fillStyle = muted;
    context.fillText(title, left, shareTop - 13);
  };

  const drawFailures = (context: CanvasRenderingContext2D, color: string) => {
    let drawn = -Infinity;
    context.fillStyle = context.strokeStyle = color;
    context.lineWidth = 1;
    context.setLineDash([4, 3]);
    for (const index of failures) {
      const x = left + axis.shareOf(index) * width;
      // Marks on one pixel are one mark.
      if (x < left || x > left + width || x - drawn < 1) continue;
      drawn = x;
      context.beginPath();
      context.moveTo(x, bottom);
      context.lineTo(x, top);
      context.stroke();
      context.beginPath();
      context.moveTo(x, top);
      context.lineTo(x - 6, top - 11);
      context.lineTo(x + 6, top - 11);
      context.fill();
    }
    context.setLineDash([]);
  };

  const drawEvent = (context: CanvasRenderingContext2D, index: number, color: string) => {
    const share = axis.shareOf(index);
    if (index < 0 || share < 0 || share > 1) return;
    const x = left + share * width;
    context.fillStyle = color;
    context.fillRect(x - 0.5, top, 1, bottom - top);
    for (const value of [live[index]!, reserved[index]!]) {
      context.beginPath();
      context.arc(x, top + memoryHeight * (1 - value / peak), 3, 0, 7);
      context.fill();
    }
  };

  const request = onFrame(draw);
  const note =
    "Point at the timeline to see an event; click to keep it and to see the segments then.";
  let chosen = -1;
  const selection = createSelection(byId("event"), note, describe, () => {
    request();
    if (selection.pinned !== chosen) choose(chosen = selection.pinned);
  });
  const eventAt = (x: number) => {
    const half = 3 / width;
    const share = (x - left) / width;
    if (share < -half || share > 1 + half) return -1;
    return eventBetween(timeline, failures, axis, share - half, share + half);
  };
  const zoom = (factor: number, share = 0.5) => {
    axis.zoom(factor, share);
    request();
  };
  const show = (index: number) => {
    const share = axis.shareOf(index);
    const span = axis.end - axis.start;
    if (share < 0 || share > 1) axis.select(axis.positions[index]! - span / 2, span);
    selection.point(index);
    announce(describe(index));
    request();
  };
  const step = (direction: number) => {
    const from = selection.pointed >= 0 ? selection.pointed : selection.pinned;
    const index = from < 0 ? axis.countUntil(0) - 1 : from + direction;
    show(Math.min(Math.max(index, 0), time.length - 1));
  };
  const pan = (share: number) => {
    axis.pan(share);
    request();
  };

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    drag = { start: event.clientX, last: event.clientX, isFar: false };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag !== null && (event.buttons & 1) !== 0) {
      pan((drag.last - event.clientX) / width);
      drag.last = event.clientX;
      drag.isFar ||= Math.abs(event.clientX - drag.start) > 4;
      return hideTooltip();
    }
    if (event.pointerType !== "mouse") return;
    const index = eventAt(event.offsetX);
    selection.point(index);
    if (index >= 0) showTooltip(describe(index), event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerup", (event) => {
    // A pointer that stays near its start has clicked.
    if (drag !== null && !drag.isFar) selection.pin(eventAt(event.offsetX));
    drag = null;
  });
  canvas.addEventListener("pointercancel", () => drag = null);
  canvas.addEventListener("pointerleave", () => {
    hideTooltip();
    selection.point(-1);
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const unit = [1, 16, 400][event.deltaMode]!;
    axis.pan(event.deltaX * unit / width);
    zoom(
      2 ** (event.deltaY * unit / 240),
      Math.min(Math.max((event.offsetX - left) / width, 0), 1),
    );
  }, { passive: false });
  onKeys(canvas, {
    ArrowLeft: () => pan(-0.1),
    ArrowRight: () => pan(0.1),
    "Shift+ArrowLeft": () => step(-1),
    "Shift+ArrowRight": () => step(1),
    "+": () => zoom(0.5),
    "=": () => zoom(0.5),
    "-": () => zoom(2),
    "0": () => zoom(Infinity),
    Home: () => pan(-Infinity),
    End: () => pan(Infinity),
    o: () => {
      const next = failures.find((index) => index > selection.pointed) ?? failures[0];
      if (next !== undefined) show(next);
    },
    Enter: () => selection.pin(selection.pointed),
    Escape: () => selection.pin(-1),
  });
  byId("timeline-in").addEventListener("click", () => zoom(0.5));
  byId("timeline-out").addEventListener("click", () => zoom(2));
  byId("timeline-whole").addEventListener("click", () => zoom(Infinity));
  const order = byId<HTMLSelectElement>("timeline-axis");
  order.addEventListener("change", () => {
    isByTime = order.value === "time";
    axis = createAxis(isByTime ? time : [...time.keys()]);
    request();
  });
  byId("timeline-sites").replaceChildren(...layers.map(({ site, peak }, index) => {
    const swatch = make("span", `swatch ${colors[index]}`);
    const name = site === -2 ? "all other sites" : shortFrame(data.sites[site] ?? "unknown");
    return make("li", "", swatch, make("code", "", name), ` up to ${formatBytes(peak)}`);
  }));
  draw();
  return request;
}
