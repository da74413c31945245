/**
 * What a GPU host proved, as JSON and as a page to read.
 *
 * @module
 */

import { formatTestSummary, type TestSummary } from "./test_summary.ts";

/** The GPU that was measured. */
export interface GpuDescription {
  /** Its marketing name. */
  readonly name: string;
  /** Compute capability, such as "9.0". */
  readonly computeCapability: string;
  /** The driver's version. */
  readonly driver: string;
  /** Total memory, as nvidia-smi prints it. */
  readonly memory: string;
  /** Clocks when the run began, as nvidia-smi prints them. */
  readonly clocks: {
    /** Of the multiprocessors. */
    readonly sm: string;
    /** Of the memory. */
    readonly memory: string;
    /** The most the multiprocessors can have. */
    readonly smMaximum: string;
  };
}

/** One benchmark, in nanoseconds per iteration. */
export interface BenchResult {
  /** The file. */
  readonly file: string;
  /** Its group; null when it has none. */
  readonly group: string | null;
  /** Its name. */
  readonly name: string;
  /** The mean. */
  readonly average: number;
  /** The fastest. */
  readonly minimum: number;
  /** The 75th percentile. */
  readonly p75: number;
  /** The 99th percentile. */
  readonly p99: number;
}

/** Everything a run on a GPU host found. */
export interface GpuReport {
  /** The GPU. */
  readonly gpu: GpuDescription;
  /** When, as an ISO date and time. */
  readonly date: string;
  /** The commit that was measured; "unknown" outside a repository. */
  readonly commit: string;
  /** The tests on that GPU. */
  readonly tests: TestSummary;
  /** The tests under compute-sanitizer; null where there is none. */
  readonly sanitizer: TestSummary | null;
  /** The benchmarks. */
  readonly benches: readonly BenchResult[];
}

/** The properties that `nvidia-smi --query-gpu` is asked for, in this order. */
export const GPU_QUERY: readonly string[] = [
  "name",
  "compute_cap",
  "driver_version",
  "memory.total",
  "clocks.sm",
  "clocks.mem",
  "clocks.max.sm",
];

/**
 * Reads the first line of what nvidia-smi answers.
 *
 * @throws {Error} If it is not one value for each property.
 */
export function readGpuDescription(csv: string): GpuDescription {
  const values = csv.split("\n", 1)[0]!.split(",").map((value) => value.trim());
  if (values.length !== GPU_QUERY.length || values.includes("")) {
    throw new Error(`Cannot read what nvidia-smi says of the GPU: ${JSON.stringify(csv)}`);
  }
  const [name, computeCapability, driver, memory, sm, memoryClock, smMaximum] = values as [
    string,
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  const clocks = { sm, memory: memoryClock, smMaximum };
  return { name, computeCapability, driver, memory, clocks };
}

interface BenchJson {
  readonly benches: readonly {
    readonly origin: string;
    readonly group: string | null;
    readonly name: string;
    readonly results: readonly {
      readonly ok?: { avg: number; min: number; p75: number; p99: number };
    }[];
  }[];
}

/**
 * Reads what `deno bench --json` prints.
 *
 * @throws {Error} If a benchmark failed.
 */
export function readBenchResults(json: string): BenchResult[] {
  const { benches }: BenchJson = JSON.parse(json);
  return benches.map(({ origin, group, name, results }) => {
    const timing = results[0]?.ok;
    if (timing === undefined) throw new Error(`The benchmark ${JSON.stringify(name)} failed`);
    const { avg, min, p75, p99 } = timing;
    const file = origin.slice(origin.lastIndexOf("/") + 1);
    return { file, group, name, average: avg, minimum: min, p75, p99 };
  });
}

/** The name of the files a GPU's results go to, such as `nvidia-h200`. */
export function resultName(gpu: string): string {
  return gpu.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
}

/** A duration with the unit that fits it. */
export function formatDuration(nanoseconds: number): string {
  const units = [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9]] as const;
  const [unit, size] = units.findLast(([, size]) => nanoseconds >= size) ?? units[0];
  return `${(nanoseconds / size).toPrecision(3)} ${unit}`;
}

/** The report as Markdown. */
export function formatGpuReport(report: GpuReport): string {
  const { gpu, benches } = report;
  const facts = [
    ["GPU", `${gpu.name}, compute capability ${gpu.computeCapability}, ${gpu.memory}`],
    ["Driver", gpu.driver],
    ["Clocks", `SM ${gpu.clocks.sm} of ${gpu.clocks.smMaximum}, memory ${gpu.clocks.memory}`],
    ["Date", report.date],
    ["Commit", report.commit],
    ["Tests on the GPU", formatTestSummary(report.tests)],
    [
      "compute-sanitizer",
      report.sanitizer === null ? "not installed" : formatTestSummary(report.sanitizer),
    ],
  ];
  const rows = benches.map(({ file, group, name, ...times }) => {
    const { average, minimum, p75, p99 } = times;
    const cells = [average, minimum, p75, p99].map(formatDuration);
    return `| ${file} | ${group ?? ""} | ${name} | ${cells.join(" | ")} |`;
  });
  return [
    `# ${gpu.name}`,
    "",
    "| | |",
    "| --- | --- |",
    ...facts.map(([name, value]) => `| ${name} | ${value} |`),
    "",
    "Times per iteration.",
    "",
    "| file | group | benchmark | mean | fastest | 75 % | 99 % |",
    "| --- | --- | --- | ---: | ---: | ---: | ---: |",
    ...rows,
    "",
  ].join("\n");
}
