// Snapshots in JSON.

import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  readSnapshot,
  SnapshotError,
  validateSnapshot,
} from "../../../../src/lab/memory/snapshot/read_snapshot.ts";
import { SNAPSHOTS } from "./generated_snapshot.ts";

// deno-lint-ignore no-explicit-any -- invalid values have no type
type Json = any;

function example(): Json {
  const block = (offset: number, bytes: number, requested: number, state: string) => ({
    ...{ offset, bytes, requested, state, stream: 0, age: 1.5, site: null },
  });
  return {
    format: "gridstride memory snapshot",
    version: 1,
    source: "gridstride",
    takenAt: "2026-01-31T12:00:00.000Z",
    device: { label: "cuda:0", name: "H200", fake: false, totalBytes: 2 ** 37 },
    settings: { preset: "default", expiry: null, debug: false },
    statistics: { "allocated.current": 500 },
    streams: ["default"],
    sites: ["train (train.ts:3)"],
    segments: [
      {
        ...{ address: 8192, bytes: 1536, kind: "virtual", pool: "small" },
        blocks: [block(0, 512, 500, "live"), block(512, 1024, 0, "unmapped")],
      },
      {
        ...{ address: 4096, bytes: 4096, kind: "plain", pool: "large" },
        blocks: [block(0, 4096, 0, "pending")],
      },
    ],
    timeline: {
      ...{ dropped: 3, time: [0, 2.5], action: [0, 1], address: [8192, 8192], bytes: [500, 500] },
      ...{ stream: [0, -1], site: [0, -1], live: [1000, 500], reserved: [512, 512] },
      largestFree: [-1, 0],
    },
  };
}

/** The error for the example with one change. */
function refusal(change: (snapshot: Json) => void): SnapshotError {
  const snapshot = example();
  change(snapshot);
  return assertThrows(() => readSnapshot(JSON.stringify(snapshot)), SnapshotError);
}

Deno.test("readSnapshot() reads JSON as text and as bytes", () => {
  const text = JSON.stringify(example());
  assertEquals<Json>(readSnapshot(text), example());
  assertEquals<Json>(readSnapshot(new TextEncoder().encode(` \n${text}\n`)), example());
  assertEquals<Json>(readSnapshot(new TextEncoder().encode(`\uFEFF${text}`)), example());
});

Deno.test("readSnapshot() reads every valid snapshot", () => {
  fc.assert(fc.property(SNAPSHOTS, (snapshot) => {
    // JSON has no -0.
    const json = JSON.stringify(snapshot);
    assertEquals(readSnapshot(json), JSON.parse(json));
  }));
});

Deno.test("readSnapshot() names the field, the allowed values and the value found", () => {
  const cases: readonly (readonly [(snapshot: Json) => void, string])[] = [
    [(s) => s.format = "x", 'format must be "gridstride memory snapshot": it is "x"'],
    [(s) => s.version = 2, "version must be 1: it is 2"],
    [(s) => delete s.version, "version must be 1: it is undefined"],
    [(s) => delete s.sites, "sites must be a list: it is missing"],
    [(s) => s.colour = 1, "colour is no field of it: allowed are format, version, source,"],
    [(s) => s.source = "jax", 'source must be "gridstride" or "pytorch": it is "jax"'],
    [(s) => s.takenAt = "today", 'takenAt must be a time such as "2026-01-31T12:00:00.000Z" or'],
    [(s) => s.device.fake = "no", 'device.fake must be true or false: it is "no"'],
    [(s) => s.device.totalBytes = 2 ** 53, "device.totalBytes must be an integer in 0.."],
    [(s) => s.device = null, "device must be an object: it is null"],
    [(s) => s.device.speed = 3, "device.speed is no field of it: allowed are label, name, fake"],
    [(s) => s.settings.preset = {}, "settings.preset must be a text, a finite number, true,"],
    [(s) => s.statistics.x = "1", 'statistics.x must be a finite number: it is "1"'],
    [(s) => s.streams[0] = 7, "streams[0] must be a text: it is 7"],
    [(s) => s.segments[1].kind = "real", 'segments[1].kind must be "plain" or "virtual"'],
    [(s) => s.segments[1].bytes = 0, "segments[1].bytes must be an integer in 1.."],
    [
      (s) => s.segments[1].address = 2 ** 53 - 2,
      "segments[1].bytes must be below 2^53 with the address: it is 4096",
    ],
    [
      (s) => s.segments[1].address = 8000,
      "segments[0].address must be behind the end of segments[1]: it is 8192",
    ],
    [
      (s) => s.segments[0].bytes = 1537,
      "segments[0].blocks must have 1537 bytes together, as the segment: they have 1536",
    ],
    [
      (s) => s.segments[0].blocks[1].offset = 513,
      "segments[0].blocks[1].offset must be 512, where the block before ends: it is 513",
    ],
    [
      (s) => s.segments[0].blocks[0].bytes = 1.5,
      "segments[0].blocks[0].bytes must be an integer in 1..9007199254740991: it is 1.5",
    ],
    [
      (s) => s.segments[0].blocks[0].requested = 513,
      "segments[0].blocks[0].requested must be at most 512: it is 513",
    ],
    [
      (s) => s.segments[0].blocks[1].requested = 1,
      "segments[0].blocks[1].requested must be at most 0: it is 1",
    ],
    [
      (s) => s.segments[0].blocks[0].stream = 1,
      "segments[0].blocks[0].stream must be an index of streams, which has 1 or null: it is 1",
    ],
    [(s) => s.segments[0].blocks[0].age = -1, "segments[0].blocks[0].age must be a finite number"],
    [(s) => s.timeline = 3, "timeline must be an object or null: it is 3"],
    [(s) => s.timeline.site.pop(), "timeline.site.length must be 2, as that of time: it is 1"],
    [(s) => s.timeline.action[1] = 6, "timeline.action[1] must be an integer in 0..5: it is 6"],
    [(s) => s.timeline.time[1] = -1, "timeline.time[1] must be a finite number of at least 0"],
    [
      (s) => s.timeline.time = [2, 1],
      "timeline.time[1] must be at least 2, the time before: it is 1",
    ],
    [
      (s) => s.timeline.stream[1] = 1,
      "timeline.stream[1] must be -1 or an index of streams, which has 1: it is 1",
    ],
  ];
  for (const [change, expected] of cases) {
    const { message, path } = refusal(change);
    assert(message.startsWith(`Cannot read the snapshot as ${expected}`), message);
    assert(expected.startsWith(path), path);
  }
});

Deno.test("readSnapshot() refuses files other than JSON", () => {
  const refused = (file: string | Uint8Array) =>
    assertThrows(() => readSnapshot(file), SnapshotError).message;
  for (const file of ["hello", "", new Uint8Array(), JSON.stringify(example()).slice(0, -1)]) {
    assert(refused(file).startsWith("Cannot read the snapshot as the file must be JSON: "));
  }
  assert(refused(Uint8Array.of(0x7b, 0xff)).endsWith("the file must be UTF-8 text"));
  assert(refused("[]").includes("format must be"));
  assert(refused("3").includes("the file must be an object: it is 3"));
  assert(refused("[".repeat(1e6)).includes("the file must be JSON: "));
});

Deno.test("readSnapshot() refuses files that exceed the longest string", () => {
  // Only the first bytes are written; the others take no memory.
  const file = new Uint8Array(2 ** 29);
  file.set(new TextEncoder().encode("{}"));
  assertThrows(
    () => readSnapshot(file),
    SnapshotError,
    "the file must have at most 536870888 characters: it has 536870912 bytes",
  );
});

Deno.test("readSnapshot() escapes the field names of a file in errors", () => {
  const text = JSON.stringify(example()).replace('"source":', '"\\u001b[31m\\u202e":1,"source":');
  const { message } = assertThrows(() => readSnapshot(text), SnapshotError);
  assert(message.includes("as \\u{1b}[31m\\u{202e} is no field of it"), message);
  const long = JSON.stringify(example()).replace('"source":', `"${"x".repeat(1e6)}":1,"source":`);
  assert(assertThrows(() => readSnapshot(long), SnapshotError).message.length <= 1000);
});

Deno.test("validateSnapshot() accepts any name of a setting", () => {
  const text = JSON.stringify(example()).replace('"preset":', '"__proto__":');
  const snapshot = readSnapshot(text);
  assertEquals(Object.keys(snapshot.settings)[0], "__proto__");
  assertThrows(
    () => readSnapshot(JSON.stringify(example()).replace('"source":', '"toString":1,"source":')),
    SnapshotError,
    "toString is no field of it",
  );
  const infinite = { ...example(), statistics: { x: Infinity } };
  assertThrows(() => validateSnapshot(infinite), SnapshotError, "statistics.x must be a finite");
});
