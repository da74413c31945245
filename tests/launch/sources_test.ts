// The files of tests/launch/sources, as people have them: each compiles as it is, host code
// included, and every kernel computes what plain TypeScript does.

import { assertAlmostEquals, assertEquals } from "@std/assert";
import { type CompileOptions, defineStruct } from "../../mod.ts";
import { device } from "../support/device.ts";
import { runProgram } from "../support/subprocess.ts";

const Extent = defineStruct("Extent", { x: "int", y: "int", z: "int" });
const Option = defineStruct("Option", {
  spot: "double",
  strike: "double",
  rate: "double",
  volatility: "double",
  years: "double",
});
const Law = defineStruct("gravity::Law", { softening: "float" });

function sourceOf(name: string): string {
  return Deno.readTextFileSync(new URL(`sources/${name}`, import.meta.url));
}

function compile(name: string, options: Omit<CompileOptions, "structs"> = {}) {
  return device.compile(sourceOf(name), { ...options, name, structs: [Extent, Option, Law] });
}

/** Whole numbers from -500 to 499 in an order of no pattern. */
function scattered(n: number, seed = 1): number[] {
  return Array.from({ length: n }, (_, i) => (Math.imul(i + seed, 2654435761) >>> 8) % 1000 - 500);
}

const [reduction, transpose, stencil, histogram, groups, matmul, monteCarlo, scan, nbody, saxpy] =
  await Promise.all([
    compile("reduction.cu"),
    compile("transpose.cu"),
    compile("stencil.cu"),
    compile("histogram.cu"),
    compile("groups.cu"),
    compile("half_matmul.cu"),
    compile("monte_carlo.cu"),
    compile("scan.cu"),
    compile("nbody.cu"),
    compile("saxpy.cu"),
  ]);
const modules = [
  ...[reduction, transpose, stencil, histogram, groups, matmul, monteCarlo, scan, nbody, saxpy],
];
globalThis.addEventListener("unload", () => modules.forEach((module) => module[Symbol.dispose]()));

Deno.test("reduction.cu: shuffles, templates, and a tree in dynamic shared memory", async () => {
  for (const n of [1, 255, 257, 10007]) {
    const values = scattered(n);
    const grid = 5;
    using floats = device.upload(Float32Array.from(values));
    using sums = device.allocate("float32", grid);
    using maxima = device.allocate("float32", grid);
    using ints = device.upload(Int32Array.from(values));
    using total = device.allocate("int32", 1, { fill: 0 });
    reduction.kernel(
      "reduction::blocks<128, reduction::Sum>(const float* in, float* out, unsigned n)",
    ).launch({ grid, block: 128 }, floats, sums, n);
    reduction.kernel(
      "reduction::blocks<256, reduction::Maximum>(const float* in, float* out, unsigned n)",
    ).launch({ grid, block: 256 }, floats, maxima, n);
    reduction.kernel("sum_tree(const int* in, int* out, unsigned n)")
      .launch({ grid: Math.ceil(n / 256), block: 128, sharedMemory: 512 }, ints, total, n);
    const sum = values.reduce((a, b) => a + b);
    assertEquals((await sums.toArray()).reduce((a, b) => a + b), sum);
    assertEquals(Math.max(...await maxima.toArray()), Math.max(...values));
    assertEquals(await total.toArray(), new Int32Array([sum]));
  }
});

Deno.test("transpose.cu: two-dimensional tiles", async () => {
  const kernel = transpose.kernel(
    "transpose<float>(const float* in, float* out, int width, int height)",
  );
  for (const [width, height] of [[1, 1], [31, 33], [64, 32], [3, 100]] as const) {
    const values = scattered(width * height);
    using from = device.upload(Float32Array.from(values));
    using to = device.allocate("float32", width * height, { fill: 0 });
    const grid = [Math.ceil(width / 32), Math.ceil(height / 32)] as const;
    kernel.launch({ grid, block: [32, 8] }, from, to, width, height);
    const expected = values.map((_, i) => values[(i % height) * width + Math.floor(i / height)]!);
    assertEquals(await to.toArray(), Float32Array.from(expected));
  }
});

Deno.test("stencil.cu: three dimensions, constant memory, a counter of the device", async () => {
  const extent = { x: 19, y: 7, z: 5 };
  const { x, y, z } = extent;
  const values = scattered(x * y * z);
  const weights = [0.5, 0.125, 0.0625, 0.25];
  using constants = stencil.variable("weights", "float32");
  using steps = stencil.variable("steps_done", "uint32");
  constants.copyFrom(Float32Array.from(weights));
  using from = device.upload(Float32Array.from(values));
  using to = device.allocate("float32", values.length);
  stencil.kernel("diffuse(const float* from, float* to, Extent extent)")
    .launch({ grid: [2, 2, 2], block: [16, 4, 4] }, from, to, extent);
  const at = (i: number, j: number, k: number) =>
    i < 0 || i >= x || j < 0 || j >= y || k < 0 || k >= z ? 0 : values[(k * y + j) * x + i]!;
  const expected = values.map((_, index) => {
    const [i, j, k] = [index % x, Math.floor(index / x) % y, Math.floor(index / x / y)];
    return weights[0]! * at(i, j, k) + weights[1]! * (at(i - 1, j, k) + at(i + 1, j, k)) +
      weights[2]! * (at(i, j - 1, k) + at(i, j + 1, k)) +
      weights[3]! * (at(i, j, k - 1) + at(i, j, k + 1));
  });
  assertEquals(await to.toArray(), Float32Array.from(expected));
  assertEquals(await steps.toArray(), new Uint32Array([1]));
});

Deno.test("histogram.cu: dynamic shared memory that belongs to the file", async () => {
  const n = 10007, bins = 37;
  const bytes = Uint8Array.from(scattered(n), (value) => value & 255);
  const floats = Float32Array.from(scattered(n));
  using byteMemory = device.upload(bytes);
  using floatMemory = device.upload(floats);
  using byteBins = device.allocate("uint32", 256, { fill: 0 });
  using floatBins = device.allocate("uint32", bins, { fill: 0 });
  histogram.kernel("histogram_bytes(const unsigned char* data, size_t n, unsigned int* total)")
    .launch({ grid: 3, block: 100, sharedMemory: 1024 }, byteMemory, n, byteBins);
  histogram.kernel("histogram_floats").launch(
    { grid: 3, block: 64, sharedMemory: 4 * bins },
    ...[floatMemory, n, -400, 400, bins, floatBins],
  );
  const expectedBytes = new Uint32Array(256);
  for (const byte of bytes) expectedBytes[byte]!++;
  const expectedFloats = new Uint32Array(bins);
  const scale = Math.fround(bins / 800);
  for (const value of floats) {
    const bin = Math.floor(Math.fround((value + 400) * scale));
    expectedFloats[Math.min(Math.max(bin, 0), bins - 1)]!++;
  }
  assertEquals(await byteBins.toArray(), expectedBytes);
  assertEquals(await floatBins.toArray(), expectedFloats);
});

Deno.test("groups.cu: tiles, lanes that share an atomic, a grid that steps together", async () => {
  const rows = 13, columns = 29;
  const values = scattered(rows * columns);
  using matrix = device.upload(Float32Array.from(values));
  for (const tile of [4, 32]) {
    using norms = device.allocate("float32", rows);
    groups.kernel(`row_norms<${tile}>(const float* matrix, float* norms, int rows, int columns)`)
      .launch({ grid: Math.ceil(rows * tile / 64), block: 64 }, matrix, norms, rows, columns);
    (await norms.toArray()).forEach((norm, row) => {
      const exact = Math.hypot(...values.slice(row * columns, (row + 1) * columns));
      assertAlmostEquals(norm, exact, exact * 1e-6);
    });
  }
  const ints = Int32Array.from(values);
  using numbers = device.upload(ints);
  using kept = device.allocate("int32", ints.length);
  using count = device.allocate("uint32", 1, { fill: 0 });
  groups.kernel("keep_positive(const int* in, int n, int* out, unsigned int* count)")
    .launch({ grid: 3, block: 160 }, numbers, ints.length, kept, count);
  const expected = [...ints].filter((value) => value > 0);
  assertEquals(await count.toArray(), new Uint32Array([expected.length]));
  const got = [...(await kept.toArray()).subarray(0, expected.length)];
  assertEquals(got.sort((a, b) => a - b), expected.sort((a, b) => a - b));
});

Deno.test("groups.cu: rounds of a cooperative launch", async () => {
  const n = 101, rounds = 4;
  let values = scattered(n);
  using a = device.upload(Float32Array.from(values));
  using b = device.allocate("float32", n);
  groups.kernel("smooth(float* a, float* b, int n, int rounds)")
    .launch({ grid: 3, block: 16, cooperative: true }, a, b, n, rounds);
  for (let round = 0; round < rounds; round++) {
    values = values.map((value, i) =>
      0.25 * values[(i + n - 1) % n]! + 0.5 * value + 0.25 * values[(i + 1) % n]!
    );
  }
  assertEquals(await a.toArray(), Float32Array.from(values));
});

Deno.test("half_matmul.cu: half, bfloat16 and templates", async () => {
  const [m, n, k] = [17, 9, 33];
  const a = scattered(m * k).map((value) => value / 512);
  const b = scattered(k * n, 5).map((value) => value / 512);
  using aMemory = device.upload(Float32Array.from(a));
  using bMemory = device.upload(Float32Array.from(b));
  using c = device.allocate("float32", m * n);
  matmul.kernel("matmul<float, 8>(const float* a, const float* b, float* c, int m, int n, int k)")
    .launch({ grid: [2, 3], block: [8, 8] }, aMemory, bMemory, c, m, n, k);
  (await c.toArray()).forEach((value, at) => {
    let exact = 0;
    for (let i = 0; i < k; i++) exact += a[Math.floor(at / n) * k + i]! * b[i * n + at % n]!;
    assertAlmostEquals(value, exact, 1e-5);
  });
  using halves = device.upload(new Float16Array([1.5, -1.5]));
  using scaled = device.allocate("float16", 2);
  matmul.kernel("scale_pairs").launch({ grid: 1, block: 32 }, halves, scaled, 2, 1);
  assertEquals([...await scaled.toArray()].map(Number), [4, -2]);
  using ones = device.upload(new Uint16Array([0x3f80, 0xbf80]), { dtype: "bfloat16" });
  using gated = device.allocate("bfloat16", 2);
  matmul.kernel("silu").launch({ grid: 1, block: 32 }, ones, gated, 2);
  // 0.731… and -0.268… to seven bits.
  assertEquals(await gated.toArray(), new Uint16Array([0x3f3b, 0xbe8a]));
});

Deno.test("monte_carlo.cu: classes, lambdas, double precision", async () => {
  using pi = device.allocate("float64", 1, { fill: 0 });
  using inside = monteCarlo.variable("darts_inside");
  monteCarlo.kernel("throw_darts(int samples, double* pi)")
    .launch({ grid: 4, block: 32 }, 500, pi);
  const [about] = await pi.toArray();
  assertAlmostEquals(about!, Math.PI, 0.05);
  const [darts] = new BigUint64Array((await inside.toArray()).buffer);
  assertAlmostEquals(Number(darts) / 16000, about!, 1e-9);
  const option = { spot: 100, strike: 105, rate: 0.03, volatility: 0.2, years: 1 };
  const bytes = new Uint8Array(Option.bytes);
  Option.encode(option, bytes, 0);
  using options = device.upload(bytes);
  using exact = device.allocate("float64", 1);
  using walked = device.allocate("float64", 64);
  monteCarlo.kernel("price_exactly(const Option* options, int count, double* prices)")
    .launch({ grid: 1, block: 32 }, options, 1, exact);
  monteCarlo.kernel("price(Option option, int samples, double* prices)")
    .launch({ grid: 1, block: 64 }, option, 1000, walked);
  // The formula of Black and Scholes, by Python's math.erfc().
  assertAlmostEquals((await exact.toArray())[0]!, 7.128_064_669_261_74, 1e-12);
  const mean = (await walked.toArray()).reduce((a, b) => a + b) / 64;
  assertAlmostEquals(mean, (await exact.toArray())[0]!, 0.3);
});

Deno.test("scan.cu: macros of the program, static shared memory", async () => {
  const n = 1000;
  const values = Int32Array.from(scattered(n));
  using from = device.upload(values);
  using to = device.allocate("int32", n);
  using totals = device.allocate("int32", 4);
  const blocks = scan.kernel("scan_blocks(const int* in, int* out, int* totals, int n)");
  blocks.launch({ grid: 4, block: 256 }, from, to, totals, n);
  using unused = device.allocate("int32", 1);
  using scannedTotals = device.allocate("int32", 4);
  blocks.launch({ grid: 1, block: 256 }, totals, scannedTotals, unused, 4);
  scan.kernel("add_before(int* out, const int* scanned_totals, int n)")
    .launch({ grid: 4, block: 256 }, to, scannedTotals, n);
  let sum = 0;
  assertEquals(await to.toArray(), values.map((value) => sum += value));
});

Deno.test("scan.cu: what a kernel prints is there when its stream is done", async () => {
  const program = `
    import { openDevice } from "@gridstride/cuda";
    using device = openDevice("host");
    using module = await device.compile(${JSON.stringify(sourceOf("scan.cu"))}, {
      name: "scan.cu",
      defines: { BLOCK: 64 },
    });
    using sums = device.upload(new Int32Array([1, 3, 6]));
    using values = device.upload(new Int32Array([1, 2, 3]));
    using wrong = device.allocate("int32", 1, { fill: 0 });
    const verify = module.kernel("verify(const int* in, const int* out, int n, int* wrong)");
    verify.launch({ grid: 1, block: 1 }, values, sums, 3, wrong);
    verify.launch({ grid: 1, block: 1 }, values, values, 3, wrong);
    console.log("end", ...await wrong.toArray());
  `;
  const { code, stdout, stderr } = await runProgram(program);
  assertEquals([code, stderr], [0, ""]);
  assertEquals(stdout, "3 prefix sums are right (timed)\nout[1] is 2, not 3\nend 1\n");
});

Deno.test("nbody.cu: vectors, a structure by value, bytes cut into tiles", async () => {
  const n = 45, softening = 0.01;
  const bodies = scattered(4 * n).map((value) => value / 500);
  using memory = device.upload(Float32Array.from(bodies));
  using accelerations = device.allocate("float32", 3 * n);
  nbody.kernel(
    "gravity::accelerate<gravity::Law>(const float4* bodies, float3* accelerations, int count, " +
      "gravity::Law attraction)",
  ).launch({ grid: 2, block: 32, sharedMemory: 512 }, memory, accelerations, n, { softening });
  const got = await accelerations.toArray();
  for (let body = 0; body < n; body++) {
    const exact = [0, 0, 0];
    for (let other = 0; other < n; other++) {
      const apart = [0, 1, 2].map((axis) => bodies[4 * other + axis]! - bodies[4 * body + axis]!);
      const square = apart.reduce((sum, distance) => sum + distance * distance, softening);
      apart.forEach((distance, axis) =>
        exact[axis]! += bodies[4 * other + 3]! * distance / square ** 1.5
      );
    }
    exact.forEach((value, axis) => assertAlmostEquals(got[3 * body + axis]!, value, 1e-3));
  }
});

Deno.test("saxpy.cu: a whole program, of which the kernels are taken", async () => {
  const n = 1000;
  using x = device.allocate("float32", n);
  using y = device.allocate("float32", n, { fill: 2 });
  saxpy.kernel("fill(float* values, float value, size_t count)")
    .launch({ grid: 4, block: 256 }, x, 1, n);
  saxpy.kernel("saxpy(int n, float a, const float* x, float* y)")
    .launch({ grid: 2, block: 64 }, n, 3, x, y);
  assertEquals(await y.toArray(), new Float32Array(n).fill(5));
  assertEquals(saxpy.kernelNames, ["saxpy", "fill"]);
});
