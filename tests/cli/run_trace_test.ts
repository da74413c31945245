// `run --trace`: the file is one that viewers open, and has what was launched.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { device } from "../support/device.ts";
import { repositoryPath } from "../support/subprocess.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";
import { problemsOf, type ReadTraceFile } from "../lab/trace/trace_file_rules.ts";
import { runInProcess } from "./in_process.ts";

const SOURCE = repositoryPath("tests/cli/fixtures/kernels.cu");
const FIXTURE = repositoryPath("tests/cli/fixtures/float32_vector.npy");
const SAXPY = "saxpy(float a, const float* x, float* y, int n)";

function run(folder: TemporaryDirectory, trace: string) {
  const arrays = [`@${FIXTURE}`, `out:float32[5]@${folder.path}/y.npy`];
  const options = ["--repeat", "5", "--trace", trace, "--device", device.label];
  return runInProcess(["run", SOURCE, SAXPY, "2", ...arrays, "5", ...options]);
}

Deno.test("run --trace writes the compilation, every launch and every copy", async () => {
  using folder = new TemporaryDirectory();
  const path = `${folder.path}/trace.json`;
  const { code, stderr } = await run(folder, path);
  assertEquals([code, stderr], [0, ""]);
  const file: ReadTraceFile = JSON.parse(await Deno.readTextFile(path));
  assertEquals(problemsOf(file), []);
  const spans = file.traceEvents.filter(({ ph }) => ph === "X");
  const named = (cat: string) => spans.filter((span) => span.cat === cat).map(({ name }) => name);
  assertEquals(named("kernel").filter((name) => name === "saxpy").length, 1 + 5);
  assertEquals(named("compilation").length, 1);
  assert(named("copy").includes("copy host to device"));
  assert(named("copy").includes("copy device to host"));
});

Deno.test("run --trace says where it cannot write", async () => {
  using folder = new TemporaryDirectory();
  const { code, stderr } = await run(folder, "/nowhere/at/all/trace.json");
  assertEquals(code, 1);
  assertStringIncludes(stderr, 'Cannot save a trace as "/nowhere/at/all/trace.json"');
});
