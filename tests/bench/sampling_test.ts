// Samples of benchmarks: nothing may be pending before the first one.

import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Bench } from "../../bench/support/measure.ts";
import {
  compileAhead,
  GPU_PLAN,
  type PendingWork,
  QUICK_PLAN,
  sampleBench,
  warmUp,
} from "../../bench/support/sampling.ts";
import { cos, zeros } from "../../src/device/tensor.ts";
import { DeviceWork } from "../../src/tensor/kit/device_work.ts";
import { device } from "../support/device.ts";

function bench(clock: Bench["clock"], run: Bench["run"], calls?: number): Bench {
  const options = { group: "g", bytes: 8, ...(calls === undefined ? {} : { calls }) };
  return { title: "t", options, clock, before: () => {}, run, after: () => {} };
}

Deno.test("warmUp() waits for the compiler, and refuses work that always waits for it", async () => {
  let isPending = false;
  const work: PendingWork = {
    get isPending() {
      return isPending;
    },
    settled() {
      isPending = false;
      return Promise.resolve();
    },
  };
  let runs = 0;
  await warmUp("once", () => void (isPending = runs++ === 0), work);
  assertEquals([runs, isPending], [2, false]);
  await assertRejects(
    () => warmUp("another kernel each time", () => void (isPending = true), work),
    Error,
    "Cannot measure another kernel each time as nothing may be pending",
  );
});

Deno.test("sampleBench() times work whose kernel is compiled at its first call", async () => {
  const work = DeviceWork.of(device.context);
  const x = zeros([1021], { device });
  const waiting: boolean[] = [];
  for (const plan of [QUICK_PLAN, { ...QUICK_PLAN, events: false }]) {
    const { samples, calls, clock } = await sampleBench(
      bench("device", () => {
        cos(x).dispose();
        waiting.push(work.isPending);
      }),
      device,
      plan,
    );
    assertEquals([samples.length, calls, clock], [1, 1, plan.events ? "device" : "total"]);
    assert(samples[0]!.nanoseconds > 0 && !waiting.at(-1)!);
  }
  x.dispose();
});

Deno.test("sampleBench() takes one call in a sample when it takes longer than a sample", async () => {
  const seen: number[] = [];
  const { calls, samples } = await sampleBench(
    bench("device", (call) => {
      seen.push(call);
      const end = performance.now() + 2;
      while (performance.now() < end);
    }),
    device,
    { ...GPU_PLAN, samples: 3, milliseconds: 0, warmUp: 0, sample: 0.5, events: false },
  );
  assertEquals([calls, samples.length, Math.max(...seen)], [1, 3, 0]);
});

Deno.test("compileAhead() starts all compilations, then waits once, whatever fails", async () => {
  const done: string[] = [];
  const work: PendingWork = {
    isPending: false,
    settled: () => Promise.resolve(void done.push("settled")),
  };
  const add = (clock: Bench["clock"], name: string) => bench(clock, () => void done.push(name));
  const broken = bench("device", () => {
    throw new RangeError("as when it is measured");
  });
  const benches = [add("device", "one"), broken, add("host", "enqueueing"), add("device", "two")];
  await compileAhead(benches, work);
  assertEquals(done, ["one", "two", "settled"]);
});

Deno.test("sampleBench() takes as many calls and samples as its plan says", async () => {
  const x = device.allocate("float32", 16, { fill: 0 });
  const plan = { ...GPU_PLAN, samples: 4, milliseconds: 0, warmUp: 0, sample: 1000 };
  const seen: number[] = [];
  const onDevice = await sampleBench(
    bench("device", (call) => {
      seen.push(call);
      device.kernels.fill(x, 1);
    }),
    device,
    plan,
  );
  assertEquals(onDevice.samples.length, 4);
  const { calls } = onDevice;
  assert(calls >= GPU_PLAN.calls && calls <= 400, `${calls}`);
  assertEquals(seen.slice(-calls), Array.from({ length: calls }, (_, call) => call));
  assert(onDevice.host.every((nanoseconds) => nanoseconds > 0) && onDevice.host.length === 4);
  const enqueueing = await sampleBench(bench("host", () => {}, 500), device, plan);
  assertEquals([enqueueing.clock, enqueueing.calls, enqueueing.host.length], ["host", 500, 0]);
  x.free();
});

Deno.test("sampleBench() warms up by long calls until the clock has settled", async () => {
  let calls = 0;
  const run = () => {
    calls++;
    const start = performance.now();
    while (performance.now() < start + 0.6);
  };
  const plan = {
    ...{ ...GPU_PLAN, samples: 3, milliseconds: 0, sample: 0.001, calls: 1, events: false },
    ...{ warmUp: 0, warmUpOfLong: 6 },
  };
  await sampleBench(bench("device", run), device, plan);
  // Two until its kernels are compiled, three that tell how long it takes, and the samples.
  assert(calls > 2 + 3 + 3, `${calls} calls`);
});
