// Each advisory on constructed timelines that must have it, and on others that must not.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { type Advisory, traceAdvisories, type TraceRecording } from "../../../src/lab/trace/mod.ts";
import {
  copyAt,
  kernelAt,
  recordingOf,
  recordingOfCopies,
  recordingOfKernels,
  recordingOfMemory,
  recordingOfWork,
} from "./constructed_recording.ts";

function codes(recording: TraceRecording): Advisory["code"][] {
  return traceAdvisories(recording).map(({ code }) => code);
}

function message(recording: TraceRecording): string {
  const [advisory, ...more] = traceAdvisories(recording);
  assertEquals(more, []);
  return advisory!.message;
}

Deno.test("traceAdvisories() returns nothing for an empty recording", () => {
  assertEquals(traceAdvisories(recordingOf()), []);
});

Deno.test("traceAdvisories() reports short-kernels when a kernel's own time is below the launch cost", () => {
  const with1000 = (mean: number) => recordingOfKernels({ launches: 1000, mean });
  // An empty kernel takes 2 µs between its events and a launch costs 3 µs.
  assertEquals(codes(with1000(0.0049)), ["short-kernels"]);
  assertEquals(codes(with1000(0.0051)), []);
  const text = message(with1000(0.0035));
  for (
    const part of [
      "saxpy took 3.5 µs",
      "1,000 launches",
      "2 µs for an empty kernel",
      "program 3 µs",
    ]
  ) {
    assertStringIncludes(text, part);
  }
});

Deno.test("traceAdvisories() omits short-kernels for few or untimed launches", () => {
  assertEquals(codes(recordingOfKernels({ launches: 31, mean: 0.001 })), []);
  assertEquals(codes(recordingOfKernels({ launches: 32, mean: 0.001 })), ["short-kernels"]);
  const captured = { launches: 1000, captured: 1000, mean: 0, time: 0 };
  assertEquals(codes(recordingOfKernels(captured)), []);
  const untimed = { launches: 1000, untimed: 990, mean: 0.001, time: 0.01 };
  assertEquals(codes(recordingOfKernels(untimed)), []);
});

Deno.test("traceAdvisories() reports transfer-bound when copies precede kernels", () => {
  const recording = recordingOfWork(copyAt(0, 30, 300e6), kernelAt(30, 20));
  const text = message(recording);
  assertStringIncludes(text, "only copied for 30 ms (60 %) of 50 ms");
  assertStringIncludes(text, "286.1 MiB from the host to the device at 10 GB/s");
});

Deno.test("traceAdvisories() omits transfer-bound when the copies overlap with kernels", () => {
  assertEquals(codes(recordingOfWork(copyAt(0, 30, 300e6), kernelAt(0, 50))), []);
  // 30 ms of copies and 30 ms of kernels, at the same time and one after the other.
  assertEquals(codes(recordingOfWork(copyAt(0, 30, 3e8), kernelAt(0, 30))), []);
  assertEquals(codes(recordingOfWork(copyAt(0, 30, 3e8), kernelAt(30, 30))), ["transfer-bound"]);
});

Deno.test("traceAdvisories() counts overlapping transfers once and copies within the device never", () => {
  const twice = [copyAt(0, 20, 1e6), copyAt(0, 20, 1e6, "deviceToHost", 0)];
  // 20 ms of copies of 70 ms, though their sum is 40.
  assertEquals(codes(recordingOfWork(...twice, kernelAt(20, 50))), []);
  const within = copyAt(0, 90, 1e9, "deviceToDevice");
  assertEquals(codes(recordingOfWork(within, kernelAt(90, 10))), []);
  // Copies within the device hide transfers.
  assertEquals(codes(recordingOfWork(within, copyAt(0, 80, 1e9))), []);
});

Deno.test("traceAdvisories() reports low-occupancy with the limiter for a dominant kernel", () => {
  const kernel = { kernel: "matmul", occupancy: 0.25, limiter: "sharedMemory" } as const;
  const text = message(recordingOfKernels({ ...kernel, mean: 9 }, { mean: 1 }));
  for (const part of ["matmul, with 9 ms of the 10 ms", "25 %", "shared memory:"]) {
    assertStringIncludes(text, part);
  }
  assertEquals(codes(recordingOfKernels({ ...kernel, mean: 0.9 }, { mean: 9.1 })), []);
  assertEquals(codes(recordingOfKernels({ ...kernel, occupancy: 0.5 })), []);
  // Without timed launches the occupancy is unknown.
  assertEquals(codes(recordingOfKernels({ ...kernel, occupancy: 0, limiter: null })), []);
});

Deno.test("traceAdvisories() reports small-copies when most copies of a direction are small", () => {
  const small = (copies: number) => ({
    copies,
    bytes: 4096 * copies,
    time: 0.01 * copies,
    bytesPerSecond: 409.6e6,
  });
  const text = message(recordingOfCopies("deviceToHost", { copies: 150, small: small(120) }));
  for (const part of ["120 of 150 copies from the device", "4 KiB on average", "410 MB/s"]) {
    assertStringIncludes(text, part);
  }
  assertEquals(codes(recordingOfCopies("peer", { copies: 99, small: small(99) })), []);
  assertEquals(codes(recordingOfCopies("hostToDevice", { copies: 500, small: small(200) })), []);
});

Deno.test("traceAdvisories() reports allocation-churn when a pool returns memory and takes it again", () => {
  const churning = {
    growths: 400,
    grownBytes: 12e9,
    shrinks: 399,
    initialReserved: 0,
    peakReserved: 1e9,
  };
  const text = message(recordingOfMemory(churning));
  for (
    const part of [
      "took 11.2 GiB",
      "400 calls",
      "399",
      "more than 953.7 MiB",
      "10.2 GiB were taken again",
    ]
  ) {
    assertStringIncludes(text, part);
  }
});

Deno.test("traceAdvisories() omits allocation-churn for a growing or steady pool", () => {
  const growing = { growths: 400, grownBytes: 12e9, initialReserved: 1e9, peakReserved: 13e9 };
  assertEquals(codes(recordingOfMemory(growing)), []);
  assertEquals(codes(recordingOfMemory({ initialReserved: 1e9, peakReserved: 1e9 })), []);
  const seldom = { growths: 15, grownBytes: 15e9, shrinks: 15, peakReserved: 1e9 };
  assertEquals(codes(recordingOfMemory(seldom)), []);
});
