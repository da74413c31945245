/**
 * `gridstride memory`: replays memory traces, and reports on memory snapshots.
 *
 * @module
 */

import { resolve } from "node:path";
import {
  DEFAULT_REPLAY_CAPACITY,
  formatBytes,
  MAX_REPLAY_CAPACITY,
  memoryReport,
  memoryReportFigures,
  memoryReportText,
  readSnapshot,
  readTrace,
  REPLAY_POLICIES,
  replayFigures,
  replayTrace,
  SnapshotError,
} from "../lab/memory/mod.ts";
import {
  type Command,
  type CommandGroup,
  FileProblem,
  type Invocation,
  printResult,
  printText,
  readFile,
  showProgress,
  UsageError,
  writeFile,
} from "./command.ts";
import { textTable } from "./format.ts";
import { integerOption, refuseOption, requireNotBoth, sizeOption, textOption } from "./options.ts";

async function parsed<T>(path: string, parse: (bytes: Uint8Array) => T): Promise<T> {
  const bytes = await readFile(path);
  try {
    return parse(bytes);
  } catch (error) {
    if (!(error instanceof SnapshotError)) throw error;
    throw new FileProblem(`${path}: ${error.message}`);
  }
}

type Figures = ReturnType<typeof replayFigures>;

async function replay(invocation: Invocation): Promise<void> {
  const policy = textOption(invocation, "policy");
  const policies = REPLAY_POLICIES.filter(({ name }) => name === (policy ?? name));
  if (policies.length === 0) {
    const names = REPLAY_POLICIES.map(({ name }) => name).join(", ");
    refuseOption("policy", `one of ${names}`, policy!);
  }
  const capacityBytes = sizeOption(invocation, "capacity", MAX_REPLAY_CAPACITY) ??
    DEFAULT_REPLAY_CAPACITY;
  if (capacityBytes === 0) refuseOption("capacity", "more than 0", "0");
  const multiplier = integerOption(invocation, "multiplier", 1, 999_999_999) ?? 1;
  const groups: { heading: string; results: Figures[] }[] = [];
  for (const name of invocation.positional) {
    const trace = await parsed(name, (bytes) => readTrace(bytes, name, { multiplier }));
    const results = policies.map((policy) => {
      showProgress(`${name} × ${policy.name}`);
      return replayFigures(replayTrace(trace, policy, { capacityBytes }));
    });
    groups.push({ heading: headingOf(name, trace.description), results });
  }
  showProgress("");
  const all = groups.flatMap(({ results }) => results);
  printResult(invocation, all, () => {
    const note =
      `The replays assume a device of ${formatBytes(capacityBytes)}: --capacity changes it.
` +
      "ratio: peak reserved ÷ peak live. calls: requests to the device. refused: failed allocations.";
    const tables = groups.map(({ heading, results }) => `${heading}\n\n${replayTable(results)}`);
    return [...tables, note].join("\n\n");
  });
}

const COLUMNS = 100;

function headingOf(name: string, description: string): string {
  const text = description === "" ? name : `${name}: ${description}`;
  // The description of a file may contain control sequences for the terminal.
  const line = text.replaceAll(/[\s\p{C}]+/gu, " ").trim();
  return line.length <= COLUMNS ? line : `${line.slice(0, COLUMNS - 1)}…`;
}

function replayTable(results: readonly Figures[]): string {
  const rows = results.map((result) => [
    result.policy,
    formatBytes(result.peakLive),
    formatBytes(result.peakReserved),
    Number.isFinite(result.ratio) ? result.ratio.toFixed(3) : "–",
    String(result.upstreamCalls),
    String(result.retries),
    String(result.outOfMemory),
    result.nanosecondsPerOperation?.toFixed(0) ?? "–",
  ]);
  const header = ["policy", "peak live", "peak reserved", "ratio", "calls", "retries", "refused"];
  return textTable([...header, "ns/operation"], rows, "<>>>>>>>");
}

const REPLAY: Command = {
  name: "replay",
  summary: "replay memory traces with a memory pool",
  arguments: "<TRACE...>",
  description:
    `Replays the allocations of traces with the memory pool, without a GPU, and compares the reserved
with the requested memory.

TRACE is a file: a trace as text, a log of RMM's logging resource (CSV), an instance of minimalloc
(CSV), or a snapshot of a memory pool with a timeline (JSON).

The policies, which are all compared by default:

${REPLAY_POLICIES.map(({ name, description }) => `${name}: ${description}.`).join("\n\n")}`,
  options: {
    "--policy <POLICY>": "replay with this policy only",
    "--capacity <SIZE>": `memory of the device; ${formatBytes(DEFAULT_REPLAY_CAPACITY)} by default`,
    "--multiplier <N>": "multiply the sizes of a minimalloc instance",
  },
  details: `With --json: an array of { trace, policy, peakLive, peakReserved, ratio,
upstreamCalls, retries, outOfMemory, nanosecondsPerOperation } with sizes in bytes. The ratio is
null if no memory was live.

Exit code 1 if a trace cannot be read.`,
  run: replay,
};

function realPath(path: string): string {
  try {
    return Deno.realPathSync(path);
  } catch {
    return resolve(path);
  }
}

async function report(invocation: Invocation): Promise<void> {
  const file = invocation.positional[0]!;
  const isText = invocation.options["text"] === true;
  if (invocation.json && isText) requireNotBoth("memory report", "json", "text");
  const output = textOption(invocation, "output") ?? `${file.replace(/\.[^./\\]+$/, "")}.html`;
  const writesPage = !invocation.json && !isText;
  if (!writesPage && invocation.options["output"] !== undefined) {
    requireNotBoth("memory report", "output", isText ? "text" : "json");
  }
  if (writesPage && realPath(output) === realPath(file)) {
    throw new UsageError(
      `Cannot write the report to ${output} as this is FILE itself: use --output`,
    );
  }
  const snapshot = await parsed(file, (bytes) => readSnapshot(bytes as Uint8Array<ArrayBuffer>));
  if (writesPage) {
    await writeFile(output, memoryReport(snapshot));
    printText(output);
  } else {
    printResult(invocation, memoryReportFigures(snapshot), () => memoryReportText(snapshot));
  }
}

const REPORT: Command = {
  name: "report",
  summary: "show a memory snapshot as a page or as text",
  arguments: "<FILE>",
  description: `Creates an HTML page from a snapshot of a memory pool: memory and fragmentation
over time, all segments and blocks to scale, and the call sites that hold memory. The page needs
no other file and no network. It is written beside FILE with the extension .html, and its path is
printed.`,
  options: {
    "--output <FILE.html>": "write the page to this file",
    "--text": "print the report as text instead",
  },
  details: `With --json: { source, takenAt, device, totals, reservedPerLive,
externalFragmentation, internalFragmentation, segments, sites, oldest } with sizes in bytes and
ages in milliseconds.

Exit code 1 if FILE cannot be read, or if the page cannot be written.`,
  run: report,
};

export const MEMORY: CommandGroup = {
  name: "memory",
  summary: "replay memory traces, and report on memory snapshots",
  commands: [REPLAY, REPORT],
};
