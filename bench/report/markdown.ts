/**
 * The report of a run as a page to read.
 *
 * @module
 */

import { formatTestSummary } from "../../.ci/test_summary.ts";
import { type ComparedFigure, groupFigures, peersOf } from "./figure.ts";
import {
  exactBytes,
  formatApart,
  formatBandwidth,
  formatComparison,
  formatDuration,
  formatNumber,
  formatPercent,
  formatRates,
} from "./formats.ts";
import type {
  CheckFindings,
  GpuReport,
  LoadRange,
  MeasuredDevice,
  MeasureFindings,
} from "./gpu_report.ts";
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

/** A range: `1950–1980`. */
function span([least, most]: readonly [number, number]): string {
  return least === most ? `${most}` : `${least}–${most}`;
}

function deviceFacts(device: MeasuredDevice): string[][] {
  const { name, computeCapability, multiprocessorCount, totalMemory } = device;
  const memory = `${formatNumber(totalMemory / 2 ** 30)} GiB`;
  return [[
    "Device",
    `${name}, compute capability ${computeCapability}, ${multiprocessorCount} ` +
    `multiprocessors, ${memory}`,
  ]];
}

function loadFacts({ sm, memory, power }: LoadRange, powerLimit: string): string[][] {
  return [
    ["Clocks during the benchmarks", `SM ${span(sm)} MHz, memory ${span(memory)} MHz`],
    ["Power during the benchmarks", `${span(power)} W of ${powerLimit}`],
  ];
}

function peakFacts({ peaks }: MeasureFindings): string[][] {
  if (peaks === null) return [];
  const { source, bandwidth, operations } = peaks;
  const rates = Object.entries(operations).filter(([, rate]) => rate !== null)
    .map(([format, rate]) => `${format} ${formatNumber(rate! / 1e12)}`);
  const memory = bandwidth === null ? [] : [formatBandwidth(bandwidth)];
  return [[`Peaks by ${source}`, [...memory, `Top/s: ${rates.join(", ")}`].join("; ")]];
}

function facts(report: GpuReport): string[][] {
  const { device, gpu, machine, measure, finished } = report;
  return [
    ...(device === null ? [] : deviceFacts(device)),
    ...(gpu === null ? [] : [
      ["Driver", gpu.driver],
      [
        "Clocks before",
        `SM ${gpu.clocks.sm} of ${gpu.clocks.smMaximum}, memory ${gpu.clocks.memory}`,
      ],
    ]),
    ...(measure?.load == null || gpu === null ? [] : loadFacts(measure.load, gpu.powerLimit)),
    ...(measure === undefined ? [] : peakFacts(measure)),
    ["Host", `${machine.processor}, ${machine.processors} processors, ${machine.system}`],
    ["Deno", machine.deno],
    ["Date", report.date],
    ["Commit", report.commit],
    ...(finished ? [] : [["State", "**cut off, or still running**"]]),
  ];
}

function checkSection({ files, ran, tests, failing }: CheckFindings): string[] {
  return [
    "## Tests",
    "",
    `${formatTestSummary(tests)} in ${ran} of ${files} files that use a device.`,
    "",
    ...(failing.length === 0 ? [] : table(
      ["file", "", "again", "tests"],
      failing.map(({ file, outcome, alone, tests }) => [
        file,
        outcome,
        alone ?? "not run again",
        tests.join("; "),
      ]),
    )),
  ];
}

function figureRow(figure: ComparedFigure, { peaks }: MeasureFindings): string[] {
  const { bytes, bytesPerSecond, operationsPerSecond, arithmetic, clocks, drift } = figure;
  const peak = arithmetic === undefined ? null : peaks?.operations[arithmetic] ?? null;
  const bandwidth = figure.clock === "device" ? peaks?.bandwidth ?? null : null;
  const share = operationsPerSecond !== null && peak !== null
    ? operationsPerSecond / peak
    : bytesPerSecond !== null && bandwidth !== null
    ? bytesPerSecond / bandwidth
    : null;
  return [
    figure.library === undefined
      ? figure.title
      : `${figure.title} ${figure.library.version}, beside ${figure.beside}`,
    formatDuration(figure.median),
    formatDuration(figure.fastest),
    figure.dropped === 0 ? `${figure.samples}` : `${figure.samples} (${figure.dropped} dropped)`,
    figure.host === null ? "" : formatDuration(figure.host),
    bytes === null ? "" : exactBytes(bytes),
    formatRates(figure),
    formatComparison(figure),
    share === null ? "" : formatPercent(share),
    clocks === undefined ? "" : span(clocks),
    drift === undefined ? "" : `${formatNumber(drift)} ×`,
  ];
}

const FIGURE_COLUMNS = [
  "",
  "median",
  "fastest",
  "samples",
  "host",
  "bytes",
  "rate",
  "to baseline",
  "of peak",
  "MHz",
  "drift",
];

function figureTable(figures: readonly ComparedFigure[], findings: MeasureFindings): string[] {
  const [{ area, group }] = figures as [ComparedFigure];
  const rows = figures.map((figure) => figureRow(figure, findings));
  // Columns without a value in this group are left out.
  const used = FIGURE_COLUMNS.map((_, column) =>
    column === 0 || rows.some((row) => row[column] !== "")
  );
  const keep = (cells: readonly string[]) => cells.filter((_, column) => used[column]);
  return [`### ${area}: ${group}`, "", ...table(keep(FIGURE_COLUMNS), rows.map(keep), true)];
}

function peerSection({ figures, missing }: MeasureFindings): string[] {
  // Those that have done anything: others were there too.
  const libraries = new Map(
    figures.flatMap(({ library }) =>
      library === undefined ? [] : [[library.name, library.version] as const]
    ),
  );
  const names = [...libraries.keys()];
  const versions = [...libraries].map((library) => library.join(" ")).join(", ");
  const rows = figures.flatMap((ours) => {
    const peers = ours.library === undefined ? peersOf(figures, ours) : [];
    if (peers.length === 0) return [];
    const speedup = (name: string) => {
      const peer = peers.find(({ library }) => library!.name === name);
      return peer === undefined ? "" : `${formatNumber(peer.fastest / ours.fastest)} ×`;
    };
    const subject = `${ours.group}: ${ours.title}`;
    return [[subject, formatDuration(ours.fastest), ...names.map(speedup)]];
  });
  return [
    ...(rows.length === 0 ? [] : [
      "## Other libraries",
      "",
      `The same work with the same numbers in ${versions}: their fastest sample by ours, above 1 where ` +
      "we are faster.",
      "",
      ...table(["", "ours", ...names], rows, true),
    ]),
    ...(missing.length === 0
      ? []
      : ["## Missing", "", ...missing.map((reason) => `- ${reason}`), ""]),
  ];
}

function goalTable(subject: string, goals: readonly GoalOutcome[]): string[] {
  if (goals.length === 0) return [];
  const rows = goals.map((goal) => [goal.name, goal.goal, goal.measured, formatReached(goal)]);
  return [`### ${subject}`, "", ...table(["", "goal", "measured", ""], rows, true)];
}

function speedSection({ speeds }: MeasureFindings): string[] {
  if (speeds.length === 0) return [];
  const time = (nanoseconds: number | null) =>
    nanoseconds === null ? "" : formatDuration(nanoseconds);
  const rows = speeds.map(({ name, ours, peer, limit, goal }) => {
    const isCompared = ours !== null && goal !== null;
    const [own, aim] = isCompared
      ? formatApart(ours, goal, formatDuration)
      : [ours === null ? "not run" : time(ours), time(goal)];
    return [
      name,
      own,
      peer === null ? "" : `${time(peer.nanoseconds)} ${peer.name}`,
      time(limit),
      aim,
      isCompared ? ours <= goal ? "reached" : "missed" : "",
    ];
  });
  return [
    "## Speed",
    "",
    "The fastest samples. The limit is the time that the peaks allow at best; work of another size than " +
    "on a GPU has no goal.",
    "",
    ...table(["", "ours", "fastest peer", "limit", "goal", ""], rows, true),
  ];
}

function traceSection({ traces }: MeasureFindings): string[] {
  if (traces.length === 0) return [];
  return [
    "## Traces",
    "",
    "Bytes reserved at most by the allocators of other libraries and by our models of them:",
    "",
    ...table(
      ["trace", "policy", "version", "library", "model", ""],
      traces.map(({ trace, policy, version, real, model, same }) => [
        trace,
        policy,
        version,
        String(real),
        String(model),
        same ? "same" : "**different**",
      ]),
    ),
  ];
}

function measureSections(findings: MeasureFindings): string[] {
  const { figures, impossible, goals } = findings;
  const goalTables = Object.entries(goals).flatMap(([subject, own]) => goalTable(subject, own));
  return [
    ...speedSection(findings),
    ...(impossible.length === 0 ? [] : [
      "## Impossible",
      "",
      "These exceed the peaks, so they have not timed their work, and are not among the figures:",
      "",
      ...impossible.map((reason) => `- ${reason}`),
      "",
    ]),
    ...(figures.length === 0 ? [] : [
      "## Figures",
      "",
      "Times are per call: on the device by its events where the host's time of enqueueing is apart. " +
      "Samples at less than 95 % of the highest clock are dropped. To baseline: bandwidth or operations " +
      "in percent, or time. Drift: the medians of two passes.",
      "",
      ...groupFigures(figures).flatMap((group) => figureTable(group, findings)),
    ]),
    ...(goalTables.length === 0 ? [] : [
      "## Goals",
      "",
      "Measured are the fastest samples; of the pool, medians.",
      "",
      ...goalTables,
    ]),
    ...peerSection(findings),
    ...traceSection(findings),
  ];
}

/** The report as Markdown. */
export function formatGpuReport(report: GpuReport): string {
  const { check, measure } = report;
  return [
    `# ${report.name}: ${report.command}`,
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
    ...(check === undefined ? [] : checkSection(check)),
    ...(measure === undefined ? [] : measureSections(measure)),
  ].join("\n");
}
