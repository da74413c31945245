// Figures of samples: clocks, passes and other libraries.

import "../support/cache_directory.ts";
import { assertEquals } from "@std/assert";
import { type AreaBench, joinPasses, peersOf, type Sample } from "../../bench/report/figure.ts";
import { figuresOf, goalsOf, loadRange, OVERLAP_GROUP } from "../../bench/report/measurement.ts";
import {
  type ClockReading,
  dropSlowSamples,
  highestClock,
  readClocks,
} from "../../bench/report/nvidia_smi.ts";

/** Samples of 10 ms, one each 200 ms from a time on. */
function samplesFrom(start: number, ...nanoseconds: number[]): Sample[] {
  return nanoseconds.map((time, index) => {
    const begin = start + 200 * index;
    return { begin, end: begin + 10, nanoseconds: time };
  });
}

/** Readings each 200 ms, in the middle of such samples. */
function readingsFrom(start: number, ...clocks: number[]): ClockReading[] {
  return clocks.map((sm, index) => ({
    at: start + 200 * index + 5,
    sm,
    memory: 3201,
    power: sm / 3,
  }));
}

function bench(title: string, samples: Sample[], more: Partial<AreaBench> = {}): AreaBench {
  return {
    ...{ area: "a", group: "g", title, baseline: false, bytes: null, clock: "device", calls: 10 },
    ...{ samples, host: [3, 1, 2], ...more },
  };
}

Deno.test("readClocks() reads the whole lines of nvidia-smi", () => {
  const csv = [
    "2030/01/31 23:59:59.125, 345, 3201, 76.51",
    "2030/01/31 23:59:59.325, [N/A], 3201, 1",
    "2030/02/01 00:00:00.525, 1980, 3201, 612.07",
    "2030/02/01 00:00:00.725, 19",
  ].join("\n");
  const first = { at: new Date(2030, 0, 31, 23, 59, 59, 125).getTime(), sm: 345, memory: 3201 };
  const second = { at: first.at + 1400, sm: 1980, memory: 3201, power: 612.07 };
  assertEquals(readClocks(csv), [{ ...first, power: 76.51 }, second]);
  assertEquals(loadRange(readClocks(csv)), {
    ...{ sm: [345, 1980], memory: [3201, 3201], power: [76.51, 612.07] },
  });
  assertEquals(loadRange([]), null);
});

Deno.test("dropSlowSamples() drops samples below 95 % of the highest clock", () => {
  const samples = samplesFrom(1000, 9, 8, 5, 4);
  const readings = readingsFrom(1000, 345, 1880, 1882, 1980);
  assertEquals(highestClock(readings, samples), 1980);
  const { samples: kept, clocks } = dropSlowSamples(samples, readings, 1980);
  assertEquals(kept.map(({ nanoseconds }) => nanoseconds), [5, 4]);
  assertEquals(clocks, [1882, 1980]);
  // A sample far from any reading counts, and so do all without readings.
  const far = samplesFrom(9000, 7);
  assertEquals(dropSlowSamples(far, readings, 1980), { samples: far, clocks: undefined });
  assertEquals(highestClock([], samples), undefined);
  assertEquals(dropSlowSamples(samples, [], undefined).samples, samples);
});

Deno.test("figuresOf() compares clocks with those of the group, and of heavy work with its own", () => {
  const ramp = bench("ramp", samplesFrom(0, 90, 50, 40, 60));
  const heavy = bench("heavy", samplesFrom(800, 70, 80, 75));
  const readings = readingsFrom(0, 345, 1980, 1980, 1980, 1400, 1200, 1410);
  const figures = figuresOf([[ramp, heavy]], readings);
  const rows = figures.map(({ title, samples, dropped, fastest, median, host, clocks }) =>
    [title, samples, dropped, fastest, median, host, clocks] as const
  );
  assertEquals(rows, [
    ["ramp", 3, 1, 40, 50, 2, [1980, 1980]],
    ["heavy", 2, 1, 70, 75, 2, [1400, 1410]],
  ]);
});

Deno.test("goalsOf() has the overlap of reading and copying", () => {
  const group = `${OVERLAP_GROUP}, 1024 MiB`;
  const [read, copy, both] = [["read", 40], ["copy", 20], ["both", 50]].map(([title, time]) =>
    bench(title as string, samplesFrom(0, time as number), { group })
  );
  const goals = (...benches: AreaBench[]) => goalsOf(figuresOf([benches], []), "host").Uploads;
  assertEquals(goals(read!, copy!, both!)?.map(({ measured }) => measured), [
    "50.0 % of the shorter",
  ]);
  assertEquals(goals(read!, copy!), undefined);
});

Deno.test("joinPasses() takes the faster pass of each work, and its drift", () => {
  const library = { name: "L", version: "1" };
  const peer = (beside: string, ...times: number[]) =>
    bench("L", samplesFrom(0, ...times), { library, beside });
  const figures = figuresOf([
    [bench("add", samplesFrom(0, 10, 12, 14)), peer("add", 30), peer("sum", 40)],
    [bench("add", samplesFrom(0, 11, 15, 16)), peer("add", 20)],
  ], []);
  const rows = figures.map(({ title, beside, fastest, drift }) => [title, beside, fastest, drift]);
  assertEquals(rows, [
    ["add", undefined, 10, 1.25],
    ["L", "add", 20, 1.5],
    ["L", "sum", 40, undefined],
  ]);
  assertEquals(peersOf(figures, figures[0]!).map(({ fastest }) => fastest), [20]);
  assertEquals(joinPasses([]), []);
});
