// The physical check: no figure may exceed the data sheet of the GPU.

import "../support/cache_directory.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { impossibilities, peaksOf } from "../../bench/report/data_sheets.ts";
import { type Figure, figureOf } from "../../bench/report/figure.ts";
import type { MeasuredDevice } from "../../bench/report/gpu_report.ts";
import { checkFigures } from "../../bench/report/measurement.ts";

const H200: MeasuredDevice = {
  ...{ kind: "cuda", ordinal: 0, name: "NVIDIA H200", computeCapability: "9.0" },
  ...{ multiprocessorCount: 132, totalMemory: 140 * 2 ** 30, l2CacheSize: 60 * 2 ** 20 },
  ...{ clockMegahertz: 1980, peakBandwidth: 4.814e12 },
};

function figure(title: string, nanoseconds: number, work: Partial<Figure>): Figure {
  const named = { area: "a", group: "g", title, baseline: false, bytes: null };
  return { ...figureOf(named, [nanoseconds]), ...work };
}

/** A product of 4096 × 4096 matrices. */
const product = (microseconds: number, arithmetic: Figure["arithmetic"]) =>
  figure("product", microseconds * 1e3, {
    operations: 2 * 4096 ** 3,
    ...(arithmetic === undefined ? {} : { arithmetic }),
  });

const of = (it: Figure, device = H200) => impossibilities(it, device, peaksOf(device)!);

Deno.test("impossibilities() refuses 13.6 µs for a product of 4096 × 4096 in float16", () => {
  const [reason, ...others] = of(product(13.6, "float16"));
  assertEquals(others, []);
  assertStringIncludes(reason!, "g: product: 10106 Top/s in float16 exceed 989 Top/s");
  assertEquals(of(product(223, "float16")), []);
  // At the peak and a little above it.
  assertEquals(of(product(2 * 4096 ** 3 / 989.3e6, "float16")), []);
  assertEquals(of(product(2 * 4096 ** 3 / 989.5e6, "float16")).length, 1);
  // Other formats have other peaks.
  assertEquals(of(product(90, "int8")), []);
  assertEquals(of(product(90, "bfloat16")).length, 1);
  assertEquals(of(product(2790, "float32")), []);
  assertEquals(of(product(1000, "float32")).length, 1);
});

Deno.test("impossibilities() compares bandwidth with the memory, or with the cache where it fits", () => {
  const copy = (bytes: number, microseconds: number, footprint?: number) =>
    figure("copy", microseconds * 1e3, { bytes, ...(footprint && { footprint }) });
  assertEquals(of(copy(2 ** 29, 130)), []);
  assertStringIncludes(of(copy(2 ** 29, 100))[0]!, "5.37 TB/s exceed 4.80 TB/s");
  // 12 MiB stay in the cache, which has 16.7 TB/s.
  const small = 12 * 2 ** 20;
  assertEquals(of(copy(small, 2)), []);
  assertStringIncludes(of(copy(small, 0.5))[0]!, "25.2 TB/s exceed 16.7 TB/s");
  // 64 MiB of each of three copies do not.
  assertEquals(of(copy(2 ** 26, 10, 3 * 2 ** 26)).length, 1);
  assertEquals(of(copy(2 ** 26, 10)), []);
});

Deno.test("peaksOf() knows the data sheets, and calculates others", () => {
  const peaks = (name: string) => peaksOf({ ...H200, name })!;
  const rows: [string, number, number, number][] = [
    ["NVIDIA H100 80GB HBM3", 3.35, 67, 989.4],
    ["NVIDIA H100 PCIe", 2.04, 51, 756],
    ["NVIDIA H100 NVL", 3.9, 60, 835.5],
    ["NVIDIA H200", 4.8, 67, 989.4],
    ["NVIDIA GH200 480GB", 4.9, 67, 989.4],
    ["NVIDIA B200", 8, 80, 2250],
    ["NVIDIA A100-SXM4-80GB", 2.04, 19.5, 312],
    ["NVIDIA A100-SXM4-40GB", 1.56, 19.5, 312],
    ["NVIDIA L40S", 0.864, 91.6, 362.1],
    ["NVIDIA L40", 0.864, 90.5, 181],
    ["NVIDIA L4", 0.3, 30.3, 121],
    ["Tesla T4", 0.32, 8.1, 65],
    ["NVIDIA GeForce RTX 4090", 1.008, 82.6, 330.3],
    ["NVIDIA GeForce RTX 3090", 0.936, 35.6, 142],
    ["NVIDIA GeForce RTX 5090", 1.792, 104.8, 419],
  ];
  for (const [name, bandwidth, float32, float16] of rows) {
    const { source, operations, ...rest } = peaks(name);
    assertEquals(
      [source, rest.bandwidth, operations.float32, operations.float16],
      ["data sheet", bandwidth * 1e12, float32 * 1e12, float16 * 1e12],
      name,
    );
  }
  // The calculated figures of an H200 are those of its data sheet within 1 %.
  const sheet = peaks("NVIDIA H200");
  const other = peaks("NVIDIA H300");
  assertEquals(other.source, "compute capability and clocks");
  assert(Math.abs(other.bandwidth! / sheet.bandwidth! - 1) < 0.01);
  for (const [format, rate] of Object.entries(sheet.operations)) {
    const calculated = other.operations[format as keyof typeof other.operations]!;
    assert(Math.abs(calculated / rate! - 1) < 0.01, `${format}: ${calculated} ${rate}`);
  }
  assertEquals(peaksOf({ ...H200, kind: "host" }), null);
});

Deno.test("checkFigures() leaves impossible figures out, with the reason", () => {
  const figures = [product(13.6, "float16"), figure("sum", 65e3, { bytes: 2 ** 28 })];
  const checked = checkFigures(figures, H200);
  assertEquals(checked.figures.map(({ title }) => title), ["sum"]);
  assertEquals(checked.impossible.length, 1);
  assertEquals(checkFigures(figures, { ...H200, kind: "host" }).figures.length, 2);
  assertEquals(checkFigures(figures, null).impossible, []);
});
