import "../support/cache_directory.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { compareFigures, figureOf } from "../../bench/report/figure.ts";
import { emptyMeasurement } from "../../.ci/gpu/measure.ts";
import {
  type GpuReport,
  isProved,
  type MeasureFindings,
  resultName,
} from "../../bench/report/gpu_report.ts";
import { formatGpuReport } from "../../bench/report/markdown.ts";
import { readGpuDescription } from "../../bench/report/nvidia_smi.ts";

const LIBRARY = { name: "PyTorch", version: "2.11.0" };
const NAMED = { area: "kernel", group: "g", baseline: false };

const MEASURE: MeasureFindings = {
  peaks: {
    ...{ source: "data sheet", bandwidth: 4.8e12 },
    operations: {
      ...{ float64: null, float32: 67e12, tfloat32: null, float16: 989.4e12, bfloat16: null },
      ...{ float8: null, int8: null },
    },
  },
  load: { sm: [345, 1980], memory: [3201, 3201], power: [100, 650] },
  figures: compareFigures([
    {
      ...figureOf({ ...NAMED, title: "copy", baseline: true, bytes: 2 ** 29 }, [125_000]),
      ...{ clock: "device", host: 2500, clocks: [1965, 1980], drift: 1.01, dropped: 3 },
    },
    { ...figureOf({ ...NAMED, title: "sum", bytes: 2 ** 28 }, [65_000]), clock: "device" },
    figureOf({ ...NAMED, title: "PyTorch", bytes: 2 ** 29 }, [250_000], {
      ...{ library: LIBRARY, beside: "copy" },
    }),
    {
      ...figureOf({ ...NAMED, group: "products", title: "matmul()", bytes: null }, [223_000]),
      ...{ operations: 2 * 4096 ** 3, arithmetic: "float16" },
    },
  ]),
  impossible: ["g: tea: 10106 Top/s in float16 exceed 989 Top/s"],
  libraries: [LIBRARY, { name: "numba", version: "0.68" }],
  missing: ["CuPy: No module named 'cupy'"],
  goals: {
    "Memory pool": [{
      ...{ name: "allocate and free 4 KiB", goal: "at most 60.0 ns", measured: "50.0 ns" },
      reached: true,
    }],
  },
  speeds: [
    {
      name: "g: sum",
      ours: 65e3,
      peer: { name: "CuPy", nanoseconds: 67e3 },
      limit: 56e3,
      goal: 67e3,
    },
    { name: "g: max", ours: 67_004, peer: null, limit: 56e3, goal: 67e3 },
    { name: "g: tea", ours: null, peer: null, limit: null, goal: null },
  ],
  traces: [
    { trace: "load", policy: "pytorch", version: "2.11", real: 1024, model: 512, same: false },
  ],
};

const REPORT: GpuReport = {
  ...{ format: 1, command: "measure", name: "NVIDIA H200", finished: true },
  device: {
    ...{ kind: "cuda", ordinal: 0, name: "NVIDIA H200", computeCapability: "9.0" },
    ...{ multiprocessorCount: 132, totalMemory: 140 * 2 ** 30, l2CacheSize: 60 * 2 ** 20 },
    ...{ clockMegahertz: 1980, peakBandwidth: 4.8e12 },
  },
  gpu: readGpuDescription(
    "NVIDIA H200, 9.0, 580.159.04, 143771 MiB, 700.00 W, 345 MHz, 3201 MHz, 1980 MHz",
  ),
  machine: { processor: "Xeon", processors: 16, system: "linux 6.1 x86_64", deno: "2.9.6" },
  ...{ date: "2030-01-02T03:04:05.000Z", commit: "0123abc" },
  steps: [
    { name: "tensor", status: "passed", seconds: 100.25, detail: "5 benchmarks" },
    { name: "race check", status: "skipped", seconds: 0, detail: "not | installed" },
  ],
  measure: MEASURE,
};

function assertTables(page: string): void {
  for (const table of page.split("\n\n").filter((block) => block.startsWith("|"))) {
    const cells = table.trim().split("\n").map((row) => row.split(/(?<!\\)\|/).length);
    assertEquals(new Set(cells).size, 1, table);
  }
}

Deno.test("formatGpuReport() writes facts, steps, figures, goals and other libraries", () => {
  const page = formatGpuReport(REPORT);
  const lines = [
    "# NVIDIA H200: measure",
    "| Device | NVIDIA H200, compute capability 9.0, 132 multiprocessors, 140 GiB |",
    "| Clocks during the benchmarks | SM 345–1980 MHz, memory 3201 MHz |",
    "| Peaks by data sheet | 4.80 TB/s; Top/s: float32 67.0, float16 989 |",
    "| Commit | 0123abc |",
    "| race check | skipped | 0.0 | not \\| installed |",
    "- CuPy: No module named 'cupy'",
    "- g: tea: 10106 Top/s in float16 exceed 989 Top/s",
    "| copy | 125 µs | 125 µs | 1 (3 dropped) | 2.50 µs | 512 MiB | 4.29 TB/s | baseline | 89.5 % | " +
    "1965–1980 | 1.01 × |",
    "| sum | 65.0 µs | 65.0 µs | 1 |  | 256 MiB | 4.13 TB/s | 96.2 % | 86.0 % |  |  |",
    "| matmul() | 223 µs | 223 µs | 1 | 616 Top/s | 62.3 % |",
    "| PyTorch 2.11.0, beside copy | 250 µs |",
    "| g: copy | 125 µs | 2.00 × |",
    "| allocate and free 4 KiB | at most 60.0 ns | 50.0 ns | reached |",
    "| g: sum | 65.0 µs | 67.0 µs CuPy | 56.0 µs | 67.0 µs | reached |",
    "| g: max | 67.004 µs |  | 56.0 µs | 67.000 µs | missed |",
    "| g: tea | not run |  |  |  |  |",
    "| load | pytorch | 2.11 | 1024 | 512 | **different** |",
  ];
  for (const line of lines) assertStringIncludes(page, line);
  assert(!page.includes("cut off"));
  // Libraries that have done nothing have no column, and work that none has done no row.
  assert(!page.includes("numba"));
  assert(!page.includes("| g: sum | 65.0 µs |\n"));
  assertTables(page);
});

Deno.test("formatGpuReport() writes the tests of a check, and that it was cut off", () => {
  const { measure: _, ...rest } = REPORT;
  const page = formatGpuReport({
    ...{ ...rest, command: "check", finished: false, device: null },
    steps: [{ name: "build", status: "failed", seconds: 1, detail: "no\ncompiler" }],
    check: {
      ...{ files: 168, ran: 20, tests: { passed: 300, failed: 2, ignored: 1 } },
      failing: [
        { file: "tests/a_test.ts", outcome: "failed", alone: "passed", tests: ["x", "y | z"] },
        { file: "tests/b_test.ts", outcome: "hung", alone: null, tests: ["w"] },
      ],
    },
  });
  const lines = [
    "| State | **cut off, or still running** |",
    "| build | **failed** | 1.0 | no compiler |",
    "300 passed, 2 failed, 1 skipped in 20 of 168 files that use a device.",
    "| tests/a_test.ts | failed | passed | x; y \\| z |",
    "| tests/b_test.ts | hung | not run again | w |",
  ];
  for (const line of lines) assertStringIncludes(page, line);
  for (const title of ["Figures", "Goals", "Impossible"]) assert(!page.includes(`## ${title}`));
  assertTables(page);
});

Deno.test("formatGpuReport() leaves out empty sections when nothing was measured", () => {
  const page = formatGpuReport({ ...REPORT, measure: emptyMeasurement() });
  const titles = ["Figures", "Goals", "Impossible", "Missing", "Other libraries", "Traces"];
  for (const title of titles) assert(!page.includes(`## ${title}`));
});

Deno.test("isProved() needs every step and the end, and resultName() is a file name", () => {
  const [first] = REPORT.steps;
  assertEquals(isProved(REPORT), true);
  assertEquals(isProved({ ...REPORT, finished: false }), false);
  assertEquals(isProved({ ...REPORT, steps: [{ ...first!, status: "failed" }] }), false);
  const name = " (NVIDIA GeForce RTX 4090) ";
  assertEquals(resultName({ name, command: "check" }), "nvidia-geforce-rtx-4090-check");
});
