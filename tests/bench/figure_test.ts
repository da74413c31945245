import { assertEquals, assertThrows } from "@std/assert";
import {
  compareFigures,
  type Figure,
  figureOf,
  groupFigures,
  readBenchJson,
} from "../../bench/report/figure.ts";

/** What `deno bench --json` prints of one benchmark. */
function benchJson(
  results: unknown[],
  name = "add ×10 [4 KiB]",
  group: string | null = "g",
): string {
  const origin = "file:///folder/kernel_bench.ts";
  const bench = { origin, group, name, baseline: false, results };
  return JSON.stringify({ version: 1, runtime: "Deno", cpu: "x", benches: [bench] });
}

const TIMING = { n: 30, min: 100, max: 900, avg: 200, p75: 150, p99: 800, p995: 850, p999: 900 };

function figure(changes: Partial<Figure>): Figure {
  return {
    area: "a",
    group: "g",
    title: "t",
    baseline: false,
    bytes: null,
    samples: 1,
    nanoseconds: 1,
    fastest: 1,
    mean: 1,
    slow: 1,
    ...changes,
  };
}

Deno.test("readBenchJson() divides times by the calls of an iteration", () => {
  assertEquals(readBenchJson(benchJson([{ ok: TIMING }])), [{
    area: "kernel",
    group: "g",
    title: "add",
    baseline: false,
    bytes: 4096,
    samples: 30,
    nanoseconds: 15,
    fastest: 10,
    mean: 20,
    slow: 80,
  }]);
  assertEquals(readBenchJson(benchJson([{ ok: TIMING }], "add", null))[0]!.group, "");
});

Deno.test("readBenchJson() fails when a benchmark failed or did not run", () => {
  const failed = [{ failed: { errors: [] } }];
  assertThrows(() => readBenchJson(benchJson(failed, "sum ×3")), Error, '"sum ×3" failed');
  assertThrows(() => readBenchJson(benchJson([])), Error, "failed");
  assertThrows(() => readBenchJson("Check bench.ts"), SyntaxError);
});

Deno.test("readBenchJson() reads the output of this Deno version", async () => {
  const file = await Deno.makeTempFile({ suffix: "_bench.ts" });
  try {
    const bench =
      'Deno.bench({ name: "count ×4", group: "counting", baseline: true, n: 1, fn() {} });';
    await Deno.writeTextFile(file, bench);
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["bench", "--no-check", "--no-config", "--json", file],
      stderr: "null",
    }).output();
    const [figure, ...others] = readBenchJson(new TextDecoder().decode(stdout));
    assertEquals(others, []);
    assertEquals([figure!.group, figure!.title, figure!.baseline], ["counting", "count", true]);
    assertEquals(figure!.nanoseconds > 0 && figure!.fastest <= figure!.slow, true);
  } finally {
    await Deno.remove(file);
  }
});

Deno.test("compareFigures() compares with the baseline of the same area and group", () => {
  const compared = compareFigures([
    figure({ title: "base", baseline: true, nanoseconds: 4, bytes: 8 }),
    figure({ title: "twice as long", nanoseconds: 8 }),
    figure({ title: "as fast for twice the bytes", nanoseconds: 8, bytes: 16 }),
    figure({ group: "alone", nanoseconds: 8, bytes: 16 }),
    figure({ area: "other area", nanoseconds: 8 }),
  ]);
  const relations = compared.map((
    { bytesPerSecond, relativeTime, relativeBandwidth },
  ) => [bytesPerSecond, relativeTime, relativeBandwidth]);
  assertEquals(relations, [
    [2e9, null, null],
    [null, 2, null],
    [2e9, 2, 1],
    [2e9, null, null],
    [null, null, null],
  ]);
});

Deno.test("groupFigures() keeps the order of groups and of the figures in them", () => {
  const figures = ["x1", "y1", "x2", "y2"].map((title) => figure({ group: title[0]!, title }));
  const titles = groupFigures(figures).map((group) => group.map(({ title }) => title));
  assertEquals(titles, [["x1", "x2"], ["y1", "y2"]]);
});

Deno.test("figureOf() takes its figures from samples in any order", () => {
  const named = { area: "a", group: "g", title: "t", baseline: true, bytes: null };
  const { samples, nanoseconds, fastest, mean, slow } = figureOf(named, [4, 1, 3, 2]);
  assertEquals([samples, nanoseconds, fastest, mean, slow], [4, 3, 1, 2.5, 4]);
  assertEquals(figureOf(named, [7]).nanoseconds, 7);
  assertThrows(() => figureOf(named, []), RangeError, "no samples");
});
