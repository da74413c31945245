// mma.h on the host device: products as programs write them against float64, what differs from a
// GPU, and mistakes.

import {
  assertAlmostEquals,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import type { DType } from "../../../mod.ts";
import { CompileError } from "../../../src/launch/compile/compile_error.ts";
import { device, onHostDevice } from "../../support/device.ts";
import { runProgram } from "../../support/subprocess.ts";

const [M, N, K] = [64, 32, 48];

interface Case {
  readonly name: string;
  readonly from: DType;
  readonly to: DType;
  /** Which of A, B and C lie column by column. */
  readonly byColumns: string;
  /** Of a warp. */
  readonly tile: readonly [rows: number, columns: number];
}

const CASES: readonly Case[] = [
  { name: "half_to_float", from: "float16", to: "float32", byColumns: "B", tile: [16, 16] },
  { name: "half_to_half", from: "float16", to: "float16", byColumns: "AC", tile: [32, 8] },
  { name: "half_to_wide", from: "float16", to: "float32", byColumns: "AB", tile: [8, 32] },
  { name: "bfloat16_to_float", from: "bfloat16", to: "float32", byColumns: "C", tile: [16, 16] },
  { name: "int8_to_int", from: "int8", to: "int32", byColumns: "B", tile: [32, 8] },
  { name: "uint8_to_int", from: "uint8", to: "int32", byColumns: "A", tile: [8, 32] },
  { name: "tf32_to_float", from: "float32", to: "float32", byColumns: "", tile: [16, 16] },
  { name: "double_to_double", from: "float64", to: "float64", byColumns: "AC", tile: [8, 8] },
];

/** Integers from -127 to 127, or 0 to 255, and 64ths of them; tf32 rounds the last bits off. */
function valuesFor(dtype: DType, count: number, seed: number): number[] {
  return Array.from({ length: count }, (_, index) => {
    const word = Math.imul(index + seed, 2654435761) >>> 8;
    if (dtype === "uint8") return word % 256;
    const value = word % 255 - 127;
    if (dtype.startsWith("int")) return value;
    return value / 64 + (dtype === "float32" ? Math.sign(value) * (word % 7) * 2 ** -14 : 0);
  });
}

/** An element of A or B as tensor cores take it: of 32 bits, to 10 bits of fraction. */
function taken(dtype: DType, value: number): number {
  if (dtype !== "float32" || value === 0) return value;
  const unit = 2 ** (Math.floor(Math.log2(Math.abs(value))) - 10);
  return Math.sign(value) * Math.floor(Math.abs(value) / unit + 0.5) * unit;
}

function upload(dtype: DType, values: readonly number[]) {
  if (dtype === "float16") return device.upload(new Float16Array(values));
  if (dtype === "bfloat16") {
    const words = new Uint32Array(Float32Array.from(values).buffer);
    return device.upload(Uint16Array.from(words, (word) => word >>> 16), { dtype });
  }
  const arrays = { int8: Int8Array, uint8: Uint8Array, int32: Int32Array, float64: Float64Array };
  const Values = arrays[dtype as keyof typeof arrays] ?? Float32Array;
  return device.upload(Values.from(values));
}

Deno.test("mma.h multiplies matrices of every type, in a program's own kernels", async () => {
  using module = await device.compileFile(new URL("../sources/wmma_gemm.cu", import.meta.url));
  for (const { name, from, to, byColumns, tile: [height, width] } of CASES) {
    const place = (matrix: string, rows: number, columns: number) => {
      const stride = (byColumns.includes(matrix) ? rows : columns) + 16;
      return (row: number, column: number) =>
        byColumns.includes(matrix) ? column * stride + row : row * stride + column;
    };
    const [inA, inB, inC] = [place("A", M, K), place("B", K, N), place("C", M, N)];
    const a = valuesFor(from, 5000, 1), b = valuesFor(from, 5000, 77), c = valuesFor(to, 5000, 5);
    const [alpha, beta] = to === "int32" ? [3, -2] : [0.75, -0.5];
    using aMemory = upload(from, a);
    using bMemory = upload(from, b);
    using cMemory = upload(to, c);
    const grid = [Math.ceil(M / height / 2), Math.ceil(N / width / 2)] as const;
    module.kernel(name)
      .launch({ grid, block: [64, 2] }, aMemory, bMemory, cMemory, M, N, K, alpha, beta);
    const result = Array.from(await cMemory.toArray(), Number);
    const precision = { float16: 2 ** -9, float32: 2 ** -22, float64: 2 ** -50 }[to as "float16"];
    for (let row = 0; row < M; row++) {
      for (let column = 0; column < N; column++) {
        const at = inC(row, column);
        let [sum, size] = [beta * c[at]!, Math.abs(beta * c[at]!)];
        for (let k = 0; k < K; k++) {
          const term = alpha * taken(from, a[inA(row, k)]!) * taken(from, b[inB(k, column)]!);
          sum += term;
          size += Math.abs(term);
        }
        const message = `${name} at ${row}, ${column}`;
        assertAlmostEquals(result[at]!, sum, size * (precision ?? 0), message);
        c[at] = result[at]!;
      }
    }
    assertEquals(result, c, `${name} writes nothing else`);
  }
});

Deno.test(
  "the functions of mma.h wait for the warp, round once, and saturate where asked",
  onHostDevice,
  async () => {
    using module = await device.compile(`
    #include <mma.h>
    using namespace nvcuda;
    __global__ void k(float* out, int* sums, int* places) {
      __shared__ __align__(32) half tile[16][16];
      __shared__ __align__(32) float product[16][16];
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
      wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
      wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
      for (int row = 0; row < 16; row++) if (threadIdx.x < 16) tile[row][threadIdx.x] = 1 + row % 2;
      wmma::load_matrix_sync(a, &tile[0][0], 16);
      wmma::fill_fragment(b, 1.0f);
      wmma::fill_fragment(c, 16777216.0f);
      wmma::mma_sync(c, a, b, c);
      wmma::store_matrix_sync(&product[0][0], c, 16, wmma::mem_row_major);
      out[threadIdx.x] = product[threadIdx.x % 16][15];
      for (int e = 0; e < 3; e++) {
        const float x[] = {1 + 0x1p-11f, -(1 + 0x1p-11f - 0x1p-20f), __int_as_float(0x7fc12345)};
        out[32 + e] = wmma::__float_to_tf32(x[e]);
      }
      for (int saturates = 0; saturates < 2; saturates++) {
        wmma::fragment<wmma::matrix_a, 32, 8, 16, signed char, wmma::row_major> s;
        wmma::fragment<wmma::matrix_b, 32, 8, 16, signed char, wmma::row_major> t;
        wmma::fragment<wmma::accumulator, 32, 8, 16, int> i;
        wmma::fill_fragment(s, -128);
        wmma::fill_fragment(t, 127);
        wmma::fill_fragment(i, -2147483647);
        if (saturates) wmma::mma_sync(i, s, t, i, true);
        else wmma::mma_sync(i, s, t, i);
        sums[saturates] = i.x[7];
      }
      wmma::fragment<wmma::accumulator, 16, 16, 16, int> own;
      for (int e = 0; e < own.num_elements; e++) own.x[e] = threadIdx.x * 8 + e;
      wmma::store_matrix_sync(places, own, 16, wmma::mem_row_major);
    }`);
    using out = device.allocate("float32", 35);
    using sums = device.allocate("int32", 2);
    using places = device.allocate("int32", 256);
    module.kernel("k(float* out, int* sums, int* places)")
      .launch({ grid: 1, block: 32 }, out, sums, places);
    const expected = Array.from({ length: 32 }, (_, row) => 2 ** 24 + 16 * (1 + row % 2));
    assertEquals([...await out.toArray()], [...expected, 1 + 2 ** -10, -1, NaN]);
    assertEquals([...await sums.toArray()], [
      -(2 ** 31) + 1 - 16 * 128 * 127 + 2 ** 32,
      -(2 ** 31),
    ]);
  },
);

Deno.test("compile() refuses fragments and products that CUDA has not", onHostDevice, async () => {
  const fragment = (text: string, name: string) => `wmma::fragment<wmma::${text}> ${name};`;
  const a = fragment("matrix_a, 16, 16, 16, half, wmma::row_major", "a");
  const c = fragment("accumulator, 16, 16, 16, float", "c");
  const product = "wmma::mma_sync(c, a, b, c);";
  const cases = [
    [fragment("matrix_a, 16, 16, 8, half, wmma::row_major", "a"), "CUDA has no fragment"],
    [fragment("matrix_b, 16, 16, 16, half", "b"), "CUDA has no fragment"],
    [fragment("accumulator, 16, 16, 16, __nv_bfloat16", "c"), "CUDA has no fragment"],
    [`${c} wmma::load_matrix_sync(c, x, 16);`, "needs an accumulator's layout"],
    [a + fragment("matrix_b, 32, 8, 16, half, wmma::row_major", "b") + c + product, "no matching"],
    [
      a + fragment("matrix_b, 16, 16, 16, signed char, wmma::row_major", "b") + c + product,
      "no matching",
    ],
    [
      a.replace("half", "__nv_bfloat16") +
      fragment("matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major", "b") +
      c.replace("float", "half") + product,
      "CUDA adds no such products",
    ],
  ] as const;
  const source = cases.map(([body], line) => `__global__ void k${line}(float* x) { ${body} }`);
  const error = await assertRejects(
    () => device.compile(`#include <mma.h>\nusing namespace nvcuda;\n${source.join("\n")}`),
    CompileError,
  );
  for (const [index, [, reason]] of cases.entries()) {
    const { message } = error.diagnostics.find(({ line }) => line === index + 3)!;
    assertStringIncludes(message, reason);
  }
});

Deno.test(
  "functions of mma.h, and tiles, that lanes do not reach together end with a fault",
  onHostDevice,
  async () => {
    const source = `
    #include <cooperative_groups.h>
    #include <mma.h>
    using namespace nvcuda;
    using Sums = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;
    __global__ void few(float* x) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
      wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
      Sums sums;
      if (threadIdx.x < 31) wmma::mma_sync(sums, a, b, sums);
    }
    __global__ void apart(float* x) {
      Sums sums;
      wmma::load_matrix_sync(sums, x + threadIdx.x / 16 * 16, 16, wmma::mem_row_major);
    }
    __global__ void odd(float* x) {
      Sums sums;
      wmma::store_matrix_sync(x, sums, 18, wmma::mem_row_major);
    }
    __global__ void tile(float*) {
      const auto block = cooperative_groups::this_thread_block();
      if (threadIdx.x > 0) cooperative_groups::tiled_partition<64>(block).sync();
    }`;
    const program = `
    import { openDevice } from "@gridstride/cuda";
    for (const [ordinal, name] of ["few", "apart", "odd", "tile"].entries()) {
      const device = openDevice("host:" + ordinal, { kernelTimeout: 300 });
      const module = await device.compile(${JSON.stringify(source)});
      module.kernel(name).launch({ grid: 1, block: 64 }, device.allocate("float32", 1024));
      await device.done().catch(({ detail }) => console.log(detail));
    }`;
    const { code, stdout, stderr } = await runProgram(program, {
      environment: { GRIDSTRIDE_FAKE: "4x64MiB@8.9" },
    });
    assertEquals([code, stderr], [0, ""]);
    assertMatch(
      stdout,
      new RegExp([
        "mma_sync needs all 32 lanes of the warp",
        "load_matrix_sync got different matrices from the lanes of a warp",
        "store_matrix_sync got an address or a stride that is not aligned",
        "longer than its time limit of 0.3 s, and all threads of the block wait",
      ].join(".*\n.*")),
    );
  },
);
