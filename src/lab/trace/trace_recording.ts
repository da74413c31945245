/**
 * What a trace has recorded: plain data, which other modules make statistics, advice and files of.
 *
 * All times are milliseconds: moments since the trace began, on the program's clock, and durations.
 *
 * @module
 */

import type { OccupancyLimiter } from "../../launch/occupancy.ts";
import type { CopyDirection, CopyHostMemory } from "../../stream/activity.ts";
import type { TraceStatistics } from "./trace_statistics.ts";

/** What all work on a stream has. */
export interface WorkRecord {
  /** Its stream: an index into {@linkcode TraceRecording.streams}. */
  readonly stream: number;
  /** When the program began to enqueue it. */
  readonly enqueued: number;
  /** How long that took, with the event before it. */
  readonly enqueueTime: number;
  /** When the device began it. */
  readonly start: number;
  /** How long the device took, between the events before and after it. */
  readonly duration: number;
}

/** A launch of a kernel that ran. */
export interface KernelRecord extends WorkRecord {
  /** That it is one. */
  readonly kind: "kernel";
  /** The kernel's name. */
  readonly name: string;
  /** Blocks of the grid: x, y, z. */
  readonly grid: readonly [number, number, number];
  /** Threads of a block: x, y, z. */
  readonly block: readonly [number, number, number];
  /** Registers of a thread; 0 on the host device. */
  readonly registersPerThread: number;
  /** Shared memory of a block in bytes, declared in the kernel. */
  readonly staticSharedMemory: number;
  /** Shared memory of a block in bytes that the launch added. */
  readonly dynamicSharedMemory: number;
  /** Share of the warps of a multiprocessor that its blocks fill, 0 to 1. */
  readonly occupancy: number;
  /** What keeps occupancy from being more. */
  readonly limiter: OccupancyLimiter;
  /** Bytes of the device memory that it was passed, each memory once. */
  readonly bytes: number;
}

/** A copy that ran. */
export interface CopyRecord extends WorkRecord {
  /** That it is one. */
  readonly kind: "copy";
  /** Which way it went. */
  readonly direction: CopyDirection;
  /** What it has on the host. */
  readonly hostMemory: CopyHostMemory;
  /** Its size in bytes. */
  readonly bytes: number;
}

/** A launch of a graph that ran. */
export interface GraphRecord extends WorkRecord {
  /** That it is one. */
  readonly kind: "graph";
  /** How many operations the graph has. */
  readonly nodes: number;
}

/** Work that ran on a stream. */
export type TracedWork = KernelRecord | CopyRecord | GraphRecord;

/** A source that was compiled, or found compiled. */
export interface CompilationRecord {
  /** What diagnostics call the source. */
  readonly name: string;
  /** When it was asked for. */
  readonly start: number;
  /** How long it took. */
  readonly duration: number;
  /** Whether the compile cache had it. */
  readonly cached: boolean;
}

/** A range that the program has named. */
export interface RangeRecord {
  /** Its name. */
  readonly name: string;
  /** When it began. */
  readonly start: number;
  /** How long it took; until now for one that has not ended. */
  readonly duration: number;
  /** Its stream, where it is marked on one; else undefined, and its times are the program's. */
  readonly stream: number | undefined;
}

/** What the pools of the device had at a moment. Sizes are bytes. */
export interface MemorySample {
  /** When. */
  readonly time: number;
  /** What live buffers were asked for. */
  readonly live: number;
  /** What was taken from the device. */
  readonly reserved: number;
}

/** What a launch costs on a device. */
export interface LaunchCost {
  /** The program's time for a launch: the median of launches of a kernel that does nothing. */
  readonly call: number;
  /** The device's time between the events before and after such a kernel. */
  readonly empty: number;
}

/** How many records were dropped because there were more than are kept: the earliest of each. */
export interface DroppedRecords {
  /** Of {@linkcode TraceRecording.work}. */
  readonly work: number;
  /** Of {@linkcode TraceRecording.compilations}. */
  readonly compilations: number;
  /** Of {@linkcode TraceRecording.ranges}. */
  readonly ranges: number;
  /** Of {@linkcode TraceRecording.memory}. */
  readonly memory: number;
}

/** What a trace has recorded. */
export interface TraceRecording {
  /** How messages name the device: `cuda:0`. */
  readonly device: string;
  /** The device's name: `NVIDIA H200`. */
  readonly deviceName: string;
  /** `performance.timeOrigin` of the program: milliseconds since 1970. */
  readonly timeOrigin: number;
  /** When the trace began, by `performance.now()`. */
  readonly begun: number;
  /** How long it has been under way. */
  readonly duration: number;
  /** How far off the times of the device may be from those of the program. */
  readonly clockError: number;
  /** What a launch costs on the device. */
  readonly launchCost: LaunchCost;
  /** The names of the streams. */
  readonly streams: readonly string[];
  /** What ran, in the order in which the device began it. */
  readonly work: readonly TracedWork[];
  /** What was compiled, in the order in which it was done. */
  readonly compilations: readonly CompilationRecord[];
  /** The program's ranges, in the order in which they ended, and then those that have not. */
  readonly ranges: readonly RangeRecord[];
  /** What the pools had after each change. */
  readonly memory: readonly MemorySample[];
  /** What was dropped. */
  readonly dropped: DroppedRecords;
  /** What was counted, with what was dropped. */
  readonly statistics: TraceStatistics;
}
