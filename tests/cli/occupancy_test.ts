// `gridstride occupancy` with figures and with a compiled kernel.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { capabilityLimits, occupancy, occupancyLimits } from "../../mod.ts";
import { device } from "../support/device.ts";
import { repositoryPath, runCommandLine } from "../support/subprocess.ts";
import {
  assertFails,
  isCudaCompilerMissing,
  type Output,
  runInProcess,
  useTemporaryCache,
} from "./in_process.ts";

const SOURCE = repositoryPath("tests/cli/fixtures/kernels.cu");

const cache = useTemporaryCache();

/** Runs the command with arguments in one text. */
function run(words: string): Promise<Output> {
  return runInProcess(["occupancy", ...words.split(" ")]);
}

const ignore = await isCudaCompilerMissing();

Deno.test("`occupancy` prints the limits, a line over block sizes, and advice", async () => {
  const { code, stdout, stderr } = await run(
    "--capability 8.9 --threads 256 --registers 48 --shared 16KiB",
  );
  assertEquals([code, stderr], [0, ""]);
  assertEquals(
    stdout,
    `compute capability 8.9: 5 blocks of 256 threads on a multiprocessor, 40 of 48 warps, 83.3 %

resource       per block       blocks  limit
─────────────  ──────────────  ──────  ─────
warps          8                    6
blocks         1                   24
registers      48 a thread          5  ←
shared memory  16 KiB + 1 KiB       5  ←
barriers       1                  any

occupancy for blocks of 32 to 1024 threads
▁▂▃▄▅▅▆▇▆▇▆▆▇▅▅▆▆▆▇▇▄▄▄▄▅▅▅▅▅▅▆▆
       ↑ 256

Occupancy is 83.3 %, limited to 5 blocks by registers and shared memory: with at
most 40 registers per thread (it has 48) and at most 16000 bytes of shared
memory per block (it has 16384) 6 blocks fit, 100 %.
`,
  );
});

Deno.test("`occupancy --json` prints the result of `occupancy()`", async () => {
  const usage = {
    threadsPerBlock: 192,
    registersPerThread: 70,
    staticSharedMemory: 1024,
    dynamicSharedMemory: 5000,
    barriersPerBlock: 16,
  };
  const figures = "--block 48x2x2 --registers 70 --shared 1K --dynamic 5000 --barriers 16 --json";
  for (
    const [words, limits] of [
      ["--capability 9.0", capabilityLimits("9.0")],
      [`--device ${device.label}`, occupancyLimits(device.info)],
    ] as const
  ) {
    const { code, stdout } = await run(`${words} ${figures}`);
    const subject = words.startsWith("--device")
      ? { device: device.label, fake: device.info.fake }
      : { device: null, fake: false };
    const expected = JSON.parse(JSON.stringify({ ...subject, ...occupancy(limits, usage) }));
    assertEquals([code, JSON.parse(stdout)], [0, expected]);
  }
});

Deno.test("`occupancy`, `roofline` and `compile` label a fake device", async () => {
  const figures = ["--registers", "32"];
  const rates = ["--bytes", "1", "--operations", "1"];
  for (const args of [["occupancy", ...figures], ["roofline", ...rates], ["compile", SOURCE]]) {
    const fakes = {
      GRIDSTRIDE_FAKE: "24GiB@8.9",
      GRIDSTRIDE_CACHE_DIR: cache,
    };
    const text = await runCommandLine(args, fakes);
    assertMatch(text.stdout, /^(?:library for )?host:0 \(fake\)/, text.stderr);
    const { stdout } = await runCommandLine([...args, "--json"], fakes);
    assertEquals(JSON.parse(stdout).fake, true);
  }
});

Deno.test("`occupancy` assumes blocks of 256 threads without --threads and --block", async () => {
  const { stdout } = await run("--capability 8.9 --registers 8");
  assertMatch(stdout, /6 blocks of 256 threads on a multiprocessor/);
});

Deno.test("`occupancy` explains a block that does not fit, and an unknown capability", async () => {
  const large = await run("--capability 13.7 --threads 2048 --registers 0 --shared 0 --barriers 0");
  assertEquals(large.code, 0);
  assertEquals(large.stderr, "compute capability 13.7 is unknown: the limits are those of 12.1\n");
  assertMatch(large.stdout, /^compute capability 13\.7: 0 blocks of 2048 threads/);
  assertMatch(large.stdout, /^warps +64 +0 +←$/m);
  assertMatch(large.stdout, /^No block fits as a block has at most 1024 threads: with /m);
  assert(!large.stdout.includes("↑"), "the line has no such block size");

  const one = await run("--capability 7.5 --threads 1 --registers 100");
  assertMatch(one.stdout, /16 blocks of 1 thread on a multiprocessor, 16 of 32 warps, 50 %/);
  assertMatch(one.stdout, /^shared memory +0 B +any$/m);
  const full = await run("--capability 7.5 --threads 256 --registers 32");
  assertMatch(full.stdout, /100 %\n[^]*↑ 256\n$/);
});

Deno.test({
  name: "`occupancy` compiles a file to get the resources of its kernel",
  ignore,
  async fn() {
    const words = "--capability 9.0 --block 16,16 --dynamic 64KiB --json";
    const kernels = ["reverse", "fill<int>(int* out, int value, size_t n)"];
    for (const kernel of kernels) {
      const { code, stdout, stderr } = await runInProcess(
        ["occupancy", SOURCE, kernel, ...words.split(" ")],
      );
      assertEquals([code, stderr], [0, ""]);
      const { limits, limiter } = JSON.parse(stdout);
      assertEquals([limits.warps, limits.sharedMemory, limiter], [8, 3, "sharedMemory"]);
      assert(limits.registers >= 8 && limits.registers < 1024, stdout);
    }
    const missing = await runInProcess(["occupancy", SOURCE, "nothing", "--threads", "32"]);
    assertEquals([missing.code, missing.stdout], [1, ""]);
    assertMatch(missing.stderr, /as nothing must be a kernel of .*: it has (?:\w+, )*saxpy/);
    const noFile = await run("/nowhere/kernel.cu k --threads 32 --capability 9.0");
    assertEquals([noFile.code, noFile.stdout], [1, ""]);
  },
});

Deno.test({
  name: "`occupancy` respects launch bounds, in its advice too",
  ignore,
  async fn() {
    const file = `${cache}/bounded.cu`;
    await Deno.writeTextFile(
      file,
      `template <int N> __global__ void __launch_bounds__(N) bounded(float* x) { x[threadIdx.x] = N; }
      __global__ void unbounded(float* x) { x[threadIdx.x] = 1; }`,
    );
    const occupancyFor = async (kernel: string, threads: number) => {
      const words = ["--capability", "9.0", "--threads", `${threads}`, "--json"];
      const { code, stdout, stderr } = await runInProcess(["occupancy", file, kernel, ...words]);
      assertEquals([code, stderr], [0, ""]);
      return JSON.parse(stdout);
    };
    const beyond = await occupancyFor("bounded<96>(float* x)", 128);
    assertEquals([beyond.activeBlocks, beyond.limits.warps, beyond.limiter], [0, 0, "warps"]);
    assertMatch(beyond.advice, /^No block fits as a block has at most 96 threads: with 64 threads/);
    assertEquals((await occupancyFor("bounded<96>(float* x)", 96)).activeBlocks, 21);
    assertEquals((await occupancyFor("unbounded", 1024)).activeBlocks, 2);
    const words = ["--capability", "9.0", "--threads", "32"];
    const { code, stderr } = await runInProcess(["occupancy", file, "bounded", ...words]);
    assertEquals(code, 1);
    assertMatch(stderr, /it has unbounded; name an instance of a template as bounded<…>\n$/);
  },
});

Deno.test({
  name: "`occupancy` suggests nvcc and --registers without a compiler for CUDA",
  ignore: !ignore,
  async fn() {
    const words = ["nothing", "--threads", "32", "--capability", "9.0"];
    const { code, stderr } = await runInProcess(["occupancy", SOURCE, ...words]);
    assertEquals(code, 1);
    assertMatch(stderr, /\nOr give --registers and --shared without FILE: nvcc .*-arch=sm_90 /);
  },
});

Deno.test("`occupancy` exits with 2 for invalid options", async () => {
  await assertFails(2, run, [
    ["--threads 8 --block 8 --registers 8", "both --threads and --block"],
    ["--threads 0 --registers 8", "Cannot use --threads as it must be an integer in 1.."],
    ["--threads 1.5 --registers 8", 'it is "1.5"'],
    ["--block 2000000000x2 --registers 8", "it has 4000000000"],
    ["--threads 8", "--registers or FILE.cu is missing"],
    ["--threads 8 --registers many", "Cannot use --registers as it must be an integer in 0.."],
    [
      "--threads 8 --registers 8 --shared 1X",
      "Cannot use --shared as it must be a size of at most 2147483647 bytes, such as",
    ],
    ["--threads 8 --registers 8 --dynamic 2G", "Cannot use --dynamic as it must be a size"],
    ["--threads 8 --registers 8 --barriers 17", "an integer in 0..16"],
    ["--threads 8 --registers 8 --capability 6.1", "must be at least 7.5"],
    ["--threads 8 --registers 8 --capability ada", 'must be "<major>.<minor>" such as "8.9"'],
    ["--threads 8 --registers 8 --capability 9.0 --device host", "--capability and --device"],
    [`${SOURCE} --threads 8`, "the name of a kernel after FILE.cu is missing"],
    [`${SOURCE} saxpy more --threads 8`, "too many arguments"],
    [`${SOURCE} saxpy --threads 8 --registers 8`, "Cannot use --registers with FILE.cu"],
    [`${SOURCE} saxpy --threads 8 --shared 8`, "Cannot use --shared with FILE.cu"],
    ["--threads 8 --registers 8 --grid 1", "unknown option '--grid'"],
  ]);
});
