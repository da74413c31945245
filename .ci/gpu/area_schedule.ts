/**
 * The order in which the areas of benchmarks are measured: ours first, then the same work in other
 * libraries, and ours once more if time is left.
 *
 * @module
 */

import type { AreaPass } from "../../bench/report/area_process.ts";
import type { AreaBench, Library } from "../../bench/report/figure.ts";
import type { PeerPass } from "../../bench/report/peer_process.ts";
import type { ProofStep, StepResult } from "../../bench/report/proof.ts";
import { passed, skipped } from "./context.ts";

/** An area with the seconds on a GPU that earlier ones leave for ours, and for other libraries. */
interface PlannedArea {
  readonly area: string;
  readonly own: number;
  readonly others: number;
}

const planned = (area: string, own: number, others: number): PlannedArea => ({ area, own, others });

/** The areas on a GPU, the most important first. */
const AREAS: readonly PlannedArea[] = [
  planned("attention", 10, 10),
  planned("launch", 4, 10),
  planned("copy", 8, 10),
  planned("kernel", 4, 12),
  planned("matmul", 12, 14),
  planned("ternary", 4, 4),
  planned("stream", 3, 4),
  planned("pool", 6, 15),
  planned("tensor", 20, 80),
];

/** Areas that are measured again, in reverse order. */
const AGAIN = ["tensor", "matmul", "ternary", "attention"];

/** Areas whose figures do not depend on kernels. */
const LAST = ["upload", "upstream", "memory"];

/** Areas that use no GPU: they are run only where all programs are to be tried. */
const WITHOUT_GPU = ["ffi", "overhead", "occupancy", "plan", "cache", "replay"];

/** Its first calls choose the algorithm that is fastest: no other process may use the GPU meanwhile. */
const ALONE = "matmul";

/** The process of an area. */
export interface AreaRunner extends AsyncDisposable {
  prepare(): Promise<void>;
  run(
    order: "forward" | "reverse",
    limit: number,
    onEnd: (bench: AreaBench) => void,
  ): Promise<AreaPass>;
}

/** The processes of other libraries. */
export interface PeerRunner {
  load(): Promise<{ readonly libraries: Library[] }>;
  run(
    benches: readonly AreaBench[],
    limit: number,
    onEnd: (bench: AreaBench) => void,
  ): Promise<PeerPass>;
}

/** How areas are measured. */
export interface ScheduleOptions {
  /** Whether each takes the time it needs, on small problems and without a GPU. */
  readonly isShort: boolean;
  /** Parts of the names of the areas that are measured; all areas if there are none. */
  readonly only: readonly string[];
  /** Whether other libraries are left out. */
  readonly isOursOnly: boolean;
  /** Starts the process of an area. */
  readonly open: (area: string) => AreaRunner;
  /** The other libraries, from the first step on; undefined if they are left out. */
  readonly peers: () => PeerRunner | undefined;
  /** Called when benchmarks have ended. */
  readonly onChange: () => void;
  /** The reasons among the findings why figures of these benchmarks are impossible. */
  readonly impossible: (pass: readonly AreaBench[]) => readonly string[];
}

/** Measures areas. */
export class AreaSchedule implements AsyncDisposable {
  readonly #options: ScheduleOptions;
  readonly #areas: readonly PlannedArea[];
  readonly #open = new Map<string, AreaRunner>();
  readonly #measured = new Map<string, readonly AreaBench[]>();
  #isPrepared = Promise.resolve();
  /** The passes over areas, with those of other libraries. */
  readonly passes: AreaBench[][] = [];
  /** Work without a figure, each with the reason. */
  readonly missing: string[] = [];
  /** The other libraries. */
  libraries: readonly Library[] = [];

  /** Plans the areas. */
  constructor(options: ScheduleOptions) {
    this.#options = options;
    const { isShort, only } = options;
    const last = [...LAST, ...(isShort ? WITHOUT_GPU : [])].map((area) => planned(area, 0, 0));
    this.#areas = [...AREAS, ...last].filter(({ area }) =>
      only.length === 0 || only.some((part) => area.includes(part))
    );
    if (this.#areas.length === 0) {
      throw new Error(`Cannot measure as --only must name an area: it is ${only.join(",")}`);
    }
  }

  /** Starts the processes of the important areas, whose kernels compile while other steps run. */
  start(): void {
    const areas = this.#areas.filter(({ own }) => own > 0).map(({ area }) => area);
    const runners = areas.map((area) => [area, this.#area(area)] as const);
    const prepare = (isAlone: boolean) =>
      runners.filter(([area]) => (area === ALONE) === isAlone).map(([, runner]) =>
        runner.prepare()
      );
    this.#isPrepared = (async () => {
      await Promise.all(prepare(false));
      await Promise.all(prepare(true));
    })();
  }

  /** The steps: nothing else loads or compiles when the first benchmark is timed. */
  steps(): ProofStep[] {
    const { isShort, isOursOnly } = this.#options;
    const step = (name: string, seconds: number, run: ProofStep["run"]): ProofStep => ({
      ...{ name, reserve: isShort ? 0 : seconds * 1000, run },
    });
    const others = isOursOnly ? [] : this.#areas;
    const again = isOursOnly
      ? []
      : AGAIN.filter((name) => this.#areas.some(({ area }) => area === name));
    return [
      step("prepare", 10, (limit) => this.#prepare(limit)),
      ...this.#areas.map(({ area, own }) =>
        step(area, own, (limit) => this.#measure(area, "forward", limit))
      ),
      ...others.map(({ area }, index) =>
        step(`${area} in other libraries`, 0, (limit) => {
          // What one of them does not need goes to the later ones.
          const seconds = others.slice(index).map(({ others }) => others);
          const all = seconds.reduce((sum, it) => sum + it, 0);
          const share = isShort || all === 0 ? 1 : seconds[0]! / all;
          return this.#measurePeers(area, limit * share);
        })
      ),
      ...again.map((area) =>
        step(`${area}, again in reverse order`, 0, (limit) => this.#measure(area, "reverse", limit))
      ),
    ];
  }

  /** Waits until processes are loaded and kernels compiled. */
  async #prepare(limit: number): Promise<StepResult> {
    const peers = this.#options.peers();
    const prepared = Promise.all([this.#isPrepared, peers?.load()]);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<"late">((resolve) => {
      timer = setTimeout(() => resolve("late"), limit);
    });
    const outcome = await Promise.race([prepared, late]);
    clearTimeout(timer);
    if (outcome === "late") return skipped("not all are ready: they go on beside the first area");
    this.libraries = outcome[1]?.libraries ?? [];
    return passed([...this.#open.keys(), ...this.libraries.map(({ name }) => name)].join(", "));
  }

  #area(area: string): AreaRunner {
    let runner = this.#open.get(area);
    if (runner === undefined) {
      runner = this.#options.open(area);
      this.#open.set(area, runner);
    }
    return runner;
  }

  /** Takes benchmarks into a new pass as they end; the report is written once for each group. */
  #newPass(): { pass: AreaBench[]; add: (bench: AreaBench) => void } {
    const pass: AreaBench[] = [];
    this.passes.push(pass);
    const add = (bench: AreaBench) => {
      const isNewGroup = pass.at(-1)?.group !== bench.group;
      pass.push(bench);
      if (isNewGroup) this.#options.onChange();
    };
    return { pass, add };
  }

  async #measure(area: string, order: "forward" | "reverse", limit: number): Promise<StepResult> {
    if (limit <= 1000) return this.#noTime();
    const { pass, add } = this.#newPass();
    const { benches, failures } = await this.#area(area).run(order, limit, add);
    if (order === "forward") this.#measured.set(area, benches);
    const isAgain = AGAIN.includes(area) && order === "forward" && !this.#options.isOursOnly;
    // A process keeps memory of the device.
    if (!isAgain || failures.length > 0) await this.#end(area);
    return this.#finish(pass, failures, `${benches.length} benchmarks`);
  }

  async #measurePeers(area: string, limit: number): Promise<StepResult> {
    const peers = this.#options.peers();
    const benches = (this.#measured.get(area) ?? []).filter(({ peer }) => peer !== undefined);
    if (peers === undefined || benches.length === 0) return skipped("there is no such work");
    if (limit <= 1000) return this.#noTime();
    const { pass, add } = this.#newPass();
    const done = await peers.run(benches, limit, add);
    this.#addMissing(done.skipped);
    this.libraries = (await peers.load()).libraries;
    const counts = Map.groupBy(done.benches, ({ library }) => library!.name);
    const detail = [...counts].map(([name, own]) => `${own.length} in ${name}`).join(", ");
    return this.#finish(pass, [], detail === "" ? "none has done it" : detail);
  }

  #noTime(): StepResult {
    // On the host device, steps are run to show that they work.
    if (this.#options.isShort) throw new Error("no time is left");
    return skipped("no time is left");
  }

  #finish(pass: readonly AreaBench[], failures: readonly string[], detail: string): StepResult {
    this.#addMissing(failures);
    this.#options.onChange();
    const impossible = this.#options.impossible(pass).map((reason) => `impossible: ${reason}`);
    const problems = [...failures, ...impossible];
    if (problems.length > 0) throw new Error(problems.join("; "));
    return passed(detail);
  }

  /** Adds reasons, each once: the second pass misses the same. */
  #addMissing(reasons: readonly string[]): void {
    this.missing.push(...reasons.filter((reason) => !this.missing.includes(reason)));
  }

  async #end(area: string): Promise<void> {
    await this.#open.get(area)?.[Symbol.asyncDispose]();
    this.#open.delete(area);
  }

  /** Ends the processes of areas. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const area of [...this.#open.keys()]) await this.#end(area);
  }
}
