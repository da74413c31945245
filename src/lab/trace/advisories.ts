/**
 * Advice from a trace recording: reasons why the device is not busy with useful work.
 *
 * @module
 */

import { formatBytes } from "../../ffi/describe_value.ts";
import type { Occupancy } from "../../launch/occupancy.ts";
import {
  type CopyRecord,
  type CopyStatistics,
  requireRecording,
  type TracedWork,
  type TraceRecording,
} from "./recording.ts";

/**
 * A reason why the device is not busy with useful work.
 * @category Advice
 */
export interface Advisory {
  /** The kind of problem. */
  readonly code:
    | "short-kernels"
    | "transfer-bound"
    | "low-occupancy"
    | "small-copies"
    | "allocation-churn";
  /** The kernel or copy direction concerned; null if the advice concerns the whole trace. */
  readonly subject: string | null;
  /** The finding, with its figures, and the remedy. */
  readonly message: string;
}

/** Minimum launches of a kernel to advise on. */
const MIN_LAUNCHES = 32;
/** Minimum share of the total kernel time for advice on occupancy. */
const MIN_SHARE = 0.1;
/** Occupancy below which a multiprocessor has few warps to hide latency with. */
const LOW_OCCUPANCY = 0.5;
/** Minimum share of the busy time spent only on transfers. */
const BOUND_SHARE = 0.3;
const MIN_COPIES = 100;
/** Minimum number of growths of a churning pool. */
const MIN_GROWTHS = 16;

const DIRECTIONS = [
  ["hostToDevice", "from the host to the device"],
  ["deviceToHost", "from the device to the host"],
  ["deviceToDevice", "within the device"],
  ["peer", "between devices"],
] as const;

const LIMITERS: Readonly<Record<Occupancy["limiter"], string>> = {
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

function rate(bytesPerSecond: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = Math.min(4, Math.max(0, Math.floor(Math.log10(Math.max(1, bytesPerSecond)) / 3)));
  return `${figure.format(bytesPerSecond / 1000 ** power)} ${units[power]}/s`;
}

/**
 * Derives advice from a recording. The result is empty if there is no problem.
 *
 * - `short-kernels`: a kernel finishes before the program can launch the next one. Its time beyond
 *   that of an empty kernel is compared with the cost of a launch, both measured on the device.
 * - `transfer-bound`: for much of its busy time the device only copied to or from the host or another
 *   device. Copies that overlap with kernels do not count.
 * - `low-occupancy`: a kernel with a large share of the time fills less than half of the warps.
 * - `small-copies`: many copies of at most 64 KiB, which are limited by overhead, not bandwidth.
 * - `allocation-churn`: pools return memory to the device and take it again.
 *
 * @param recording The result of `trace.stop()` or `trace.report()`.
 * @throws {TypeError | RangeError} If the argument is not a recording.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 * import { DeviceTrace, traceAdvisories } from "@gridstride/cuda/trace";
 *
 * using device = openDevice();
 * using x = device.allocate("float32", 100, { fill: 1 });
 * using trace = new DeviceTrace(device);
 * for (let i = 0; i < 1000; i++) device.kernels.scale(x, 1.01, x);
 * for (const { message } of traceAdvisories(await trace.stop())) console.log(message);
 * ```
 * @category Advice
 */
export function traceAdvisories(recording: TraceRecording): Advisory[] {
  requireRecording(recording, "recording", "advise on a trace");
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
    if (timed < MIN_LAUNCHES || mean - empty >= call) continue;
    yield {
      code: "short-kernels",
      subject: kernel,
      message:
        `${kernel} took ${milliseconds(mean)} on average in ${count.format(timed)} launches,` +
        ` compared with ${
          milliseconds(empty)
        } for an empty kernel, and a launch costs the program` +
        ` ${milliseconds(call)}: fuse it with other kernels, do more work in each launch, or` +
        " capture the launches in a graph",
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
    message: `The device only copied for ${milliseconds(exposed)} (${percent(exposed / busy)}) of` +
      ` ${milliseconds(busy)} of busy time: ${transferWords(transfers)}. Keep data on the device,` +
      " or copy pinned memory on another stream while kernels run",
  };
}

/** Size and rate of the transfers in each direction, by the time of the copies alone. */
function transferWords(transfers: readonly CopyRecord[]): string {
  return DIRECTIONS.flatMap(([way, words]) => {
    const copies = transfers.filter(({ direction }) => direction === way);
    if (copies.length === 0) return [];
    const bytes = copies.reduce((sum, copy) => sum + copy.bytes, 0);
    const time = copies.reduce((sum, copy) => sum + copy.duration, 0);
    return [
      `${formatBytes(bytes)} ${words}${time === 0 ? "" : ` at ${rate(bytes / (time / 1000))}`}`,
    ];
  }).join(", ");
}

function* lowOccupancy({ statistics }: TraceRecording): Generator<Advisory> {
  const { time: total } = statistics.launches;
  for (const { kernel, occupancy, limiter, time } of statistics.kernels) {
    if (limiter === null || occupancy >= LOW_OCCUPANCY || time < MIN_SHARE * total) continue;
    yield {
      code: "low-occupancy",
      subject: kernel,
      message:
        `${kernel}, with ${milliseconds(time)} of the ${milliseconds(total)} of all kernels,` +
        ` fills ${percent(occupancy)} of the warps of a multiprocessor, limited by` +
        ` ${LIMITERS[limiter]}`,
    };
  }
}

function* smallCopies({ statistics }: TraceRecording): Generator<Advisory> {
  for (const [way, words] of DIRECTIONS) {
    const { small, copies }: CopyStatistics = statistics[way];
    if (small.copies < MIN_COPIES || small.copies < copies / 2) continue;
    yield {
      code: "small-copies",
      subject: way,
      message: `${count.format(small.copies)} of ${count.format(copies)} copies ${words} have at` +
        ` most 64 KiB, ${formatBytes(small.bytes / small.copies)} on average, and reach` +
        ` ${rate(small.bytesPerSecond)}: combine them into larger copies`,
    };
  }
}

function* allocationChurn({ statistics }: TraceRecording): Generator<Advisory> {
  const { growths, grownBytes, shrinks, initialReserved, peakReserved } = statistics.memory;
  // Growth beyond the needed bytes replaces memory that was returned before.
  const needed = peakReserved - initialReserved;
  const again = grownBytes - needed;
  if (growths < MIN_GROWTHS || again < Math.max(needed, peakReserved / 2)) return;
  yield {
    code: "allocation-churn",
    subject: null,
    message:
      `The pools took ${formatBytes(grownBytes)} from the device in ${
        count.format(growths)
      } calls and` +
      ` returned memory in ${count.format(shrinks)}, but never held more than` +
      ` ${formatBytes(peakReserved)}: ${
        formatBytes(again)
      } were taken again. Reuse buffers, or let the pool` +
      " keep more memory: maxCachedBytes, cleanupInterval",
  };
}

interface TimeSpan {
  readonly start: number;
  readonly duration: number;
}

/** Disjoint spans in order, each from start to end. */
type CoveredTime = readonly (readonly [start: number, end: number])[];

function coveredTime(spans: Iterable<TimeSpan>): CoveredTime {
  const sorted = [...spans].sort((one, other) => one.start - other.start);
  const covered: [number, number][] = [];
  for (const { start, duration } of sorted) {
    const last = covered.at(-1);
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], start + duration);
    else covered.push([start, start + duration]);
  }
  return covered;
}

function lengthOf(covered: CoveredTime): number {
  return covered.reduce((sum, [start, end]) => sum + (end - start), 0);
}

function commonTime(one: CoveredTime, other: CoveredTime): number {
  let common = 0;
  for (let i = 0, j = 0; i < one.length && j < other.length;) {
    const [begin, end] = one[i]!;
    const [otherBegin, otherEnd] = other[j]!;
    common += Math.max(0, Math.min(end, otherEnd) - Math.max(begin, otherBegin));
    if (end < otherEnd) i++;
    else j++;
  }
  return common;
}
