/**
 * The steps of `deno task gpu measure`: the benchmarks of each area with the same work in other libraries,
 * the most important ones first, and three of them once more in reverse order.
 *
 * @module
 */

import { AreaProcess } from "../../bench/report/area_process.ts";
import { measureCompiling } from "../../bench/report/compile_times.ts";
import type { AreaBench, Figure } from "../../bench/report/figure.ts";
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
import type { ProofStage, ProofStep, StepResult } from "../../bench/report/proof.ts";
import { speedTable } from "../../bench/report/speed_table.ts";
import { measureFirstTensor } from "../../bench/report/tensor_goals.ts";
import {
  measureTunedChoices,
  type TunedRow,
  tuningGoals,
} from "../../bench/report/tuned_choices.ts";
import { findProgram } from "../../src/ffi/build/programs.ts";
import { ROOT } from "../steps.ts";
import {
  buildStep,
  describeStep,
  type GpuContext,
  passed,
  PRECOMPILED,
  runStep,
  skipped,
} from "./context.ts";

/** Areas in order, with the seconds that each needs on a GPU, other libraries included. */
const AREAS: readonly (readonly [area: string, seconds: number])[] = [
  ["tensor", 75],
  ["kernel", 6],
  ["matmul", 25],
  ["attention", 20],
  ["ternary", 6],
  ["launch", 8],
  ["copy", 25],
];

/** Areas that are measured again, in reverse order, and their seconds. */
const AGAIN: readonly (readonly [area: string, seconds: number])[] = [
  ["tensor", 35],
  ["matmul", 20],
  ["ternary", 5],
];

/** Areas whose figures do not depend on kernels: if time is left. */
const LAST = ["stream", "pool", "upload", "upstream", "memory"];

/** Areas that use no GPU: they are run only where all programs are to be tried. */
const WITHOUT_GPU = ["ffi", "overhead", "occupancy", "plan", "cache", "replay"];

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

/** The processes and the samples of a run. */
export class MeasureRun implements AsyncDisposable {
  readonly #context: GpuContext;
  readonly #findings: MeasureFindings;
  readonly #only: string;
  readonly #areas = new Map<string, AreaProcess>();
  readonly #passes: AreaBench[][] = [];
  readonly #first: Figure[] = [];
  #tuned: readonly TunedRow[] = [];
  readonly #python = findProgram("python3", (name) => Deno.env.get(name));
  #peers: Peers | undefined;
  #clocks: ClockWatch | undefined;

  /**
   * Prepares a run.
   *
   * @param only A part of the names of the areas that are measured; empty for all.
   */
  constructor(context: GpuContext, findings: MeasureFindings, only: string) {
    this.#context = context;
    this.#findings = findings;
    this.#only = only;
  }

  /** The steps, which write to the findings as benchmarks end. */
  stages(): ProofStage[] {
    const seconds = (count: number) => count * 1000;
    const isWanted = ([area]: readonly [string, number]) => area.includes(this.#only);
    const isShort = this.#context.device === "host";
    const last = [...LAST, ...(isShort ? WITHOUT_GPU : [])].map((area) => [area, 0] as const);
    const areaStep =
      (order: "forward" | "reverse", name = "") =>
      ([area, reserve]: readonly [string, number]): ProofStep => ({
        // Without a GPU each takes the time it needs.
        ...{ name: `${area}${name}`, reserve: isShort ? 0 : seconds(reserve) },
        run: (limit) => this.#measureArea(area, order, limit),
      });
    return [
      buildStep(this.#context, seconds(40)),
      describeStep(this.#context, seconds(5)),
      { name: "validate", reserve: seconds(15), run: (limit) => this.#validate(limit) },
      ...AREAS.filter(isWanted).map(areaStep("forward")),
      ...AGAIN.filter(isWanted).map(areaStep("reverse", ", again in reverse order")),
      ...last.filter(isWanted).map(areaStep("forward")),
      ...(this.#only === ""
        ? [
          {
            name: "first calls",
            reserve: 0,
            run: (limit: number) => this.#measureFirstCalls(limit),
          },
          ...(isShort ? [] : [{
            name: "tuned choices",
            reserve: 0,
            run: (limit: number) => this.#measureTuned(limit),
          }]),
          { name: "traces", reserve: 0, run: (limit: number) => this.#replayTraces(limit) },
        ]
        : []),
    ];
  }

  /** Starts what loads and compiles, and compares operations with their definitions meanwhile. */
  async #validate(limit: number): Promise<StepResult> {
    const isShort = this.#context.device === "host";
    if (this.#python === undefined) this.#addMissing(["python3 is not installed"]);
    else {
      // On the processor, the host device has two libraries to be beside.
      const names = isShort ? ["PyTorch", "NumPy"] : PEER_NAMES.filter((name) => name !== "NumPy");
      const env = isShort ? { CUDA_VISIBLE_DEVICES: "" } : {};
      this.#peers = new Peers(this.#python, isShort, env, names);
    }
    this.#clocks = ClockWatch.start();
    if (navigator.hardwareConcurrency >= MANY_PROCESSORS) {
      for (const [area] of AREAS) if (area.includes(this.#only)) this.#area(area);
    }
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

  #area(area: string): AreaProcess {
    let process = this.#areas.get(area);
    if (process === undefined) {
      process = new AreaProcess(area, { env: this.#context.env });
      this.#areas.set(area, process);
    }
    return process;
  }

  /** Measures an area, then the same work in other libraries. */
  async #measureArea(
    area: string,
    order: "forward" | "reverse",
    limit: number,
  ): Promise<StepResult> {
    const end = performance.now() + limit;
    if (limit <= 1000) {
      // On the host device, steps are run to show that they work.
      if (this.#context.device === "host") throw new Error("no time is left");
      return skipped("no time is left");
    }
    const pass: AreaBench[] = [];
    this.#passes.push(pass);
    const add = (bench: AreaBench) => {
      const isNewGroup = pass.at(-1)?.group !== bench.group;
      pass.push(bench);
      // The report is written once for each group.
      if (isNewGroup) this.#refresh();
    };
    const { benches, failures } = await this.#area(area).run(order, limit, add);
    this.#addMissing(failures);
    const isAgain = AGAIN.some(([again]) => again === area) && order === "forward";
    if (!isAgain || failures.length > 0) await this.#end(area);
    const peers = await this.#peers?.run(benches, end - performance.now(), add);
    if (peers !== undefined) {
      this.#addMissing(peers.skipped);
      this.#findings.libraries = (await this.#peers!.load()).libraries;
    }
    this.#refresh();
    const impossible = this.#findings.impossible.filter((reason) =>
      pass.some(({ group }) => reason.startsWith(`${group}: `))
    );
    const problems = [...failures, ...impossible.map((reason) => `impossible: ${reason}`)];
    if (problems.length > 0) throw new Error(problems.join("; "));
    return passed(`${benches.length} benchmarks, ${peers?.benches.length ?? 0} in other libraries`);
  }

  /** Adds reasons, each once: the second pass misses the same. */
  #addMissing(reasons: readonly string[]): void {
    this.#findings.missing = [...new Set([...this.#findings.missing, ...reasons])];
  }

  /** Ends the process of an area, which keeps memory of the device. */
  async #end(area: string): Promise<void> {
    await this.#areas.get(area)?.[Symbol.asyncDispose]();
    this.#areas.delete(area);
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
        if ("skipped" in replay) this.#addMissing([`${policy}: ${replay.skipped}`]);
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
    const figures = [...figuresOf(this.#passes, readings), ...this.#first];
    Object.assign(this.#findings, checkFigures(figures, report.device));
    this.#findings.load = loadRange(readings);
    const tuning = this.#tuned.length === 0 ? {} : { Tuning: tuningGoals(this.#tuned) };
    this.#findings.goals = { ...goalsOf(this.#findings.figures, device), ...tuning };
    const { peaks, figures: checked } = this.#findings;
    // Areas that were not asked for would fill it with rows that were not run.
    if (this.#only === "") this.#findings.speeds = speedTable(checked, report.name, peaks);
    files.save();
  }

  /** Ends all processes. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const area of [...this.#areas.keys()]) await this.#end(area);
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
