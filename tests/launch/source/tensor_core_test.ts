// mma.sync, ldmatrix, stmatrix and cp.async on the host device, against products in float64 and integers.

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { Kernel } from "../../../mod.ts";
import { CompileError } from "../../../src/launch/compile/compile_error.ts";
import { device, onHostDevice } from "../../support/device.ts";

interface Case {
  readonly type: string;
  readonly rows: number;
  readonly depth: number;
  readonly result?: string;
  readonly other?: string;
  readonly options?: string;
}

const CASES: readonly Case[] = [
  ...["f16", "bf16"].flatMap((type) =>
    [8, 16].map((depth) => ({ type, rows: 16, depth, result: "f32" }))
  ),
  { type: "f16", rows: 16, depth: 16, result: "f16" },
  { type: "tf32", rows: 16, depth: 4 },
  { type: "tf32", rows: 16, depth: 8 },
  { type: "e4m3", rows: 16, depth: 32 },
  { type: "e5m2", rows: 16, depth: 32, other: "e4m3" },
  { type: "s8", rows: 8, depth: 16, result: "s32" },
  { type: "s8", rows: 16, depth: 16, result: "s32", other: "u8" },
  { type: "s8", rows: 16, depth: 32, result: "s32", options: ".satfinite" },
  { type: "f64", rows: 8, depth: 4, result: "f64" },
  { type: "f64", rows: 16, depth: 16, result: "f64" },
];

/** The bits of a value that a type holds exactly. */
function encode(type: string, value: number): bigint {
  const view = new DataView(new ArrayBuffer(8));
  if (type === "f64") view.setFloat64(0, value);
  if (type === "f64") return view.getBigUint64(0);
  if (type === "s8" || type === "u8") return BigInt.asUintN(8, BigInt(value));
  view.setFloat32(0, value);
  const bits = view.getUint32(0);
  if (type === "tf32") return BigInt(bits | 0x1fff);
  if (type === "bf16") return BigInt(bits >>> 16);
  const [exponentBits, fractionBits] = { f16: [5, 10], e4m3: [4, 3], e5m2: [5, 2] }[type]!;
  const bias = 2 ** (exponentBits! - 1) - 1;
  const sign = (bits >>> 31) << (exponentBits! + fractionBits!);
  if (value === 0) return BigInt(sign);
  const exponent = (bits >>> 23 & 255) - 127 + bias;
  return BigInt(sign | exponent << fractionBits! | (bits & 0x7fffff) >>> 23 - fractionBits!);
}

const WIDTHS: Record<string, number> = { f16: 16, bf16: 16, tf32: 32, f64: 64 };

function bytesOf(type: string, values: readonly number[]): Uint8Array<ArrayBuffer> {
  const bytes = (WIDTHS[type] ?? 8) / 8;
  return Uint8Array.from(
    values.flatMap((value) => {
      const bits = encode(type, value);
      return Array.from({ length: bytes }, (_, index) => Number(bits >> BigInt(8 * index) & 255n));
    }),
  );
}

/** Values with three bits of fraction, and integers for integers. */
function valuesFor(type: string, count: number): number[] {
  const scale = type === "s8" ? 11 : type === "u8" ? 17 : 1 / 4;
  return Array.from({ length: count }, (_, index) => {
    const value = (index * 37 + (index >> 3) * 11) % 15 - 7;
    return (type === "u8" ? value + 7 : value) * scale;
  });
}

/** One warp: a word of A and B has elements next to each other (PTX ISA, matrix fragments). */
function kernelOf(
  { type, rows, depth, other = type, result = "f32", options = "" }: Case,
  name: string,
) {
  const wide = type === "f64";
  const packed = wide ? 1 : 32 / (WIDTHS[type] ?? 8);
  const [word, letter] = wide ? ["double", "d"] : ["unsigned", "r"];
  const height = rows / 8;
  const chunks = depth / packed / 4;
  const results = result === "f16" ? height : 2 * height;
  const to = {
    f16: ["unsigned", "r"],
    s32: ["int", "r"],
    f32: ["float", "f"],
    f64: ["double", "d"],
  };
  const [resultType, resultLetter] = to[result as keyof typeof to]!;
  const counts = [results, chunks * height, chunks, results];
  let next = 0;
  const lists = counts.map((count) => `{${Array.from({ length: count }, () => `%${next++}`)}}`);
  const inputs = (name: string, count: number, kind: string) =>
    Array.from({ length: count }, (_, index) => `"${kind}"(${name}[${index}])`);
  const shape = `m${rows}n8k${depth}.row.col${options}`;
  return `__global__ void ${name}(const unsigned char* A_, const unsigned char* B_, unsigned char* C_) {
    const auto A = reinterpret_cast<const ${word}*>(A_), B = reinterpret_cast<const ${word}*>(B_);
    const auto C = reinterpret_cast<${resultType}*>(C_);
    const int g = threadIdx.x / 4, t = threadIdx.x % 4, words = ${depth / packed};
    ${word} a[${chunks * height}], b[${chunks}];
    ${resultType} c[${results}], d[${results}];
    for (int i = 0; i < ${chunks * height}; i++)
      a[i] = A[(g + 8 * (i % ${height})) * words + i / ${height} * 4 + t];
    for (int i = 0; i < ${chunks}; i++) b[i] = B[g * words + i * 4 + t];
    for (int i = 0; i < ${results}; i++)
      c[i] = C[${result === "f16" ? "(g + 8 * i) * 4 + t" : "(g + i / 2 * 8) * 8 + 2 * t + i % 2"}];
    asm volatile("mma.sync.aligned.${shape}.${result}.${type}.${other}.${result} ${
    lists.join(", ")
  };"
      : ${inputs("d", results, `=${resultLetter}`)}
      : ${
    [
      inputs("a", counts[1]!, letter),
      inputs("b", chunks, letter),
      inputs("c", results, resultLetter!),
    ].flat()
  });
    for (int i = 0; i < ${results}; i++)
      C[${result === "f16" ? "(g + 8 * i) * 4 + t" : "(g + i / 2 * 8) * 8 + 2 * t + i % 2"}] = d[i];
  }`;
}

/** A GPU must have the type: e4m3 needs compute capability 8.9, and large f64 matrices 9.0. */
function isAvailable({ type, depth }: Case): boolean {
  const needed = type === "f64" && depth > 4 ? 9 : /^e\d/.test(type) ? 8.9 : 8;
  return device.info.kind === "host" || Number(device.info.computeCapability) >= needed;
}

Deno.test("mma.sync multiplies matrices of every type and shape", async () => {
  const cases = CASES.filter(isAvailable);
  using module = await device.compile(
    cases.map((one, index) => kernelOf(one, `k${index}`)).join("\n"),
  );
  for (const [index, one] of cases.entries()) {
    const { type, rows, depth, other = type, result = "f32", options } = one;
    const A = valuesFor(type, rows * depth);
    const B = valuesFor(other, 8 * depth);
    // The first sum leaves the range of integers, where only `.satfinite` stays.
    const C = Array.from(
      { length: rows * 8 },
      (_, at) =>
        options !== undefined
          ? (2 ** 31 - 1) * (at % 2 * 2 - 1)
          : result === "s32"
          ? at - 9
          : at / 4,
    );
    const expected = C.map((initial, at) => {
      const [row, column] = [Math.floor(at / 8), at % 8];
      let sum = initial;
      for (let k = 0; k < depth; k++) sum += A[row * depth + k]! * B[column * depth + k]!;
      return result === "s32" ? Math.max(-(2 ** 31), Math.min(2 ** 31 - 1, sum)) : sum;
    });
    using a = device.upload(bytesOf(type, A));
    using b = device.upload(bytesOf(other, B));
    using c = device.upload(
      result === "f64"
        ? new Uint8Array(Float64Array.from(C).buffer)
        : result === "s32"
        ? new Uint8Array(Int32Array.from(C).buffer)
        : result === "f16"
        ? bytesOf("f16", C)
        : new Uint8Array(Float32Array.from(C).buffer),
    );
    const kernel = module.kernel(
      `k${index}(const unsigned char* A_, const unsigned char* B_, unsigned char* C_)`,
    );
    kernel.launch({ grid: 1, block: 32 }, a, b, c);
    const bytes = (await c.toArray()).buffer;
    const message = JSON.stringify(one);
    if (result === "f16") {
      assertEquals(new Uint8Array(bytes), bytesOf("f16", expected), message);
      continue;
    }
    const Kind = { f64: Float64Array, s32: Int32Array, f32: Float32Array }[result]!;
    assertEquals([...new Kind(bytes)], expected, message);
  }
});

Deno.test(
  "mma.sync rounds a sum once from float64, of doubles after each product, and cp.async is done at once",
  onHostDevice,
  async () => {
    const float = { type: "f16", rows: 16, depth: 8, result: "f32" };
    const double = { type: "f64", rows: 8, depth: 4, result: "f64" };
    using module = await device.compile(`${kernelOf(float, "f")}\n${kernelOf(double, "d")}
    __global__ void copy(const int* from, int* to) {
      __shared__ int tile[32];
      const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(tile + threadIdx.x));
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(at), "l"(from + threadIdx.x));
      to[threadIdx.x] = tile[threadIdx.x];
    }`);
    const ones = (type: string, count: number) => bytesOf(type, Array(count).fill(1));
    using a = device.upload(ones("f16", 128));
    using c = device.upload(new Uint8Array(new Float32Array(128).fill(2 ** 24).buffer));
    module.kernel("f").launch({ grid: 1, block: 32 }, a, a, c);
    assertEquals([...new Float32Array((await c.toArray()).buffer)], Array(128).fill(2 ** 24 + 8));
    using x = device.upload(ones("f64", 32));
    using z = device.upload(new Uint8Array(new Float64Array(64).fill(2 ** 53).buffer));
    module.kernel("d").launch({ grid: 1, block: 32 }, x, x, z);
    assertEquals([...new Float64Array((await z.toArray()).buffer)], Array(64).fill(2 ** 53));
    using from = device.upload(Int32Array.from({ length: 32 }, (_, index) => index + 1));
    using to = device.allocate("int32", 32, { fill: 0 });
    module.kernel("copy(const int* from, int* to)").launch({ grid: 1, block: 32 }, from, to);
    assertEquals(await to.toArray(), await from.toArray());
  },
);

Deno.test("cp.async and ldmatrix move tiles through shared memory, whose addresses have 32 bits", async () => {
  using module = await device.compile(`
    __global__ void k(const unsigned short* A, const unsigned short* B, float* C, unsigned* zeros) {
      __shared__ __align__(16) unsigned short a[16][24];
      extern __shared__ __align__(16) unsigned short b[];
      const int l = threadIdx.x;
      const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&a[l / 2][l % 2 * 8]));
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(at), "l"(A + l * 8));
      unsigned long long tile;
      asm("cvta.to.shared.u64 %0, %1;" : "=l"(tile) : "l"(b));
      const unsigned from = static_cast<unsigned>(tile);
      asm volatile("cp.async.ca.shared::cta.global.L2::128B [%0], [%1], %2, %3;"
                   :: "r"(from + l * 8), "l"(B + l * 4), "n"(8), "r"(8));
      asm volatile("st.shared.b32 [%0+256], %1;" :: "r"(from + l * 4), "r"(77));
      asm volatile("cp.async.ca.shared.global [%0+256], [%1], 4, %2;" :: "r"(from + l * 4), "l"(A), "r"(l % 2 * 4));
      asm volatile("cp.async.commit_group;\\n cp.async.wait_group 0;" ::: "memory");
      __syncthreads();
      asm volatile("ld.shared.u32 %0, [%1+256];" : "=r"(zeros[l]) : "r"(from + l * 4));
      unsigned x[4], y[2];
      const unsigned row = static_cast<unsigned>(__cvta_generic_to_shared(&a[l % 16][l / 16 * 8]));
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(row));
      asm volatile("ldmatrix.sync.aligned.x2.trans.m8n8.shared.b16 {%0, %1}, [%2];"
                   : "=r"(y[0]), "=r"(y[1]) : "r"(from + l % 16 * 16));
      float* c = C + l / 4 * 8 + l % 4 * 2;
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                   "{%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
                   : "=f"(c[0]), "=f"(c[1]), "=f"(c[64]), "=f"(c[65])
                   : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "f"(0.5f));
    }`);
  // Every magnitude of a half, the smallest included.
  const halves = (seed: number, count: number) =>
    Uint16Array.from({ length: count }, (_, i) => (i + seed) * 40503 % 65536 & ~0x4000);
  const [A, B] = [halves(1, 256), halves(77, 128)];
  using a = device.upload(A);
  using b = device.upload(B);
  using c = device.allocate("float32", 128);
  using zeros = device.allocate("uint32", 32);
  module.kernel("k(const uint16_t* A, const uint16_t* B, float* C, unsigned* zeros)")
    .launch({ grid: 1, block: 32, sharedMemory: 512 }, a, b, c, zeros);
  const [x, y] = [A, B].map((words) => [...words].map(valueOfHalf));
  // The host device adds in float64 and rounds once. A tensor core aligns the addends to the largest
  // one and cuts each some two bits below its last place, so the bound grows with their number.
  const bound = 2 ** -23 * (device.info.kind === "host" ? 1 : 17);
  for (const [at, value] of (await c.toArray()).entries()) {
    let [sum, size] = [0.5, 0.5];
    for (let k = 0; k < 16; k++) {
      const term = x![(at >> 3) * 16 + k]! * y![k * 8 + at % 8]!;
      sum += term;
      size += Math.abs(term);
    }
    assert(Math.abs(value - sum) <= size * bound, `${at}: ${value} is not ${sum}`);
  }
  const word = A[0]! + A[1]! * 65536;
  assertEquals([...await zeros.toArray()], Array.from({ length: 32 }, (_, l) => l % 2 * word));
});

// GPUs have it since compute capability 9.0.
const hasStmatrix = device.info.kind === "host" || Number(device.info.computeCapability) >= 9;

Deno.test({
  name: "stmatrix moves registers to the rows that ldmatrix reads",
  ignore: !hasStmatrix,
}, async () => {
  const store = (count: number, trans: string, offset: number) => {
    const words = Array.from({ length: count }, (_, i) => `"r"(x[${i}])`).join(", ");
    const list = Array.from({ length: count }, (_, i) => `%${i + 1}`).join(", ");
    return `asm volatile("stmatrix.sync.aligned.x${count}${trans}.m8n8.shared.b16 [%0 + ${offset}], ` +
      `{${list}};" :: "r"(row), ${words} : "memory");`;
  };
  using module = await device.compile(`
    __global__ void store(unsigned* out) {
      __shared__ __align__(16) unsigned tile[384];
      const int l = threadIdx.x;
      const unsigned row = static_cast<unsigned>(__cvta_generic_to_shared(&tile[l * 4]));
      unsigned x[4];
      for (int i = 0; i < 4; i++) x[i] = 1000 * i + 2 * l | (1000 * i + 2 * l + 1) << 16;
      ${store(4, "", 0)}
      ${store(2, ".trans", 512)}
      ${store(1, "", 1024)}
      __syncwarp();
      for (int i = l; i < 384; i += 32) out[i] = tile[i];
    }` as string);
  using out = device.allocate("uint32", 384);
  (module.kernel("store(unsigned* out)") as unknown as Kernel)
    .launch({ grid: 1, block: 32 }, out);
  const elements = new Uint16Array((await out.toArray()).buffer);
  // Element (row, column) of a matrix lies in lane 4 * row + column / 2, which has two of each.
  const at = (matrix: number, row: number, column: number) => 1000 * matrix + 8 * row + column;
  for (let index = 0; index < 64; index++) {
    const [row, column] = [index >> 3, index & 7];
    for (const matrix of [0, 1, 2, 3]) {
      assertEquals(elements[matrix * 64 + index], at(matrix, row, column));
    }
    for (const matrix of [0, 1]) {
      assertEquals(elements[256 + matrix * 64 + index], at(matrix, column, row));
    }
    assertEquals(elements[512 + index], at(0, row, column));
  }
});

function valueOfHalf(bits: number): number {
  const [exponent, fraction] = [bits >> 10 & 31, bits & 1023];
  const sign = bits >> 15 === 1 ? -1 : 1;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25));
}

Deno.test({
  name: "compile() refuses mma.sync of other shapes and registers by name",
  ...onHostDevice,
}, async () => {
  const product = (name: string, a: string) =>
    `asm("mma.sync.aligned.${name} {%0, %0, %0, %0}, {${a}}, {%1}, {%0, %0, %0, %0};" : "+f"(x[0]) : "r"(0));`;
  const cases = [
    [
      product("m16n8k32.row.col.f32.f16.f16.f32", "%1"),
      "PTX instruction mma.sync.aligned.m16n8k32",
    ],
    [product("m16n8k8.row.col.f32.f16.bf16.f32", "%1"), "PTX instruction mma.sync.aligned.m16n8k8"],
    [
      product("m16n8k8.row.col.f32.f16.f16.f32", "%1, %1, %1"),
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 with 3 registers in operand 1, not 2",
    ],
    [
      'asm("cp.async.cg.shared.global [%0], [%0], 8;" :: "l"(x));',
      "cp.async.cg.shared.global of 8 bytes",
    ],
  ] as const;
  const source = `__global__ void k(float* x) {\n${cases.map(([one]) => one).join("\n")}\n}`;
  const error = await assertRejects(() => device.compile(source), CompileError);
  for (const [, reason] of cases) {
    assertStringIncludes(error.message, `the host device has no ${reason}`);
  }
});
