/**
 * Where the page's script begins.
 *
 * @module
 */

import type { ReportData } from "../report_data.ts";
import type { PageWindow } from "./dom.ts";
import { elementOf, listen } from "./elements.ts";
import { unpackReport } from "./report.ts";
import { SegmentView } from "./segment_view.ts";
import { SiteTable } from "./site_table.ts";
import { Theme } from "./theme.ts";
import { TimelineView } from "./timeline_view.ts";
import { Tooltip } from "./tooltip.ts";

/** Brings the page to life. */
export function startReport(window: PageWindow): void {
  const { document } = window;
  const data: ReportData = JSON.parse(elementOf(document, "data").textContent ?? "");
  const report = unpackReport(window, data);
  const theme = new Theme(window);
  const tooltip = new Tooltip(window);
  const timeline = report.events === null ? null : new TimelineView(window, report, theme, tooltip);
  const map = report.blocks.bytes.length === 0
    ? null
    : new SegmentView(window, report, theme, tooltip);
  if (map !== null) new SiteTable(window, report, (site) => map.highlight(site));
  const redraw = () => {
    theme.refresh();
    timeline?.request();
    map?.resize();
  };
  // Their widths follow the window's; their heights never change, whatever is shown beside them.
  const resized = new window.ResizeObserver(redraw);
  if (timeline !== null) resized.observe(elementOf(document, "timeline") as never);
  if (map !== null) resized.observe(elementOf(document, "map-box") as never);
  listen(window.matchMedia("(prefers-color-scheme: dark)"), "change", redraw);
  window.performance.mark("memory report drawn");
}
