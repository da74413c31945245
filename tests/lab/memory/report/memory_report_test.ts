import { formatBytes } from "../../../../src/ffi/describe_value.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import {
  memoryReport,
  memoryReportFigures,
  memoryReportText,
} from "../../../../src/lab/memory/mod.ts";
import {
  formatAddress,
  formatCount,
  formatDuration,
  formatShare,
  innermostFrame,
  shortFrame,
} from "../../../../src/lab/memory/report/quantities.ts";
import { SMALL_SNAPSHOT } from "./small_snapshot.ts";
import { syntheticSnapshot } from "./synthetic_snapshot.ts";

const KIB = 1024;
const EMPTY = { ...SMALL_SNAPSHOT, segments: [], sites: [], timeline: null };

Deno.test("memoryReportFigures() computes totals and fragmentation", () => {
  const summary = memoryReportFigures(SMALL_SNAPSHOT);
  assertEquals(summary.totals, {
    live: 50 * KIB,
    requested: 48 * KIB,
    cached: 16 * KIB,
    free: 30 * KIB,
    pending: 4 * KIB,
    unmapped: 32 * KIB,
    reserved: 100 * KIB,
    largestFree: 24 * KIB,
    liveBlocks: 2,
    blocks: 7,
    segments: 2,
  });
  assertEquals(summary.reservedPerLive, 2);
  assertEquals(summary.externalFragmentation, 1 - 24 / 30);
  assertEquals(summary.internalFragmentation, 1 - 48 / 100);
});

Deno.test("memoryReportFigures() of an empty pool has no ratio and no fragmentation", () => {
  const { reservedPerLive, externalFragmentation, internalFragmentation, totals, sites } =
    memoryReportFigures(EMPTY);
  assertEquals([reservedPerLive, externalFragmentation, internalFragmentation], [null, 0, 0]);
  assertEquals([totals.reserved, totals.segments, sites.length], [0, 0, 0]);
});

Deno.test("memoryReportFigures() names streams and sites, and survives JSON", () => {
  const figures = memoryReportFigures(SMALL_SNAPSHOT);
  assertEquals(JSON.parse(JSON.stringify(figures)), figures);
  const [weights, scratch] = SMALL_SNAPSHOT.sites as [string, string];
  assertEquals(figures.sites, [
    { site: weights, live: 40 * KIB, count: 1, largest: 40 * KIB },
    { site: scratch, live: 10 * KIB, count: 1, largest: 10 * KIB },
  ]);
  assertEquals(
    figures.oldest.map(({ address, age, stream, site }) => [address, age, stream, site]),
    [
      [0x10000, 70_000, "default", weights],
      [0x40000, 5, "default", scratch],
    ],
  );
});

Deno.test("memoryReportText() formats all figures", () => {
  assertEquals(
    memoryReportText(SMALL_SNAPSHOT),
    `Memory of host:0, Host
a snapshot of the pool, taken 2026-03-01T12:00:00.000Z

Totals
      live   50 KiB  2 blocks, 48 KiB requested
    cached   16 KiB
      free   30 KiB
   pending    4 KiB
  reserved  100 KiB  2.000 of live, 2 segments, 7 blocks
  unmapped   32 KiB  addresses without memory

Fragmentation
  external  20.0 %  1 − largest free ÷ total free; the largest free block has 24 KiB
  internal  52.0 %  1 − requested ÷ reserved

Segments
  count    live  cached    free  pending  unmapped  pool
      1  40 KiB  16 KiB  24 KiB      0 B    32 KiB  large, virtual
      1  10 KiB     0 B   6 KiB    4 KiB       0 B  small, plain

Top sites
    live  blocks  largest  site
  40 KiB       1   40 KiB  weights (load.ts:7:3)
  10 KiB       1   10 KiB  scratch (step.ts:9:5)

Oldest live blocks
         age    size         address   stream  site
  1 min 10 s  40 KiB  0x000000010000  default  weights (load.ts:7:3)
        5 ms  10 KiB  0x000000040000  default  scratch (step.ts:9:5)`,
  );
});

Deno.test("memoryReportText() fits 100 columns and has no control characters", () => {
  const long = `\x1b[31m${"frame".repeat(60)}\u202e\r`;
  const hostile = {
    ...SMALL_SNAPSHOT,
    device: { ...SMALL_SNAPSHOT.device, name: long, fake: true },
    streams: [long, long],
    sites: [long, "…𝔘".repeat(99)],
  };
  for (const snapshot of [hostile, EMPTY, syntheticSnapshot({ events: 0, blocks: 1009 })]) {
    for (const line of memoryReportText(snapshot).split("\n")) {
      assert([...line].length <= 100, line);
      assertNotMatch(line, /\p{C}/u);
    }
  }
});

Deno.test("memoryReport() makes a page without external addresses", () => {
  const html = memoryReport(SMALL_SNAPSHOT);
  assertNotMatch(html, /https?:|\bsrc=|<link\b|@import|url\((?!#)/);
  assertMatch(html, /^<!DOCTYPE html>\n<html lang="en">/);
  const nonces = [...html.matchAll(/nonce="([^"]+)"/g)].map(([, nonce]) => nonce);
  assertEquals(nonces.length, 2, "the script and the style sheet");
  assertEquals(new Set(nonces).size, 1);
  assertStringIncludes(html, `script-src &#39;nonce-${nonces[0]}&#39;`);
  assert(!memoryReport(SMALL_SNAPSHOT).includes(nonces[0]!), "each page has its own");
});

Deno.test("memoryReport() shows the totals without the script", () => {
  const html = memoryReport(SMALL_SNAPSHOT);
  for (
    const text of ["<dd>50 KiB", "20.0 %", "52.0 %", "2.000", "1,234,567", "102,400 (100 KiB)"]
  ) {
    assertStringIncludes(html, text);
  }
  assertStringIncludes(html, "</span> · 3 earlier events were not kept · limit 1 MiB<span");
});

Deno.test("memoryReport() formats statistics and settings, sizes in units too", () => {
  const statistics = Object.fromEntries([
    ["currentUsage", 4096],
    ["allocationCount", 4096],
    ["hitRate", 2 / 3],
    ["__proto__", 7],
    ["peakBytes", 2048],
  ]);
  const html = memoryReport({ ...SMALL_SNAPSHOT, statistics });
  const rows = [...html.matchAll(/<tr><th scope="row">(.*?)<\/tr>/g)].map(([, row]) =>
    row!.replaceAll(/(<[^>]*>)+/g, "|").replace(/\|$/, "")
  );
  assertEquals(rows, [
    "currentUsage|4,096 (4 KiB)",
    "allocationCount|4,096",
    "hitRate|0.666667",
    "__proto__|7",
    "peakBytes|2,048 (2 KiB)",
    "preset|testing",
    "limitBytes|none",
  ]);
});

Deno.test("quantities are formatted in a suitable unit", () => {
  assertEquals([2 ** 20 - 1, 2 ** 20 - 52, 2 ** 20 - 1024].map(formatBytes), [
    "1.0 MiB",
    "1023.9 KiB",
    "1023 KiB",
  ]);
  assertEquals([0, 1, 1023, 1024, 1536, 2 ** 40, 2 ** 53].map(formatBytes), [
    "0 B",
    "1 B",
    "1023 B",
    "1 KiB",
    "1.5 KiB",
    "1 TiB",
    "8192 TiB",
  ]);
  assertEquals([0, 999, 1000, 1234567].map(formatCount), ["0", "999", "1,000", "1,234,567"]);
  assertEquals(
    [0, 0.35, 1.25, 999, 1000, 59_900, 60_000, 200_000, 3_600_000, 5.4e6].map(
      formatDuration,
    ),
    [
      "0 s",
      "350 µs",
      "1.25 ms",
      "999 ms",
      "1 s",
      "59.9 s",
      "1 min",
      "3 min 20 s",
      "1 h",
      "1 h 30 min",
    ],
  );
  assertEquals([0, 0.125, 1].map(formatShare), ["0.0 %", "12.5 %", "100.0 %"]);
  assertEquals([0, 0x7f5a00000000].map(formatAddress), ["0x000000000000", "0x7f5a00000000"]);
  assertEquals(["", "a", " a (b)\nc"].map(innermostFrame), ["", "a", "a (b)"]);
  const sites = [
    "f (file:///home/me/a%20b/c/d.ts:1:2)\ng",
    "https://x.org/d.ts:1:2",
    "f (d.ts:1:2)",
  ];
  assertEquals(sites.map(shortFrame), ["f (c/d.ts:1:2)", "https://x.org/d.ts:1:2", "f (d.ts:1:2)"]);
});
