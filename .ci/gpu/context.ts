/**
 * The parts of a run that `check` and `measure` share: the first two steps, and programs whose output
 * goes to the log.
 *
 * @module
 */

import type { GpuReport, MeasuredDevice } from "../../bench/report/gpu_report.ts";
import type { ProofStep, StepResult } from "../../bench/report/proof.ts";
import type { ReportFiles } from "../../bench/report/report_files.ts";
import { KERNEL_OPERATIONS } from "../../src/device/validation/kernel_cases.ts";
import { TENSOR_CASES } from "../../src/device/validation/tensor_cases.ts";
import { runLimited } from "./processes.ts";

/** A run. */
export interface GpuContext {
  /** The device, as `GRIDSTRIDE_DEVICE` names it. */
  readonly device: "cuda" | "host";
  /** The environment of its programs. */
  readonly env: Readonly<Record<string, string>>;
  /** The report. */
  readonly report: GpuReport;
  /** Its files. */
  readonly files: ReportFiles;
}

/** The operations of `validate` that compile nothing: their kernels are built in. */
export const PRECOMPILED: readonly string[] = KERNEL_OPERATIONS
  .filter((name) => TENSOR_CASES.every(({ operation }) => operation !== name));

export const passed = (detail: string): StepResult => ({ status: "passed", detail });
export const skipped = (detail: string): StepResult => ({ status: "skipped", detail });

/**
 * Runs a program of a step and logs its output.
 *
 * @throws {Error} If it fails or is too slow.
 */
export async function runStep(
  context: GpuContext,
  title: string,
  command: readonly string[],
  limit: number,
): Promise<string> {
  const { outcome, code, output } = await runLimited(command, context.env, limit);
  context.files.log(`${title}: ${outcome}`, output);
  if (outcome === "hung") throw new Error("it ran out of time");
  if (outcome === "failed") throw new Error(`it failed with exit status ${code}`);
  return output;
}

/** Builds both libraries at the same time; the host library may be that of another run. */
export function buildStep(context: GpuContext, reserve: number): ProofStep {
  const build = (limit: number, ...args: string[]) => {
    const command = [Deno.execPath(), "run", "-A", "--no-check", "build.ts", ...args];
    return runStep(context, `build ${args.join(" ")}`, command, limit);
  };
  return {
    name: "build",
    reserve,
    async run(limit) {
      // The tests of this program run on the host device: the libraries must not change under others.
      if (context.device === "host") return skipped("the host device's library is there");
      const given = Deno.env.get("GRIDSTRIDE_LIBRARY");
      if (given !== undefined) return skipped(`GRIDSTRIDE_LIBRARY names the libraries: ${given}`);
      const results = await Promise.allSettled([
        build(limit, "--target", "cuda", "--arch", "native"),
        build(limit, "--target", "host"),
      ]);
      const failure = results.find(({ status }) => status === "rejected");
      if (failure !== undefined) throw (failure as PromiseRejectedResult).reason;
      return passed("both libraries");
    },
  };
}

/** Describes the device. */
export function describeStep(context: GpuContext, reserve: number): ProofStep {
  return {
    name: "device",
    reserve,
    async run(limit) {
      const program = ["run", "-A", "--no-check", "src/cli/main.ts", "devices", "--json"];
      const output = await runStep(context, "devices", [Deno.execPath(), ...program], limit);
      const devices: MeasuredDevice[] = JSON.parse(output.slice(output.indexOf("[")));
      const found = devices.find(({ kind }) => kind === context.device);
      if (found === undefined) throw new Error(`Cannot find a ${context.device} device`);
      const { kind, ordinal, name, computeCapability, multiprocessorCount, totalMemory } = found;
      const { l2CacheSize, clockMegahertz, peakBandwidth } = found;
      context.report.device = {
        ...{ kind, ordinal, name, computeCapability, multiprocessorCount, totalMemory },
        ...{ l2CacheSize, clockMegahertz, peakBandwidth },
      };
      return passed(name);
    },
  };
}
