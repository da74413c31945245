// Kernels from a file on arrays from files: two in processes of their own, the others by the same
// entry point in this one. They share one compile cache, so that each source is compiled once.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { npyDescr, readNpy, writeNpy } from "../../src/cli/npy.ts";
import { configureKernelCache } from "../../mod.ts";
import { device } from "../support/device.ts";
import { repositoryPath, runCommandLine } from "../support/subprocess.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";
import { type Output, runInProcess } from "./in_process.ts";

const SOURCE = repositoryPath("tests/cli/fixtures/kernels.cu");
const FIXTURE = repositoryPath("tests/cli/fixtures/float32_vector.npy");
const SAXPY = "saxpy(float a, const float* x, float* y, int n)";

const cache = Deno.makeTempDirSync();
globalThis.addEventListener("unload", () => Deno.removeSync(cache, { recursive: true }));
configureKernelCache({ directory: `${cache}/kernels` });

/** Runs a kernel of a source, in a process of its own. */
function runProcess(args: readonly string[]): Promise<Output> {
  return runCommandLine(["run", SOURCE, ...args], { GRIDSTRIDE_CACHE_DIR: cache });
}

/** Runs a kernel of a source; the kernels of the fixtures by default. */
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

Deno.test("run reads a file of NumPy's, updates it, and says what it launched", async () => {
  using folder = new TemporaryDirectory();
  const y = `${folder.path}/y.npy`;
  const args = [SAXPY, "-2", `@${FIXTURE}`, `inout:@${FIXTURE}@${y}`, "5"];
  const printed = await report(args, runProcess);
  const x = [0, 1, -2.5, Math.fround(3.1415927), Infinity];
  const expected = x.map((value) => Math.fround(value - 2 * value));
  assertEquals(elements(y, Float32Array), expected);
  assertEquals(Deno.readFileSync(y).subarray(0, 128), Deno.readFileSync(FIXTURE).subarray(0, 128));
  const { medianMilliseconds, bytesPerSecond, ...rest } = printed;
  assertEquals(rest, {
    kernel: "saxpy",
    grid: [1, 1, 1],
    block: [256, 1, 1],
    sharedMemory: 0,
    repeats: 1,
    bytes: 60,
  });
  assert(medianMilliseconds as number > 0);
  const rate = 60 / (medianMilliseconds as number / 1000);
  assert(Math.abs(bytesPerSecond as number - rate) <= 1e-6 * rate);
});

Deno.test("run with repeats writes what one launch made", async () => {
  using folder = new TemporaryDirectory();
  const y = `${folder.path}/y.npy`;
  const args = [SAXPY, "1", `@${FIXTURE}`, `inout:@${FIXTURE}@${y}`, "2", "--repeat", "5"];
  assertEquals((await report(args))["repeats"], 5);
  assertEquals(elements(y, Float32Array).slice(0, 2), [0, 2]);
  const { code, stdout } = await run(args);
  assertEquals(code, 0);
  for (const text of ["saxpy: ", " ms, median of 5 launches", "60 B of arrays", "grid 1 × 1 × 1"]) {
    assertStringIncludes(stdout, text);
  }
});

Deno.test("run covers the longest array by itself, of any length", async () => {
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

Deno.test("run takes grid, block, macros and headers, and leaves the rest of an output zero", async () => {
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

Deno.test("run gives dynamic shared memory and takes a Fortran-ordered file for what it is", async () => {
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

Deno.test("run with arguments that do not fit is exit code 2 and says which", async () => {
  using folder = new TemporaryDirectory();
  const out = `out:float32[4]@${folder.path}/out.npy`;
  const doubles = folder.file(writeNpy(npyDescr("float64"), [1], new Uint8Array(8)), "d.npy");
  for (
    const [args, message] of [
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
      [[], "signature"],
    ] as const
  ) {
    const { code, stdout, stderr } = await run(args);
    assertEquals([code, stdout], [2, ""], `${args.join(" ")}: ${stderr}`);
    assertStringIncludes(stderr, message);
    assert(stderr.startsWith("Cannot "), stderr);
  }
  assertEquals([...Deno.readDirSync(folder.path)].map(({ name }) => name), ["d.npy"]);
});

Deno.test("run with files that are no arrays, or cannot be used, is exit code 1 and names them", async () => {
  using folder = new TemporaryDirectory();
  const short = folder.file(Deno.readFileSync(FIXTURE).slice(0, -1), "short.npy");
  const none = folder.file(new TextEncoder().encode("x,y\n1,2\n"), "none.npy");
  for (
    const [x, y, message] of [
      [`@${short}`, `inout:@${FIXTURE}@${folder.path}/y.npy`, "short.npy as it is cut short"],
      [`@${none}`, `inout:@${FIXTURE}@${folder.path}/y.npy`, "none.npy as it is no .npy file"],
      [`@${folder.path}/absent`, `inout:@${FIXTURE}@${folder.path}/y.npy`, "absent"],
      [`@${FIXTURE}`, `inout:@${FIXTURE}@${folder.path}/no/y.npy`, "no/y.npy"],
    ] as const
  ) {
    const { code, stdout, stderr } = await run([SAXPY, "1", x, y, "5"]);
    assertEquals([code, stdout], [1, ""], stderr);
    assertStringIncludes(stderr, message);
    assertEquals(stderr.trim().split("\n").length, 1, stderr);
  }
});

Deno.test("run of a source that does not compile is exit code 1 with file, line and mark", async () => {
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

Deno.test("run takes structs by the fields that the source declares, and vectors", async () => {
  using folder = new TemporaryDirectory();
  const out = `${folder.path}/out.npy`;
  const settings = '{"range": {"low": -1.5, "high": "inf"}, "id": 9007199254740993, ' +
    '"offset": [1, 2, 3], "wide": [[1, 2], [3, -4]], "isOn": true}';
  const args = [settings, "[0.5,1,2,4]", `out:float64[9]@${out}`];
  const { kernel } = await runInProcessReport(["run", STRUCTS, "n::spread", ...args]);
  assertEquals(kernel, "n::spread");
  assertEquals(elements(out, Float64Array), [-1.5, Infinity, 1, 6, -4, 1, 0.5, 4, 1]);
});

async function runInProcessReport(args: readonly string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await runInProcess([
    ...args,
    "--json",
    "--device",
    device.label,
  ]);
  assertEquals([code, stderr], [0, ""]);
  return JSON.parse(stdout);
}

Deno.test("run with a struct that does not fit is exit code 2 and says which field", async () => {
  for (
    const [signature, argument, message] of [
      ["one", '{"x": 1}', "y"],
      ["one", '{"x": 1, "y": 2, "z": 3}', "z"],
      ["one", '{"x": 1, "y": 2.5}', "y"],
      ["one", '{"x": 1', "JSON"],
      ["one", "5", "argument"],
      [
        "linked",
        "{}",
        "Struct Linked of the source cannot be described as its member Linked * next",
      ],
    ] as const
  ) {
    const { code, stdout, stderr } = await run([signature, argument], STRUCTS);
    assertEquals([code, stdout], [2, ""], `${argument}: ${stderr}`);
    assertStringIncludes(stderr, message);
    assert(stderr.startsWith("Cannot "), stderr);
  }
});

Deno.test("what a kernel prints goes to stdout, with --json to stderr", async () => {
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

Deno.test("run of a kernel that faults is exit code 1, names it, and writes nothing", async () => {
  using folder = new TemporaryDirectory();
  const { code, stdout, stderr } = await runProcess([
    "fault(int* out)",
    `out:int32[1]@${folder.path}/y`,
  ]);
  assertEquals([code, stdout], [1, ""]);
  assertStringIncludes(stderr, "fault");
  assertEquals([...Deno.readDirSync(folder.path)], []);
});
