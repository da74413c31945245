/**
 * The steps of `deno task gpu measure`: the areas of benchmarks, then what needs processes of its own.
 *
 * @module
 */

import { AreaProcess } from "../../bench/report/area_process.ts";
import { measureCompiling } from "../../bench/report/compile_times.ts";
import type { Figure } from "../../bench/report/figure.ts";
import {
  measureFirstAllocations,
  measureFirstCopies,
  measureFirstLaunches,
  measureFirstOwnTime,
} from "../../bench/report/first_calls.ts";
import type { MeasureFindings } from "../../bench/report/gpu_report.ts";
import { LineProcess } from "../../bench/report/line_process.ts";
import { checkFigures, figuresOf, goalsOf, loadRange } from "../../bench/report/measurement.ts";
import { type ClockReading, readClocks, WATCH_CLOCKS } from "../../bench/report/nvidia_smi.ts";
import {
  compareTraces,
  PEER_POLICIES,
  readPeerReplay,
  writeTraces,
} from "../../bench/report/peer_traces.ts";
import { PEER_NAMES, Peers } from "../../bench/report/peer_process.ts";
import type { ProofStage, StepResult } from "../../bench/report/proof.ts";
import { speedTable } from "../../bench/report/speed_table.ts";
import { measureFirstTensor } from "../../bench/report/tensor_goals.ts";
import {
  measureTunedChoices,
  type TunedRow,
  tuningGoals,
} from "../../bench/report/tuned_choices.ts";
import { findProgram } from "../../src/ffi/build/programs.ts";
import { ROOT } from "../steps.ts";
import { AreaSchedule } from "./area_schedule.ts";
import {
  buildStep,
  describeStep,
  type GpuContext,
  passed,
  PRECOMPILED,
  runStep,
  skipped,
} from "./context.ts";

/** The operations that are compared with their definitions before anything is timed. */
const GATE = [
  ...PRECOMPILED,
  ...["add", "sum", "softmax", "matmul", "attention", "ternaryMatmul"],
];

/** Processors from which all areas load and compile beside the first steps. */
const MANY_PROCESSORS = 8;

/** Milliseconds that tuning takes. */
const TUNING_TIME = 30_000;

/** Milliseconds without a reading of the clocks after which there will be none. */
const MAX_SILENCE = 60_000;

/** The findings before the first step. */
export function emptyMeasurement(): MeasureFindings {
  return {
    ...{ peaks: null, load: null, figures: [], impossible: [], libraries: [], missing: [] },
    ...{ goals: {}, speeds: [], traces: [] },
  };
}

/** What is measured. */
export interface MeasureSelection {
  /** Parts of the names of the areas; all areas, and what is in none, if there are none. */
  readonly only: readonly string[];
  /** Whether other libraries are left out. */
  readonly isOursOnly: boolean;
}

/** The processes and the samples of a run. */
export class MeasureRun implements AsyncDisposable {
  readonly #context: GpuContext;
  readonly #findings: MeasureFindings;
  readonly #selection: MeasureSelection;
  readonly #schedule: AreaSchedule;
  readonly #first: Figure[] = [];
  #tuned: readonly TunedRow[] = [];
  readonly #python = findProgram("python3", (name) => Deno.env.get(name));
  #peers: Peers | undefined;
  #clocks: ClockWatch | undefined;

  /** Prepares a run. */
  constructor(context: GpuContext, findings: MeasureFindings, selection: MeasureSelection) {
    this.#context = context;
    this.#findings = findings;
    this.#selection = selection;
    this.#schedule = new AreaSchedule({
      ...{ isShort: context.device === "host", ...selection },
      open: (area) => new AreaProcess(area, { env: context.env }),
      peers: () => this.#peers,
      onChange: () => this.#refresh(),
      impossible: (pass) =>
        findings.impossible.filter((reason) =>
          pass.some(({ group }) => reason.startsWith(`${group}: `))
        ),
    });
  }

  /** The steps, which write to the findings as benchmarks end. */
  stages(): ProofStage[] {
    const last = (name: string, run: (limit: number) => Promise<StepResult>) => ({
      ...{ name, reserve: 0, run },
    });
    const { only, isOursOnly } = this.#selection;
    const isShort = this.#context.device === "host";
    return [
      buildStep(this.#context, 40_000),
      describeStep(this.#context, 2000),
      { name: "validate", reserve: 10_000, run: (limit) => this.#validate(limit) },
      ...this.#schedule.steps(),
      ...(only.length > 0 || isOursOnly ? [] : [
        last("first calls", (limit) => this.#measureFirstCalls(limit)),
        ...(isShort ? [] : [last("tuned choices", (limit) => this.#measureTuned(limit))]),
        last("traces", (limit) => this.#replayTraces(limit)),
      ]),
    ];
  }

  /** Starts what loads and compiles, and compares operations with their definitions meanwhile. */
  async #validate(limit: number): Promise<StepResult> {
    const isShort = this.#context.device === "host";
    if (this.#python === undefined) this.#findings.missing.push("python3 is not installed");
    else if (!this.#selection.isOursOnly) {
      // On the processor, the host device has two libraries to be beside.
      const names = isShort ? ["PyTorch", "NumPy"] : PEER_NAMES.filter((name) => name !== "NumPy");
      const env = isShort ? { CUDA_VISIBLE_DEVICES: "" } : {};
      this.#peers = new Peers(this.#python, isShort, env, names);
    }
    this.#clocks = ClockWatch.start();
    if (navigator.hardwareConcurrency >= MANY_PROCESSORS) this.#schedule.start();
    const operations = isShort ? PRECOMPILED : GATE;
    const program = ["run", "-A", "--no-check", "src/cli/main.ts", "validate"];
    const output = await runStep(
      this.#context,
      "validate",
      [Deno.execPath(), ...program, `--operations=${operations}`],
      limit,
    );
    return passed(/^\d+ passed, \d+ failed.*$/m.exec(output)?.[0] ?? "");
  }

  /** Measures the first calls of processes, as far as there is time. */
  async #measureFirstCalls(limit: number): Promise<StepResult> {
    const end = performance.now() + limit;
    const { env, device } = this.#context;
    const processes = device === "host" ? 1 : 3;
    const measured = [
      measureFirstLaunches,
      measureFirstOwnTime,
      measureFirstAllocations,
      measureFirstCopies,
      measureCompiling,
      measureFirstTensor,
    ];
    for (const measure of measured) {
      if (performance.now() >= end) return skipped(`no time is left for ${measure.name}()`);
      this.#first.push(...await measure(processes, env));
      this.#refresh();
    }
    return passed(`${this.#first.length} figures`);
  }

  async #measureTuned(limit: number): Promise<StepResult> {
    if (limit < TUNING_TIME) return skipped("no time is left");
    this.#tuned = await measureTunedChoices(this.#context.env);
    this.#refresh();
    return passed(`${this.#tuned.length} kernels`);
  }

  /** Replays the built-in traces through other allocators, and through our models of them. */
  async #replayTraces(limit: number): Promise<StepResult> {
    if (this.#context.device === "host") return skipped("other allocators need a GPU");
    if (this.#python === undefined) return skipped("python3 is not installed");
    const script = new URL("bench/peers/replay_traces.py", ROOT).pathname;
    const end = performance.now() + limit;
    const folder = await Deno.makeTempDir({ prefix: "gridstride-traces-" });
    const { traces } = this.#findings;
    try {
      const paths = await writeTraces(folder);
      for (const policy of PEER_POLICIES) {
        const command = [this.#python, script, policy, ...paths];
        const left = end - performance.now();
        const replay = readPeerReplay(await runStep(this.#context, policy, command, left));
        if ("skipped" in replay) this.#findings.missing.push(`${policy}: ${replay.skipped}`);
        traces.push(...compareTraces(replay));
        this.#context.files.save();
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
    if (traces.length === 0) return skipped("no allocator is installed");
    const different = traces.filter(({ same }) => !same);
    if (different.length === 0) return passed(`${traces.length} peaks are the models' to the byte`);
    const names = different.map(({ trace, policy }) => `${trace} in ${policy}`).join(", ");
    throw new Error(`Models and allocators differ: ${names}`);
  }

  /** Writes the report with all that is known. */
  #refresh(): void {
    const { report, files, device } = this.#context;
    const readings = this.#clocks?.readings() ?? [];
    const { passes, missing, libraries } = this.#schedule;
    const figures = [...figuresOf(passes, readings), ...this.#first];
    const reasons = new Set([...this.#findings.missing, ...missing]);
    Object.assign(this.#findings, { libraries, missing: [...reasons] });
    Object.assign(this.#findings, checkFigures(figures, report.device));
    this.#findings.load = loadRange(readings);
    const tuning = this.#tuned.length === 0 ? {} : { Tuning: tuningGoals(this.#tuned) };
    this.#findings.goals = { ...goalsOf(this.#findings.figures, device), ...tuning };
    const { peaks, figures: checked } = this.#findings;
    const speeds = speedTable(checked, report.name, peaks);
    // Areas that were not asked for would fill it with rows that were not run.
    const isWhole = this.#selection.only.length === 0;
    this.#findings.speeds = speeds.filter(({ ours }) => isWhole || ours !== null);
    files.save();
  }

  /** Ends all processes. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#schedule[Symbol.asyncDispose]();
    await this.#peers?.[Symbol.asyncDispose]();
    await this.#clocks?.[Symbol.asyncDispose]();
  }
}

/** nvidia-smi's record of clocks and power. */
class ClockWatch implements AsyncDisposable {
  readonly #process: LineProcess;
  readonly #lines: string[] = [];

  private constructor(command: readonly string[]) {
    this.#process = new LineProcess(command);
    // It has no end of its own, but some machines do not let it read.
    this.#read().catch(() => {});
  }

  /** Starts the record; undefined without nvidia-smi, and so without a GPU. */
  static start(): ClockWatch | undefined {
    const [name, ...args] = WATCH_CLOCKS;
    const program = findProgram(name!, (variable) => Deno.env.get(variable));
    return program === undefined ? undefined : new ClockWatch([program, ...args]);
  }

  async #read(): Promise<void> {
    for (;;) this.#lines.push(await this.#process.next(MAX_SILENCE));
  }

  /** The readings so far. */
  readings(): ClockReading[] {
    return readClocks(this.#lines.join("\n"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // It reads no input, and has nothing to clean up.
    this.#process.kill();
    await this.#process[Symbol.asyncDispose]();
  }
}
