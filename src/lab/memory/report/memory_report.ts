/**
 * Reports of a memory snapshot for people: a page to look around in, and text.
 *
 * @module
 */

import type { MemorySnapshot } from "../snapshot/memory_snapshot.ts";
import { embeddedJson, Markup, markup } from "./markup.ts";
import { deviceTitle, pageHeader } from "./page_header.ts";
import { pageScript } from "./page_script.ts";
import { mapSection, sitesSection, tableSections, timelineSection } from "./page_sections.ts";
import { reportData } from "./report_data.ts";
import { summarizeSnapshot } from "./snapshot_summary.ts";
import { STYLE_SHEET } from "./style_sheet.ts";

export {
  type BlockFigures,
  type MemoryReportFigures,
  memoryReportFigures,
  type SiteFigures,
} from "./report_figures.ts";
export { memoryReportText } from "./report_text.ts";
export type {
  PlacedBlock,
  SegmentGroup,
  SiteTotal,
  SnapshotSummary,
  SnapshotTotals,
} from "./snapshot_summary.ts";

/**
 * What the page may do: run the one script and use the one style sheet that carry this number, and
 * nothing else. What a site or a name contains could not know it.
 */
function contentPolicy(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

/**
 * A snapshot as one HTML page that stands alone: it needs no server, no network and no other file,
 * and its own policy forbids it any connection.
 *
 * It shows live and reserved memory and fragmentation over time, every segment and block to scale
 * with who asked for it, sites, statistics and settings.
 *
 * @param snapshot A snapshot that is what its type says; `readSnapshot()` checks what comes from a
 * file.
 * @returns The text of the page, to be written to a file.
 *
 * @example
 * ```ts ignore
 * Deno.writeTextFileSync("memory.html", memoryReport(snapshotPool(pool)));
 * ```
 */
export function memoryReport(snapshot: MemorySnapshot): string {
  const summary = summarizeSnapshot(snapshot);
  const nonce = crypto.getRandomValues(new Uint8Array(16)).toBase64();
  return markup`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${contentPolicy(nonce)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Memory of ${deviceTitle(snapshot)}</title>
<style nonce="${nonce}">${new Markup(STYLE_SHEET)}</style>
</head>
<body>
${pageHeader(snapshot, summary)}
<noscript><p class="note">The timeline, the map and the sites are drawn by the page's script, which
this browser does not run.</p></noscript>
<main>
${timelineSection(snapshot)}
${mapSection(snapshot, summary)}
${sitesSection(summary)}
${tableSections(snapshot, summary)}
</main>
<div id="tooltip" hidden></div>
<div id="announcement" role="status"></div>
<script type="application/json" id="data">${embeddedJson(reportData(snapshot))}</script>
<script nonce="${nonce}">${new Markup(pageScript())}</script>
</body>
</html>
`.text;
}
