/**
 * The report as an HTML page.
 *
 * The script of the page is the text that the engine holds of the functions in `page/`, after the
 * removal of types. So the code of the page is checked, formatted and tested like all other, without
 * a generated copy. The modules in `page/` declare functions only, which refer to each other and to
 * globals of the browser only.
 *
 * @module
 */

import { escape } from "@std/html/entities";
import { formatBytes } from "../../../ffi/describe_value.ts";
import { displayAs, frameHtml } from "../../../ffi/display.ts";
import { type MemorySnapshot, TIMELINE_ACTIONS } from "../snapshot/memory_snapshot.ts";
import * as history from "./page/history.ts";
import * as tools from "./page/page_tools.ts";
import * as map from "./page/segment_view.ts";
import * as timeline from "./page/timeline_view.ts";
import * as quantities from "./quantities.ts";
import { formatCount, formatShare } from "./quantities.ts";
import {
  counted,
  deviceTitle,
  type MemoryReportFigures,
  memoryReportFigures,
  origin,
} from "./report_text.ts";
import { STYLE_SHEET } from "./style_sheet.ts";

export const PAGE_FUNCTIONS: readonly { readonly name: string }[] = [
  { formatBytes },
  quantities,
  tools,
  history,
  timeline,
  map,
].flatMap((module) => Object.values(module));

export function pageScript(): string {
  return [
    "(() => {",
    '"use strict";',
    // A bundler may change the name in the text of a function.
    ...PAGE_FUNCTIONS.map((part) => `const ${part.name} = ${part};`),
    `${map.startReport.name}();`,
    "})();",
  ].join("\n");
}

class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Makes HTML of a template. Text and numbers are escaped, HTML and lists of it are not. */
function markup(
  parts: TemplateStringsArray,
  ...values: (string | number | Markup | readonly Markup[])[]
): Markup {
  const texts = values.map((value) => {
    if (value instanceof Markup) return value.text;
    if (typeof value === "object") return value.map(({ text }) => text).join("");
    return escape(String(value));
  });
  return new Markup(String.raw({ raw: parts }, ...texts));
}

/** States of blocks and their meaning. */
const STATES = [
  ["live", "allocated by the program"],
  ["pending", "freed, but a stream may still use it"],
  ["cached", "free, kept whole for the next request of its size"],
  ["free", "free"],
  ["unmapped", "addresses without memory, which count against nothing"],
] as const;

/** The name of a state in a heading. Sizes of unmapped blocks are no memory. */
function stateTitle(state: string): string {
  return state === "unmapped" ? "unmapped addresses" : state;
}

/** Rectangles of a state, with a texture that distinguishes it without colour. */
function stateRects(state: string): Markup {
  const texture: Readonly<Record<string, Markup>> = {
    cached: markup`<rect width="100%" height="100%" fill="url(#hatch)"/>`,
    pending: markup`<rect width="100%" height="100%" fill="url(#dots)"/>`,
    free: markup`<rect width="100%" height="100%" class="edge"/>`,
  };
  return markup`<rect width="100%" height="100%" class="${state}"/>${texture[state] ?? ""}`;
}

function swatch(state: string): Markup {
  return markup`<svg class="swatch" aria-hidden="true">${stateRects(state)}</svg>`;
}

function header(snapshot: MemorySnapshot, figures: MemoryReportFigures): Markup {
  const { totals, reservedPerLive } = figures;
  const { fake } = snapshot.device;
  const limit = limitOf(snapshot);
  const segments = counted(totals.segments, "segment");
  const entries = [
    ["Live", formatBytes(totals.live), counted(totals.liveBlocks, "block")],
    ["Cached", formatBytes(totals.cached), "free, kept whole"],
    ["Free", formatBytes(totals.free), `largest ${formatBytes(totals.largestFree)}`],
    ["Pending", formatBytes(totals.pending), "freed, in use by a stream"],
    [
      "Reserved",
      formatBytes(totals.reserved),
      limit === null ? segments : `${segments}, limit ${formatBytes(limit)}`,
    ],
    reservedPerLive === null
      ? ["Reserved ÷ live", "–", "nothing is live"]
      : ["Reserved ÷ live", reservedPerLive.toFixed(3), "1 is ideal"],
    [
      "External fragmentation",
      formatShare(figures.externalFragmentation),
      "1 − largest free ÷ total free",
    ],
    [
      "Internal fragmentation",
      formatShare(figures.internalFragmentation),
      "1 − requested ÷ reserved",
    ],
  ] as const;
  const cells = entries.map(([name, value, note]) =>
    markup`<div><dt>${name}</dt><dd>${value}<div class="note">${note}</div></dd></div>`
  );
  return markup`<svg width="0" height="0" aria-hidden="true"><defs>
<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse">
<path class="mark" d="M-1 7 7 -1 M-4 4 4 -4 M2 10 10 2"/></pattern>
<pattern id="dots" width="6" height="6" patternUnits="userSpaceOnUse">
<rect class="dot" x="2" y="2" width="2" height="2"/></pattern>
</defs></svg>
<header><h1>Memory of ${deviceTitle(snapshot)}${
    fake ? markup` <span class="fake">fake device</span>` : ""
  }</h1>
<p class="muted">${origin(snapshot)}</p>
<dl class="figures">${cells}</dl>${composition(totals)}</header>`;
}

/** A bar of the states of reserved memory. */
function composition(totals: MemoryReportFigures["totals"]): Markup {
  if (totals.reserved === 0) return markup``;
  const shares = STATES.slice(0, 4).map(([state]) =>
    [state, totals[state] / totals.reserved] as const
  );
  const words = shares.map(([state, share]) => `${state} ${formatShare(share)}`).join(", ");
  let start = 0;
  const parts = shares.map(([state, share]) => {
    const x = start * 100;
    start += share;
    return markup`<svg x="${x}%" width="${share * 100}%" height="18">${stateRects(state)}</svg>`;
  });
  return markup`<svg class="composition" role="img" aria-label="${words}"><title>${words}</title>${parts}</svg>`;
}

/** The largest number of bytes that the pool may reserve. */
function limitOf({ settings, device }: MemorySnapshot): number | null {
  return typeof settings.limitBytes === "number" ? settings.limitBytes : device.totalBytes;
}

function timelineSection(snapshot: MemorySnapshot): Markup {
  const { timeline } = snapshot;
  if (timeline === null || timeline.time.length === 0) {
    return markup`<section><h2>Timeline</h2>
<p class="note">No events were recorded before this snapshot. Call
<code>using history = recordHistory(pool)</code> before the work.</p></section>`;
  }
  const dropped = timeline.dropped === 0
    ? ""
    : ` · ${formatCount(timeline.dropped)} earlier events were not kept`;
  const bytes = limitOf(snapshot);
  const limit = bytes === null ? "" : ` · limit ${formatBytes(bytes)}`;
  return markup`<section aria-labelledby="timeline-title">
<div class="bar-row"><h2 id="timeline-title">Timeline</h2>
<span class="key">${swatch("reserved")}reserved</span>
<span class="key">${swatch("fragmentation")}fragmentation</span>
<span class="key"><svg class="swatch" aria-hidden="true"><path class="alarm" d="M1 2h12L7 13z"/></svg>out of memory</span>
<label>by <select id="timeline-axis"><option value="time">time</option>
<option value="event">number of event</option></select></label>
<span class="buttons"><button type="button" id="timeline-out" aria-label="Zoom out">−</button>
<button type="button" id="timeline-in" aria-label="Zoom in">+</button>
<button type="button" id="timeline-whole">Whole</button></span></div>
<canvas id="timeline" tabindex="0" role="application"
aria-label="Live memory by call site, reserved memory and fragmentation over time"></canvas>
<ol id="timeline-sites" aria-label="Call sites in the timeline"></ol>
<div class="panel" id="event"></div>
<p class="below note"><span id="timeline-range"></span>${dropped}${limit}<span class="keys"> · drag or <kbd>←</kbd> <kbd>→</kbd>
to pan · wheel or <kbd>+</kbd> <kbd>−</kbd> to zoom · <kbd>0</kbd> whole ·
<kbd>Shift</kbd> <kbd>←</kbd> <kbd>→</kbd> event by event · <kbd>o</kbd> next out of memory ·
<kbd>Enter</kbd> keep</span></p></section>`;
}

function mapSection({ streams }: MemorySnapshot, { totals }: MemoryReportFigures): Markup {
  if (totals.blocks === 0) {
    return markup`<section><h2>Segments</h2><p class="note">The pool has no memory.</p></section>`;
  }
  const states = STATES.map(([state, meaning]) =>
    markup`<label title="${meaning}"><input type="checkbox" id="state-${state}" checked>${
      swatch(state)
    }${stateTitle(state)} <span class="muted" id="total-${state}">${
      formatBytes(totals[state])
    }</span></label>`
  );
  const options = streams.map((name, index) => markup`<option value="${index}">${name}</option>`);
  return markup`<section aria-labelledby="map-title">
<div class="bar-row"><h2 id="map-title">Segments <span class="note" id="map-time"></span></h2>
<button type="button" id="map-now" hidden>Back to the snapshot</button>${states}</div>
<div class="bar-row"><label>stream <select id="filter-stream"><option value="">any</option>
${options}<option value="-1">none</option></select></label>
<label>site has <input type="text" id="filter-site" spellcheck="false" autocomplete="off"></label>
<label>at least <input type="text" id="filter-size" placeholder="1 MiB" spellcheck="false"
autocomplete="off"></label>
<label><input type="checkbox" id="map-fold" checked>fold unmapped</label>
<span class="note" id="filter-count" role="status"></span>
<span class="buttons"><button type="button" id="map-out" aria-label="Zoom out">−</button>
<button type="button" id="map-in" aria-label="Zoom in">+</button></span></div>
<div class="map"><div id="map-box"><div id="map-space"><canvas id="map" tabindex="0"
role="application" aria-label="Map of all segments and their blocks, to scale"></canvas></div></div>
<div class="panel" id="block"></div></div>
<p class="below note">to scale, by address<span class="keys"> · <kbd>←</kbd> <kbd>→</kbd> <kbd>↑</kbd>
<kbd>↓</kbd> block by block · <kbd>+</kbd> <kbd>−</kbd> or <kbd>Ctrl</kbd> wheel to zoom · click or
<kbd>Enter</kbd> keep · <kbd>Esc</kbd> release</span></p></section>
<section aria-labelledby="sites-title">
<div class="bar-row"><h2 id="sites-title">Sites of live blocks</h2>
<span class="note">choose one to see its blocks on the map</span></div>
<div class="scroll"><table class="cards"><thead><tr>${
    ([
      ["name", "Site", ""],
      ["live", "Live", "number"],
      ["count", "Blocks", "number"],
      ["largest", "Largest", "number"],
    ] as const).map(([column, title, kind]) =>
      markup`<th scope="col" id="column-${column}" class="${kind}" aria-sort="none"><button type="button"
id="sort-${column}">${title}</button></th>`
    )
  }</tr></thead><tbody id="sites"></tbody></table></div>
<pre class="panel" id="stack" hidden></pre>
<button type="button" id="sites-more" hidden>Show more</button></section>`;
}

function segmentTable({ segments }: MemoryReportFigures): Markup {
  if (segments.length === 0) return markup``;
  const titles = STATES.map(([state]) =>
    markup`<th scope="col" class="number">${stateTitle(state)}</th>`
  );
  const rows = segments.map(({ pool, kind, count, bytes }) =>
    markup`<tr><td class="name">${pool}, ${kind}</td><td class="number" data-label="segments">${
      formatCount(count)
    }</td>${
      STATES.map(([state]) =>
        markup`<td class="number" data-label="${stateTitle(state)}">${
          formatBytes(bytes[state])
        }</td>`
      )
    }</tr>`
  );
  return markup`<section><h2>Segments by pool</h2><div class="scroll"><table class="cards"><thead><tr>
<th scope="col">pool</th><th scope="col" class="number">segments</th>${titles}</tr></thead>
<tbody>${rows}</tbody></table></div></section>`;
}

/** Names of statistics and settings that are sizes. */
const SIZES = /bytes|size|allocated$|freed$|usage$|^cached|reserved$|free$|^pending|^expired/i;

function valueTable(title: string, values: Readonly<Record<string, unknown>>): Markup {
  const rows = Object.entries(values).map(([name, value]) => {
    let text = String(value ?? "none");
    if (typeof value === "number") {
      text = Number.isInteger(value) ? formatCount(value) : String(Number(value.toPrecision(6)));
      if (SIZES.test(name) && Math.abs(value) >= 1024) text += ` (${formatBytes(value)})`;
    }
    return markup`<tr><th scope="row">${name}</th><td class="value">${text}</td></tr>`;
  });
  if (rows.length === 0) return markup``;
  return markup`<details><summary><h2>${title}</h2> <span class="note">${
    counted(rows.length, "value")
  }</span></summary><table><tbody>${rows}</tbody></table></details>`;
}

/**
 * Creates an HTML page of a snapshot. The page needs no server, no network and no other file, and
 * its content security policy forbids connections.
 *
 * It shows live memory by call site over time with the peak and the limit, all segments and blocks
 * to scale at the time of the snapshot or after a chosen event, statistics and settings.
 *
 * @param snapshot A valid snapshot; `readSnapshot()` validates files.
 * @returns The text of the page.
 * @throws {SnapshotError} If the snapshot is not valid.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 * import { memoryReport, snapshotPool } from "@gridstride/cuda/memory";
 *
 * using device = openDevice();
 * const path = await Deno.makeTempFile({ suffix: ".html" });
 * await Deno.writeTextFile(path, memoryReport(snapshotPool(device.pool)));
 * ```
 * @category Reports
 */
export function memoryReport(snapshot: MemorySnapshot): string {
  const figures = memoryReportFigures(snapshot);
  const nonce = crypto.getRandomValues(new Uint8Array(16)).toBase64();
  const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; ` +
    "base-uri 'none'; form-action 'none'";
  const { streams, sites, timeline } = snapshot;
  const data = JSON.stringify({
    ...{ streams, sites, actions: TIMELINE_ACTIONS, limit: limitOf(snapshot) },
    timeline: timeline === null || timeline.time.length === 0 ? null : timeline,
    segments: snapshot.segments.toSorted((a, b) => a.address - b.address),
  });
  return markup`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Memory of ${deviceTitle(snapshot)}</title>
<style nonce="${nonce}">${new Markup(STYLE_SHEET)}</style>
</head>
<body>
${header(snapshot, figures)}
<noscript><p class="note">The timeline, the map and the sites are drawn by the page's script, which
this browser does not run.</p></noscript>
<main>
${timelineSection(snapshot)}
${mapSection(snapshot, figures)}
${segmentTable(figures)}
<div class="columns">${valueTable("Statistics", snapshot.statistics)}${
    valueTable("Settings", snapshot.settings)
  }</div>
</main>
<div id="tooltip" hidden></div>
<div id="announcement" role="status"></div>
<script type="application/json" id="data">${
    // No "<" may end the element or begin a comment.
    new Markup(data.replaceAll("<", "\\u003c"))}</script>
<script nonce="${nonce}">${new Markup(pageScript())}</script>
</body>
</html>
`.text;
}

/** Gives a snapshot a short form; Jupyter shows the report of it. */
export function displaySnapshot(snapshot: MemorySnapshot): MemorySnapshot {
  const totals = () => memoryReportFigures(snapshot).totals;
  return displayAs(snapshot, "MemorySnapshot", {
    device: () => deviceTitle(snapshot),
    fake: ({ device }) => device.fake,
    live: () => formatBytes(totals().live),
    reserved: () => formatBytes(totals().reserved),
    events: ({ timeline }) => timeline?.action.length,
  }, { html: (snapshot) => frameHtml(memoryReport(snapshot)) });
}
