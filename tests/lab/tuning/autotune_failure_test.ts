/**
 * Configurations that fail: they are reported, never chosen, and end nothing but themselves.
 */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { OutOfMemoryError } from "../../../mod.ts";
import { autotune, TuningError } from "../../../src/lab/tuning/mod.ts";
import { injectFault } from "../../support/fault_injection.ts";
import { device } from "../../support/device.ts";

const FAST = { warmUp: 1, repeats: 4 } as const;
const FILL = "fill_float32(float* out, float value, unsigned long long n)";

Deno.test("autotune() reports errors of preparing, compiling and launching as failures of one configuration", async () => {
  using out = device.allocate("float32", 1000);
  const fill = device.kernels.load(
    "fill_uint32(unsigned int* out, unsigned int value, unsigned long long n)",
  );
  const tooMany = 2 * device.info.maxThreadsPerBlock;
  const { best, report } = await autotune(device, {
    ...FAST,
    store: false,
    name: "failures",
    key: FILL,
    configurations: [
      { block: tooMany, text: "" },
      { block: 32, text: "throws" },
      { block: 32, text: "does not compile" },
      { block: 32, text: "throws no error" },
      { block: 64, text: "" },
    ],
    prepare: async ({ text }) => {
      if (text === "throws") throw new Error("not today");
      if (text === "does not compile") await device.compile("__global__ void k() { missing(); }");
    },
    launch: ({ block, text }) => {
      if (text === "throws no error") throw 17;
      fill.launch({ grid: 1, block }, out.as("uint32"), 3, out.length);
    },
  });
  assertEquals(best, { block: 64, text: "" });
  assertEquals(report.map(({ failed, medianMicroseconds }) => [failed, medianMicroseconds]), [
    ...new Array(4).fill([true, Infinity]),
    [false, report[4]!.medianMicroseconds],
  ]);
  const reasons = report.map(({ reason = "" }) => reason);
  assert(reasons[0]!.startsWith("RangeError: Cannot launch fill_uint32 as block.x"), reasons[0]);
  assertEquals(reasons[1], "Error: not today");
  assert(reasons[2]!.startsWith("CompileError: ") && reasons[2]!.includes("missing"), reasons[2]);
  assertEquals(reasons[3], "17");
  assertEquals(report[4]!.reason, undefined);
});

Deno.test("autotune() drops a configuration when a CUDA call fails once, and leaks nothing", async () => {
  using x = device.upload(new Float32Array([1]));
  using y = device.upload(new Float32Array([1]));
  const { library } = device.context;
  let launches = 0;
  const { best, report } = await autotune(device, {
    ...FAST,
    store: false,
    name: "injected",
    key: 1,
    configurations: ["bad", "good"],
    launch: (name) => {
      if (name === "bad" && ++launches === 2) {
        using _fault = injectFault(library, "cudaLaunchKernel", 1, 701);
        device.kernels.axpy(1, x, y);
      } else device.kernels.axpy(1, x, y);
    },
    restore: [y],
  });
  assertEquals([best, report.map(({ failed }) => failed)], ["good", [true, false]]);
  assert(report[0]!.reason!.includes("cudaErrorLaunchOutOfResources"), report[0]!.reason);
  assertEquals([...await y.toArray()], [1]);
});

Deno.test("autotune() rejects with every reason and the report when all configurations fail", async () => {
  const error = await assertRejects(
    () =>
      autotune(device, {
        ...FAST,
        store: false,
        name: "hopeless",
        key: 1,
        configurations: [{ a: 1 }, { a: 2 }],
        launch: ({ a }) => {
          throw new RangeError(`not ${a}\nin two lines`);
        },
      }),
    TuningError,
  );
  assertEquals(
    error.message,
    "Cannot autotune hopeless as all 2 configurations fail:" +
      '\n  {"a":1}: RangeError: not 1\n    in two lines' +
      '\n  {"a":2}: RangeError: not 2\n    in two lines',
  );
  assertEquals(error.report.map(({ failed }) => failed), [true, true]);
});

Deno.test("autotune() remembers failures, and tries those that may pass again", async () => {
  using x = device.upload(new Float32Array([1]));
  const tried: string[] = [];
  const tune = () =>
    autotune(device, {
      ...FAST,
      store: "memory",
      name: "remembered",
      key: 1,
      configurations: ["runs", "refuses", "has no memory"],
      prepare: (name) => void tried.push(name),
      launch: (name) => {
        if (name === "refuses") throw new RangeError("never");
        if (name === "has no memory") device.allocate("uint8", 2 ** 50);
        device.kernels.scale(x, 1, x);
      },
    });
  const first = await tune();
  assertEquals(first.report.map(({ failed }) => failed), [false, true, true]);
  assert(first.report[2]!.reason!.includes(OutOfMemoryError.name), first.report[2]!.reason);
  assertEquals(tried, ["runs", "refuses", "has no memory"]);
  tried.length = 0;
  const second = await tune();
  assertEquals([second.best, second.report.length], ["runs", 3]);
  assertEquals(tried, ["runs", "has no memory"]);
});

Deno.test("autotune() explains how to try again when all configurations are known to fail", async () => {
  const tune = (...configurations: number[]) =>
    autotune(device, {
      ...FAST,
      store: "memory",
      name: "known to fail",
      key: 1,
      configurations,
      launch: (which) => {
        if (which === 1) throw new Error("no");
      },
    });
  assertEquals((await tune(1, 2)).best, 2);
  await assertRejects(
    () => tune(1),
    TuningError,
    "clearTunings() or another version has them tried again",
  );
});

Deno.test("autotune() forgets mistakes of the program", async () => {
  for (const mistake of [new TypeError("x is disposed"), new RangeError("grid.x is 0")]) {
    let isMended = false;
    const tune = () =>
      autotune(device, {
        ...FAST,
        store: "memory",
        name: `mistaken: ${mistake.name}`,
        key: 1,
        configurations: [1, 2],
        launch: () => {
          if (!isMended) throw mistake;
        },
      });
    await assertRejects(tune, TuningError, `as all 2 configurations fail:\n  1: ${mistake}`);
    isMended = true;
    assertEquals((await tune()).report.map(({ failed }) => failed), [false, false]);
  }
});
