/**
 * The map of segments of the page: all blocks by address and to scale, on one line that breaks like
 * text; the table of call sites, which filters it; and the start of the page's script.
 *
 * @module
 */

import { formatBytes } from "../../../../ffi/describe_value.ts";
import type { SnapshotBlock } from "../../snapshot/memory_snapshot.ts";
import {
  formatAddress,
  formatCount,
  formatDuration,
  formatShare,
  shortFrame,
} from "../quantities.ts";
import { segmentsAt } from "./history.ts";
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
  stateFill,
} from "./page_tools.ts";
import { startTimeline } from "./timeline_view.ts";
import type {
  CanvasRenderingContext2D,
  HTMLCanvasElement,
  HTMLInputElement,
  MouseEvent,
  Node,
  Window,
} from "./dom.ts";

declare const ResizeObserver: Window["ResizeObserver"];
declare const matchMedia: Window["matchMedia"];

export interface MapBlock extends SnapshotBlock {
  readonly segment: number;
  readonly address: number;
}

export function mapBlocks({ segments }: Pick<PageData, "segments">): MapBlock[] {
  return segments.flatMap(({ address, blocks }, segment) =>
    blocks.map((block) => ({ ...block, segment, address: address + block.offset }))
  );
}

/** Places blocks on lines of a width, with unmapped addresses folded to 9 pixels or to scale. */
export function layoutBlocks(
  blocks: readonly MapBlock[],
  width: number,
  bytesPerPixel: number,
  isFolded: boolean,
): { starts: number[]; ends: number[]; lines: number } {
  const starts: number[] = [];
  const ends: number[] = [];
  const lengths = blocks.map(({ state, bytes }) =>
    isFolded && state === "unmapped" ? 9 : bytes / bytesPerPixel
  );
  let position = 0;
  for (let first = 0; first < blocks.length;) {
    let last = first;
    let length = 0;
    while (blocks[last]?.segment === blocks[first]!.segment) length += lengths[last++]!;
    if (position > 0) {
      // A segment that does not fit begins a line, unless that leaves a fifth of the line empty.
      const start = position + 5;
      const next = Math.ceil(position / width) * width;
      position = start + length <= next || next - start > width / 5 ? start : next;
    }
    for (; first < last; first++) {
      starts.push(position);
      position += lengths[first]!;
      ends.push(position);
    }
  }
  // Neither folded addresses without memory nor half a pixel at the end need a line of their own.
  const lastMapped = isFolded ? blocks.findLastIndex(({ state }) => state !== "unmapped") : -1;
  const end = lastMapped < 0 ? position : ends[lastMapped]!;
  return { starts, ends, lines: Math.max(1, Math.ceil((end - 0.5) / width)) };
}

/** Finds the block at a position of the endless line; −1 for none. */
export function blockAt(
  { starts, ends }: ReturnType<typeof layoutBlocks>,
  position: number,
): number {
  const index = countUntil(starts, position) - 1;
  return index >= 0 && position < ends[index]! ? index : -1;
}

/** Parses a size: `4096`, `1.5 MiB`, `2G`; 0 for no text, NaN for an invalid one. */
export function sizeOf(text: string): number {
  const match = /^\s*(\d+(?:\.\d+)?)\s*(?:([KMGT])(?:i?B)?|B)?\s*$/i.exec(text);
  if (match === null) return text.trim() === "" ? 0 : NaN;
  const unit = match[2] === undefined ? 0 : "KMGT".indexOf(match[2].toUpperCase()) + 1;
  return Number(match[1]) * 1024 ** unit;
}

/**
 * Starts the map. Returns functions to adapt it to its width, to show only the blocks of a site
 * (`null` for all blocks), and to show the segments after an event (−1 for those of the snapshot).
 */
export function startMap(data: PageData): {
  resize: () => void;
  highlight: (site: number | null) => void;
  showAt: (event: number) => void;
} {
  const states = ["unmapped", "free", "cached", "pending", "live"] as const;
  const [pitch, lineHeight] = [22, 16];
  let segments: PageData["segments"] = data.segments;
  let blocks = mapBlocks(data);
  const canvas = byId<HTMLCanvasElement>("map");
  const box = byId("map-box");
  const shown = new Set<string>(states);
  const filter = { stream: null as number | null, sites: null as Set<number> | null, minimum: 0 };
  let matches: boolean[] = [];
  let isFolded = true;
  /** Lines in powers of two of the lines that fit into the box. */
  let zoom = 0;
  let width = 1;
  let layout = layoutBlocks([], 1, 1, true);
  const margin = () => box.clientWidth < 620 ? 4 : 112;

  const describe = (index: number): Description => {
    const { state, bytes, requested, address, stream, age, site, segment } = blocks[index]!;
    const { address: begin, bytes: size, pool, kind } = segments[segment]!;
    const unused = formatShare(1 - requested / bytes);
    return {
      title: `${state} ${formatBytes(bytes)}`,
      rows: [
        ["size", exactBytes(bytes)],
        ...(state === "live"
          ? [["requested", `${exactBytes(requested)}, ${unused} unused`] as const]
          : []),
        ["address", formatAddress(address)],
        ["stream", stream === null ? "any" : data.streams[stream] ?? "none"],
        ["age", age === null ? "unknown" : formatDuration(age)],
        ["segment", `${formatAddress(begin)}, ${formatBytes(size)} of addresses, ${pool}, ${kind}`],
      ],
      site: data.sites[site ?? -1] ?? "",
    };
  };

  const arrange = () => {
    width = Math.max(box.clientWidth - margin() - 4, 40);
    const lines = Math.max(Math.floor(box.clientHeight / pitch) - 3, 1) * 2 ** zoom;
    const total = blocks.reduce(
      (sum, { state, bytes }) => isFolded && state === "unmapped" ? sum : sum + bytes,
      0,
    );
    layout = layoutBlocks(blocks, width, Math.max(total, 1) / (width * lines), isFolded);
    byId("map-space").style.height = `${layout.lines * pitch + 4}px`;
  };

  const draw = () => {
    const { clientWidth, clientHeight, scrollTop } = box;
    const { starts, ends, lines } = layout;
    canvas.style.width = `${clientWidth}px`;
    canvas.style.height = `${clientHeight}px`;
    const context = prepareCanvas(canvas, clientWidth, clientHeight);
    const palette = currentPalette();
    const from = Math.floor(scrollTop / pitch);
    const to = Math.min(Math.ceil((scrollTop + clientHeight) / pitch), lines);
    const first = Math.max(countUntil(starts, from * width) - 1, 0);
    const last = countUntil(starts, to * width);
    const topOf = (line: number) => line * pitch + 4 - scrollTop;
    /** Calls back for the parts of a block on the visible lines. */
    const eachPart = (index: number, part: (x: number, y: number, width: number) => void) => {
      const end = Math.max(ends[index]!, starts[index]! + 1e-6);
      const until = Math.min(Math.ceil(end / width), to);
      for (let line = Math.max(Math.floor(starts[index]! / width), from); line < until; line++) {
        const start = Math.max(starts[index]! - line * width, 0);
        part(margin() + start, topOf(line), Math.min(end - line * width, width) - start);
      }
    };
    const outline = (index: number, color: string, thickness: number) => {
      if (index < 0) return;
      context.strokeStyle = palette(color);
      context.lineWidth = thickness;
      eachPart(index, (x, y, size) => {
        context.strokeRect(x - 1, y - 1, Math.max(size, 1) + 1, lineHeight + 2);
      });
    };
    if (margin() > 100) drawAddresses(context, palette("muted"), from, to, topOf);
    // States in this order: a live block among a thousand free ones stays visible.
    for (const state of states) {
      const texture = stateFill(state, palette);
      for (const isMatch of [false, true]) {
        context.globalAlpha = isMatch ? 1 : 0.16;
        context.strokeStyle = palette("muted");
        context.lineWidth = 1;
        let covered = -Infinity;
        for (let index = first; index < last; index++) {
          if (blocks[index]!.state !== state || matches[index] !== isMatch) continue;
          // Blocks within the last drawn pixel are invisible.
          if (ends[index]! <= covered) continue;
          covered = Math.max(ends[index]!, starts[index]! + 1);
          eachPart(index, (x, y, size) => {
            const inner = size > 4 ? size - 1 : Math.max(size, 1);
            context.fillStyle = inner < 6 ? palette(state) : texture;
            if (state === "unmapped") return context.fillRect(x, y + lineHeight / 2 - 1, inner, 2);
            context.fillRect(x, y, inner, lineHeight);
            if (state === "free" && inner > 3) {
              context.strokeRect(x + 0.5, y + 0.5, inner - 1, lineHeight - 1);
            }
          });
        }
      }
    }
    context.globalAlpha = 1;
    if (filter.stream !== null || filter.sites !== null || filter.minimum > 0) {
      let covered = -Infinity;
      for (let index = first; index < last; index++) {
        if (!matches[index] || starts[index]! < covered) continue;
        outline(index, "ink", 1);
        covered = starts[index]! + 1;
      }
    }
    outline(selection.pinned, "ink", 2);
    if (selection.pointed !== selection.pinned) outline(selection.pointed, "accent", 2);
  };

  const drawAddresses = (
    context: CanvasRenderingContext2D,
    color: string,
    from: number,
    to: number,
    topOf: (line: number) => number,
  ) => {
    context.font = "11px ui-monospace, monospace";
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillStyle = color;
    for (let line = from; line < to; line++) {
      const index = blockAt(layout, line * width + 1e-6);
      if (index < 0) continue;
      const [start, end] = [layout.starts[index]!, layout.ends[index]!];
      const offset = (line * width - start) / (end - start) * blocks[index]!.bytes;
      // Pools align blocks to 512 bytes.
      const address = blocks[index]!.address + Math.floor(offset - offset % 512);
      context.fillText(formatAddress(address), margin() - 10, topOf(line) + lineHeight / 2);
    }
  };

  const request = onFrame(draw);
  const note = "Point at a block to see what it is; click to keep it.";
  const selection = createSelection(byId("block"), note, describe, request);
  const resize = () => {
    arrange();
    request();
  };
  const applyFilter = () => {
    const { stream, sites, minimum } = filter;
    matches = blocks.map((block) =>
      shown.has(block.state) && block.bytes >= minimum &&
      (stream === null || (block.stream ?? -1) === stream) &&
      (sites === null || sites.has(block.site ?? -1))
    );
    const found = blocks.filter((_, index) => matches[index]);
    const bytes = found.reduce(
      (sum, { state, bytes }) => state === "unmapped" ? sum : sum + bytes,
      0,
    );
    byId("filter-count").textContent = `${formatCount(found.length)} of ${
      formatCount(blocks.length)
    } blocks, ${formatBytes(bytes)} of memory`;
    request();
  };
  const reveal = (index: number) => {
    const top = Math.floor(layout.starts[index]! / width) * pitch;
    const { scrollTop, clientHeight } = box;
    if (top < scrollTop || top + pitch > scrollTop + clientHeight) {
      box.scrollTop = top - clientHeight / 2;
    }
  };
  /** The matching block at a point of the canvas, or within three pixels. */
  const matchAt = ({ offsetX, offsetY }: MouseEvent) => {
    const line = Math.floor((offsetY + box.scrollTop - 2) / pitch);
    const along = offsetX - margin();
    if (line < 0 || along < -3 || along > width + 3) return -1;
    const position = line * width + Math.min(Math.max(along, 0), width - 0.01);
    const near = [0, -1, 1, -2, 2, -3, 3].map((shift) => blockAt(layout, position + shift));
    return near.find((index) => index >= 0 && matches[index]) ?? -1;
  };
  const changeZoom = (step: number) => {
    const seen = countUntil(layout.starts, Math.floor(box.scrollTop / pitch) * width) - 1;
    // Browsers limit the height of an element to some million pixels.
    zoom = Math.min(Math.max(zoom + step, -3), 14);
    arrange();
    const { pointed, pinned } = selection;
    reveal(pointed >= 0 ? pointed : pinned >= 0 ? pinned : Math.max(seen, 0));
    request();
  };
  const current = () => selection.pointed >= 0 ? selection.pointed : selection.pinned;
  /** Points at the first matching block from an index on. */
  const walk = (from: number, direction: number) => {
    let index = from;
    while (matches[index] === false) index += direction;
    if (matches[index] === undefined) return;
    selection.point(index);
    reveal(index);
    announce(describe(index));
  };
  const walkLine = (direction: number) => {
    const index = current();
    if (index < 0) return walk(0, 1);
    const middle = (layout.starts[index]! + layout.ends[index]!) / 2;
    const next = Math.max(countUntil(layout.starts, middle + direction * width) - 1, 0);
    walk(next === index ? index + direction : next, direction);
  };

  box.addEventListener("scroll", request);
  canvas.addEventListener("pointermove", (event) => {
    const index = matchAt(event);
    selection.point(index);
    if (index < 0 || event.pointerType !== "mouse") return hideTooltip();
    showTooltip(describe(index), event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerleave", () => {
    hideTooltip();
    selection.point(-1);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (event.button === 0) selection.pin(matchAt(event));
  });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    changeZoom(event.deltaY < 0 ? 1 : -1);
  }, { passive: false });
  onKeys(canvas, {
    ArrowLeft: () => walk(current() - 1, -1),
    ArrowRight: () => walk(current() + 1, 1),
    ArrowUp: () => walkLine(-1),
    ArrowDown: () => walkLine(1),
    Home: () => walk(0, 1),
    End: () => walk(blocks.length - 1, -1),
    "+": () => changeZoom(1),
    "=": () => changeZoom(1),
    "-": () => changeZoom(-1),
    Enter: () => selection.pin(selection.pointed),
    Escape: () => selection.pin(-1),
  });
  byId("map-in").addEventListener("click", () => changeZoom(1));
  byId("map-out").addEventListener("click", () => changeZoom(-1));
  const onInput = (id: string, apply: (field: HTMLInputElement) => void) => {
    const field = byId<HTMLInputElement>(id);
    field.addEventListener("input", () => {
      apply(field);
      applyFilter();
    });
  };
  for (const state of states) {
    onInput(`state-${state}`, ({ checked }) => {
      if (checked) shown.add(state);
      else shown.delete(state);
    });
  }
  onInput("map-fold", ({ checked }) => {
    isFolded = checked;
    resize();
  });
  onInput("filter-stream", ({ value }) => filter.stream = value === "" ? null : Number(value));
  onInput("filter-site", ({ value }) => {
    const text = value.trim().toLowerCase();
    const found = [...data.sites.keys()].filter((index) =>
      data.sites[index]!.toLowerCase().includes(text)
    );
    filter.sites = text === "" ? null : new Set(found);
  });
  onInput("filter-size", (field) => {
    const bytes = sizeOf(field.value);
    field.setAttribute("aria-invalid", String(Number.isNaN(bytes)));
    if (!Number.isNaN(bytes)) filter.minimum = bytes;
  });
  const showAt = (event: number) => {
    segments = event < 0 ? data.segments : segmentsAt(data, event);
    blocks = mapBlocks({ segments });
    selection.pin(-1);
    selection.point(-1);
    for (const state of states) {
      const bytes = blocks.reduce(
        (sum, block) => block.state === state ? sum + block.bytes : sum,
        0,
      );
      byId(`total-${state}`).textContent = formatBytes(bytes);
    }
    byId("map-now").hidden = event < 0;
    byId("map-time").textContent = event < 0
      ? "at the time of the snapshot"
      : `after event #${formatCount(event + 1)} of the timeline`;
    arrange();
    applyFilter();
  };
  byId("map-now").addEventListener("click", () => showAt(-1));
  showAt(-1);
  draw();
  return {
    resize,
    showAt,
    highlight(site) {
      filter.sites = site === null ? null : new Set([site]);
      byId<HTMLInputElement>("filter-site").value = "";
      applyFilter();
      if (site !== null && matches.includes(true)) reveal(matches.indexOf(true));
    },
  };
}

/** Starts the table. `choose` gets the chosen site, −1 for unknown sites. */
export function startSites(data: PageData, choose: (site: number | null) => void): void {
  const columns = ["name", "live", "count", "largest"] as const;
  const totals = new Map<number, ReturnType<typeof total>>();
  const total = (site: number) => {
    const name = site < 0 ? "unknown" : shortFrame(data.sites[site] ?? "");
    return { site, name, live: 0, count: 0, largest: 0 };
  };
  for (const { state, site, bytes } of data.segments.flatMap((segment) => segment.blocks)) {
    if (state !== "live") continue;
    const row = totals.get(site ?? -1) ?? total(site ?? -1);
    totals.set(row.site, row);
    row.live += bytes;
    row.count++;
    row.largest = Math.max(row.largest, bytes);
  }
  const rows = [...totals.values()];
  const most = rows.reduce((largest, { live }) => Math.max(largest, live), 1);
  let column: typeof columns[number] = "live";
  let isDescending = true;
  let shown = 25;
  let chosen: number | null = null;

  const fill = () => {
    const sign = isDescending ? -1 : 1;
    rows.sort((a, b) => {
      const order = column === "name"
        ? Number(a.name > b.name) - Number(a.name < b.name)
        : a[column] - b[column];
      return sign * order || b.live - a.live;
    });
    for (const each of columns) {
      const order = isDescending ? "descending" : "ascending";
      byId(`column-${each}`).setAttribute("aria-sort", each === column ? order : "none");
    }
    byId("sites").replaceChildren(...rows.slice(0, shown).map(rowOf));
    const more = byId("sites-more");
    more.hidden = shown >= rows.length;
    more.textContent = `Show more of ${formatCount(rows.length)} sites`;
    const stack = byId("stack");
    stack.hidden = chosen === null;
    stack.textContent = data.sites[chosen ?? -1] ?? "The site of these blocks was not recorded.";
  };
  const rowOf = ({ site, name, live, count, largest }: typeof rows[number]) => {
    const button = make("button", "site", name);
    button.type = "button";
    button.title = data.sites[site] ?? "";
    button.setAttribute("aria-pressed", String(chosen === site));
    button.addEventListener("click", () => {
      chosen = chosen === site ? null : site;
      fill();
      choose(chosen);
    });
    const bar = make("span", "bar");
    bar.style.width = `${live / most * 100}%`;
    const cell = (label: string, ...content: (Node | string)[]) => {
      const made = make("td", "number", ...content);
      made.dataset.label = label;
      return made;
    };
    return make(
      "tr",
      chosen === site ? "chosen" : "",
      make("td", "", button),
      cell("live", make("span", "track", bar), make("span", "amount", formatBytes(live))),
      cell("blocks", formatCount(count)),
      cell("largest", formatBytes(largest)),
    );
  };
  for (const each of columns) {
    byId(`sort-${each}`).addEventListener("click", () => {
      isDescending = column === each ? !isDescending : each !== "name";
      column = each;
      fill();
    });
  }
  byId("sites-more").addEventListener("click", () => {
    shown += 100;
    fill();
  });
  // A search by text releases the chosen site.
  byId("filter-site").addEventListener("input", () => {
    chosen = null;
    fill();
  });
  fill();
}

export function startReport(): void {
  const data: PageData = JSON.parse(byId("data").textContent ?? "");
  const map = data.segments.length === 0 ? null : startMap(data);
  const timeline = data.timeline === null
    ? null
    : startTimeline(data, (event) => map?.showAt(event));
  if (map !== null) startSites(data, map.highlight);
  const redraw = () => {
    timeline?.();
    map?.resize();
  };
  const resized = new ResizeObserver(redraw);
  if (timeline !== null) resized.observe(byId("timeline"));
  if (map !== null) resized.observe(byId("map-box"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  performance.mark("memory report drawn");
}
