// Files of all supported formats as traces.

import { assert, assertEquals, assertThrows } from "@std/assert";
import type { MemorySnapshot } from "../../../../src/lab/memory/snapshot/memory_snapshot.ts";
import { SnapshotError } from "../../../../src/lab/memory/snapshot/read_snapshot.ts";
import { readTrace, traceOfSnapshot } from "../../../../src/lab/memory/trace/read_trace.ts";
import { TraceError } from "../../../../src/lab/memory/trace/memory_trace.ts";

/** A snapshot with a timeline of the given columns. */
function snapshotOf(
  rows: readonly (readonly [action: number, address: number, bytes: number, stream: number])[],
  live: readonly (readonly [offset: number, bytes: number])[] = [],
): MemorySnapshot {
  const column = (index: 0 | 1 | 2 | 3) => rows.map((row) => row[index]);
  const zeros = rows.map(() => 0);
  let offset = 0;
  const block = (bytes: number, requested: number) => {
    const made = { offset, bytes, requested, stream: 0, age: null, site: null };
    offset += bytes;
    return { ...made, state: requested > 0 ? "live" as const : "free" as const };
  };
  const blocks = live.flatMap(([at, bytes]) => [block(at - offset, 0), block(512, bytes)]);
  return {
    ...{ format: "gridstride memory snapshot", version: 1, source: "gridstride", takenAt: null },
    device: { label: "host:0", name: "", fake: false, totalBytes: null },
    ...{ settings: {}, statistics: {}, streams: ["one", "two"], sites: [] },
    segments: [{
      address: 4096,
      bytes: 8192,
      kind: "plain",
      pool: "small",
      blocks: [
        ...blocks,
        block(8192 - offset, 0),
      ],
    }],
    timeline: {
      ...{ dropped: 1, time: zeros, action: column(0), address: column(1), bytes: column(2) },
      ...{ stream: column(3), site: rows.map(() => -1), live: zeros, reserved: zeros },
      largestFree: rows.map(() => -1),
    },
  };
}

const [ALLOCATE, FREE, RESERVE, UNRESERVE, WAIT, REFUSED] = [0, 1, 2, 3, 4, 5];

Deno.test("readTrace() recognises every kind of file", () => {
  const files: readonly (readonly [string, number])[] = [
    ["gridstride memory trace 1\na 0 1 0\nend 1\n", 1],
    ["\uFEFFgridstride memory trace 1\r\na 0 1 0\r\nend 1\r\n", 1],
    ["Thread,Time,Action,Pointer,Size,Stream\n1,0:0:0,allocate,0x1,8,0\n", 1],
    ["Time,Action,Pointer,Size,Stream\n0:0:0,allocate,0x1,8,0\n", 1],
    ["id,lower,upper,size\nb1,0,3,4\n", 2],
    ["buffer,start,end,size\nb1,0,3,4\n", 2],
    [JSON.stringify(snapshotOf([[ALLOCATE, 4096, 8, 0]])), 1],
  ];
  for (const [text, events] of files) {
    assertEquals(readTrace(text, "t").events.length, events);
    assertEquals(readTrace(new TextEncoder().encode(text), "t"), readTrace(text, "t"));
    assertEquals(readTrace(text, "name").name, "name");
  }
  const [first] = readTrace("id,lower,upper,size\nb1,0,3,4\n", "t", { multiplier: 512 }).events;
  assertEquals(first, { kind: "allocate", block: 0, bytes: 2048, stream: 0 });
});

Deno.test("readTrace() lists the supported formats for an unknown one", () => {
  for (const text of ["", "hello", "[]", "a 0 1 0\n", "id,lower,size\n1,2,3\n", "\u0000"]) {
    const error = assertThrows(() => readTrace(text, "t"), TraceError);
    assert(
      error.message.startsWith(
        "Cannot read trace t as line 1: the file must be a trace (it begins with " +
          '"gridstride memory trace 1"), a log of RMM',
      ),
      error.message,
    );
  }
  assertThrows(
    () => readTrace(Uint8Array.of(0x61, 0xff), "t"),
    TraceError,
    "Cannot read trace t as the file must be UTF-8 text",
  );
  // The first line determines the errors too.
  assertThrows(() => readTrace("gridstride memory trace 9\n", "t"), TraceError, "line 1: it must");
  assertThrows(() => readTrace("{}", "t"), SnapshotError, "format must be");
});

Deno.test("readTrace() refuses a first line of a million columns", () => {
  const names = Array.from({ length: 1e6 }, (_, index) => `c${index}`).join(",");
  for (const first of ["Thread,Time,Action,Pointer,Size,Stream", "id,lower,upper,size"]) {
    const { message } = assertThrows(() => readTrace(`${first},${names}\n1\n`, "t"), TraceError);
    assert(message.endsWith("line 1: it must have at most 100 columns: it has more"), message);
  }
});

Deno.test("traceOfSnapshot() plays the timeline after the earlier blocks", () => {
  const { events } = traceOfSnapshot(
    snapshotOf([
      [RESERVE, 4096, 8192, -1],
      [ALLOCATE, 4096, 500, 1],
      [FREE, 8192, 64, 1],
      [REFUSED, 0, 2 ** 40, 0],
      [ALLOCATE, 8192, 32, -1],
      [WAIT, 0, 0, 1],
      [FREE, 4096, 500, 1],
      [UNRESERVE, 4096, 8192, -1],
      [ALLOCATE, 0, 0, 1],
      [FREE, 0, 0, 1],
    ], [[512, 7], [4096, 32]]),
    "t",
  );
  assertEquals(events, [
    // Live at the end and never mentioned; then the one that is freed below.
    { kind: "allocate", block: 0, bytes: 7, stream: 0 },
    { kind: "allocate", block: 1, bytes: 64, stream: 1 },
    { kind: "allocate", block: 2, bytes: 500, stream: 1 },
    { kind: "free", block: 1 },
    { kind: "allocate", block: 3, bytes: 32, stream: 0 },
    { kind: "synchronize", stream: 1 },
    { kind: "free", block: 2 },
    // Blocks of 0 bytes have no address.
    { kind: "allocate", block: 4, bytes: 0, stream: 1 },
    { kind: "free", block: 4 },
  ]);
});

Deno.test("traceOfSnapshot() refuses a missing or contradictory timeline", () => {
  const refused = (snapshot: MemorySnapshot) =>
    assertThrows(() => traceOfSnapshot(snapshot, "t"), TraceError).message;
  assertEquals(
    refused({ ...snapshotOf([]), timeline: null }),
    "Cannot make trace t of a snapshot as timeline must be there: it is null, so nothing was " +
      "recorded",
  );
  assertEquals(
    refused(snapshotOf([[ALLOCATE, 4096, 8, 0], [ALLOCATE, 4096, 8, 0]])),
    "Cannot make trace t of a snapshot as timeline.address[1] must be the address of a free " +
      "block: it is 4096",
  );
  assertEquals(
    refused(snapshotOf([[FREE, 4096, 8, 0], [FREE, 4096, 8, 0]])),
    "Cannot make trace t of a snapshot as timeline.address[1] must be the address of a live " +
      "block: it is 4096",
  );
});
