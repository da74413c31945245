/**
 * The report of a run as a page to read.
 *
 * @module
 */

import { formatTestSummary } from "../../.ci/test_summary.ts";
import { exactBytes } from "./bench_name.ts";
import { type ComparedFigure, groupFigures } from "./figure.ts";
import {
  formatBandwidth,
  formatComparison,
  formatDuration,
  formatNumber,
  formatPercent,
  formatRates,
} from "./formats.ts";
import type { GpuReport, MeasuredDevice } from "./gpu_report.ts";
import { formatReached, type GoalOutcome } from "./goals.ts";

/** A Markdown table; all columns but the first are aligned to the right where `numeric` is set. */
function table(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  numeric = false,
): string[] {
  const rule = header.map((_, column) => numeric && column > 0 ? "---:" : "---");
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
  return [line(header), line(rule), ...rows.map(line), ""];
}

/** The span of some samples: `1950–1980`. */
function span(samples: readonly number[]): string {
  if (samples.length === 0) return "not sampled";
  const [least, most] = [Math.min(...samples), Math.max(...samples)];
  return least === most ? `${most}` : `${least}–${most}`;
}

function deviceFacts(device: MeasuredDevice): string[][] {
  const { name, computeCapability, multiprocessorCount, totalMemory, peakBandwidth } = device;
  const memory = `${formatNumber(totalMemory / 2 ** 30)} GiB`;
  return [
    [
      "Device",
      `${name}, compute capability ${computeCapability}, ${multiprocessorCount} ` +
      `multiprocessors, ${memory}`,
    ],
    ...(peakBandwidth === null
      ? []
      : [["Memory bandwidth by data sheet", formatBandwidth(peakBandwidth)]]),
  ];
}

function facts(report: GpuReport): string[][] {
  const { device, gpu, load, machine } = report;
  return [
    ...(device === null ? [] : deviceFacts(device)),
    ...(gpu === null ? [] : [
      ["Driver", gpu.driver],
      [
        "Clocks before",
        `SM ${gpu.clocks.sm} of ${gpu.clocks.smMaximum}, memory ${gpu.clocks.memory}`,
      ],
    ]),
    ...(gpu === null || load === null ? [] : [
      ["Clocks during the benchmarks", `SM ${span(load.sm)} MHz, memory ${span(load.memory)} MHz`],
      ["Power during the benchmarks", `${span(load.power)} W of ${gpu.powerLimit}`],
    ]),
    ["Host", `${machine.processor}, ${machine.processors} processors, ${machine.system}`],
    ["Deno", machine.deno],
    ["Date", report.date],
    ["Commit", report.commit],
    ["Tests", report.tests === null ? "did not end" : formatTestSummary(report.tests)],
  ];
}

function figureRow(figure: ComparedFigure, peakBandwidth: number | null): string[] {
  const { bytes, bytesPerSecond } = figure;
  return [
    figure.title,
    formatDuration(figure.nanoseconds),
    formatDuration(figure.fastest),
    String(figure.samples),
    bytes === null ? "" : exactBytes(bytes),
    formatRates(figure),
    formatComparison(figure),
    bytesPerSecond === null || peakBandwidth === null
      ? ""
      : formatPercent(bytesPerSecond / peakBandwidth),
  ];
}

function figureTable(figures: readonly ComparedFigure[], report: GpuReport): string[] {
  const [{ area, group }] = figures as [ComparedFigure];
  // Only what stays on the device is bounded by its memory.
  const peak = area === "kernel" ? report.device?.peakBandwidth ?? null : null;
  const header = ["", "per call", "fastest", "samples", "bytes", "rate", "to baseline"];
  const rows = figures.map((figure) => figureRow(figure, peak));
  const columns = peak === null ? header.length : header.length + 1;
  return [
    `### ${area}: ${group}`,
    "",
    ...table(
      [...header, "of data sheet"].slice(0, columns),
      rows.map((row) => row.slice(0, columns)),
      true,
    ),
  ];
}

function peerSection({ peers, comparisons }: GpuReport): string[] {
  if (peers === null) return [];
  const names = peers.peers.map(({ name }) => name);
  const versions = peers.peers.map(({ name, version }) => `${name} ${version}`).join(", ");
  return [
    "## Peers",
    "",
    ...(names.length === 0 ? [] : [
      `The same work in ${versions}: their time by ours, above 1 where we are faster.`,
      "",
      ...table(
        ["", "our time", ...names],
        comparisons.map(({ name, nanoseconds, speedup }) => [
          name,
          formatDuration(nanoseconds),
          ...names.map((peer) => peer in speedup ? `${formatNumber(speedup[peer]!)} ×` : ""),
        ]),
        true,
      ),
    ]),
    ...peers.skipped.map((reason) => `- Not compared: ${reason}`),
    ...(peers.skipped.length === 0 ? [] : [""]),
  ];
}

function goalTable(heading: string, goals: readonly GoalOutcome[]): string[] {
  if (goals.length === 0) return [];
  const rows = goals.map((goal) => [goal.name, goal.goal, goal.measured, formatReached(goal)]);
  return [heading, "", ...table(["", "goal", "measured", ""], rows, true)];
}

function kernelSection({ kernelGoals }: GpuReport): string[] {
  return [
    ...goalTable("## Kernels from source", kernelGoals),
    ...(kernelGoals.length === 0
      ? []
      : ["Measured are the fastest samples; beside peers, what three quarters took at most.", ""]),
  ];
}

function launchSection({ launchGoals }: GpuReport): string[] {
  return [
    ...goalTable("## Launch parameters", launchGoals),
    ...(launchGoals.length === 0 ? [] : ["Measured are the fastest samples.", ""]),
  ];
}

function tensorSection({ tensorGoals }: GpuReport): string[] {
  return [
    ...goalTable("## Tensors", tensorGoals),
    ...(tensorGoals.length === 0 ? [] : ["Measured are the fastest samples.", ""]),
  ];
}

function poolSection({ poolGoals, traces }: GpuReport): string[] {
  return [
    ...goalTable("## Memory pool", poolGoals),
    ...(traces.length === 0 ? [] : [
      "Bytes reserved at most by the peers' allocators and by our models of them:",
      "",
      ...table(
        ["trace", "policy", "version", "peer", "model", ""],
        traces.map(({ trace, policy, version, real, model, same }) => [
          trace,
          policy,
          version,
          String(real),
          String(model),
          same ? "same" : "**different**",
        ]),
      ),
    ]),
  ];
}

/** The report as Markdown. */
export function formatGpuReport(report: GpuReport): string {
  return [
    `# ${report.name}`,
    "",
    ...table(["", ""], facts(report)),
    "## Steps",
    "",
    ...table(
      ["step", "", "seconds", ""],
      report.steps.map(({ name, status, seconds, detail }) => [
        name,
        status === "failed" ? "**failed**" : status,
        seconds.toFixed(1),
        detail,
      ]),
    ),
    ...(report.figures.length === 0 ? [] : [
      "## Figures",
      "",
      "Per call: what three quarters of the samples took at most. To baseline: bandwidth or operations " +
      "in percent, or time.",
      "",
      ...groupFigures(report.figures).flatMap((group) => figureTable(group, report)),
    ]),
    ...kernelSection(report),
    ...launchSection(report),
    ...tensorSection(report),
    ...poolSection(report),
    ...peerSection(report),
  ].join("\n");
}
