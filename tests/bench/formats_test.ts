import { assertEquals } from "@std/assert";
import { compareFigures, figureOf } from "../../bench/report/figure.ts";
import {
  formatBandwidth,
  formatComparison,
  formatDuration,
  formatPercent,
} from "../../bench/report/formats.ts";

Deno.test("Durations and bandwidths have three digits and a fitting unit", () => {
  const durations: [number, string][] = [
    [0.5, "0.500 ns"],
    [4, "4.00 ns"],
    [999, "999 ns"],
    [1000, "1.00 µs"],
    [123_456, "123 µs"],
    [2_345_678, "2.35 ms"],
    [3e9, "3.00 s"],
    [4e12, "4000 s"],
  ];
  for (const [value, text] of durations) assertEquals(formatDuration(value), text);
  const bandwidths: [number, string][] = [
    [5e6, "0.00500 GB/s"],
    [55.6e9, "55.6 GB/s"],
    [999.4e9, "999 GB/s"],
    [4.3e12, "4.30 TB/s"],
  ];
  for (const [value, text] of bandwidths) assertEquals(formatBandwidth(value), text);
  assertEquals(formatPercent(0.8956), "89.6 %");
});

Deno.test("comparisonText() compares bandwidths if present, otherwise times", () => {
  const named = { area: "a", group: "g", title: "t" };
  const [baseline, slower, wider, lone] = compareFigures([
    figureOf({ ...named, baseline: true, bytes: 100 }, [10]),
    figureOf({ ...named, baseline: false, bytes: null }, [15]),
    figureOf({ ...named, baseline: false, bytes: 300 }, [20]),
    figureOf({ ...named, group: "other", baseline: false, bytes: 1 }, [20]),
  ]);
  const texts = [baseline, slower, wider, lone].map((figure) => formatComparison(figure!));
  assertEquals(texts, ["baseline", "1.50 ×", "150.0 %", ""]);
});
