import "../../support/cache_directory.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import {
  type RangeRecord,
  saveTrace,
  traceAdvisories,
  traceFile,
  type TraceRecording,
} from "../../../src/lab/trace/mod.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";
import { copyAt, kernelAt, recordingOf, recordingOfWork } from "./constructed_recording.ts";
import { problemsOf, type ReadEvent, type ReadTraceFile } from "./trace_file_rules.ts";

function read(...recordings: readonly TraceRecording[]): ReadTraceFile {
  const file: ReadTraceFile = JSON.parse([...traceFile(recordings)].join(""));
  assertEquals(problemsOf(file), []);
  return file;
}

function spans({ traceEvents }: ReadTraceFile): ReadEvent[] {
  return traceEvents.filter(({ ph }) => ph === "X");
}

function threadNames({ traceEvents }: ReadTraceFile): Map<number, string> {
  return new Map(
    traceEvents.filter(({ name }) => name === "thread_name")
      .map(({ tid, args }) => [tid, String(args["name"])]),
  );
}

/** Spans by the names of their threads: name, begin and length in microseconds. */
function spansByThread(file: ReadTraceFile): Record<string, [string, number, number][]> {
  const threads: Record<string, [string, number, number][]> = {};
  for (const [tid, thread] of threadNames(file)) {
    threads[thread] = spans(file).filter((span) => span.tid === tid)
      .map(({ name, ts, dur }) => [name, ts, dur]);
  }
  return threads;
}

const range = (name: string, start: number, duration: number, stream?: number): RangeRecord => ({
  name,
  start,
  duration,
  stream,
});

Deno.test("traceFile() writes a process without threads for an empty recording", () => {
  const { traceEvents, displayTimeUnit, otherData } = read(recordingOf());
  assertEquals(traceEvents.map(({ name }) => name), ["process_name", "process_sort_index"]);
  assertEquals(traceEvents[0]!.args, { name: "cuda:0 (NVIDIA H200)" });
  assertEquals([displayTimeUnit, otherData["producer"]], ["ns", "gridstride"]);
  assertEquals(otherData["begun"], "2023-11-14T22:13:20.050Z");
});

Deno.test("traceFile() draws work on its streams in nanoseconds with its arguments", () => {
  const file = read(recordingOfWork(kernelAt(1, 0.123456), copyAt(2, 0.5, 4096)));
  const [callOne, callTwo, kernel, copy] = spans(file);
  const names = threadNames(file);
  assertEquals([names.get(kernel!.tid), names.get(copy!.tid)], ["default stream", "stream 2"]);
  assertEquals([names.get(callOne!.tid), names.get(callTwo!.tid)], ["enqueue", "enqueue"]);
  assertEquals([kernel!.ts, kernel!.dur, kernel!.cat], [1000, 123.456, "kernel"]);
  assertEquals(kernel!.args, {
    grid: "4 × 2 × 1",
    block: "256 × 1 × 1",
    "registers per thread": 32,
    "static shared memory": 0,
    "dynamic shared memory": 4096,
    occupancy: 0.75,
    "limited by": "registers",
    bytes: 8192,
  });
  assertEquals(copy!.name, "copy host to device");
  assertEquals(copy!.args, { bytes: 4096, "host memory": "pinned" });
});

Deno.test("traceFile() draws an arrow from the call to the work unless it points back in time", () => {
  const early = { ...kernelAt(5, 1), enqueued: 5.001 };
  const { traceEvents } = read(recordingOfWork(kernelAt(1, 1), early));
  const flows = traceEvents.filter(({ ph }) => ph === "s" || ph === "f");
  assertEquals(flows.map(({ ph, ts }) => [ph, ts]), [["s", 990], ["f", 1000]]);
});

Deno.test("traceFile() keeps work of a stream disjoint and at least a nanosecond long", () => {
  const work = [kernelAt(1, 0.0000004), kernelAt(1.0000003, 0), kernelAt(1.0000004, 0.00001)];
  const file = read(recordingOfWork(...work));
  assertEquals(spansByThread(file)["default stream"], [
    ["saxpy", 1000, 0.001],
    ["saxpy", 1000.001, 0.001],
    ["saxpy", 1000.002, 0.008],
  ]);
});

Deno.test("traceFile() omits streams without work", () => {
  const recording = recordingOfWork(kernelAt(1, 1), { ...kernelAt(3, 1), stream: 700 });
  const streams = Array.from({ length: 1000 }, (_, number) => `stream ${number}`);
  const ranges = [range("b", 3, 1, 900), range("a", 1, 1, 0), range("c", 5, 1, 900)];
  const threads = spansByThread(read({ ...recording, streams, ranges }));
  assertEquals(Object.keys(threads), [
    "enqueue",
    "stream 0",
    "stream 700",
    "stream 0: ranges",
    "stream 900: ranges",
  ]);
  assertEquals(threads["stream 900: ranges"]!.map(([name]) => name), ["b", "c"]);
});

Deno.test("traceFile() nests ranges and moves crossing ones to another thread", () => {
  const ranges = [
    range("inner", 2, 1),
    range("outer", 1, 9),
    range("late", 9, 5),
    range("a", 20, 1),
  ];
  const file = read(recordingOf({ ranges: [...ranges, range("marked", 3, 4, 1)] }));
  assertEquals(spansByThread(file), {
    ranges: [["outer", 1000, 9000], ["inner", 2000, 1000], ["a", 20000, 1000]],
    "ranges 2": [["late", 9000, 5000]],
    "stream 2: ranges": [["marked", 3000, 4000]],
  });
});

Deno.test("traceFile() writes live and free memory that add up to the reserved memory", () => {
  const memory = [{ time: 1, live: 100, reserved: 4096 }, { time: 2, live: 0, reserved: 0 }];
  const counters = read(recordingOf({ memory })).traceEvents.filter(({ ph }) => ph === "C");
  assertEquals(counters.map(({ ts, args }) => [ts, args]), [
    [1000, { live: 100, free: 3996 }],
    [2000, { live: 0, free: 0 }],
  ]);
});

Deno.test("traceFile() places devices and workers on one time axis", () => {
  const first = recordingOfWork(kernelAt(1, 1));
  const later = { ...recordingOfWork(kernelAt(1, 1)), device: "cuda:1", begun: 50.25 };
  // A worker's clock begins when the worker does.
  const worker = {
    ...recordingOfWork(kernelAt(1, 1)),
    timeOrigin: first.timeOrigin + 1000,
    begun: 2,
  };
  const kernels = spans(read(later, first, worker)).filter(({ cat }) => cat === "kernel");
  assertEquals(kernels.map(({ pid, ts }) => [pid, ts]), [[1, 1250], [2, 1000], [3, 953000]]);
});

Deno.test("traceFile() preserves names and clamps times to the start of the file", () => {
  const name = '"quoted" \\ \n \u2028 \ud800 <script> é 😀';
  const file = read(recordingOf({ ranges: [range(name, -1, 2), range("", 3, 0)] }));
  const [outer, empty] = spans(file);
  assertEquals([outer!.name, outer!.ts, outer!.dur], [name, 0, 1000]);
  assertEquals([empty!.name, empty!.dur], ["", 0]);
});

Deno.test("traceFile() generates a large file lazily in chunks", () => {
  const work = Array.from({ length: 100_000 }, (_, i) => kernelAt(i / 1000, 0.0007));
  const chunks = traceFile([recordingOf({ work })]);
  let bytes = 0;
  let longest = 0;
  let last = "";
  for (const chunk of chunks) {
    bytes += chunk.length;
    longest = Math.max(longest, chunk.length);
    last = chunk;
  }
  assert(longest < 70_000, `a chunk of ${longest} characters`);
  assert(bytes > 20e6, `${bytes} characters`);
  assertMatch(last, /\n\]\}\n$/);
});

Deno.test("saveTrace() replaces a file named by path or URL", async () => {
  using folder = new TemporaryDirectory();
  const path = `${folder.path}/trace.json`;
  await Deno.writeTextFile(path, "x".repeat(100_000));
  const recording = recordingOfWork(kernelAt(1, 1));
  for (const place of [path, new URL(`file://${path}`)]) {
    await saveTrace(place, [recording]);
    const text = await Deno.readTextFile(path);
    assertEquals(text, [...traceFile([recording])].join(""));
    assertEquals(problemsOf(JSON.parse(text)), []);
  }
});

Deno.test("traceFile() accepts a recording that went through JSON or a worker", () => {
  const recording = recordingOfWork(kernelAt(1, 1), copyAt(3, 1, 8));
  for (const copy of [structuredClone(recording), JSON.parse(JSON.stringify(recording))]) {
    assertEquals([...traceFile([copy])].join(""), [...traceFile([recording])].join(""));
    assertEquals(traceAdvisories(copy), traceAdvisories(recording));
  }
});

Deno.test("traceFile() names the malformed field of a recording", async () => {
  const wrong: readonly [object, string][] = [
    [{ work: 3 }, "recordings[0].work must be an array: it is 3"],
    [{ device: undefined }, "recordings[0].device must be a text"],
    [{ work: [{ ...kernelAt(1, 1), kind: "other" }] }, "work[0].kind must be one of kernel, copy"],
    [{ work: [{ ...kernelAt(1, 1), start: NaN }] }, "work[0].start must be a finite number"],
    [{ work: [{ ...kernelAt(1, 1), grid: [1, "2", 3] }] }, "work[0].grid[1] must be a finite"],
    [{ ranges: [{ name: "a", start: 0, duration: null }] }, "ranges[0].duration must be"],
    [{ statistics: {} }, "recordings[0].statistics.kernels must be an array"],
  ];
  for (const [change, message] of wrong) {
    const recording = { ...recordingOf(), ...change } as TraceRecording;
    assertThrows(() => traceFile([recording]), TypeError, message);
    const error = await assertRejects(() => saveTrace("/nowhere", [recording]), TypeError);
    assertStringIncludes(error.message, `Cannot save a trace as `);
  }
  for (const stream of [2, -1, 0.5]) {
    const recording = recordingOfWork({ ...kernelAt(1, 1), stream });
    assertThrows(() => traceAdvisories(recording), RangeError, "must be in 0..1: one is");
  }
  assertThrows(() => traceFile([]), RangeError, "recordings must have at least one");
  assertThrows(() => traceFile(7 as never), TypeError, "recordings must be an array: it is 7");
});

Deno.test("saveTrace() names the file when it cannot be written", async () => {
  const error = await assertRejects(
    () => saveTrace("/nowhere/at/all/trace.json", [recordingOf()]),
    Deno.errors.NotFound,
  );
  assert(
    error.message.startsWith(
      'Cannot save a trace as "/nowhere/at/all/trace.json" cannot be written',
    ),
    error.message,
  );
  await assertRejects(() => saveTrace("", [recordingOf()]), TypeError, "path must be a text");
});
