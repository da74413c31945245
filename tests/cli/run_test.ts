// `gridstride run`. The tests share a compile cache to compile each source once.

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { FileProblem } from "../../src/cli/command.ts";
import { readSource } from "../../src/cli/kernel.ts";
import { NPY_DESCRS, readNpy, writeNpy } from "../../src/device/tensor.ts";
import { device } from "../support/device.ts";
import { repositoryPath, runCommandLine } from "../support/subprocess.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";
import { problemsOf, type ReadTraceFile } from "../lab/trace/trace_file_rules.ts";
import { assertFails, type Output, runInProcess, useTemporaryCache } from "./in_process.ts";

const SOURCE = repositoryPath("tests/cli/fixtures/kernels.cu");
const FIXTURE = repositoryPath("tests/cli/fixtures/float32_vector.npy");
const SAXPY = "saxpy(float a, const float* x, float* y, int n)";

const cache = useTemporaryCache();

/** Runs a kernel of the fixtures in another process. */
function runProcess(args: readonly string[]): Promise<Output> {
  return runCommandLine(["run", SOURCE, ...args], { GRIDSTRIDE_CACHE_DIR: cache });
}

/** Runs a kernel of a source. */
function run(args: readonly string[], source = SOURCE): Promise<Output> {
  return runInProcess(["run", source, ...args, "--device", device.label]);
}

async function report(
  args: readonly string[],
  runs: (args: readonly string[]) => Promise<Output> = run,
): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await runs([...args, "--json"]);
  assertEquals([code, stderr], [0, ""]);
  return JSON.parse(stdout);
}

function elements<T>(path: string, array: new (buffer: ArrayBuffer) => ArrayLike<T>): T[] {
  return Array.from(new array(readNpy(Deno.readFileSync(path)).bytes.slice().buffer));
}

Deno.test("`run` updates an array from a file and reports the launch", async () => {
  using folder = new TemporaryDirectory();
  const y = `${folder.path}/y.npy`;
  const args = [SAXPY, "-2", `@${FIXTURE}`, `inout:@${FIXTURE}@${y}`, "5"];
  const printed = await report(args, runProcess);
  const x = [0, 1, -2.5, Math.fround(3.1415927), Infinity];
  const expected = x.map((value) => Math.fround(value - 2 * value));
  assertEquals(elements(y, Float32Array), expected);
  assertEquals(Deno.readFileSync(y).subarray(0, 128), Deno.readFileSync(FIXTURE).subarray(0, 128));
  const { firstMilliseconds, ...rest } = printed;
  assertEquals(rest, {
    kernel: "saxpy",
    device: device.label,
    fake: false,
    outputs: [{ name: "y", dtype: "float32", shape: [5], file: y }],
    grid: [1, 1, 1],
    block: [256, 1, 1],
    sharedMemory: 0,
    cooperative: false,
    repeats: 0,
    medianMilliseconds: null,
    bytes: 60,
    bytesPerSecond: null,
  });
  assert(firstMilliseconds as number > 0);
  const again = await report([...args, "--repeat", "1"]);
  const { repeats, medianMilliseconds, bytesPerSecond } = again;
  assertEquals(repeats, 1);
  assert(medianMilliseconds as number > 0);
  const rate = 60 / (medianMilliseconds as number / 1000);
  assert(Math.abs(bytesPerSecond as number - rate) <= 1e-6 * rate);
});

Deno.test("`run` takes the only kernel, generated inputs and null, and prints the outputs", async () => {
  using folder = new TemporaryDirectory();
  const text = `
    __constant__ float table[3];
    __global__ void only(const float* x, float* y, const int* none, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) y[i] = 2 * x[i] + table[i % 3] + (none == nullptr ? 0 : 1000);
    }`;
  const source = folder.file(new TextEncoder().encode(text), "only.cu");
  const args = ["arange:float32[2,3]", "out:float32[2,3]", "null", "6"];
  const { code, stdout } = await run([...args, "--set", "table=float32:[0.5,0,-1]"], source);
  assertEquals(code, 0);
  assertStringIncludes(stdout, "y: float32[2,3]\n[[0.5 2.  3. ]\n [6.5 8.  9. ]]\n\nonly: ");
  const { outputs } = await report(args, (words) => run(words, source));
  assertEquals(outputs, [{
    name: "y",
    dtype: "float32",
    shape: [2, 3],
    values: [0, 2, 4, 6, 8, 10],
  }]);
  await assertFails(2, (words) => run([...args, ...words], source), [
    [["--set", "table"], "NAME=ARRAY"],
    [["--set", "table=float32:[1]"], "an array of the 12 bytes of table: it is"],
    [["--set", "other=float32:[1]"], "other"],
  ]);
  await assertFails(2, (words) => run(words, source), [
    [["random:7", ...args.slice(1)], "an array such as @FILE.npy"],
  ]);
  const infinite = await report(
    ["only", "float32:[inf]", "out:float32[1]", "null", "1"],
    (words) => run(words, source),
  );
  assertEquals((infinite["outputs"] as { values: unknown }[])[0]!.values, ["Infinity"]);
});

Deno.test("`run` refuses a kernel that writes beyond its output, and notes a second dimension", async () => {
  using folder = new TemporaryDirectory();
  const body = `float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + 8 * threadIdx.y;
    if (i <= n) y[i] = i;
#ifdef GUARD
    // The value has the first two bytes of the guard, which stay as they are.
    if (i == n) y[i] = __int_as_float(0xfe7dfdfd);
#endif
  }`;
  const source = folder.file(new TextEncoder().encode(`__global__ void ramp(${body}`), "ramp.cu");
  const beyond = await run(["out:float32[8]", "8"], source);
  assertEquals([beyond.code, beyond.stdout], [1, ""]);
  assertStringIncludes(beyond.stderr, "outside of y: from byte 32 on of an array of 32 bytes");
  assertStringIncludes(beyond.stderr, "give --grid and --block");
  const alike = await run(["out:float32[8]", "8", "--define", "GUARD"], source);
  assertStringIncludes(alike.stderr, "outside of y: from byte 32 on of an array of 32 bytes");
  const right = await run(["out:float32[8]", "7", "--block", "8,1", "--grid", "1"], source);
  assertEquals([right.code, right.stderr], [0, ""]);
  assertStringIncludes(right.stdout, "[0. 1. 2. 3. 4. 5. 6. 7.]");
});

Deno.test("`run --cooperative` launches a kernel that synchronizes its grid", async () => {
  using folder = new TemporaryDirectory();
  const text = `#include <cooperative_groups.h>
    __global__ void ring(int* y) {
      y[blockIdx.x] = blockIdx.x;
      cooperative_groups::this_grid().sync();
      int next = y[(blockIdx.x + 1) % gridDim.x];
      cooperative_groups::this_grid().sync();
      y[blockIdx.x] = next;
    }`;
  const source = folder.file(new TextEncoder().encode(text), "ring.cu");
  const args = ["out:int32[3]", "--grid", "3", "--block", "1"];
  const { code, stdout } = await run([...args, "--cooperative"], source);
  assertEquals(code, 0);
  assertStringIncludes(stdout, "y: int32[3]\n[1 2 0]\n");
  // The failure loses the device to its process.
  const { code: failed } = await runCommandLine(["run", source, ...args, "--device", device.label]);
  assertEquals(failed, 1);
});

Deno.test("`run --instance` compiles an instance, and labels a fake device", async () => {
  const fill = "fill<int>(int* out, int value, size_t n)";
  const args = [fill, "out:int32[2]", "7", "2", "--instance", "fill<int>"];
  const fakes = { GRIDSTRIDE_CACHE_DIR: cache, GRIDSTRIDE_FAKE: "1GiB@8.9" };
  const { stdout } = await runCommandLine(["run", SOURCE, ...args], fakes);
  assertStringIncludes(stdout, "out: int32[2]\n[7 7]\n\nfill<int> on host:0 (fake): ");
  const json = await runCommandLine(["run", SOURCE, ...args, "--json"], fakes);
  assertEquals(JSON.parse(json.stdout).fake, true);
});

Deno.test("`run --timeout` ends a kernel of a host device, with its name", async () => {
  using folder = new TemporaryDirectory();
  const text = "__global__ void endless(volatile int* x) { while (x[0] == 0) {} }";
  const source = folder.file(new TextEncoder().encode(text), "endless.cu");
  const args = ["zeros:int32[1]", "--timeout", "200", "--device", "host"];
  const { code, stdout, stderr } = await runCommandLine(["run", source, ...args]);
  assertEquals([code, stdout], [1, ""]);
  assertStringIncludes(stderr, "endless");
  assertStringIncludes(stderr, "cudaErrorLaunchTimeout");
  await assertFails(2, (words) => run(words, source), [
    [["zeros:int32[1]", "--timeout", "0"], "Cannot use --timeout as it must be an integer in 1.."],
  ]);
});

Deno.test("`run --repeat` writes the result of one launch", async () => {
  using folder = new TemporaryDirectory();
  const y = `${folder.path}/y.npy`;
  const args = [SAXPY, "1", `@${FIXTURE}`, `inout:@${FIXTURE}@${y}`, "2", "--repeat", "5"];
  assertEquals((await report(args))["repeats"], 5);
  assertEquals(elements(y, Float32Array).slice(0, 2), [0, 2]);
  const { code, stdout } = await run(args);
  assertEquals(code, 0);
  for (
    const text of [
      "saxpy: ",
      " ms, median of 5 launches after the first",
      "60 B of arrays",
      "grid 1 × 1 × 1",
    ]
  ) {
    assertStringIncludes(stdout, text);
  }
});

Deno.test("`run` chooses a grid for the longest array", async () => {
  using folder = new TemporaryDirectory();
  const out = `${folder.path}/out.npy`;
  for (const [length, grid] of [[0, 1], [1, 1], [256, 1], [257, 2], [65537, 257]] as const) {
    const { grid: launched } = await report([
      "fill<long long>(long long* out, long long value, size_t n)",
      `out:int64[${length}]@${out}`,
      "-9007199254740993",
      String(length),
    ]);
    assertEquals(launched, [grid, 1, 1]);
    const values = elements(out, BigInt64Array);
    assertEquals([values.length, values.every((value) => value === -9007199254740993n)], [
      length,
      true,
    ]);
  }
});

Deno.test("`run` passes grid, block, macros and headers, and zeroes outputs", async () => {
  using folder = new TemporaryDirectory();
  const out = `${folder.path}/out.npy`;
  const { grid, block } = await report([
    ...["shape", `out:int32[6,8]@${out}`],
    ...["--grid", "2,3", "--block", "4,2", "--define", "FACTOR=-3"],
  ]);
  assertEquals([grid, block], [[2, 3, 1], [4, 2, 1]]);
  assertEquals([...readNpy(Deno.readFileSync(out)).shape], [6, 8]);
  const expected = Array.from({ length: 48 }, (_, index) => {
    const [y, x] = [Math.trunc(index / 8), index % 8];
    return x % 2 === 0 ? -3 * (100 * y + x) + 0 : 0;
  });
  assertEquals(elements(out, Int32Array), expected);
});

Deno.test("`run` passes shared memory, and converts a column-major file", async () => {
  using folder = new TemporaryDirectory();
  const out = `${folder.path}/out.npy`;
  const { sharedMemory } = await report([
    "reverse(const long long* in, long long* out)",
    `@${repositoryPath("tests/cli/fixtures/int64_fortran.npy")}`,
    `out:int64[24]@${out}`,
    ...["--block", "24", "--shared", "192"],
  ]);
  assertEquals(sharedMemory, 192);
  const expected = Array.from({ length: 24 }, (_, index) => BigInt(23 - index));
  assertEquals(elements(out, BigInt64Array), expected);
});

Deno.test("`run` exits with 2 for arguments that do not match the kernel", async () => {
  using folder = new TemporaryDirectory();
  const out = `out:float32[4]@${folder.path}/out.npy`;
  const doubles = folder.file(writeNpy(NPY_DESCRS.float64, [1], new Uint8Array(8)), "d.npy");
  await assertFails(2, run, [
    [[SAXPY, "1", `@${FIXTURE}`, out], "n"],
    [[SAXPY, "1", `@${FIXTURE}`, out, "4", "5"], "argument"],
    [[SAXPY, "1", `@${doubles}`, out, "4"], "float64"],
    [[SAXPY, "1", `@${FIXTURE}`, out, "4.5"], "4.5"],
    [[SAXPY, "1", `@${FIXTURE}`, out, "4294967296"], "4294967296"],
    [[SAXPY, "one", `@${FIXTURE}`, out, "4"], '"one"'],
    [["saxpy(double a, const float* x, float* y, int n)", "1"], "saxpy"],
    [["saxpi(float a)", "1"], "saxpi"],
    [["saxpy(float a", "1"], "saxpy"],
    [[SAXPY, "1", `@${FIXTURE}`, out, "4", "--block", "2048"], "2048"],
    [[SAXPY, "1", `@${FIXTURE}`, out, "4", "--block", "8,8"], "--grid"],
    [[SAXPY, "1", `@${FIXTURE}`, out, "4", "--repeat", "0"], "--repeat"],
    [[], "exactly one: it has the kernels saxpy, shape, reverse, chatter, fault"],
  ]);
  assertEquals([...Deno.readDirSync(folder.path)].map(({ name }) => name), ["d.npy"]);
});

Deno.test("`run` exits with 1 for files that it cannot use, with their names", async () => {
  using folder = new TemporaryDirectory();
  const short = folder.file(Deno.readFileSync(FIXTURE).slice(0, -1), "short.npy");
  const none = folder.file(new TextEncoder().encode("x,y\n1,2\n"), "none.npy");
  await assertFails(1, (files) => run([SAXPY, "1", ...files, "5"]), [
    [[`@${short}`, `inout:@${FIXTURE}@${folder.path}/y.npy`], "short.npy as it is cut short"],
    [[`@${none}`, `inout:@${FIXTURE}@${folder.path}/y.npy`], "none.npy as it is not an .npy file"],
    [[`@${folder.path}/absent`, `inout:@${FIXTURE}@${folder.path}/y.npy`], "absent"],
    [[`@${FIXTURE}`, `inout:@${FIXTURE}@${folder.path}/no/y.npy`], "no/y.npy"],
  ]);
});

Deno.test("`run` exits with 1 and the line of an error in the source", async () => {
  using folder = new TemporaryDirectory();
  const source = folder.file(
    new TextEncoder().encode("__global__ void k(int* y) {\n  y[0] = undeclared;\n}\n"),
    "broken.cu",
  );
  const { code, stdout, stderr } = await run(
    ["k(int* y)", `out:int32[1]@${folder.path}/y`],
    source,
  );
  assertEquals([code, stdout], [1, ""]);
  for (const text of ["broken.cu:2", "undeclared", "^"]) assertStringIncludes(stderr, text);
  const absent = await run(["k(int* y)"], `${folder.path}/absent.cu`);
  assertEquals(absent.code, 1);
  assertStringIncludes(absent.stderr, "absent.cu");
});

const STRUCTS = repositoryPath("tests/cli/fixtures/structs.cu");

Deno.test("`run` passes structs of the source and vectors", async () => {
  using folder = new TemporaryDirectory();
  const out = `${folder.path}/out.npy`;
  const settings = '{"range": {"low": -1.5, "high": "inf"}, "id": 9007199254740993, ' +
    '"offset": [1, 2, 3], "wide": [[1, 2], [3, -4]], "isOn": true}';
  const args = [settings, "[0.5,1,2,4]", `out:float64[9]@${out}`];
  const { kernel } = await report(["n::spread", ...args], (words) => run(words, STRUCTS));
  assertEquals(kernel, "n::spread");
  assertEquals(elements(out, Float64Array), [-1.5, Infinity, 1, 6, -4, 1, 0.5, 4, 1]);
});

Deno.test("`run` exits with 2 for a wrong struct, with the field", async () => {
  await assertFails(2, (args) => run(args, STRUCTS), [
    [["one", '{"x": 1}'], "y"],
    [["one", '{"x": 1, "y": 2, "z": 3}'], "z"],
    [["one", '{"x": 1, "y": 2.5}'], "y"],
    [["one", '{"x": 1'], "JSON"],
    [["one", "5"], "argument"],
    [["linked", "{}"], "The struct Linked is not supported as its member Linked * next"],
  ]);
});

Deno.test("`run --json` redirects the output of kernels to stderr", async () => {
  const args = ["chatter", "3", "--repeat", "2"];
  const plain = await runProcess(args);
  assertEquals([plain.code, plain.stderr], [0, ""]);
  // The first launch and two that are timed.
  assertEquals(plain.stdout.match(/^\{"thread": \d\}$/gm)?.length, 9);
  const { code, stdout, stderr } = await runProcess([...args, "--json"]);
  assertEquals(code, 0);
  assertEquals(JSON.parse(stdout).kernel, "chatter");
  const printed = stderr.trim().split("\n").map((line) => JSON.parse(line).thread).sort();
  assertEquals(printed, [0, 0, 0, 1, 1, 1, 2, 2, 2]);
});

Deno.test("`run` exits with 1 and writes nothing if the kernel fails", async () => {
  using folder = new TemporaryDirectory();
  const { code, stdout, stderr } = await runProcess([
    "fault(int* out)",
    `out:int32[1]@${folder.path}/y`,
  ]);
  assertEquals([code, stdout], [1, ""]);
  assertStringIncludes(stderr, "fault");
  assertEquals([...Deno.readDirSync(folder.path)], []);
});

function runWithTrace(folder: TemporaryDirectory, trace: string) {
  const arrays = [`@${FIXTURE}`, `out:float32[5]@${folder.path}/y.npy`];
  const options = ["--repeat", "5", "--trace", trace, "--device", device.label];
  return runInProcess(["run", SOURCE, SAXPY, "2", ...arrays, "5", ...options]);
}

Deno.test("`run --trace` records the compilation, the launches and the copies", async () => {
  using folder = new TemporaryDirectory();
  const path = `${folder.path}/trace.json`;
  const { code, stderr } = await runWithTrace(folder, path);
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

Deno.test("`run --trace` exits with 1 for a file that it cannot write", async () => {
  using folder = new TemporaryDirectory();
  const { code, stderr } = await runWithTrace(folder, "/nowhere/at/all/trace.json");
  assertEquals(code, 1);
  assertStringIncludes(stderr, 'Cannot save a trace as "/nowhere/at/all/trace.json"');
});

Deno.test("`readSource()` reads headers, and names a missing file or directory", async () => {
  using folder = new TemporaryDirectory();
  const path = `${folder.path}/k.cu`;
  const read = (...directories: string[]) =>
    readSource(path, {
      ...{ json: false, options: {}, positional: [] },
      lists: { include: directories.map((directory) => `${folder.path}/${directory}`) },
    });
  await assertRejects(() => read(), FileProblem, "k.cu");
  Deno.writeTextFileSync(path, '#include "own.h"');
  await assertRejects(() => read("absent"), FileProblem, "absent: No such file");
  await assertRejects(() => read("k.cu"), FileProblem, "k.cu: Not a directory");
  assertEquals((await read(".")).headers, {});
  Deno.mkdirSync(`${folder.path}/include`);
  Deno.writeTextFileSync(`${folder.path}/include/own.h`, "// own");
  assertEquals((await read("include")).headers, { "own.h": "// own" });
});
