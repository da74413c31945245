/**
 * The steps of `deno task gpu`.
 *
 * @module
 */

import { join } from "node:path";
import { type Figure, readBenchJson } from "../bench/report/figure.ts";
import { measureCompiling } from "../bench/report/compile_times.ts";
import {
  measureFirstAllocations,
  measureFirstLaunches,
  measureFirstOwnTime,
} from "../bench/report/first_calls.ts";
import type { MeasuredDevice } from "../bench/report/gpu_report.ts";
import { type LoadSamples, readLoadSamples, WATCH_LOAD } from "../bench/report/nvidia_smi.ts";
import {
  compareTraces,
  PEER_POLICIES,
  readPeerReplay,
  type TraceComparison,
  writeTraces,
} from "../bench/report/peer_traces.ts";
import { mergePeers, type PeerResults, readPeerResults } from "../bench/report/peers.ts";
import type { ProofStep, StepResult } from "../bench/report/proof.ts";
import { measureFirstTensor } from "../bench/report/tensor_goals.ts";
import { measureTunedChoices, type TunedRow } from "../bench/report/tuned_choices.ts";
import { findProgram, isExecutable } from "../src/ffi/build/programs.ts";
import { ROOT, step, StepError } from "./steps.ts";
import {
  formatTestSummary,
  hasTestSummary,
  readTestSummary,
  type TestSummary,
} from "./test_summary.ts";

/** The device and the extent of a proof. */
export interface ProofOptions {
  /** The device, as `GRIDSTRIDE_DEVICE` names it. */
  readonly device: "cuda" | "host";
  /** Only show that every step works: few tests, one short sample of each benchmark. */
  readonly dry: boolean;
}

/** Results of the steps. */
export class Findings {
  /** The device as the library describes it. */
  device: MeasuredDevice | null = null;
  /** The tests, as far as they came to their end. */
  tests: TestSummary | null = null;
  /** The benchmarks. */
  figures: Figure[] = [];
  /** What tuning gains; nothing in a dry run. */
  tuned: TunedRow[] = [];
  /** Clocks and power while they ran. */
  load: LoadSamples | null = null;
  /** The same work in other libraries. */
  peers: PeerResults | null = null;
  /** Models of other libraries' allocators beside these. */
  traces: TraceComparison[] = [];
}

/** The tensor operations that run under compute-sanitizer: one of each family of kernels. */
const MEMORY_CHECKED = "add,sum,matmul,attention,ternaryMatmul";
/** compute-sanitizer's exit status when it found something; it is no program's own. */
const SANITIZER_FAILURE = 99;

/** The tests of a dry run: they use the device and take a second. */
const DRY_TESTS = ["tests/stream", "tests/launch/module/module_test.ts"];

/** The examples that each check what the device has computed. */
const EXAMPLES = "examples/kernels/";
/** How many of them a dry run runs. */
const DRY_EXAMPLES = 1;

/** The scripts that do the same work in other libraries. */
const PEER_SCRIPTS = ["peers.py", "launches.py", "tensor.py"];

const environment = (name: string): string | undefined => Deno.env.get(name);

/** compute-sanitizer, from the toolkit or from PATH; undefined when it is not installed. */
function findSanitizer(): string | undefined {
  const name = "compute-sanitizer";
  const homes = [environment("CUDA_HOME"), environment("CUDA_PATH"), "/usr/local/cuda"]
    .filter((home) => home !== undefined && home !== "");
  return homes.map((home) => join(home!, "bin", name)).find(isExecutable) ??
    findProgram(name, environment);
}

const passed = (detail: string): StepResult => ({ status: "passed", detail });
const skipped = (detail: string): StepResult => ({ status: "skipped", detail });

/** The steps, which write their results to `findings`. */
export function proofSteps(options: ProofOptions, findings: Findings): ProofStep[] {
  const { device, dry } = options;
  const env = {
    GRIDSTRIDE_DEVICE: device,
    NO_COLOR: "1",
    ...(dry ? { GRIDSTRIDE_BENCH: "quick" } : {}),
  };
  const seconds = (count: number) => count * 1000;
  return [
    { name: "build", reserve: seconds(90), run: (limit) => build(options, limit) },
    { name: "device", reserve: seconds(5), run: (limit) => describe(device, findings, limit) },
    { name: "tests", reserve: seconds(120), run: (limit) => runTests(dry, env, findings, limit) },
    { name: "examples", reserve: seconds(20), run: (limit) => runExamples(dry, env, limit) },
    {
      name: "memory check of the kernels",
      reserve: seconds(45),
      run: (limit) =>
        sanitize(
          "memcheck",
          ["src/cli/main.ts", "validate", `--operations=${dry ? "add" : MEMORY_CHECKED}`],
          env,
          limit,
        ),
    },
    {
      name: "race check of the kernels",
      reserve: seconds(25),
      run: (limit) => sanitize("racecheck", [".ci/checked_kernels.ts"], env, limit),
    },
    {
      name: "benchmarks",
      reserve: seconds(120),
      run: (limit) => runBenchmarks(options, env, findings, limit),
    },
    { name: "peers", reserve: seconds(60), run: (limit) => runPeers(device, findings, limit) },
    {
      name: "traces through the peers",
      reserve: seconds(40),
      run: (limit) => replayThroughPeers(device, findings, limit),
    },
  ];
}

async function build({ device, dry }: ProofOptions, limit: number): Promise<StepResult> {
  // Tests run this dry: the libraries must not change under the other tests.
  if (dry) return skipped("a dry run takes the libraries that are there");
  const given = Deno.env.get("GRIDSTRIDE_LIBRARY");
  if (given !== undefined) return skipped(`GRIDSTRIDE_LIBRARY names the libraries: ${given}`);
  const target = device === "cuda" ? ["--arch", "native"] : ["--target", "host"];
  await step("build", ["deno", "run", "-A", "build.ts", ...target], { limit });
  return passed(target.join(" "));
}

async function describe(
  kind: MeasuredDevice["kind"],
  findings: Findings,
  limit: number,
): Promise<StepResult> {
  const command = ["deno", "run", "-A", "src/cli/main.ts", "devices", "--json"];
  const devices: MeasuredDevice[] = JSON.parse(
    await step("device", command, { limit, capture: "hidden" }),
  );
  const found = devices.find((device) => device.kind === kind);
  if (found === undefined) throw new Error(`Cannot find a ${kind} device`);
  const { ordinal, name, computeCapability, multiprocessorCount } = found;
  const { totalMemory, peakBandwidth } = found;
  findings.device = {
    ...{ kind, ordinal, name, computeCapability, multiprocessorCount },
    ...{ totalMemory, peakBandwidth },
  };
  return passed(name);
}

async function runTests(
  dry: boolean,
  env: Record<string, string>,
  findings: Findings,
  limit: number,
): Promise<StepResult> {
  const command = ["deno", "test", "-A", ...(dry ? ["--no-check", ...DRY_TESTS] : [])];
  try {
    const log = await step("tests", command, { env, limit, capture: "shown" });
    findings.tests = readTestSummary(log);
    return passed(formatTestSummary(findings.tests));
  } catch (error) {
    // Tests that failed are counted too, if they came to their end.
    if (error instanceof StepError && hasTestSummary(error.output)) {
      findings.tests = readTestSummary(error.output);
    }
    throw error;
  }
}

async function runExamples(
  dry: boolean,
  env: Record<string, string>,
  limit: number,
): Promise<StepResult> {
  const end = performance.now() + limit;
  const files = [...Deno.readDirSync(new URL(EXAMPLES, ROOT))].map(({ name }) => name)
    .filter((name) => name.endsWith(".ts")).sort();
  // The first file is the module that the examples share: to run it has no effect.
  const ran = files.slice(0, dry ? DRY_EXAMPLES + 1 : files.length);
  for (const file of ran) {
    const left = Math.max(1, end - performance.now());
    const command = ["deno", "run", "-A", "--no-check", `${EXAMPLES}${file}`];
    await step(file, command, { env, limit: left, capture: "shown" });
  }
  return passed(ran.join(", "));
}

/** Runs a program of ours under compute-sanitizer. */
async function sanitize(
  tool: string,
  program: readonly string[],
  env: Record<string, string>,
  limit: number,
): Promise<StepResult> {
  const sanitizer = findSanitizer();
  if (sanitizer === undefined) return skipped("compute-sanitizer is not installed");
  const [file, ...args] = program;
  const options = [
    `--tool=${tool}`,
    `--error-exitcode=${SANITIZER_FAILURE}`,
    // Failing calls are the subject of tests; here it is the memory accesses of kernels.
    ...(tool === "memcheck" ? ["--report-api-errors=no"] : []),
  ];
  const command = [sanitizer, ...options, Deno.execPath(), "run", "-A", file!, ...args];
  const run = step(tool, command, { env, limit, capture: "shown" });
  const { log, failure } = await run.then(
    (log) => ({ log, failure: undefined }),
    (error) => ({ log: error instanceof StepError ? error.output : "", failure: error }),
  );
  // Some virtual machines do not support it.
  if (/Device not supported/i.test(log)) return skipped("compute-sanitizer: Device not supported");
  if (failure !== undefined) throw failure;
  const counts = /^\d+ passed, \d+ failed.*$/m.exec(log)?.[0];
  const summary = /^=+ (ERROR|RACECHECK) SUMMARY:.*$/m.exec(log)?.[0].replace(/^=+ /, "");
  if (counts === undefined || summary === undefined) {
    throw new Error(`Cannot find the summary of ${tool} in its output`);
  }
  return passed(`${counts}; ${summary}`);
}

/** Excludes the benchmarks that do not use the device. */
const NO_DEVICE = ["analysis_bench.ts", "layout_bench.ts"];

async function runBenchmarks(
  { device, dry }: ProofOptions,
  env: Record<string, string>,
  findings: Findings,
  limit: number,
): Promise<StepResult> {
  using load = device === "cuda" ? new LoadWatch() : undefined;
  const ignored = `--ignore=${NO_DEVICE.map((name) => `bench/${name}`)}`;
  // Types are the same on every machine: `deno task ok` checks them.
  const json = await step(
    "benchmarks",
    dry
      ? ["deno", "run", "-A", "--no-check", "bench/report/quick_bench.ts", ...NO_DEVICE]
      : ["deno", "bench", "-A", "--no-check", "--json", ignored],
    {
      env,
      limit,
      capture: "hidden",
    },
  );
  findings.load = await load?.stop() ?? null;
  findings.figures = readBenchJson(json);
  findings.figures.push(...await measureFirstLaunches(dry ? 1 : 3, env));
  findings.figures.push(...await measureFirstOwnTime(dry ? 1 : 3, env));
  findings.figures.push(...await measureFirstAllocations(dry ? 1 : 3, env));
  findings.figures.push(...await measureCompiling(dry ? 1 : 3, env));
  findings.figures.push(...await measureFirstTensor(dry ? 1 : 3, env));
  if (!dry) findings.tuned = await measureTunedChoices(env);
  return passed(`${findings.figures.length} figures`);
}

/** nvidia-smi's record of clocks and power. */
class LoadWatch implements Disposable {
  readonly #child: Deno.ChildProcess;
  readonly #output: Promise<string>;

  constructor() {
    const [program, ...args] = WATCH_LOAD;
    this.#child = new Deno.Command(program!, { args, stdin: "null", stdout: "piped" }).spawn();
    this.#output = new Response(this.#child.stdout).text();
  }

  /** Ends the record and returns it. */
  async stop(): Promise<LoadSamples> {
    this[Symbol.dispose]();
    return readLoadSamples(await this.#output);
  }

  [Symbol.dispose](): void {
    try {
      this.#child.kill();
    } catch (error) {
      // It has been stopped, or has ended by itself.
      if (!(error instanceof TypeError)) throw error;
    }
  }
}

/** Hides GPUs from other libraries when the run is on the host device. */
function peerEnvironment(device: "cuda" | "host"): Record<string, string> {
  return device === "host" ? { CUDA_VISIBLE_DEVICES: "" } : {};
}

async function runPeers(
  device: "cuda" | "host",
  findings: Findings,
  limit: number,
): Promise<StepResult> {
  const python = findProgram("python3", environment);
  if (python === undefined) return skipped("python3 is not installed");
  const end = performance.now() + limit;
  const results: PeerResults[] = [];
  for (const script of PEER_SCRIPTS) {
    const json = await step("peers", [python, "-B", `bench/peers/${script}`], {
      env: peerEnvironment(device),
      limit: Math.max(1, end - performance.now()),
      capture: "hidden",
    });
    results.push(readPeerResults(json));
    findings.peers = mergePeers(results);
  }
  const { peers, skipped: missing } = mergePeers(results);
  if (peers.length === 0) return skipped(missing.join("; "));
  return passed(peers.map(({ name, version }) => `${name} ${version}`).join(", "));
}

/** Replays the built-in traces through the peers' allocators, and through our models of them. */
async function replayThroughPeers(
  device: "cuda" | "host",
  findings: Findings,
  limit: number,
): Promise<StepResult> {
  const python = findProgram("python3", environment);
  if (python === undefined) return skipped("python3 is not installed");
  const script = new URL("bench/peers/replay_traces.py", ROOT).pathname;
  const end = performance.now() + limit;
  const missing: string[] = [];
  const folder = await Deno.makeTempDir({ prefix: "gridstride-traces-" });
  try {
    const paths = await writeTraces(folder);
    for (const policy of PEER_POLICIES) {
      const json = await step("traces", [python, script, policy, ...paths], {
        env: peerEnvironment(device),
        limit: Math.max(1, end - performance.now()),
        capture: "hidden",
      });
      const replay = readPeerReplay(json);
      if ("skipped" in replay) missing.push(`${policy}: ${replay.skipped}`);
      findings.traces.push(...compareTraces(replay));
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  const { traces } = findings;
  if (traces.length === 0) return skipped(missing.join("; "));
  const different = traces.filter(({ same }) => !same);
  if (different.length > 0) {
    const names = different.map(({ trace, policy }) => `${trace} in ${policy}`).join(", ");
    throw new Error(`Models and peers differ: ${names}`);
  }
  return passed([`${traces.length} peaks are the models' to the byte`, ...missing].join("; "));
}
