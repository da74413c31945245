/**
 * Events and blocks in words.
 *
 * @module
 */

import {
  formatAddress,
  formatBytes,
  formatCount,
  formatDuration,
  formatShare,
  innermostFrame,
} from "../quantities.ts";
import type { PageDocument, PageElement } from "./dom.ts";
import { fillElement, makeElement } from "./elements.ts";
import type { Report } from "./report.ts";

/** What there is to say of an event or a block. */
export interface Description {
  /** What it is. */
  readonly title: string;
  /** Labels and values, the most telling first. */
  readonly rows: readonly (readonly [string, string])[];
  /** Who asked for it, a frame per line; empty where nobody knows. */
  readonly site: string;
}

/** A size in words, exactly too where words round. */
export function exactBytes(bytes: number): string {
  return bytes < 1024 ? formatBytes(bytes) : `${formatBytes(bytes)} (${formatCount(bytes)} B)`;
}

/** A time in milliseconds to the nanosecond, as far as it is known. */
export function exactTime(time: number): string {
  return time < 1000 ? `${Number(time.toFixed(6))} ms` : `${Number((time / 1000).toFixed(9))} s`;
}

/** The name of a stream by its index; −1: none. */
export function streamName(report: Report, stream: number): string {
  return report.streams[stream] ?? "none";
}

/** What there is to say of an event. */
export function describeEvent(report: Report, index: number): Description {
  const events = report.events!;
  const address = events.address[index]!;
  return {
    title: `${report.actions[events.action[index]!]!} ${formatBytes(events.bytes[index]!)}`,
    rows: [
      ["size", exactBytes(events.bytes[index]!)],
      ["stream", streamName(report, events.stream[index]!)],
      ["time", exactTime(events.time[index]!)],
      ["address", address === 0 ? "none" : formatAddress(address)],
      ["live after", formatBytes(events.live[index]!)],
      ["reserved after", formatBytes(events.reserved[index]!)],
    ],
    site: report.sites[events.site[index]!] ?? "",
  };
}

/** What there is to say of a block. */
export function describeBlock(report: Report, index: number): Description {
  const { blocks, segments } = report;
  const bytes = blocks.bytes[index]!;
  const requested = blocks.requested[index]!;
  const segment = blocks.segment[index]!;
  const state = report.states[blocks.state[index]!]!;
  const age = blocks.age[index]!;
  const unused = bytes === 0 ? 0 : 1 - requested / bytes;
  return {
    title: `${state} ${formatBytes(bytes)}`,
    rows: [
      ["size", exactBytes(bytes)],
      ...(state === "live"
        ? [["requested", `${exactBytes(requested)}, ${formatShare(unused)} unused`] as const]
        : []),
      ["address", formatAddress(blocks.address[index]!)],
      ["stream", blocks.stream[index]! < 0 ? "any" : streamName(report, blocks.stream[index]!)],
      ["age", age < 0 ? "unknown" : formatDuration(age)],
      [
        "segment",
        `${formatAddress(segments.address[segment]!)}, ${formatBytes(segments.bytes[segment]!)}, ${
          report.pools[segments.pool[segment]!]
        }, ${report.kinds[segments.kind[segment]!]}`,
      ],
    ],
    site: report.sites[blocks.site[index]!] ?? "",
  };
}

/** A description in one sentence, for what reads it aloud. */
export function spoken({ title, rows, site }: Description): string {
  const parts = rows.slice(1).map(([label, value]) => `${label} ${value}`);
  return [title, ...parts, site === "" ? "site unknown" : innermostFrame(site)].join(", ");
}

/** Shows a description in its panel. */
export function showDescription(
  document: PageDocument,
  panel: PageElement,
  description: Description | null,
  note: string,
): void {
  if (description === null) {
    fillElement(panel, makeElement(document, "p", "note", note));
    return;
  }
  const rows = description.rows.flatMap(([label, value]) => [
    makeElement(document, "dt", "", label),
    makeElement(document, "dd", "", value),
  ]);
  fillElement(
    panel,
    makeElement(document, "h3", "", description.title),
    makeElement(document, "dl", "", ...rows),
    description.site === ""
      ? makeElement(document, "p", "note", "Its site was not recorded.")
      : makeElement(document, "pre", "", description.site),
  );
}
