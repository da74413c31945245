/**
 * The sections of the page; the page's script fills what is drawn.
 *
 * @module
 */

import type { MemorySnapshot } from "../snapshot/memory_snapshot.ts";
import { measuresTable, settingsTable, statisticsTable } from "./figure_tables.ts";
import { type Markup, markup } from "./markup.ts";
import { texture } from "./page_header.ts";
import { formatBytes, formatCount } from "./quantities.ts";
import type { SnapshotSummary } from "./snapshot_summary.ts";

const STATES = [
  ["live", "somebody has it"],
  ["pending", "freed, but a stream may still use it"],
  ["cached", "free, kept whole for the next request of its size"],
  ["free", "free"],
  ["unmapped", "addresses without memory"],
] as const;

function swatch(state: string): Markup {
  return markup`<svg class="swatch" aria-hidden="true"><rect width="100%" height="100%" class="${state}"/>${
    texture(state)
  }</svg>`;
}

/** The section of the timeline. */
export function timelineSection({ timeline }: MemorySnapshot): Markup {
  if (timeline === null || timeline.time.length === 0) {
    return markup`<section><h2>Timeline</h2>
<p class="note">No events were recorded before this snapshot.</p></section>`;
  }
  const dropped = timeline.dropped === 0
    ? markup``
    : markup` · ${formatCount(timeline.dropped)} earlier events were not kept`;
  return markup`<section aria-labelledby="timeline-title">
<div class="bar-row"><h2 id="timeline-title">Timeline</h2>
<span class="key">${swatch("live")}live</span>
<span class="key">${swatch("reserved")}reserved</span>
<span class="key">${swatch("fragmentation")}fragmentation</span>
<span class="key"><svg class="swatch" aria-hidden="true"><path class="alarm" d="M1 2h12L7 13z"/></svg>out of memory</span>
<label>by <select id="timeline-axis"><option value="time">time</option>
<option value="event">number of event</option></select></label>
<span class="buttons"><button type="button" id="timeline-out" aria-label="Zoom out">−</button>
<button type="button" id="timeline-in" aria-label="Zoom in">+</button>
<button type="button" id="timeline-whole">Whole</button></span></div>
<canvas id="timeline" tabindex="0" role="application"
aria-label="Live and reserved memory and fragmentation over time"></canvas>
<div class="panel" id="event"></div>
<p class="keys note"><span id="timeline-range"></span>${dropped} · drag or <kbd>←</kbd> <kbd>→</kbd>
to pan · wheel or <kbd>+</kbd> <kbd>−</kbd> to zoom · <kbd>0</kbd> whole ·
<kbd>Shift</kbd> <kbd>←</kbd> <kbd>→</kbd> event by event · <kbd>o</kbd> next out of memory ·
<kbd>Enter</kbd> keep</p></section>`;
}

function stateFilters(summary: SnapshotSummary): Markup[] {
  return STATES.map(([state, meaning]) =>
    markup`<label title="${meaning}"><input type="checkbox" id="state-${state}" checked>${
      swatch(state)
    }${state} <span class="muted">${formatBytes(summary.totals[state])}</span></label>`
  );
}

/** The section of the map of segments. */
export function mapSection(snapshot: MemorySnapshot, summary: SnapshotSummary): Markup {
  if (summary.totals.blocks === 0) {
    return markup`<section><h2>Segments</h2><p class="note">The pool has no memory.</p></section>`;
  }
  const streams = snapshot.streams.map((name, index) =>
    markup`<option value="${index}">${name}</option>`
  );
  return markup`<section aria-labelledby="map-title">
<div class="bar-row"><h2 id="map-title">Segments</h2>${stateFilters(summary)}</div>
<div class="bar-row"><label>stream <select id="filter-stream"><option value="">any</option>
${streams}<option value="-1">none</option></select></label>
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
<p class="keys note">to scale, by address · <kbd>←</kbd> <kbd>→</kbd> <kbd>↑</kbd> <kbd>↓</kbd> block by
block · <kbd>+</kbd> <kbd>−</kbd> or <kbd>Ctrl</kbd> wheel to zoom · click or <kbd>Enter</kbd> keep ·
<kbd>Esc</kbd> let go</p></section>`;
}

/** The section of the sites; filled by the page's script. */
export function sitesSection({ totals }: SnapshotSummary): Markup {
  if (totals.blocks === 0) return markup``;
  const heading = (column: string, title: string, kind: string) =>
    markup`<th scope="col" id="column-${column}" class="${kind}" aria-sort="none"><button type="button"
id="sort-${column}">${title}</button></th>`;
  return markup`<section aria-labelledby="sites-title">
<div class="bar-row"><h2 id="sites-title">Sites of live blocks</h2>
<span class="note">choose one to see its blocks on the map</span></div>
<div class="scroll"><table><thead><tr>${heading("name", "Site", "")}${
    heading("live", "Live", "number")
  }${heading("count", "Blocks", "number")}${
    heading("largest", "Largest", "number")
  }</tr></thead><tbody id="sites"></tbody></table></div>
<pre class="panel" id="stack" hidden></pre>
<button type="button" id="sites-more" hidden>Show more</button></section>`;
}

function segmentTable({ segments }: SnapshotSummary): Markup {
  const rows = segments.map(({ pool, kind, count, bytes }) =>
    markup`<tr><td class="name">${pool}, ${kind}</td><td class="number">${formatCount(count)}</td>${
      STATES.map(([state]) => markup`<td class="number">${formatBytes(bytes[state])}</td>`)
    }</tr>`
  );
  const titles = STATES.map(([state]) => markup`<th scope="col" class="number">${state}</th>`);
  return markup`<section><h2>Segments by pool</h2><div class="scroll"><table><thead><tr>
<th scope="col">pool</th><th scope="col" class="number">segments</th>${titles}</tr></thead>
<tbody>${rows}</tbody></table></div></section>`;
}

/** The tables at the end. */
export function tableSections(snapshot: MemorySnapshot, summary: SnapshotSummary): Markup {
  return markup`${summary.segments.length === 0 ? markup`` : segmentTable(summary)}
<div class="columns">${statisticsTable(snapshot)}${settingsTable(snapshot)}</div>
${measuresTable(snapshot)}`;
}
