import { assert, assertEquals, assertRejects } from "@std/assert";
import { configureKernelCache } from "../../../mod.ts";
import { type KernelTuningRow, tuneKernels } from "../../../src/lab/tuning/mod.ts";
import { AXPY, FILL } from "../../../src/kernels/elementwise.ts";
import { HISTOGRAM } from "../../../src/kernels/histogram.ts";
import { boundedLaunch } from "../../../src/kernels/launch_choice.ts";
import { MOMENTS_PARTIAL } from "../../../src/kernels/moments.ts";
import { setTunedLaunch, tunedLauncher } from "../../../src/lab/tuning/kernel_tuning.ts";
import type { Kernel } from "../../../src/launch/kernel.ts";
import { lineLaunch } from "../../../src/launch/launch_planner.ts";
import { device } from "../../support/device.ts";
import { runProgram } from "../../support/subprocess.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

const { context, kernels } = device;

Deno.test("tunedLauncher() serves sizes near to tuned ones, and no others", () => {
  const [one, other] = [{}, {}] as Kernel[];
  const withBlock = (block: number) => () => ({ grid: 1, block });
  assertEquals(tunedLauncher(one!, 1000)?.(1000), undefined);
  setTunedLaunch(one!, 1000, withBlock(64));
  setTunedLaunch(one!, 16_000, withBlock(512));
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
    assertEquals(tunedLauncher(one!, elements)?.(elements)?.block, block, `${elements} elements`);
    assertEquals(tunedLauncher(other!, elements)?.(elements), undefined);
  }
  // A nearer size counts, also if its choice is the default.
  setTunedLaunch(one!, 2000, undefined);
  assertEquals([tunedLauncher(one!, 1000)?.(1000)?.block, tunedLauncher(one!, 2000)?.(2000)], [
    64,
    undefined,
  ]);
});

Deno.test("operations are right with any tuned launch", async () => {
  const n = 70_001;
  const values = Float32Array.from({ length: n }, (_, index) => index % 97);
  using x = device.upload(values);
  using y = device.allocate("float32", n);
  using pair = device.allocate("float64", 2);
  using counts = device.allocate("uint32", 97);
  const sum = values.reduce((one, other) => one + other, 0);
  const families = { moments: MOMENTS_PARTIAL, histogram: HISTOGRAM.shared };
  const axpy = AXPY.of(context, "float32");
  for (const block of [32, 256, 1024]) {
    for (const [maxBlocks, stepsPerThread] of [[1, 1], [3, 7], [50, 2 ** 40]] as const) {
      const options = { elementsPerThread: 8, stepsPerThread, block };
      setTunedLaunch(axpy, n, (elements) => lineLaunch(axpy, elements, options));
      for (const family of Object.values(families)) {
        setTunedLaunch(family.of(context, "float32"), n, () => boundedLaunch(n, block, maxBlocks));
      }
      y.copyFrom(values);
      kernels.axpy(2, x, y);
      assertEquals(await y.toArray(), values.map((value) => 3 * value));
      kernels.moments(x, pair, { correction: 0 });
      assert(Math.abs((await pair.toArray())[0]! - sum / n) < 1e-9 * sum / n);
      kernels.histogram(x, counts, { low: 0, high: 97 });
      const expected = Array.from({ length: 97 }, (_, bin) => Math.floor((n - 1 - bin) / 97) + 1);
      assertEquals([...await counts.toArray()], expected);
    }
  }
  setTunedLaunch(axpy, n, undefined);
  for (const family of Object.values(families)) {
    setTunedLaunch(family.of(context, "float32"), n, undefined);
  }
});

Deno.test("tuneKernels() chooses for each kernel and size, stores the choices, and installs them", async () => {
  using folder = new TemporaryDirectory();
  configureKernelCache({ directory: `${folder.path}/kernels` });
  try {
    const options = {
      operations: ["fill", "axpy", "moments", "histogram"],
      dtypes: ["float32", "int32"],
      sizes: [1, 5000],
    } as const;
    const shown: KernelTuningRow[] = [];
    const rows = await tuneKernels(device, { ...options, onProgress: (row) => shown.push(row) });
    assertEquals(shown, rows);
    const names = [
      FILL.of(context, "uint32").name,
      AXPY.of(context, "float32").name,
      "moments_partial_float32",
      "histogram_shared_float32",
    ];
    // int32 is filled by the kernel of float32, and has no axpy.
    const integers = ["moments_partial_int32", "histogram_shared_int32"];
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
    const [, , , , , , moments] = rows;
    const launch = tunedLauncher(MOMENTS_PARTIAL.of(context, "float32"), 5000)?.(5000);
    assertEquals(launch?.block ?? 256, moments!.block);
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

Deno.test("tuneKernels() refuses wrong options by name", async () => {
  const refused: readonly (readonly [unknown, typeof Error, string])[] = [
    [7, TypeError, "options must be an object"],
    [{ operations: "sum" }, TypeError, "options.operations must be an array"],
    [{ operations: ["mean"] }, TypeError, "options.operations[0] must be fill, add"],
    [{ dtypes: ["float8_e4m3"] }, TypeError, "options.dtypes[0] must be float64, float32"],
    [{ sizes: 7 }, TypeError, "options.sizes must be an array"],
    [{ sizes: [8, 0] }, RangeError, "options.sizes[1] must be an integer in 1.."],
    [{ sizes: [1.5] }, RangeError, "options.sizes[0]"],
    [
      { sizes: ["8"] },
      TypeError,
      'options.sizes[0] must be an integer in 1..1099511627776: it is "8"',
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
