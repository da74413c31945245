// The figures of a GPU in docs/performance.md, from reports.

import "../support/cache_directory.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { emptyMeasurement } from "../../.ci/gpu/measure.ts";
import { compareFigures, type Figure, figureOf } from "../../bench/report/figure.ts";
import type { GpuReport } from "../../bench/report/gpu_report.ts";
import { performanceSection, replaceSection } from "../../bench/report/performance_page.ts";

const GROUP = "tensors of 2^26 float32";
const ADD = { area: "tensor", group: GROUP, title: "add", baseline: false, bytes: null };
const PRODUCT = { ...ADD, area: "matmul", group: "product of 2 x 3 and 3 x 4 int8" };

function report(date: string, commit: string, figures: Figure[], name = "NVIDIA H200"): GpuReport {
  return {
    ...{ format: 1, command: "measure", name, finished: true, device: null, gpu: null, steps: [] },
    machine: { processor: "Xeon", processors: 16, system: "linux", deno: "2.9.6" },
    ...{ date: `${date}T03:04:05.000Z`, commit },
    measure: { ...emptyMeasurement(), figures: compareFigures(figures) },
  };
}

const peer = (name: string, version: string, microseconds: number) =>
  figureOf({ ...ADD, title: name }, [microseconds * 1000], {
    ...{ library: { name, version }, beside: "add" },
  });

const whole = report("2030-01-02", "0123456789abcdef", [
  figureOf(ADD, [200e3, 210e3]),
  figureOf({ ...PRODUCT, title: "matmul()" }, [5e3]),
  figureOf({ ...PRODUCT, title: "own kernel" }, [6e3]),
  peer("compiled PyTorch", "2.11.0+cu130", 190),
  peer("PyTorch", "2.11.0+cu130", 220),
]);
const later = report("2030-01-03", "fedcba9876543210", [figureOf(ADD, [180e3])]);

const cells = (text: string) => text.split("\n").map((line) => line.replaceAll(/ +/g, " ").trim());

Deno.test("performanceSection() has ours beside other libraries, also where we are slower", () => {
  const text = performanceSection([whole]);
  for (
    const line of [
      "| | time | PyTorch | compiled PyTorch | fastest by ours |",
      "| `add` | 200 µs | 220 µs | 190 µs | 0.950 × |",
      "| 2 x 3 and 3 x 4 int8 | 5.00 µs |",
      "| 2 x 3 and 3 x 4 int8: `own kernel` | 6.00 µs |",
    ]
  ) assert(cells(text).includes(line), `${line}\n${text}`);
  assertStringIncludes(text, "Measured on 2030-01-02 at commit 01234567 on an NVIDIA H200");
  assertStringIncludes(text, "beside PyTorch 2.11.0 on the same GPU");
  // What was not measured has no table.
  assert(!text.includes("### Copies"));
});

Deno.test("performanceSection() takes our last figures, and other libraries of an earlier run", () => {
  const text = performanceSection([whole, later]);
  assert(cells(text).includes("| `add` | 180 µs | 220 µs | 190 µs | 1.06 × |"), text);
  assertStringIncludes(text, "at commit 01234567, and on 2030-01-03 at commit fedcba98 on an");
  assertThrows(() => performanceSection([]), RangeError, "they are of none");
  const other = report("2030-01-04", "0123abc", [], "NVIDIA L4");
  assertThrows(() => performanceSection([whole, other]), RangeError, "of NVIDIA H200, NVIDIA L4");
});

Deno.test("replaceSection() replaces all between a heading and the next one", () => {
  const page = "# Page\n\n## One\n\nold\n\n### Part\n\nold\n\n## Two\n\nkept\n";
  assertEquals(
    replaceSection(page, "## One", "new\n"),
    "# Page\n\n## One\n\nnew\n\n## Two\n\nkept\n",
  );
  assertEquals(replaceSection("## One\n\nold\n", "## One", "new"), "## One\n\nnew\n");
  assertThrows(() => replaceSection(page, "## Three", ""), RangeError, "Cannot find ## Three");
});
