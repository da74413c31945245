/**
 * What an analysis of accesses says, for people.
 *
 * @module
 */

import type { AccessReport, ReuseHistogram } from "../lab/analysis/mod.ts";
import { formatBytes, textTable } from "./text_table.ts";

/** What was analysed. */
export interface AnalyzedAccess {
  /** Where the indices come from. */
  readonly subject: string;
  /** Bytes of an element. */
  readonly elementBytes: number;
  /** Whether they are indices of shared memory. */
  readonly isShared: boolean;
  /** What to do, in sentences. */
  readonly advice: string;
}

/** Most rows of the table of reuse; beyond them distances are put together. */
const REUSE_ROWS = 16;
const BAR = "▏▎▍▌▋▊▉█";
const BAR_WIDTH = 24;

function decimal(value: number): string {
  return String(Number(value.toFixed(2)));
}

function percent(share: number): string {
  return `${Math.round(share * 1000) / 10} %`;
}

function plural(count: number, noun: string, nouns = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : nouns}`;
}

/** The pattern in words: `strided by 2`. */
function patternOf({ kind, stride, tile, confidence, outliers }: AccessReport): string {
  const shape = kind === "strided"
    ? ` by ${stride}`
    : tile !== null
    ? `, ${tile.rows} runs of ${tile.columns}, ${tile.pitch} apart`
    : "";
  const doubt = outliers === 0 ? "" : ` (${percent(confidence)}, ${plural(outliers, "outlier")})`;
  return `${kind}${shape}${doubt}`;
}

function trafficTable(report: AccessReport, isShared: boolean): string {
  const { requests, sectors, idealSectors, lines, bankConflicts } = report;
  const each = (count: number) => requests === 0 ? "–" : decimal(count / requests);
  const shared = ["bank conflicts, if in shared memory", bankConflicts, each(bankConflicts), "0"];
  const global = [
    ["requests", requests, "", ""],
    ["sectors of 32 bytes", sectors, each(sectors), each(idealSectors)],
    ["lines of 128 bytes", lines, each(lines), ""],
  ];
  const rows = isShared
    ? [["requests", requests, "", ""], ["bank conflicts", ...shared.slice(1)]]
    : [...global, shared];
  return textTable(["", "all", "a request", "at best"], rows.map((row) => row.map(String)), [
    "left",
    "right",
    "right",
    "right",
  ]);
}

function bar(share: number): string {
  const eighths = Math.round(share * BAR_WIDTH * BAR.length);
  const rest = eighths % BAR.length;
  return BAR.at(-1)!.repeat(Math.floor(eighths / BAR.length)) + (rest === 0 ? "" : BAR[rest - 1]);
}

/** The distances of an entry of a histogram. */
function distances(entry: number): string {
  if (entry < 2) return String(entry);
  return `${2 ** (entry - 1)} to ${2 ** entry - 1}`;
}

function reuseTable({ counts, firstTouches, sampled, standardError }: ReuseHistogram): string {
  const shown = counts.slice(0, REUSE_ROWS);
  const rest = counts.slice(REUSE_ROWS).reduce((sum, count) => sum + count, 0);
  const total = [...counts, firstTouches].reduce((sum, count) => sum + count, 0);
  const entries: [string, number][] = [
    ...shown.map((count, entry): [string, number] => [distances(entry), count]),
    ...(rest === 0 ? [] : [[`${2 ** (REUSE_ROWS - 1)} and more`, rest] as [string, number]]),
    ["never before", firstTouches],
  ];
  const rows = entries.map(([title, count]) => {
    const share = total === 0 ? 0 : count / total;
    return [title, percent(share), bar(share)];
  });
  const sample = sampled < 1
    ? `\nfrom ${percent(sampled)} of the lines; standard error ${percent(standardError)}`
    : "";
  return textTable(["lines accessed in between", "accesses", ""], rows, ["left", "right"]) + sample;
}

/** Describes an analysis. */
export function describeAccess(report: AccessReport, access: AnalyzedAccess): string {
  const { subject, elementBytes, isShared, advice } = access;
  const head = `${subject}: ${plural(report.count, "access", "accesses")} of ` +
    `${formatBytes(elementBytes)}, ${patternOf(report)}`;
  const efficiency = `coalescing efficiency ${percent(report.efficiency)}`;
  return [
    head,
    trafficTable(report, isShared),
    ...(isShared ? [] : [efficiency]),
    ...(report.reuse === null ? [] : [reuseTable(report.reuse)]),
    ...(advice === "" ? [] : [advice]),
  ].join("\n\n");
}
