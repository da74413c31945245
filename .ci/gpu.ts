/**
 * Everything a GPU host can prove, in under eight minutes: `deno task gpu` builds for the GPU at
 * hand, runs all tests on it, the tests that touch it once more under compute-sanitizer where that
 * is installed, and the benchmarks, and writes `bench/results/<gpu>.json` and `.md`.
 *
 * @module
 */

import { join } from "node:path";
import {
  formatGpuReport,
  GPU_QUERY,
  type GpuReport,
  readBenchResults,
  readGpuDescription,
  resultName,
} from "./gpu_report.ts";
import { ROOT, step, StepError } from "./steps.ts";
import { readTestSummary, type TestSummary } from "./test_summary.ts";

const TIME_LIMIT = 8 * 60 * 1000;

/** The layers whose tests hand work to a device. */
const DEVICE_LAYERS = ["stream", "memory", "launch", "kernels", "device"];

const SANITIZER_FAILURE = "99";

/** The environment of everything that is to run on the GPU. */
const ON_GPU = { GRIDSTRIDE_DEVICE: "cuda", NO_COLOR: "1" };

function exists(path: string | URL): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** compute-sanitizer, from the toolkit or from PATH; undefined when it is not installed. */
function findSanitizer(): string | undefined {
  const toolkits = ["CUDA_HOME", "CUDA_PATH"].map((name) => Deno.env.get(name));
  const directories = [...toolkits, "/usr/local/cuda"]
    .filter((home) => home !== undefined && home !== "")
    .map((home) => join(home!, "bin"));
  return [...directories, ...(Deno.env.get("PATH") ?? "").split(":")]
    .map((directory) => join(directory, "compute-sanitizer"))
    .find(exists);
}

/** Runs tests and counts them; a failed test fails the step. */
async function countTests(
  title: string,
  command: readonly string[],
  signal: AbortSignal,
): Promise<TestSummary> {
  return readTestSummary(await step(title, command, { env: ON_GPU, signal, capture: "shown" }));
}

async function commit(): Promise<string> {
  // What is lent for a run may be a copy of the files alone.
  if (!exists(new URL(".git", ROOT))) return "unknown";
  return (await step("commit", ["git", "rev-parse", "HEAD"], { capture: "hidden" })).trim();
}

async function proveOnGpu(signal: AbortSignal): Promise<GpuReport> {
  const query = [`--query-gpu=${GPU_QUERY.join(",")}`, "--format=csv,noheader"];
  const gpu = readGpuDescription(
    await step("GPU", ["nvidia-smi", ...query], { capture: "hidden" }),
  );
  console.error(gpu);
  await step("build", ["deno", "run", "-A", "build.ts", "--arch", "native"], { signal });
  const tests = await countTests("tests", ["deno", "test", "-A"], signal);
  const sanitizer = findSanitizer();
  const folders = DEVICE_LAYERS.map((layer) => `tests/${layer}`)
    .filter((folder) => exists(new URL(folder, ROOT)));
  const checked = sanitizer === undefined ? null : await countTests("compute-sanitizer", [
    sanitizer,
    ...["--error-exitcode", SANITIZER_FAILURE, "--require-cuda-init", "no"],
    ...[Deno.execPath(), "test", "-A", ...folders],
  ], signal);
  const benches = await step("benchmarks", ["deno", "bench", "-A", "--json"], {
    env: ON_GPU,
    signal,
    capture: "hidden",
  });
  return {
    gpu,
    date: new Date().toISOString(),
    commit: await commit(),
    tests,
    sanitizer: checked,
    benches: readBenchResults(benches),
  };
}

try {
  const report = await proveOnGpu(AbortSignal.timeout(TIME_LIMIT));
  const folder = new URL("bench/results/", ROOT);
  const page = formatGpuReport(report);
  await Deno.mkdir(folder, { recursive: true });
  const name = resultName(report.gpu.name);
  await Deno.writeTextFile(new URL(`${name}.json`, folder), JSON.stringify(report, null, 2) + "\n");
  await Deno.writeTextFile(new URL(`${name}.md`, folder), page);
  console.log(page);
} catch (error) {
  // A program that is not there is nvidia-smi: everything else is started by Deno or was found.
  const missing = error instanceof Deno.errors.NotFound ? ". It comes with NVIDIA's driver" : "";
  if (!(error instanceof StepError) && missing === "") throw error;
  console.error(`\nNot proved on a GPU: ${(error as Error).message}${missing}`);
  Deno.exit(1);
}
