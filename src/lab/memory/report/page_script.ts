/**
 * The page's script, as text.
 *
 * The page's own code is TypeScript like all other, checked, formatted and tested with it. What
 * runs in the page is the text that the running engine has of its functions and classes, from which
 * types have been taken off when it was loaded, be it from a file, from JSR, from npm or out of a
 * bundle: so that there is no second, generated copy, and no import of text, which JSR refuses. For
 * that to be enough:
 *
 * - a module of `page/` declares nothing but functions and classes, and each is listed here;
 * - they name each other, what a function is given, and what every engine has, but nothing of the
 *   web platform, which they are given as `window`;
 * - no class names itself, as bundlers give such a class a second name.
 *
 * Tests hold all of it, and open the page that a bundled and minified program makes.
 *
 * @module
 */

import { BlockFilter, sizeOf } from "./page/block_filter.ts";
import {
  describeBlock,
  describeEvent,
  exactBytes,
  exactTime,
  showDescription,
  spoken,
  streamName,
} from "./page/describe.ts";
import { canvasOf, elementOf, fieldOf, fillElement, listen, makeElement } from "./page/elements.ts";
import { Extremes } from "./page/extremes.ts";
import { Frames } from "./page/frames.ts";
import { startReport } from "./page/main.ts";
import { unpackColumn, unpackColumns, unpackReport } from "./page/report.ts";
import { SegmentLayout } from "./page/segment_layout.ts";
import { SegmentMap } from "./page/segment_map.ts";
import { SegmentView } from "./page/segment_view.ts";
import { siteRows, SiteTable } from "./page/site_table.ts";
import { prepareCanvas, Theme } from "./page/theme.ts";
import { byteTicks, multiplesOf, roundStep, timeLabel } from "./page/ticks.ts";
import { TimeAxis } from "./page/time_axis.ts";
import { Timeline } from "./page/timeline.ts";
import { TimelineChart } from "./page/timeline_chart.ts";
import { TimelineView } from "./page/timeline_view.ts";
import { Tooltip } from "./page/tooltip.ts";
import {
  formatAddress,
  formatBytes,
  formatCount,
  formatDuration,
  formatShare,
  innermostFrame,
} from "./quantities.ts";

/** Everything that the page's script consists of. */
export const PAGE_PARTS: readonly { readonly name: string }[] = [
  formatAddress,
  formatBytes,
  formatCount,
  formatDuration,
  formatShare,
  innermostFrame,
  canvasOf,
  elementOf,
  fieldOf,
  fillElement,
  listen,
  makeElement,
  unpackColumn,
  unpackColumns,
  unpackReport,
  Extremes,
  TimeAxis,
  Timeline,
  byteTicks,
  multiplesOf,
  roundStep,
  timeLabel,
  prepareCanvas,
  Theme,
  Frames,
  describeBlock,
  describeEvent,
  exactBytes,
  exactTime,
  showDescription,
  spoken,
  streamName,
  Tooltip,
  TimelineChart,
  TimelineView,
  sizeOf,
  BlockFilter,
  SegmentLayout,
  SegmentMap,
  SegmentView,
  siteRows,
  SiteTable,
  startReport,
];

/** The script of the page, complete. */
export function pageScript(): string {
  return [
    "(() => {",
    '"use strict";',
    // A bundler may have left a class without a name in its own text, but not without a name.
    ...PAGE_PARTS.map((part) => `const ${part.name} = ${part};`),
    `${startReport.name}(window);`,
    "})();",
  ].join("\n");
}
