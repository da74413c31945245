/**
 * Advice from what a trace has recorded: what keeps the device from its work, in figures.
 *
 * @module
 */

import type { OccupancyLimiter } from "../../launch/occupancy.ts";
import { commonTime, coveredTime, lengthOf } from "./time_spans.ts";
import type { CopyRecord, TracedWork, TraceRecording } from "./trace_recording.ts";
import type { CopyStatistics } from "./trace_statistics.ts";

/** What an advisory is about. */
export type AdvisoryCode =
  | "short-kernels"
  | "transfer-bound"
  | "low-occupancy"
  | "small-copies"
  | "allocation-churn";

/** What keeps a device from its work. */
export interface Advisory {
  /** What it is about. */
  readonly code: AdvisoryCode;
  /** The kernel, or the way of copying, that it is about; null where it is about the whole. */
  readonly subject: string | null;
  /** What is so, with its figures, and what helps. */
  readonly message: string;
}

/** A kernel that is launched less often is not worth a word. */
const LEAST_LAUNCHES = 32;
/** The share of the time of all kernels from which on one is worth a word about its occupancy. */
const LEAST_SHARE = 0.1;
/** Occupancy below which a multiprocessor has few warps to hide latency with. */
const LOW_OCCUPANCY = 0.5;
/** The share of the device's busy time from which on transfers alone bound it. */
const BOUND_SHARE = 0.3;
/** Fewer small copies are not worth gathering. */
const LEAST_COPIES = 100;
/** A pool that takes memory from the device less often does not churn. */
const LEAST_GROWTHS = 16;

const DIRECTIONS = [
  ["hostToDevice", "from the host to the device"],
  ["deviceToHost", "from the device to the host"],
  ["deviceToDevice", "within the device"],
  ["peer", "between devices"],
] as const;

const LIMITERS: Readonly<Record<OccupancyLimiter, string>> = {
  warps: "the number of warps: blocks of another size fill a multiprocessor better",
  blocks: "the number of blocks: larger blocks have more warps",
  registers: "registers: __launch_bounds__, or less work for a thread, needs fewer of them",
  sharedMemory: "shared memory: smaller tiles need less of it",
  barriers: "barriers: blocks that use fewer named barriers need fewer of them",
};

const count = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const figure = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 });

function milliseconds(time: number): string {
  return time < 0.1 ? `${figure.format(time * 1000)} µs` : `${figure.format(time)} ms`;
}

function percent(share: number): string {
  return `${figure.format(share * 100)} %`;
}

function size(bytes: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  const power = Math.min(4, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
  return `${figure.format(bytes / 1000 ** power)} ${units[power]}`;
}

function rate(bytesPerSecond: number): string {
  return `${size(bytesPerSecond)}/s`;
}

/** What a recording says; see `traceAdvisories()`. */
export function adviseOn(recording: TraceRecording): Advisory[] {
  return [
    ...shortKernels(recording),
    ...transferBound(recording),
    ...lowOccupancy(recording),
    ...smallCopies(recording),
    ...allocationChurn(recording),
  ];
}

function* shortKernels({ statistics, launchCost }: TraceRecording): Generator<Advisory> {
  const { call, empty } = launchCost;
  for (const { kernel, launches, captured, untimed, mean } of statistics.kernels) {
    const timed = launches - captured - untimed;
    if (timed < LEAST_LAUNCHES || mean - empty >= call) continue;
    yield {
      code: "short-kernels",
      subject: kernel,
      message:
        `${kernel} took ${milliseconds(mean)} on average in ${count.format(timed)} launches,` +
        ` where a kernel that does nothing takes ${milliseconds(empty)} and a launch costs the` +
        ` program ${
          milliseconds(call)
        }: join it with others, give a launch more to do, or capture` +
        " its launches in a graph",
    };
  }
}

function isTransfer(work: TracedWork): work is CopyRecord {
  return work.kind === "copy" && work.direction !== "deviceToDevice";
}

function* transferBound({ work }: TraceRecording): Generator<Advisory> {
  const transfers = work.filter(isTransfer);
  const copying = coveredTime(transfers);
  const computing = coveredTime(work.filter((each) => !isTransfer(each)));
  const busy = lengthOf(coveredTime(work));
  const exposed = lengthOf(copying) - commonTime(copying, computing);
  if (busy === 0 || exposed / busy < BOUND_SHARE) return;
  yield {
    code: "transfer-bound",
    subject: null,
    message: `The device only copied for ${milliseconds(exposed)} of the ${milliseconds(busy)}` +
      ` (${percent(exposed / busy)}) that it was busy: ${transferWords(transfers)}. Keep data on` +
      " the device, or copy pinned memory on another stream while kernels run",
  };
}

/** How much went each way, and how fast: by the time of the copies, whatever else ran meanwhile. */
function transferWords(transfers: readonly CopyRecord[]): string {
  return DIRECTIONS.flatMap(([way, words]) => {
    const copies = transfers.filter(({ direction }) => direction === way);
    if (copies.length === 0) return [];
    const bytes = copies.reduce((sum, copy) => sum + copy.bytes, 0);
    const time = copies.reduce((sum, copy) => sum + copy.duration, 0);
    return [`${size(bytes)} ${words}${time === 0 ? "" : ` at ${rate(bytes / (time / 1000))}`}`];
  }).join(", ");
}

function* lowOccupancy({ statistics }: TraceRecording): Generator<Advisory> {
  const { time: total } = statistics.launches;
  for (const { kernel, occupancy, limiter, time } of statistics.kernels) {
    if (limiter === null || occupancy >= LOW_OCCUPANCY || time < LEAST_SHARE * total) continue;
    yield {
      code: "low-occupancy",
      subject: kernel,
      message: `${kernel}, which takes ${milliseconds(time)} of the ${milliseconds(total)} of all` +
        ` kernels, fills ${percent(occupancy)} of the warps of a multiprocessor, limited by` +
        ` ${LIMITERS[limiter]}`,
    };
  }
}

function* smallCopies({ statistics }: TraceRecording): Generator<Advisory> {
  for (const [way, words] of DIRECTIONS) {
    const { small, copies }: CopyStatistics = statistics[way];
    if (small.copies < LEAST_COPIES || small.copies < copies / 2) continue;
    yield {
      code: "small-copies",
      subject: way,
      message:
        `${count.format(small.copies)} of ${count.format(copies)} copies ${words} are of up` +
        ` to 64 KiB, ${size(small.bytes / small.copies)} on average, and reach` +
        ` ${rate(small.bytesPerSecond)}: gather what they copy`,
    };
  }
}

function* allocationChurn({ statistics }: TraceRecording): Generator<Advisory> {
  const { growths, grownBytes, shrinks, initialReserved, peakReserved } = statistics.memory;
  // What was taken beyond this had been given back before.
  const needed = peakReserved - initialReserved;
  const again = grownBytes - needed;
  if (growths < LEAST_GROWTHS || again < Math.max(needed, peakReserved / 2)) return;
  yield {
    code: "allocation-churn",
    subject: null,
    message:
      `The pools took ${size(grownBytes)} from the device in ${count.format(growths)} calls` +
      ` and gave memory back in ${count.format(shrinks)}, though they never had more than` +
      ` ${size(peakReserved)}: ${
        size(again)
      } were taken again. Keep buffers for the next time, or` +
      " let the pool keep more: maxCachedBytes, cleanupInterval",
  };
}
