/**
 * What a trace counts, of each kernel, of each way of copying, and in all.
 *
 * Every rate is bytes by the time of what moved them: copies by the time of copies, the memory that
 * a kernel is passed by the time of that kernel.
 *
 * All times are milliseconds.
 *
 * @module
 */

import type { OccupancyLimiter } from "../../launch/occupancy.ts";

/** Launches of a kernel, of graphs, or of all kernels together. */
export interface LaunchStatistics {
  /** Launches in all. */
  readonly launches: number;
  /** Launches into a graph that was being captured: they did not run. */
  readonly captured: number;
  /** Launches that ran but were not timed: too many of them waited to be evaluated. */
  readonly untimed: number;
  /** The device's time for those that were timed. */
  readonly time: number;
  /** A timed launch on average; 0 where none was. */
  readonly mean: number;
  /** The shortest; 0 where none was timed. */
  readonly least: number;
  /** The longest. */
  readonly most: number;
  /** Bytes of the device memory that timed launches were passed, each memory once a launch. */
  readonly bytes: number;
  /** These bytes by that time; 0 where none was timed. */
  readonly bytesPerSecond: number;
}

/** Launches of a kernel. */
export interface KernelStatistics extends LaunchStatistics {
  /** The kernel's name. */
  readonly kernel: string;
  /** Occupancy of the timed launches, 0 to 1, each by its time; 0 where none was timed. */
  readonly occupancy: number;
  /** What limits the launches that took the most time; null where none was timed. */
  readonly limiter: OccupancyLimiter | null;
}

/** Copies. */
export interface CopyCount {
  /** How many were timed. */
  readonly copies: number;
  /** Their bytes. */
  readonly bytes: number;
  /** The device's time for them. */
  readonly time: number;
  /** Their bytes by their time; 0 where there were none. */
  readonly bytesPerSecond: number;
}

/** Copies that go one way. */
export interface CopyStatistics extends CopyCount {
  /** Those of them of up to 64 KiB. */
  readonly small: CopyCount;
  /** Copies into graphs that were being captured: they did not run. */
  readonly captured: number;
  /** Copies that ran but were not timed. */
  readonly untimed: number;
}

/** What the pools of a device did. Sizes are bytes. */
export interface MemoryStatistics {
  /** Buffers that were allocated. */
  readonly allocations: number;
  /** What they were asked for. */
  readonly allocatedBytes: number;
  /** Buffers that were freed. */
  readonly frees: number;
  /** How often memory was taken from the device. */
  readonly growths: number;
  /** How much that was. */
  readonly grownBytes: number;
  /** How often memory was given back to the device. */
  readonly shrinks: number;
  /** How much that was. */
  readonly shrunkBytes: number;
  /** How often somebody waited for a stream so that memory becomes available. */
  readonly waits: number;
  /** Requests that failed for want of memory. */
  readonly failures: number;
  /** What was reserved when the trace began. */
  readonly initialReserved: number;
  /** The most that was reserved. */
  readonly peakReserved: number;
  /** The most that live buffers were asked for. */
  readonly peakLive: number;
}

/** Compilations. */
export interface CompilationStatistics {
  /** Sources that were compiled. */
  readonly compiled: number;
  /** The program's time for them. */
  readonly compileTime: number;
  /** Sources that the compile cache had. */
  readonly cached: number;
  /** The program's time for these. */
  readonly cachedTime: number;
}

/** What a trace counts. */
export interface TraceStatistics {
  /** How long it has been under way. */
  readonly duration: number;
  /** Of each kernel, the one that took longest first. */
  readonly kernels: readonly KernelStatistics[];
  /** Of all kernels together. */
  readonly launches: LaunchStatistics;
  /** Of graphs. */
  readonly graphs: LaunchStatistics;
  /** Copies from the host to the device. */
  readonly hostToDevice: CopyStatistics;
  /** Copies from the device to the host. */
  readonly deviceToHost: CopyStatistics;
  /** Copies within the device. */
  readonly deviceToDevice: CopyStatistics;
  /** Copies between this device and others, on streams of this one. */
  readonly peer: CopyStatistics;
  /** Of the pools of the device. */
  readonly memory: MemoryStatistics;
  /** Of sources. */
  readonly compilations: CompilationStatistics;
}
