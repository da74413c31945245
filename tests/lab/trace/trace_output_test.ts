import "../../support/cache_directory.ts";
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import {
  saveTrace,
  traceAdvisories,
  traceFile,
  type TraceRecording,
} from "../../../src/lab/trace/mod.ts";
import { copyAt, kernelAt, recordingOf, recordingOfWork } from "./constructed_recording.ts";
import { problemsOf } from "./trace_file_rules.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

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
