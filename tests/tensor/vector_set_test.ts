// The vector instructions of generated kernels on the host device.

import { TERNARY_CONSTANTS } from "../../src/ternary/product_kernels.ts";
import { ternaryMatmulTemplate } from "../../src/ternary/kernel_templates.ts";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import type { VectorSet } from "../../src/ffi/build/vector_sets.ts";
import { EnvironmentError } from "../../src/ffi/granted_environment.ts";
import { openDevice } from "../../mod.ts";
import { fromTypedArray, matmul, ones, type Tensor } from "../../src/device/tensor.ts";
import { ternaryMatmul, TernaryWeights } from "../../src/device/ternary.ts";
import { templates } from "../../src/tensor/kit/expression/kernel_template.ts";
import { sourceOf } from "../../src/tensor/kit/expression/kernel_text.ts";
import { hostVectors, loopOptions } from "../../src/tensor/kit/expression/vector_set.ts";
import { Grid } from "../support/tensor_forms.ts";

const VARIABLE = "GRIDSTRIDE_HOST_VECTORS";

function withVectors<T>(value: string | undefined, run: () => T): T {
  const before = Deno.env.get(VARIABLE);
  const set = (text: string | undefined) =>
    text === undefined ? Deno.env.delete(VARIABLE) : Deno.env.set(VARIABLE, text);
  set(value);
  try {
    return run();
  } finally {
    set(before);
  }
}

Deno.test("hostVectors() follows GRIDSTRIDE_HOST_VECTORS downwards, and refuses sets that the processor lacks", () => {
  const widest = withVectors(undefined, hostVectors);
  assertEquals(withVectors(widest, hostVectors), widest);
  assertEquals(withVectors("portable", hostVectors), "portable");
  const foreign = Deno.build.arch === "x86_64" ? "neon" : "avx2";
  const error = assertThrows(() => withVectors(foreign, hostVectors), EnvironmentError);
  assert(error.message.includes(`the processor has no ${foreign}`), error.message);
  assert(error.allowed.startsWith(widest) && error.allowed.endsWith("portable"), error.allowed);
});

Deno.test("loopOptions() compile for the vector set, and refuse those that the processor lacks", async () => {
  using device = openDevice("host");
  const lanes = async (options: readonly string[]) => {
    using module = await device.compile(
      `#ifndef __AVX512VNNI__
       #define __AVX512VNNI__ 0
       #endif
       extern "C" __global__ void vnni(int* out) { *out = __AVX512VNNI__; }`,
      { options: [...options] },
    );
    using out = device.allocate("int32", 1);
    module.kernel("vnni").launch({ grid: 1, block: 1 }, out);
    return (await out.toArray())[0];
  };
  const widest = withVectors(undefined, hostVectors);
  assertEquals(await lanes(loopOptions()), Number(widest === "avx512-vnni"));
  assertEquals(await lanes(withVectors("portable", loopOptions)), 0);
  await assertRejects(() => lanes(["--host-vectors=neon512"]), TypeError, "as in --host-vectors=");
});

/** The vectors of this processor whose kernels differ, the widest first. */
function sets(): VectorSet[] {
  const widest = withVectors(undefined, hostVectors);
  const family: readonly VectorSet[] = ["avx512-vnni", "avx512", "avx2", "portable"];
  return [widest, ...family.slice(family.indexOf(widest) + 1).filter((set) => set !== "avx512")];
}

Deno.test("matmul() and ternaryMatmul() of int8 are exact with all vectors, layouts and over tiles", async () => {
  const own = sets();
  const results = await Promise.all(own.map(async (set) => {
    // A device keeps its kernels.
    using device = openDevice("host");
    const matrix = (rows: number, columns: number) =>
      fromTypedArray(
        Int8Array.from({ length: rows * columns }, (_, at) => at * at * 37 >> 3),
        [rows, columns],
        { device },
      );
    const running: Promise<ArrayLike<number>>[][] = [];
    for (const [m, n, k] of [[13, 19, 67], [341, 270, 1031]] as const) {
      const ternary = matrix(n, k).remainder(3).subtract(1).astype("int8");
      const weights = TernaryWeights.from({ codes: ternary, scale: ones([], { device }) });
      const product = (x: Tensor<"int8">, y: Tensor<"int8">, variant: "int8" | "packed") =>
        withVectors(set, () => matmul(x, y, { dtype: "int32", variant })).toArray();
      for (const x of [matrix(m, k), matrix(k, m).transpose()]) {
        for (const y of [matrix(k, n), matrix(n, k).transpose()]) {
          const expected = set === own[0] ? [product(x, y, "packed")] : [];
          running.push([product(x, y, "int8"), ...expected]);
        }
        const variant = (set === "avx512" ? "avx2" : set) as "portable";
        const expected = set === own[0] ? [product(x, ternary.transpose(), "packed")] : [];
        const dots = ternaryMatmul(x, weights, { dtype: "int32", variant });
        running.push([dots.toArray(), ...expected]);
      }
    }
    return await Promise.all(running.map((it) => Promise.all(it)));
  }));
  for (const [at, set] of own.entries()) {
    results[at]!.forEach(([actual], i) => assertEquals(actual, results[0]![i]![1], set));
  }
});

Deno.test("matmul() has the same bits with all vectors, since they add up in one order", async () => {
  const results = await Promise.all(
    sets().map(async (set) => {
      using device = openDevice("host");
      const grids = [[31, 300], [300, 70]].map((shape) => Grid.mixed(shape, 1009));
      const [x, y] = grids.map((grid) => grid.map((it) => it / 300 - 1).tensor("float32", device));
      return [...await withVectors(set, () => matmul(x!, y!)).toArray()];
    }),
  );
  for (const result of results) assertEquals(result, results[0]);
});

Deno.test("power_of_2() of vectors.cuh is within its bound with all vectors, and exact for integers", async () => {
  const inputs = Float32Array.from({ length: 4096 }, (_, i) => i < 160 ? i - 140 : (i - 4000) / 31);
  for (const set of sets()) {
    using device = openDevice("host");
    const source = sourceOf({
      name: "powers",
      template: templates.map,
      vectors: set,
      dtypes: new Set<never>(),
      parameters: ["const float* x", "float* out", "int size"],
      definitions: "GS_CONTRACT_REST",
      body: `for (int i = 0; i < size; ++i) {
               const auto lanes = vectors::power_of_2(vectors::FloatLanes{} + x[i]);
               out[i] = lanes[sizeof lanes / sizeof(float) - 1];
             }`,
    }, "block");
    const options = [...withVectors(set, loopOptions)];
    using module = await device.compile(source, { options });
    using x = device.upload(inputs);
    using out = device.allocate("float32", inputs.length);
    module.kernel("powers").launch({ grid: 1, block: 1 }, x, out, inputs.length);
    for (const [i, power] of (await out.toArray()).entries()) {
      const exact = 2 ** inputs[i]!;
      const unit = 2 ** (Math.floor(inputs[i]!) - 23);
      // Below the normal numbers a processor may scale, or the result is 0.
      const bound = inputs[i]! < -126 ? exact : Number.isInteger(inputs[i]!) ? 0 : 2.2 * unit;
      const what = `2^${inputs[i]} is ${power}, not ${exact}, with ${set}`;
      assert(Math.abs(power - exact) <= bound, what);
    }
  }
});

Deno.test({
  name: "clang++ compiles kernels for the widest vectors, as g++ does",
  ignore: !hasClang() || withVectors(undefined, hostVectors) !== "avx512-vnni",
  async fn() {
    using device = openDevice("host");
    const source = sourceOf({
      name: "dots",
      template: ternaryMatmulTemplate,
      constants: TERNARY_CONSTANTS,
      dtypes: new Set<never>(),
      parameters: ["const signed char* q", "const unsigned char* codes", "int* out"],
      // Panels of twelve rows are those of VNNI.
      body: `using namespace ternary_matmul;
             ternary_tile<8, 4>(TernaryProduct{q, codes, 1, 1, 128}, 0, 1, 0, 1,
                          [=](i64, i64, int dot) { out[0] = dot, out[1] = panel_rows; });
             #if !defined(__clang__)
             out[1] = 0;
             #endif`,
    }, "block");
    const before = Deno.env.get("CXX");
    Deno.env.set("CXX", "clang++");
    using module = await device.compile(source, { options: [...loopOptions()] }).finally(() =>
      before === undefined ? Deno.env.delete("CXX") : Deno.env.set("CXX", before)
    );
    using q = device.upload(Int8Array.from({ length: 128 }, (_, index) => index - 64));
    // The weights 1 and, in the last of four groups, -1.
    using codes = device.upload(new Uint8Array(32).fill(0b00101010));
    using out = device.allocate("int32", 2);
    module.kernel("dots").launch({ grid: 1, block: 1 }, q, codes, out);
    const rest = Array.from({ length: 128 }, (_, at) => (at % 64 < 48 ? 1 : -1) * (at - 64));
    assertEquals([...await out.toArray()], [rest.reduce((sum, value) => sum + value), 12]);
  },
});

function hasClang(): boolean {
  try {
    return new Deno.Command("clang++", { args: ["--version"] }).outputSync().success;
  } catch {
    return false;
  }
}
