import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  formatDuration,
  formatGpuReport,
  readBenchResults,
  readGpuDescription,
  resultName,
} from "../../.ci/gpu_report.ts";

const GPU = readGpuDescription(
  "NVIDIA H200, 9.0, 575.57.08, 143771 MiB, 345 MHz, 3201 MHz, 1980 MHz\n",
);

Deno.test("readGpuDescription() reads each property and refuses anything else", () => {
  assertEquals([GPU.name, GPU.computeCapability, GPU.driver], ["NVIDIA H200", "9.0", "575.57.08"]);
  assertEquals(GPU.clocks, { sm: "345 MHz", memory: "3201 MHz", smMaximum: "1980 MHz" });
  for (const text of ["", "No devices were found", "a, b, c, d, e, f", "a,,c,d,e,f,g"]) {
    assertThrows(() => readGpuDescription(text), Error, "nvidia-smi");
  }
});

Deno.test("readBenchResults() keeps every benchmark and fails with a failed one", () => {
  const ok = { ok: { avg: 12.5, min: 10, p75: 13, p99: 20 } };
  const bench = (results: unknown[]) =>
    JSON.stringify({
      version: 1,
      benches: [{ origin: "file:///a/launch_bench.ts", group: null, name: "empty", results }],
    });
  assertEquals(readBenchResults(bench([ok])), [
    {
      file: "launch_bench.ts",
      group: null,
      name: "empty",
      average: 12.5,
      minimum: 10,
      p75: 13,
      p99: 20,
    },
  ]);
  assertThrows(() => readBenchResults(bench([{ failed: {} }])), Error, '"empty" failed');
});

Deno.test("formatDuration() has three digits and the unit that fits", () => {
  const forms: [number, string][] = [
    [0.5, "0.500 ns"],
    [4, "4.00 ns"],
    [999, "999 ns"],
    [1000, "1.00 µs"],
    [2_345_678, "2.35 ms"],
    [3e9, "3.00 s"],
  ];
  for (const [value, text] of forms) assertEquals(formatDuration(value), text);
});

Deno.test("the report names GPU, driver, clocks, date, commit, tests and times", () => {
  assertEquals(resultName("NVIDIA GeForce RTX 4090"), "nvidia-geforce-rtx-4090");
  const page = formatGpuReport({
    gpu: GPU,
    date: "2030-01-02T03:04:05.000Z",
    commit: "0123abc",
    tests: { passed: 5, failed: 0, ignored: 1 },
    sanitizer: null,
    benches: [{ file: "a.ts", group: "g", name: "n", average: 4, minimum: 3, p75: 5, p99: 6 }],
  });
  const facts = ["NVIDIA H200", "575.57.08", "1980 MHz", "2030-01-02", "0123abc", "not installed"];
  for (const fact of [...facts, "5 passed, 0 failed, 1 skipped", "4.00 ns | 3.00 ns"]) {
    assertStringIncludes(page, fact);
  }
});
