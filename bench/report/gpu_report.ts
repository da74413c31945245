/**
 * The findings of `deno task gpu check` and `deno task gpu measure`, as they are kept in
 * `bench/results/`: one file of each command for each GPU. It is written after every step.
 *
 * @module
 */

import type { TestSummary } from "../../.ci/test_summary.ts";
import type { Peaks } from "./data_sheets.ts";
import type { ComparedFigure, Library } from "./figure.ts";
import type { GoalOutcome } from "./goals.ts";
import type { GpuDescription } from "./nvidia_smi.ts";
import type { TraceComparison } from "./peer_traces.ts";
import type { SpeedRow } from "./speed_table.ts";

/** The outcome of a step. */
export interface StepOutcome {
  /** The step. */
  readonly name: string;
  /** Its result. */
  readonly status: "passed" | "failed" | "skipped";
  /** Its time. */
  readonly seconds: number;
  /** Its findings, or the reason for the failure or the omission. */
  readonly detail: string;
}

/** The device under test, as `gridstride devices --json` describes it. */
export interface MeasuredDevice {
  /** Whether it is a GPU. */
  readonly kind: "cuda" | "host";
  /** Its number. */
  readonly ordinal: number;
  /** Its name. */
  readonly name: string;
  /** Compute capability. */
  readonly computeCapability: string;
  /** Multiprocessors. */
  readonly multiprocessorCount: number;
  /** Bytes of memory. */
  readonly totalMemory: number;
  /** Bytes of the level-2 cache; `null` where it is not known. */
  readonly l2CacheSize: number | null;
  /** The highest clock of the multiprocessors; `null` where it is not known. */
  readonly clockMegahertz: number | null;
  /** The memory's bandwidth in bytes per second by its clock; `null` where it is not known. */
  readonly peakBandwidth: number | null;
}

/** The machine that the device is in. */
export interface HostMachine {
  /** The processor. */
  readonly processor: string;
  /** Logical processors. */
  readonly processors: number;
  /** The system. */
  readonly system: string;
  /** Deno's version. */
  readonly deno: string;
}

/** A test file that failed. */
export interface FailingFile {
  /** The file. */
  readonly file: string;
  /** Whether it failed, or was ended because it did not end by itself. */
  readonly outcome: "failed" | "hung";
  /**
   * Its outcome when it ran again, beside few others or, if that failed, alone; `null` if there was
   * no time for that.
   */
  readonly alone: "passed" | "failed" | "hung" | null;
  /** The names of its failing tests. */
  readonly tests: readonly string[];
}

/** The findings of `check`. */
export interface CheckFindings {
  /** The files of tests that use a device. */
  files: number;
  /** The files that have run. */
  ran: number;
  /** Their tests. */
  tests: TestSummary;
  /** The files that failed. */
  failing: FailingFile[];
}

/** Clocks and power of a GPU at least and at most. */
export interface LoadRange {
  /** Megahertz of the multiprocessors. */
  readonly sm: readonly [number, number];
  /** Megahertz of the memory. */
  readonly memory: readonly [number, number];
  /** Watts. */
  readonly power: readonly [number, number];
}

/** The findings of `measure`. */
export interface MeasureFindings {
  /** The peaks that no figure may exceed; `null` for the host device. */
  peaks: Peaks | null;
  /** Clocks and power while the benchmarks ran; `null` if they were not read. */
  load: LoadRange | null;
  /** The figures, those of other libraries too. */
  figures: ComparedFigure[];
  /** Figures that cannot be, each with the reason; they are not among the figures. */
  impossible: string[];
  /** The other libraries. */
  libraries: Library[];
  /** Work without a figure, and libraries that are missing, each with the reason. */
  missing: string[];
  /** The goals beside the figures, by subject. */
  goals: Record<string, GoalOutcome[]>;
  /** The work that matters most, beside other libraries and limits. */
  speeds: SpeedRow[];
  /** Models of other libraries' allocators beside these. */
  traces: TraceComparison[];
}

/** The findings of a command. */
export interface GpuReport {
  /** The version of this format. */
  readonly format: 1;
  /** The command. */
  readonly command: "check" | "measure";
  /** The name of the device. */
  readonly name: string;
  /** Whether the command came to its end. */
  finished: boolean;
  /** The device as the library describes it; `null` if that failed. */
  device: MeasuredDevice | null;
  /** The GPU as its driver describes it; `null` for the host device. */
  readonly gpu: GpuDescription | null;
  /** The machine. */
  readonly machine: HostMachine;
  /** When it began, as an ISO date and time. */
  readonly date: string;
  /** The commit, "-modified" if files differed from it; "unknown" outside a repository. */
  readonly commit: string;
  /** The steps in order. */
  readonly steps: StepOutcome[];
  /** The findings of `check`. */
  readonly check?: CheckFindings;
  /** The findings of `measure`. */
  readonly measure?: MeasureFindings;
}

/** The name of the files that a device's results go to, such as `nvidia-h200-check`. */
export function resultName({ name, command }: Pick<GpuReport, "name" | "command">): string {
  const device = name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
  return `${device}-${command}`;
}

/** Whether the command came to its end and no step failed. */
export function isProved({ finished, steps }: GpuReport): boolean {
  return finished && steps.every(({ status }) => status !== "failed");
}
