/**
 * The head of the page: what the snapshot is of, and its totals.
 *
 * @module
 */

import type { MemorySnapshot } from "../snapshot/memory_snapshot.ts";
import { type Markup, markup } from "./markup.ts";
import { formatBytes, formatCount, formatShare } from "./quantities.ts";
import type { SnapshotSummary } from "./snapshot_summary.ts";

/** The name of the device with what its label leaves out. */
export function deviceTitle({ device }: MemorySnapshot): string {
  return device.name === "" ? device.label : `${device.label}, ${device.name}`;
}

/** When and by what the snapshot was taken, as far as it tells. */
export function origin({ takenAt, source }: MemorySnapshot): string {
  const by = source === "pytorch" ? "a snapshot of PyTorch" : "a snapshot of the pool";
  return takenAt === null ? by : `${by}, taken ${takenAt}`;
}

/** A number of things, one or several. */
export function counted(count: number, thing: string): string {
  return `${formatCount(count)} ${thing}${count === 1 ? "" : "s"}`;
}

function figure(name: string, value: string, note: string): Markup {
  return markup`<div><dt>${name}</dt><dd>${value}<div class="note">${note}</div></dd></div>`;
}

function figures(snapshot: MemorySnapshot, summary: SnapshotSummary): Markup {
  const { totals, reservedPerLive } = summary;
  const { totalBytes } = snapshot.device;
  return markup`<dl class="figures">${[
    figure("Live", formatBytes(totals.live), counted(totals.liveBlocks, "block")),
    figure("Cached", formatBytes(totals.cached), "free, kept whole"),
    figure("Free", formatBytes(totals.free), `largest ${formatBytes(totals.largestFree)}`),
    figure("Pending", formatBytes(totals.pending), "freed, in use by a stream"),
    figure(
      "Reserved",
      formatBytes(totals.reserved),
      totalBytes === null
        ? counted(totals.segments, "segment")
        : `${counted(totals.segments, "segment")}, of ${formatBytes(totalBytes)}`,
    ),
    figure(
      "Reserved ÷ live",
      reservedPerLive === null ? "–" : reservedPerLive.toFixed(3),
      reservedPerLive === null ? "nothing is live" : "1 is ideal",
    ),
    figure(
      "External fragmentation",
      formatShare(summary.externalFragmentation),
      "1 − largest free ÷ total free",
    ),
    figure(
      "Internal fragmentation",
      formatShare(summary.internalFragmentation),
      "1 − requested ÷ reserved",
    ),
  ]}</dl>`;
}

/** What reserved memory consists of, as a bar. */
function composition({ totals }: SnapshotSummary): Markup {
  if (totals.reserved === 0) return markup``;
  const states = ["live", "pending", "cached", "free"] as const;
  let start = 0;
  const parts = states.map((state) => {
    const width = totals[state] / totals.reserved * 100;
    const part = markup`<svg x="${start}%" width="${width}%" height="18">
<rect width="100%" height="100%" class="${state}"/>${texture(state)}</svg>`;
    start += width;
    return part;
  });
  const words = states.map((state) => `${state} ${formatShare(totals[state] / totals.reserved)}`);
  return markup`<svg class="composition" role="img" aria-label="${words.join(", ")}"><title>${
    words.join(", ")
  }</title>${parts}</svg>`;
}

/** What tells a state from others without colour. */
export function texture(state: string): Markup {
  if (state === "cached") {
    return markup`<rect width="100%" height="100%" fill="url(#hatch)"/>`;
  }
  if (state === "pending") {
    return markup`<rect width="100%" height="100%" fill="url(#dots)"/>`;
  }
  if (state === "free") {
    return markup`<rect width="100%" height="100%" class="edge"/>`;
  }
  return markup``;
}

/** The header. */
export function pageHeader(snapshot: MemorySnapshot, summary: SnapshotSummary): Markup {
  const fake = snapshot.device.fake ? markup` <span class="fake">fake device</span>` : markup``;
  return markup`<svg width="0" height="0" aria-hidden="true"><defs>
<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse">
<path class="mark" d="M-1 7 7 -1 M-4 4 4 -4 M2 10 10 2"/></pattern>
<pattern id="dots" width="6" height="6" patternUnits="userSpaceOnUse">
<rect class="dot" x="2" y="2" width="2" height="2"/></pattern>
</defs></svg>
<header><h1>Memory of ${deviceTitle(snapshot)}${fake}</h1>
<p class="muted">${origin(snapshot)}</p>
${figures(snapshot, summary)}${composition(summary)}</header>`;
}
