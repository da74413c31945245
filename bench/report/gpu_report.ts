/**
 * What a run of `deno task gpu` found, as it is kept in `bench/results/`.
 *
 * @module
 */

import type { TestSummary } from "../../.ci/test_summary.ts";
import type { ComparedFigure } from "./figure.ts";
import type { GpuDescription, LoadSamples } from "./nvidia_smi.ts";
import type { TraceComparison } from "./peer_traces.ts";
import type { PeerComparison, PeerResults } from "./peers.ts";
import type { GoalOutcome } from "./goals.ts";

/** What became of a step. */
export interface StepOutcome {
  /** The step. */
  readonly name: string;
  /** Its result. */
  readonly status: "passed" | "failed" | "skipped";
  /** How long it took. */
  readonly seconds: number;
  /** Its findings, or the reason for the failure or the omission. */
  readonly detail: string;
}

/** The device that was measured, as `gridstride devices --json` describes it. */
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
  /** The memory's bandwidth in bytes per second by its data sheet; `null` where it is not known. */
  readonly peakBandwidth: number | null;
}

/** The machine that the device is in. */
export interface HostMachine {
  /** The processor, as `deno bench` names it. */
  readonly processor: string;
  /** Logical processors. */
  readonly processors: number;
  /** The system. */
  readonly system: string;
  /** Deno's version. */
  readonly deno: string;
}

/** Everything a run found. */
export interface GpuReport {
  /** The name of the device. */
  readonly name: string;
  /** The device as the library describes it; `null` if that failed. */
  readonly device: MeasuredDevice | null;
  /** The GPU as its driver describes it; `null` for the host device. */
  readonly gpu: GpuDescription | null;
  /** Clocks and power while the benchmarks ran; `null` for the host device. */
  readonly load: LoadSamples | null;
  /** The machine. */
  readonly machine: HostMachine;
  /** When it began, as an ISO date and time. */
  readonly date: string;
  /** The commit, "-modified" if files differed from it; "unknown" outside a repository. */
  readonly commit: string;
  /** The steps in order. */
  readonly steps: readonly StepOutcome[];
  /** The tests; `null` if they did not come to their end. */
  readonly tests: TestSummary | null;
  /** The figures of the benchmarks. */
  readonly figures: readonly ComparedFigure[];
  /** The peers, and why others are missing; `null` if they did not run. */
  readonly peers: PeerResults | null;
  /** The figures beside the peers. */
  readonly comparisons: readonly PeerComparison[];
  /** The memory pool's goals. */
  readonly poolGoals: readonly GoalOutcome[];
  /** The goals of kernels from source. */
  readonly kernelGoals: readonly GoalOutcome[];
  /** The goals of launch parameters, chosen and tuned. */
  readonly launchGoals: readonly GoalOutcome[];
  /** The goals of tensor operations. */
  readonly tensorGoals: readonly GoalOutcome[];
  /** The models of the peers' allocators beside these. */
  readonly traces: readonly TraceComparison[];
}

/** The name of the files a device's results go to, such as `nvidia-h200`. */
export function resultName(device: string): string {
  return device.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
}

/** Whether no step failed. */
export function isProved(report: GpuReport): boolean {
  return report.steps.every(({ status }) => status !== "failed");
}
