// Figures of a GPU report: comparisons, output of programs, and units.

import { assertEquals, assertThrows } from "@std/assert";
import { stepFigures } from "../../bench/report/compile_times.ts";
import { compareFigures, type Figure, figureOf, overlapShare } from "../../bench/report/figure.ts";
import {
  exactBytes,
  formatApart,
  formatBandwidth,
  formatComparison,
  formatDuration,
  formatNumber,
  formatRates,
} from "../../bench/report/formats.ts";
import { readGpuDescription } from "../../bench/report/nvidia_smi.ts";

Deno.test("compareFigures() compares with the baseline of the same area and group", () => {
  const figure = (nanoseconds: number, changes: Partial<Figure> = {}) => ({
    ...figureOf({ area: "a", group: "g", title: "t", baseline: false, bytes: null }, [nanoseconds]),
    ...changes,
  });
  const compared = compareFigures([
    figure(4, { baseline: true, bytes: 8 }),
    figure(8),
    figure(8, { bytes: 16 }),
    figure(8, { group: "alone", bytes: 16 }),
    figure(8, { area: "other area" }),
    figure(2, { group: "products", baseline: true, bytes: 8, operations: 20 }),
    figure(4, { group: "products", bytes: 8, operations: 10 }),
  ]);
  assertEquals(
    compared.map((each) => [each.bytesPerSecond, each.relativeTime, formatComparison(each)]),
    [
      [2e9, null, "baseline"],
      [null, 2, "2.00 ×"],
      [2e9, 2, "100.0 %"],
      [2e9, null, ""],
      [
        null,
        null,
        "",
      ],
      [4e9, null, "baseline"],
      [2e9, 2, "25.0 %"],
    ],
  );
  assertEquals(formatRates(compared.at(-1)!), "2.00 GB/s, 2.50 Gop/s");
});

Deno.test("figureOf() takes its figures from samples in any order", () => {
  const named = { area: "a", group: "g", title: "t", baseline: true, bytes: null };
  const { samples, median, fastest, dropped, host } = figureOf(named, [4, 1, 3, 2, 9]);
  assertEquals([samples, median, fastest, dropped, host], [5, 3, 1, 0, null]);
  assertThrows(() => figureOf(named, []), RangeError, "no samples");
});

Deno.test("exactBytes() writes the largest unit that divides a size", () => {
  const sizes = [0, 1025, 4096, 768 * 2 ** 20, 2 ** 31].map(exactBytes);
  assertEquals(sizes, ["0 B", "1025 B", "4 KiB", "768 MiB", "2 GiB"]);
});

Deno.test("formatDuration() and formatBandwidth() write three digits and a fitting unit", () => {
  const durations: [number, string][] = [
    [0.5, "0.500 ns"],
    [999, "999 ns"],
    [1000, "1.00 µs"],
    [2_345_678, "2.35 ms"],
    [4e12, "4000 s"],
  ];
  for (const [value, text] of durations) assertEquals(formatDuration(value), text);
  assertEquals([55.6e9, 4.3e12].map(formatBandwidth), ["55.6 GB/s", "4.30 TB/s"]);
});

Deno.test("formatApart() gives two numbers the digits that tell them apart", () => {
  const apart = (value: number, other: number) => formatApart(value, other, formatNumber);
  assertEquals(apart(0.9996, 1), ["0.9996", "1.000"]);
  assertEquals(apart(1, 1), ["1.00", "1.00"]);
  assertEquals(apart(2, 1), ["2.00", "1.00"]);
  assertEquals(formatApart(131_020, 131_000, formatDuration), ["131.02 µs", "131.00 µs"]);
  // They differ by an error of rounding.
  assertEquals(apart(0.1 + 0.2, 0.3), ["0.300", "0.300"]);
});

Deno.test("readGpuDescription() reads the output of nvidia-smi", () => {
  const line = "NVIDIA H200, 9.0, 580.159.04, 143771 MiB, 700.00 W, 345 MHz, 3201 MHz, 1980 MHz";
  assertEquals(readGpuDescription(`${line}\n${line.replace("H200", "L4")}\n`), {
    name: "NVIDIA H200",
    computeCapability: "9.0",
    driver: "580.159.04",
    memory: "143771 MiB",
    powerLimit: "700.00 W",
    clocks: { sm: "345 MHz", memory: "3201 MHz", smMaximum: "1980 MHz" },
  });
  assertThrows(() => readGpuDescription("No devices were found"), Error, "nvidia-smi");
});

Deno.test("stepFigures() reads the times of several runs of g++", () => {
  const times = [
    "0.226206 0.043794 cc1plus -quiet -I /include source.cpp -o a.s",
    "0.003 0 as --64 -o a.o a.s",
    "0.0112 0.0128 /usr/lib/gcc/collect2 -shared -o kernels a.o",
    "0.2 0.01 cc1plus -quiet b.cpp -o 0.1 0.2 as",
    "0.5 0.5 lto-wrapper",
    "",
  ].join("\n");
  const figures = stepFigures(times).map(({ title, fastest, samples }) =>
    [title, Math.round(fastest / 1e3), samples] as const
  );
  assertEquals(figures, [["compiling", 210_000, 2], ["assembling", 3_000, 1], [
    "linking",
    24_000,
    1,
  ]]);
});

Deno.test("overlapShare() is 0 in sequence, 1 if the longer hides the shorter, below 0 if slower", () => {
  assertEquals(overlapShare(3, 4, 7), 0);
  assertEquals(overlapShare(3, 4, 4), 1);
  assertEquals(overlapShare(4, 2, 5), 0.5);
  assertEquals(overlapShare(3, 4, 10), -1);
});
