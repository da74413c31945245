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
  figures: compareFigures(
    ([["copy", 29, 125_000], ["sum", 28, 65_000]] as const).map(([title, power, nanoseconds]) =>
      figureOf(
        { area: "kernel", group: "g", title, baseline: title === "copy", bytes: 2 ** power },
        [nanoseconds],
      )
    ),
  ),
  peers: {
    peers: [{ name: "PyTorch", version: "2.11.0", nanoseconds: { copy: 250_000 } }],
    skipped: ["CuPy: No module named 'cupy'"],
  },
  comparisons: [{ name: "copy", nanoseconds: 125_000, speedup: { PyTorch: 2 } }],
  kernelGoals: [],
  launchGoals: [],
  tensorGoals: [],
  poolGoals: [
    {
      name: "allocate and free 4 KiB",
      goal: "at most 60.0 ns",
      measured: "50.0 ns",
      reached: true,
    },
  ],
  traces: [
    { trace: "load", policy: "pytorch", version: "2.11", real: 1024, model: 512, same: false },
  ],
};

Deno.test("formatGpuReport() writes facts, steps, figures, goals and peers", () => {
  const page = formatGpuReport(REPORT);
  const lines = [
    "# NVIDIA H200",
    "| Device | NVIDIA H200, compute capability 9.0, 132 multiprocessors, 140 GiB |",
    "| Clocks during the benchmarks | SM 345–1980 MHz, memory 3201 MHz |",
    "| Commit | 0123abc |",
    "| Tests | 5 passed, 0 failed, 1 skipped |",
    "| race check | skipped | 0.0 | not \\| installed |",
    "- Not compared: CuPy: No module named 'cupy'",
    "| copy | 125 µs | 125 µs | 1 | 512 MiB | 4.29 TB/s | baseline | 89.5 % |",
    "| sum | 65.0 µs | 65.0 µs | 1 | 256 MiB | 4.13 TB/s | 96.2 % | 86.0 % |",
    "| copy | 125 µs | 2.00 × |",
    "| allocate and free 4 KiB | at most 60.0 ns | 50.0 ns | reached |",
    "| load | pytorch | 2.11 | 1024 | 512 | **different** |",
  ];
  for (const line of lines) assertStringIncludes(page, line);
  for (const table of page.split("\n\n").filter((block) => block.startsWith("|"))) {
    const cells = table.trim().split("\n").map((row) => row.split(/(?<!\\)\|/).length);
    assertEquals(new Set(cells).size, 1, table);
  }
});

Deno.test("formatGpuReport() leaves out empty sections when every step failed", () => {
  const page = formatGpuReport({
    ...REPORT,
    ...{ device: null, load: null, tests: null, figures: [], peers: null, comparisons: [] },
    ...{ poolGoals: [], traces: [] },
    steps: [{ name: "build", status: "failed", seconds: 1, detail: "no\ncompiler" }],
  });
  assertStringIncludes(page, "| build | **failed** | 1.0 | no compiler |");
  assertStringIncludes(page, "| Tests | did not end |");
  for (const title of ["Figures", "Peers", "Memory pool"]) assert(!page.includes(`## ${title}`));
});

Deno.test("isProved() is false when a step failed, and resultName() is a file name", () => {
  const [first] = REPORT.steps;
  assertEquals(isProved(REPORT), true);
  assertEquals(isProved({ ...REPORT, steps: [{ ...first!, status: "failed" }] }), false);
  assertEquals(resultName(" (NVIDIA GeForce RTX 4090) "), "nvidia-geforce-rtx-4090");
});
