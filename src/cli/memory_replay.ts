/**
 * `gridstride memory replay`: traces against ways of managing memory, without a GPU.
 *
 * @module
 */

import {
  DEFAULT_REPLAY_CAPACITY,
  MAX_REPLAY_CAPACITY,
  type MemoryTrace,
  parseByteSize,
  readTrace,
  REPLAY_POLICIES,
  replayFigures,
  type ReplayPolicy,
  replayTrace,
  SnapshotError,
  TraceError,
} from "../lab/memory/mod.ts";
import {
  type Command,
  EXIT,
  type Invocation,
  printResult,
  showProgress,
  UsageError,
} from "./command.ts";
import { FileProblem, isAboutFile } from "./file_problem.ts";
import { formatBytes, textTable } from "./text_table.ts";

interface Described {
  readonly name: string;
  readonly description: string;
}

type Figures = ReturnType<typeof replayFigures>;

interface TraceResults {
  readonly trace: Described;
  readonly results: readonly Figures[];
}

function policiesOf({ options }: Invocation): readonly ReplayPolicy[] {
  const { policy } = options;
  if (policy === undefined) return REPLAY_POLICIES;
  const found = REPLAY_POLICIES.filter(({ name }) => name === policy);
  if (found.length > 0) return found;
  const names = REPLAY_POLICIES.map(({ name }) => name).join(", ");
  throw new UsageError(`Cannot replay as --policy must be one of ${names}: it is "${policy}"`);
}

function capacityOf({ options }: Invocation): number {
  const { capacity } = options;
  if (capacity === undefined) return DEFAULT_REPLAY_CAPACITY;
  try {
    const bytes = parseByteSize(String(capacity));
    if (bytes <= MAX_REPLAY_CAPACITY) return bytes;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  throw new UsageError(
    "Cannot replay as --capacity must be bytes or a size such as 512MiB or 24GiB, 128TiB at most: " +
      `it is "${capacity}"`,
  );
}

function multiplierOf({ options: { multiplier } }: Invocation): number {
  if (multiplier === undefined) return 1;
  if (/^[1-9]\d{0,8}$/.test(String(multiplier))) return Number(multiplier);
  throw new UsageError(
    `Cannot replay as --multiplier must be an integer in 1..999999999: it is "${multiplier}"`,
  );
}

async function readTraceFile(path: string, multiplier: number): Promise<MemoryTrace> {
  try {
    return readTrace(await Deno.readFile(path), path, { multiplier });
  } catch (error) {
    if (error instanceof SnapshotError) throw new FileProblem(`${path}: ${error.message}`);
    if (!isAboutFile(error)) throw error;
    throw new FileProblem(`Cannot replay ${path} as it must be readable: ${error.message}`);
  }
}

async function replayAll(
  paths: readonly string[],
  policies: readonly ReplayPolicy[],
  capacityBytes: number,
  multiplier: number,
): Promise<TraceResults[]> {
  const all: TraceResults[] = [];
  for (const path of paths) {
    const trace = await readTraceFile(path, multiplier);
    const results = policies.map((policy) => {
      showProgress(`${path} × ${policy.name}`);
      return replayFigures(replayTrace(trace, policy, { capacityBytes }));
    });
    all.push({ trace, results });
  }
  showProgress("");
  return all;
}

const WIDTH = 100;

/** Name and description on one line. */
function heading({ name, description }: Described): string {
  const text = description === "" ? name : `${name}: ${description}`;
  // A file's description is printed as it is written there, so nothing for the terminal may be in it.
  const line = text.replaceAll(/[\s\p{C}]+/gu, " ").trim();
  return line.length <= WIDTH ? line : `${line.slice(0, WIDTH - 1)}…`;
}

/** Each name with its whole description, in lines that fit. */
function describeEach(entries: readonly Described[]): string {
  return entries.flatMap(({ name, description }) => {
    const lines = [" "];
    for (const word of `${name}: ${description}`.split(" ")) {
      if (lines.at(-1)!.length + 1 + word.length > WIDTH) lines.push("   ");
      lines.push(`${lines.pop()} ${word}`);
    }
    return lines;
  }).join("\n");
}

function row(result: Figures): string[] {
  const { policy, peakLive, peakReserved, ratio, upstreamCalls, retries, outOfMemory } = result;
  const time = result.nanosecondsPerOperation;
  return [
    policy,
    formatBytes(peakLive),
    formatBytes(peakReserved),
    Number.isFinite(ratio) ? ratio.toFixed(3) : "–",
    String(upstreamCalls),
    String(retries),
    String(outOfMemory),
    time === null ? "–" : time.toFixed(0),
  ];
}

/** One table, so that the columns of all traces stand below each other, cut up by headings. */
function describe(all: readonly TraceResults[], capacityBytes: number): string {
  const table = textTable(
    [
      "policy",
      "peak live",
      "peak reserved",
      "ratio",
      "calls",
      "retries",
      "refused",
      "ns/operation",
    ],
    all.flatMap(({ results }) => results.map(row)),
    ["left", "right", "right", "right", "right", "right", "right", "right"],
  ).split("\n");
  const [titles, rule, ...rows] = table;
  const groups = all.map(({ trace, results }) =>
    [heading(trace), "", titles, rule, ...rows.splice(0, results.length)].join("\n")
  );
  const note = `A device of ${formatBytes(capacityBytes)}. Ratio: peak reserved ÷ peak live. ` +
    "Calls: requests to the device.\nRefused: allocations out of memory.";
  return [...groups, note].join("\n\n");
}

/** The command. */
export const MEMORY_REPLAY: Command = {
  name: "replay",
  summary: "replay memory traces against the memory pool",
  help: `gridstride memory replay TRACE… [--policy POLICY] [--capacity SIZE] [--multiplier N]
                         [--json]

Replays traces of allocations against the memory pool, without a GPU, and compares reserved memory
with requested memory.

TRACE is a file: a trace as text, a log of RMM's logging resource (CSV), an instance of minimalloc
(CSV, whose sizes --multiplier multiplies), or a snapshot of a memory pool with a timeline (JSON).

POLICY is one of the following; the default is all of them:
${describeEach(REPLAY_POLICIES)}

SIZE is the device's memory, such as 24GiB; the default is ${
    formatBytes(DEFAULT_REPLAY_CAPACITY).replace(" ", "")
  }.

With --json: an array of { trace, policy, peakLive, peakReserved, ratio, upstreamCalls, retries,
outOfMemory, nanosecondsPerOperation }; sizes in bytes, the ratio null if memory was reserved and
none was live.
Exit code 1 when a trace cannot be read.`,
  options: { values: ["policy", "capacity", "multiplier"] },
  async run(invocation) {
    const policies = policiesOf(invocation);
    const capacityBytes = capacityOf(invocation);
    const multiplier = multiplierOf(invocation);
    const { positional } = invocation;
    if (positional.length === 0) throw new UsageError("Cannot replay as TRACE is missing");
    try {
      const all = await replayAll(positional, policies, capacityBytes, multiplier);
      const figures = all.flatMap(({ results }) => results);
      printResult(invocation, figures, () => describe(all, capacityBytes));
      return EXIT.done;
    } catch (error) {
      if (!(error instanceof FileProblem || error instanceof TraceError)) throw error;
      showProgress("");
      console.error(error.message);
      return EXIT.failed;
    }
  },
};
