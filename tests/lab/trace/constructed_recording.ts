/**
 * Constructed recordings.
 *
 * @module
 */

import type {
  CopyDirection,
  CopyRecord,
  CopyStatistics,
  KernelRecord,
  KernelStatistics,
  LaunchStatistics,
  TracedWork,
  TraceRecording,
  TraceStatistics,
} from "../../../src/lab/trace/mod.ts";

const NO_COUNT = { copies: 0, bytes: 0, time: 0, bytesPerSecond: 0 };
const NO_COPIES: CopyStatistics = { ...NO_COUNT, small: NO_COUNT, captured: 0, untimed: 0 };
const NO_LAUNCHES: LaunchStatistics = {
  ...{ launches: 0, captured: 0, untimed: 0, bytes: 0, bytesPerSecond: 0 },
  ...{ time: 0, mean: 0, min: 0, max: 0 },
};

/** Statistics of an empty recording. */
export const NO_STATISTICS: TraceStatistics = {
  duration: 100,
  kernels: [],
  launches: NO_LAUNCHES,
  graphs: NO_LAUNCHES,
  hostToDevice: NO_COPIES,
  deviceToHost: NO_COPIES,
  deviceToDevice: NO_COPIES,
  peer: NO_COPIES,
  memory: {
    ...{ allocations: 0, allocatedBytes: 0, frees: 0, waits: 0, failures: 0 },
    ...{ growths: 0, grownBytes: 0, shrinks: 0, shrunkBytes: 0 },
    ...{ initialReserved: 0, peakReserved: 0, peakLive: 0 },
  },
  compilations: { compiled: 0, compileTime: 0, cached: 0, cachedTime: 0 },
};

/** A recording with the given parts, otherwise empty. */
export function recordingOf(parts: Partial<TraceRecording> = {}): TraceRecording {
  return {
    device: "cuda:0",
    fake: false,
    deviceName: "NVIDIA H200",
    timeOrigin: 1_700_000_000_000,
    begun: 50,
    duration: 100,
    clockError: 0.004,
    launchCost: { call: 0.003, empty: 0.002 },
    streams: ["default stream", "stream 2"],
    work: [],
    compilations: [],
    ranges: [],
    memory: [],
    dropped: { work: 0, compilations: 0, ranges: 0, memory: 0 },
    statistics: NO_STATISTICS,
    ...parts,
  };
}

/** A kernel that ran on a stream from `start` on. */
export function kernelAt(start: number, duration: number, stream = 0): KernelRecord {
  return {
    kind: "kernel",
    name: "saxpy",
    stream,
    enqueued: Math.max(0, start - 0.01),
    enqueueTime: 0.003,
    start,
    duration,
    grid: [4, 2, 1],
    block: [256, 1, 1],
    registersPerThread: 32,
    staticSharedMemory: 0,
    dynamicSharedMemory: 4096,
    occupancy: 0.75,
    limiter: "registers",
    bytes: 8192,
  };
}

/** A copy that ran on a stream from `start` on. */
export function copyAt(
  start: number,
  duration: number,
  bytes: number,
  direction: CopyDirection = "hostToDevice",
  stream = 1,
): CopyRecord {
  return {
    kind: "copy",
    direction,
    hostMemory: direction === "deviceToDevice" ? "none" : "pinned",
    stream,
    enqueued: Math.max(0, start - 0.01),
    enqueueTime: 0.003,
    start,
    duration,
    bytes,
  };
}

/** A recording of the given work. */
export function recordingOfWork(...work: readonly TracedWork[]): TraceRecording {
  return recordingOf({ work: work.toSorted((one, other) => one.start - other.start) });
}

/** A recording of the given kernels. */
export function recordingOfKernels(
  ...kernels: readonly Partial<KernelStatistics>[]
): TraceRecording {
  const complete = kernels.map((kernel): KernelStatistics => {
    const { launches = 1, mean = 1 } = kernel;
    const time = launches * mean;
    return {
      ...NO_LAUNCHES,
      kernel: "saxpy",
      occupancy: 1,
      limiter: "warps",
      time,
      mean,
      ...kernel,
      launches,
    };
  });
  const time = complete.reduce((sum, kernel) => sum + kernel.time, 0);
  const launches = { ...NO_LAUNCHES, time };
  return recordingOf({ statistics: { ...NO_STATISTICS, kernels: complete, launches } });
}

/** A recording of copies in one direction. */
export function recordingOfCopies(
  direction: CopyDirection,
  copies: Partial<CopyStatistics>,
): TraceRecording {
  return recordingOf({
    statistics: { ...NO_STATISTICS, [direction]: { ...NO_COPIES, ...copies } },
  });
}

/** A recording of memory statistics. */
export function recordingOfMemory(memory: Partial<TraceStatistics["memory"]>): TraceRecording {
  return recordingOf({
    statistics: { ...NO_STATISTICS, memory: { ...NO_STATISTICS.memory, ...memory } },
  });
}
