import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { compareFigures, figureOf } from "../../bench/report/figure.ts";
import { type GpuReport, isProved, resultName } from "../../bench/report/gpu_report.ts";
import { formatGpuReport } from "../../bench/report/markdown.ts";
import { readGpuDescription } from "../../bench/report/nvidia_smi.ts";

const REPORT: GpuReport = {
  name: "NVIDIA H200",
  device: {
    kind: "cuda",
    ordinal: 0,
    name: "NVIDIA H200",
    computeCapability: "9.0",
    multiprocessorCount: 132,
    totalMemory: 140 * 2 ** 30,
    peakBandwidth: 4.8e12,
  },
  gpu: readGpuDescription(
    "NVIDIA H200, 9.0, 580.159.04, 143771 MiB, 700.00 W, 345 MHz, 3201 MHz, 1980 MHz",
  ),
  load: { sm: [345, 1980], memory: [3201, 3201], power: [100, 650] },
  machine: { processor: "Xeon", processors: 16, system: "linux 6.1 x86_64", deno: "2.9.6" },
  date: "2030-01-02T03:04:05.000Z",
  commit: "0123abc",
  steps: [
    { name: "tests", status: "passed", seconds: 100.25, detail: "5 passed, 0 failed" },
    { name: "race check", status: "skipped", seconds: 0, detail: "not | installed" },
  ],
  tests: { passed: 5, failed: 0, ignored: 1 },
  figures: compareFigures([
    figureOf(
      { area: "kernel", group: "g", title: "copy", baseline: true, bytes: 2 ** 29 },
      [125_000],
    ),
    figureOf(
      { area: "kernel", group: "g", title: "sum", baseline: false, bytes: 2 ** 28 },
      [65_000],
    ),
    figureOf(
      { area: "launch", group: "l", title: "C loop", baseline: true, bytes: null },
      [2000],
    ),
    figureOf(
      { area: "launch", group: "l", title: "kernel.launch()", baseline: false, bytes: null },
      [2100],
    ),
  ]),
  peers: {
    peers: [{ name: "PyTorch", version: "2.11.0", nanoseconds: { copy: 250_000 } }],
    skipped: ["CuPy: No module named 'cupy'"],
  },
  comparisons: [{ name: "copy", nanoseconds: 125_000, speedup: { PyTorch: 2 } }],
  kernelGoals: [
    { name: "a launch by Triton", goal: "at least 2.50 ×", measured: "4.00 ×", reached: true },
  ],
  launchGoals: [
    {
      name: "occupancy of a block",
      goal: "at most 200 ns",
      measured: "143 ns",
      reached: true,
    },
  ],
  poolGoals: [
    {
      name: "allocate and free 4 KiB",
      goal: "at most 60.0 ns",
      measured: "50.0 ns",
      reached: true,
    },
    { name: "malloc() and free() by that", goal: "", measured: "0.500 ×", reached: null },
  ],
  traces: [
    { trace: "load", policy: "cupy", version: "14.0", real: 512, model: 512, same: true },
    { trace: "load", policy: "pytorch", version: "2.11", real: 1024, model: 512, same: false },
  ],
};

Deno.test("gpuReport() names GPU, driver, clocks, date, commit, tests and skipped steps", () => {
  const page = formatGpuReport(REPORT);
  const facts = [
    "# NVIDIA H200",
    "| Device | NVIDIA H200, compute capability 9.0, 132 multiprocessors, 140 GiB |",
    "| Memory bandwidth by data sheet | 4.80 TB/s |",
    "| Driver | 580.159.04 |",
    "| Clocks before | SM 345 MHz of 1980 MHz, memory 3201 MHz |",
    "| Clocks during the benchmarks | SM 345–1980 MHz, memory 3201 MHz |",
    "| Power during the benchmarks | 100–650 W of 700.00 W |",
    "| Date | 2030-01-02T03:04:05.000Z |",
    "| Commit | 0123abc |",
    "| Tests | 5 passed, 0 failed, 1 skipped |",
    "| tests | passed | 100.3 | 5 passed, 0 failed |",
    "| race check | skipped | 0.0 | not \\| installed |",
    "- Not compared: CuPy: No module named 'cupy'",
  ];
  for (const fact of facts) assertStringIncludes(page, fact);
});

Deno.test("gpuReport() shows bytes, bandwidth and shares of the copy and the data sheet", () => {
  const page = formatGpuReport(REPORT);
  const rows = [
    "|  | per call | fastest | samples | bytes | bandwidth | to baseline | of data sheet |",
    "| copy | 125 µs | 125 µs | 1 | 512 MiB | 4.29 TB/s | baseline | 89.5 % |",
    "| sum | 65.0 µs | 65.0 µs | 1 | 256 MiB | 4.13 TB/s | 96.2 % | 86.0 % |",
    "| kernel.launch() | 2.10 µs | 2.10 µs | 1 |  |  | 1.05 × |",
    "| copy | 125 µs | 2.00 × |",
  ];
  for (const row of rows) assertStringIncludes(page, row);
});

Deno.test("gpuReport() shows the pool's goals and the peers' models", () => {
  const page = formatGpuReport(REPORT);
  const rows = [
    "| occupancy of a block | at most 200 ns | 143 ns | reached |",
    "| allocate and free 4 KiB | at most 60.0 ns | 50.0 ns | reached |",
    "| malloc() and free() by that |  | 0.500 × |  |",
    "| load | cupy | 14.0 | 512 | 512 | same |",
    "| load | pytorch | 2.11 | 1024 | 512 | **different** |",
  ];
  for (const row of rows) assertStringIncludes(page, row);
});

Deno.test("gpuReport() writes rows as wide as their header", () => {
  const tables = formatGpuReport(REPORT).split("\n\n").filter((block) => block.startsWith("|"));
  assert(tables.length >= 5);
  for (const table of tables) {
    const cells = table.trim().split("\n").map((row) => row.split(/(?<!\\)\|/).length);
    assertEquals(new Set(cells).size, 1, table);
  }
});

Deno.test("gpuReport() renders when every step failed", () => {
  const page = formatGpuReport({
    ...REPORT,
    ...{ device: null, load: null, tests: null, figures: [], peers: null, comparisons: [] },
    ...{ poolGoals: [], traces: [] },
    steps: [{ name: "build", status: "failed", seconds: 1, detail: "no\ncompiler" }],
  });
  assertStringIncludes(page, "| build | **failed** | 1.0 | no compiler |");
  assertStringIncludes(page, "| Tests | did not end |");
  assert(!page.includes("## Figures") && !page.includes("## Peers"));
  assert(!page.includes("## Memory pool") && !page.includes("our models"));
});

Deno.test("proof() holds unless a step failed", () => {
  const [first] = REPORT.steps;
  assertEquals(isProved(REPORT), true);
  assertEquals(isProved({ ...REPORT, steps: [first!, { ...first!, status: "failed" }] }), false);
});

Deno.test("resultName() converts a device name to a file name", () => {
  assertEquals(resultName("NVIDIA H200"), "nvidia-h200");
  assertEquals(resultName("NVIDIA GeForce RTX 4090"), "nvidia-geforce-rtx-4090");
  assertEquals(resultName(" (Quadro) "), "quadro");
});
