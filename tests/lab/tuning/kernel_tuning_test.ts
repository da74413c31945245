/**
 * Tuned launch parameters of the built-in kernels: operations use them and stay right.
 */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { configureKernelCache } from "../../../mod.ts";
import { type KernelTuningRow, tuneKernels } from "../../../src/lab/tuning/mod.ts";
import { AXPY, TUNED_ELEMENTWISE } from "../../../src/kernels/elementwise.ts";
import { HISTOGRAM } from "../../../src/kernels/histogram.ts";
import { MOMENTS_PARTIAL, SUM_PARTIAL } from "../../../src/kernels/reduction_kernels.ts";
import { TUNED_REDUCTIONS } from "../../../src/kernels/reduction_launch.ts";
import { TunedParameters } from "../../../src/kernels/tuned_parameters.ts";
import type { Kernel } from "../../../src/launch/kernel.ts";
import { device } from "../../support/device.ts";
import { runProgram } from "../../support/subprocess.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

const { context, kernels } = device;

Deno.test("parameters serve the sizes near to those that were tuned, and no others", () => {
  const table = new TunedParameters<{ readonly block: number }>();
  const [one, other] = [{}, {}] as Kernel[];
  assertEquals(table.of(one!, 1000), undefined);
  table.set(one!, 1000, { block: 64 });
  table.set(one!, 16_000, { block: 512 });
  for (
    const [elements, block] of [
      [0, undefined],
      [1, undefined],
      [300, undefined],
      [400, 64],
      [1000, 64],
      [2500, 64],
      [4096, undefined],
      [6000, 512],
      [16_384, 512],
      [40_000, 512],
      [50_000, undefined],
      [2 ** 52, undefined],
    ] as const
  ) {
    assertEquals(table.of(one!, elements)?.block, block, `${elements} elements`);
    assertEquals(table.of(other!, elements), undefined);
  }
  // What is nearer counts, also where that is to stay as it was.
  table.set(one!, 2000, undefined);
  assertEquals([table.of(one!, 1000)?.block, table.of(one!, 2000)], [64, undefined]);
});

Deno.test("what is tried out holds for one kernel and while the operation lasts", () => {
  const table = new TunedParameters<{ readonly block: number }>();
  const [one, other] = [{}, {}] as Kernel[];
  table.set(one!, 8, { block: 1 });
  table.tryOut(one!, { block: 2 }, () => {
    assertEquals([table.of(one!, 8)?.block, table.of(other!, 8)], [2, undefined]);
  });
  try {
    table.tryOut(one!, { block: 3 }, () => {
      throw new Error("no");
    });
  } catch {
    // What counts is what holds afterwards.
  }
  assertEquals(table.of(one!, 8)?.block, 1);
});

Deno.test("operations are right with whatever parameters were tuned", async () => {
  const n = 70_001;
  const values = Float32Array.from({ length: n }, (_, index) => index % 97);
  using x = device.upload(values);
  using y = device.allocate("float32", n);
  using total = device.allocate("float64", 1);
  using pair = device.allocate("float64", 2);
  using counts = device.allocate("uint32", 97);
  const sum = values.reduce((one, other) => one + other, 0);
  const families = { sum: SUM_PARTIAL, moments: MOMENTS_PARTIAL, histogram: HISTOGRAM.shared };
  const axpy = AXPY.of(context, "float32");
  for (const block of [32, 256, 1024]) {
    for (const [mostBlocks, stepsPerThread] of [[1, 1], [3, 7], [50, 2 ** 40]] as const) {
      TUNED_ELEMENTWISE.set(axpy, n, { block, stepsPerThread });
      for (const family of Object.values(families)) {
        TUNED_REDUCTIONS.set(family.of(context, "float32"), n, { block, mostBlocks });
      }
      y.copyFrom(values);
      kernels.axpy(2, x, y);
      assertEquals(await y.toArray(), values.map((value) => 3 * value));
      kernels.sum(x, total);
      assertEquals((await total.toArray())[0], sum);
      kernels.moments(x, pair, { correction: 0 });
      assert(Math.abs((await pair.toArray())[0]! - sum / n) < 1e-9 * sum / n);
      kernels.histogram(x, counts, { low: 0, high: 97 });
      const expected = Array.from({ length: 97 }, (_, bin) => Math.floor((n - 1 - bin) / 97) + 1);
      assertEquals([...await counts.toArray()], expected);
    }
  }
  TUNED_ELEMENTWISE.set(axpy, n, undefined);
  for (const family of Object.values(families)) {
    TUNED_REDUCTIONS.set(family.of(context, "float32"), n, undefined);
  }
});

Deno.test("a reduction gives the same bits again and again with the same parameters", async () => {
  const n = 100_003;
  using x = device.upload(Float32Array.from({ length: n }, (_, index) => Math.sin(index) * 1e3));
  using total = device.allocate("float64", 1);
  const kernel = SUM_PARTIAL.of(context, "float32");
  const bits = new Map<number, Set<number>>();
  for (let round = 0; round < 5; round++) {
    for (const mostBlocks of [1, 2, 13]) {
      TUNED_REDUCTIONS.set(kernel, n, { block: 128, mostBlocks });
      kernels.sum(x, total);
      const known = bits.get(mostBlocks) ?? new Set();
      bits.set(mostBlocks, known.add((await total.toArray())[0]!));
    }
  }
  TUNED_REDUCTIONS.set(kernel, n, undefined);
  assertEquals([...bits.values()].map(({ size }) => size), [1, 1, 1]);
});

Deno.test("tuning chooses for each kernel and size, is kept, and is used from then on", async () => {
  using folder = new TemporaryDirectory();
  configureKernelCache({ directory: `${folder.path}/kernels` });
  try {
    const options = {
      operations: ["fill", "axpy", "sum", "histogram"],
      dtypes: ["float32", "int32"],
      sizes: [1, 5000],
    } as const;
    const shown: KernelTuningRow[] = [];
    const rows = await tuneKernels(device, { ...options, onProgress: (row) => shown.push(row) });
    assertEquals(shown, rows);
    const names = [
      "fill_uint32",
      "axpy_float32",
      "sum_partial_float32",
      "histogram_shared_float32",
    ];
    // int32 is filled by the kernel of float32, and has no axpy.
    const integers = ["sum_partial_int32", "histogram_shared_int32"];
    const expected = [...names, ...names, ...integers, ...integers];
    assertEquals(rows.map(({ kernel }) => kernel), expected);
    for (const { origin, tunedMicroseconds, untunedMicroseconds, elements, grid } of rows) {
      assertEquals(origin, "timed");
      assert(tunedMicroseconds <= 1.5 * untunedMicroseconds);
      if (elements === 1) assertEquals(grid, 1);
    }
    const again = await tuneKernels(device, options);
    assertEquals(again.map(({ origin }) => origin), new Array(rows.length).fill("stored"));
    const chosen = ({ kernel, grid, block }: KernelTuningRow) => [kernel, grid, block];
    assertEquals(again.map(chosen), rows.map(chosen));
    const [, , , , , , sum] = rows;
    const parameters = TUNED_REDUCTIONS.of(SUM_PARTIAL.of(context, "float32"), 5000);
    assertEquals(parameters?.block ?? 256, sum!.block);
    // A process that begins afterwards.
    const { code, stdout, stderr } = await runProgram(
      `import { configureKernelCache, openDevice } from "@gridstride/cuda";
       import { tuneKernels } from "@gridstride/cuda/tuning";
       configureKernelCache({ directory: Deno.args[1] });
       using device = openDevice(Deno.args[0]);
       const rows = await tuneKernels(device, JSON.parse(Deno.args[2]));
       console.log(JSON.stringify(rows.map(({ kernel, grid, block }) => [kernel, grid, block])));`,
      {
        permissions: ["-A", "--no-check"],
        args: [device.label, `${folder.path}/kernels`, JSON.stringify(options)],
      },
    );
    assertEquals([code, stderr], [0, ""]);
    assertEquals(JSON.parse(stdout), rows.map(chosen));
  } finally {
    configureKernelCache();
  }
});

Deno.test("options that are wrong are refused by name", async () => {
  const refused: readonly (readonly [unknown, typeof Error, string])[] = [
    [7, TypeError, "options must be an object"],
    [{ operations: "sum" }, TypeError, "options.operations must be an array of names"],
    [{ operations: ["mean"] }, TypeError, "options.operations[0] must be fill, add"],
    [{ dtypes: ["float8_e4m3"] }, TypeError, "options.dtypes[0] must be float64, float32"],
    [{ sizes: 7 }, TypeError, "options.sizes must be an array of integers"],
    [{ sizes: [8, 0] }, RangeError, "options.sizes[1] must be integers in 1.."],
    [{ sizes: [1.5] }, RangeError, "options.sizes[0]"],
    [
      { sizes: ["8"] },
      TypeError,
      'options.sizes[0] must be integers in 1..1099511627776: it is "8"',
    ],
    [{ signal: 1 }, TypeError, "options.signal must be an AbortSignal"],
    [{ onProgress: 1 }, TypeError, "options.onProgress must be a function"],
    [{ stream: 1 }, TypeError, "stream must be a Stream"],
  ];
  for (const [options, Kind, message] of refused) {
    await assertRejects(() => tuneKernels(device, options as never), Kind, message);
  }
  const signal = AbortSignal.abort(new Error("stopped"));
  await assertRejects(() => tuneKernels(device, { sizes: [8], signal }), Error, "stopped");
  assertEquals(await tuneKernels(device, { sizes: [] }), []);
});
