import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { reportData } from "../../../../src/lab/memory/report/report_data.ts";
import { BlockFilter, sizeOf } from "../../../../src/lab/memory/report/page/block_filter.ts";
import type { PageWindow } from "../../../../src/lab/memory/report/page/dom.ts";
import { Extremes } from "../../../../src/lab/memory/report/page/extremes.ts";
import { type Report, unpackReport } from "../../../../src/lab/memory/report/page/report.ts";
import { SegmentLayout } from "../../../../src/lab/memory/report/page/segment_layout.ts";
import {
  byteTicks,
  multiplesOf,
  roundStep,
  timeLabel,
} from "../../../../src/lab/memory/report/page/ticks.ts";
import { TimeAxis } from "../../../../src/lab/memory/report/page/time_axis.ts";
import { Timeline } from "../../../../src/lab/memory/report/page/timeline.ts";
import { TIMELINE_ACTIONS } from "../../../../src/lab/memory/snapshot/memory_snapshot.ts";
import { SMALL_SNAPSHOT } from "./small_snapshot.ts";
import { syntheticSnapshot } from "./synthetic_snapshot.ts";

const window = { atob } as unknown as PageWindow;

function reportOf(size: { events: number; blocks: number }): Report {
  return unpackReport(window, reportData(syntheticSnapshot(size)));
}

Deno.test("extremes of every stretch are those of its values", () => {
  for (const length of [1, 15, 16, 17, 255, 256, 257, 4099]) {
    const values = Float64Array.from(
      { length },
      (_, index) => index % 11 === 5 ? NaN : (index * 7919) % 4093,
    );
    const extremes = new Extremes(values);
    for (const from of [0, 1, 15, 16, 17, 250, 256, length - 1]) {
      for (const to of [from, from + 1, from + 16, from + 31, 256, length]) {
        if (from > to || to > length) continue;
        const stretch = values.slice(from, to).filter((value) => !Number.isNaN(value));
        extremes.measure(from, to);
        const expected = [Math.min(...stretch), Math.max(...stretch)];
        assertEquals([extremes.low, extremes.high], expected, `${from}..${to} of ${length}`);
      }
    }
  }
});

Deno.test("the time axis stays within the events, however it is moved", () => {
  const axis = new TimeAxis(Float64Array.from([10, 11, 11, 12, 50, 110]));
  assertEquals([axis.start, axis.end, axis.isWhole], [10, 110, true]);
  axis.zoom(0.5, 0);
  assertEquals([axis.start, axis.end, axis.isWhole], [10, 60, false]);
  axis.pan(-7);
  assertEquals([axis.start, axis.end], [10, 60]);
  axis.pan(1e9);
  assertEquals([axis.start, axis.end], [60, 110]);
  axis.reveal(0);
  assertEquals(axis.start, 10);
  axis.zoom(0.5, 1);
  assertEquals([axis.start, axis.end], [35, 60]);
  axis.zoom(Infinity, 0.3);
  assertEquals([axis.start, axis.end], [10, 110]);
  for (let step = 0; step < 200; step++) axis.zoom(0.5, 0.5);
  assert(axis.span > 0 && axis.start + axis.span > axis.start);
});

Deno.test("the time axis counts events up to a position, those on it included", () => {
  const axis = new TimeAxis(Float64Array.from([0, 1, 1, 2, 4]));
  assertEquals([0, 0.2, 0.25, 0.5, 0.99, 1].map((share) => axis.countUntil(share)), [
    1,
    1,
    3,
    4,
    4,
    5,
  ]);
  assertEquals(axis.countUntil(-0.01), 0);
});

Deno.test("an axis of one event, or of events at one time, has a width", () => {
  for (const times of [[5], [5, 5, 5], [0]]) {
    const axis = new TimeAxis(Float64Array.from(times));
    axis.zoom(0.1, 0.5);
    axis.pan(-3);
    assert(axis.span > 0);
    axis.zoom(Infinity, 0.5);
    assertEquals([axis.shareOf(0), axis.countUntil(1)], [0, times.length]);
  }
});

Deno.test("the event to speak of is a failure, else the largest, else the nearest", () => {
  const { events, actions } = unpackReport(window, reportData(SMALL_SNAPSHOT));
  const timeline = new Timeline(events!, actions);
  assertEquals(timeline.failures, [3]);
  assertEquals(timeline.eventBetween(0.2, 0.6), 1, "40 KiB at a quarter, 10 KiB at the half");
  assertEquals(timeline.eventBetween(0.4, 1), 3);
  assertEquals(timeline.eventBetween(0.3, 0.32), 1);
  assertEquals(timeline.eventBetween(0.8, 0.82), 3);
  timeline.arrange(false);
  assertEquals([timeline.axis.first, timeline.axis.last], [0, 3]);
});

Deno.test("fragmentation stays what it was seen to be until somebody looks again", () => {
  const of = (largestFree: number[]) => {
    const timeline = { ...SMALL_SNAPSHOT.timeline!, largestFree };
    const report = unpackReport(window, reportData({ ...SMALL_SNAPSHOT, timeline }));
    return [...new Timeline(report.events!, report.actions).fragmentation];
  };
  assertEquals(of(SMALL_SNAPSHOT.timeline!.largestFree.slice()), [0, 0, 0.5, 0.5]);
  assertEquals(of([-1, 10 * 1024, -1, 50 * 1024]), [NaN, 0.75, 0.75, 0]);
  assertEquals(of([-1, -1, -1, -1]), [NaN, NaN, NaN, NaN]);
});

Deno.test("the page knows every action of a timeline", () => {
  assertEquals(reportData(SMALL_SNAPSHOT).actions, [...TIMELINE_ACTIONS]);
});

Deno.test("times that go back do not break the axis", () => {
  const timeline = { ...SMALL_SNAPSHOT.timeline!, time: [5, 3, 8, 7] };
  const { events } = unpackReport(window, reportData({ ...SMALL_SNAPSHOT, timeline }));
  assertEquals([...events!.time], [5, 5, 8, 8]);
});

Deno.test("ticks are round, few, and there for any scale", () => {
  assertEquals([1e-6, 0.3, 1, 1.01, 2.5, 7, 99].map(roundStep), [1e-6, 0.5, 1, 2, 5, 10, 100]);
  for (const peak of [1, 2, 511, 512, 513, 80e9, 2 ** 53]) {
    const ticks = byteTicks(peak);
    assert(ticks.length >= 2 && ticks.length <= 5 && ticks.at(-1)! <= peak, `${peak}: ${ticks}`);
  }
  assertEquals(multiplesOf(5, -7, 11), [-5, 0, 5, 10]);
  assertEquals(multiplesOf(5, 1, 4), []);
  assert(multiplesOf(1e-8, 1.7e12, 1.7e12 + 1e-6).length < 200_000);
  assertEquals(timeLabel(1500, 3000, 500), "1.5 s");
  assertEquals(timeLabel(2000, 3000, 1000), "2 s");
  assertEquals(timeLabel(0.25, 0.9, 0.05), "250 µs");
  assertEquals(timeLabel(12.25, 20, 0.05), "12.25 ms");
});

Deno.test("segments are drawn by address, whatever their order in the snapshot", () => {
  const segments = SMALL_SNAPSHOT.segments.toReversed();
  assertEquals(reportData({ ...SMALL_SNAPSHOT, segments }), reportData(SMALL_SNAPSHOT));
});

Deno.test("the map places every block to scale, none over another", () => {
  const report = reportOf({ events: 0, blocks: 499 });
  const layout = new SegmentLayout(report);
  const { bytes, state, segment } = report.blocks;
  for (const [width, scale] of [[900, 1e6], [37, 1e6], [900, 1e9], [900, 4096]] as const) {
    layout.arrange(width, scale, true);
    for (let index = 0; index < bytes.length; index++) {
      const length = layout.ends[index]! - layout.starts[index]!;
      const isFolded = report.states[state[index]!] === "unmapped";
      assertAlmostEquals(length, isFolded ? layout.fold : bytes[index]! / scale, 1e-3);
      if (index === 0) continue;
      const gap = layout.starts[index]! - layout.ends[index - 1]!;
      if (segment[index] === segment[index - 1]) assertEquals(gap, 0);
      else assert(gap > 0 || layout.starts[index]! % width === 0, `gap of ${gap}`);
    }
    assertEquals(layout.lines, Math.max(1, Math.ceil(layout.ends.at(-1)! / width)));
  }
});

Deno.test("the map finds the block at a place", () => {
  const report = reportOf({ events: 0, blocks: 101 });
  const layout = new SegmentLayout(report);
  layout.arrange(800, 65536, false);
  for (let index = 0; index < layout.starts.length; index++) {
    const [start, end] = [layout.starts[index]!, layout.ends[index]!];
    assertEquals(layout.blockAt((start + end) / 2), index);
    assertEquals(layout.blockAt(start), index);
  }
  assertEquals(layout.blockAt(-1), -1);
  assertEquals(layout.blockAt(layout.ends.at(-1)!), -1);
});

Deno.test("a filter lets through what answers to all that is asked", () => {
  const filter = new BlockFilter(unpackReport(window, reportData(SMALL_SNAPSHOT)));
  assertEquals([filter.count, filter.isNarrow], [7, false]);
  filter.minimum = 10 * 1024;
  filter.stream = 0;
  filter.apply();
  assertEquals([...filter.matches], [1, 1, 0, 0, 1, 0, 0]);
  filter.sites = new Set([1]);
  filter.apply();
  assertEquals([filter.count, filter.bytes, filter.isNarrow], [1, 10 * 1024, true]);
});

Deno.test("sizes are read as people write them", () => {
  const sizes = ["", " ", "0", "4096", "1.5 MiB", "2g", "7kb", "1 B"].map(sizeOf);
  assertEquals(sizes, [0, 0, 0, 4096, 1.5 * 2 ** 20, 2 ** 31, 7168, 1]);
  for (const text of ["-1", "1 2", "MiB", "1 apple", "1e3", "1,5", "NaN"]) {
    assertEquals(sizeOf(text), NaN, text);
  }
});
