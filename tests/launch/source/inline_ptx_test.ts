// Inline PTX against the definitions of the PTX ISA in big integers.

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { CompileError } from "../../../src/launch/compile/compile_error.ts";
import { rewriteInlinePtx } from "../../../src/launch/source/inline_ptx.ts";
import { device, onHostDevice } from "../../support/device.ts";

type Reference = (a: bigint, b: bigint, c: bigint) => bigint;

const u32 = (value: bigint) => BigInt.asUintN(32, value);
const s32 = (value: bigint) => BigInt.asIntN(32, value);
const bitsOf = (value: bigint) => [...u32(value).toString(2).padStart(32, "0")].map(Number);
const numberOf = (bits: readonly number[]) => BigInt(`0b${bits.join("")}`);
const most = (one: bigint, other: bigint) => one > other ? one : other;
const shifted = (value: bigint, count: bigint) => count > 31n ? 0n : u32(value << count);
const bytesOf = (a: bigint, b: bigint) =>
  Array.from({ length: 8 }, (_, index) => (b << 32n | a) >> BigInt(8 * index) & 255n);

/** Instructions on the words a, b and c, and their results by definition. */
const WORDS: readonly (readonly [string, Reference])[] = [
  ["add.u32 %0, %1, %2;", (a, b) => a + b],
  ["sub.s32 %0, %1, %2;", (a, b) => a - b],
  ["mul.lo.s32 %0, %1, %2;", (a, b) => a * b],
  ["mul.hi.u32 %0, %1, %2;", (a, b) => a * b >> 32n],
  ["mul.hi.s32 %0, %1, %2;", (a, b) => s32(a) * s32(b) >> 32n],
  ["mad.lo.u32 %0, %1, %2, %3;", (a, b, c) => a * b + c],
  ["mad.hi.u32 %0, %1, %2, %3;", (a, b, c) => (a * b >> 32n) + c],
  ["max.s32 %0, %1, %2;", (a, b) => most(s32(a), s32(b))],
  ["min.u32 %0, %1, 0x80000000;", (a) => a < 0x80000000n ? a : 0x80000000n],
  ["abs.s32 %0, %1;", (a) => s32(a) < 0n ? -s32(a) : s32(a)],
  ["sad.u32 %0, %1, %2, %3;", (a, b, c) => (a < b ? b - a : a - b) + c],
  ["not.b32 %0, %1;", (a) => ~a],
  ["shl.b32 %0, %1, %3;", (a, _b, c) => shifted(a, c)],
  ["shr.u32 %0, %1, %3;", (a, _b, c) => a >> c],
  ["shr.s32 %0, %1, %3;", (a, _b, c) => s32(a) >> c],
  ["shf.l.wrap.b32 %0, %1, %2, %3;", (a, b, c) => (b << 32n | a) << (c & 31n) >> 32n],
  ["shf.r.clamp.b32 %0, %1, %2, %3;", (a, b, c) => (b << 32n | a) >> (c > 32n ? 32n : c)],
  ["popc.b32 %0, %1;", (a) => BigInt(bitsOf(a).filter(Boolean).length)],
  ["clz.b32 %0, %1;", (a) => BigInt(bitsOf(a).concat(1).indexOf(1))],
  ["brev.b32 %0, %1;", (a) => numberOf(bitsOf(a).reverse())],
  ["bfind.u32 %0, %1;", (a) => 31n - BigInt(bitsOf(a).concat(1).indexOf(1))],
  ["bfind.s32 %0, %1;", (a) => 31n - BigInt([...bitsOf(s32(a) < 0n ? ~a : a), 1].indexOf(1))],
  ["bfe.u32 %0, %1, %3, 9;", (a, _b, c) => a >> c & 511n],
  ["bfe.s32 %0, %1, 5, %3;", (a, _b, c) => BigInt.asIntN(Number(c > 27n ? 27n : c), s32(a) >> 5n)],
  ["bfi.b32 %0, %1, %2, %3, 7;", (a, b, c) => b & ~shifted(127n, c) | shifted(a & 127n, c)],
  [
    "prmt.b32 %0, %1, %2, 0x7b20;",
    (a, b) => {
      const bytes = bytesOf(a, b);
      const sign = bytes[3]! > 127n ? 255n : 0n;
      return bytes[0]! | bytes[2]! << 8n | sign << 16n | bytes[7]! << 24n;
    },
  ],
  ["lop3.b32 %0, %1, %2, %3, 0xe8;", (a, b, c) => a & b | a & c | b & c],
  ["lop3.b32 %0, %1, %2, %3, 0x96;", (a, b, c) => a ^ b ^ c],
  ["selp.b32 %0, %1, %2, 1;", (a) => a],
  [
    "{ .reg .pred p; setp.lt.s32 p, %1, %2; selp.u32 %0, %1, %2, p; }",
    (a, b) => s32(a) < s32(b) ? a : b,
  ],
  [
    "{.reg .pred %%p<2>; setp.hi.u32 %%p1, %1, %2;\\n mov.u32 %0, %3;\\n @!%%p1 mov.u32 %0, 7;}",
    (a, b, c) => a > b ? c : 7n,
  ],
  ["add.cc.u32 %0, %1, %2; addc.u32 %0, %3, 0;", (a, b, c) => c + (a + b >> 32n)],
  ["sub.cc.u32 %0, %1, %2; subc.u32 %0, %3, 0;", (a, b, c) => c - (a < b ? 1n : 0n)],
  [
    "{ .reg .u64 t; mov.b64 t, {%1, %2}; shr.u64 t, t, 12; cvt.u32.u64 %0, t; }",
    (a, b) => (b << 32n | a) >> 12n,
  ],
  ["{ .reg .u64 t; mul.wide.u32 t, %1, %2; mov.b64 {_, %0}, t; }", (a, b) => a * b >> 32n],
  [
    "{ .reg .s64 t; mul.wide.s32 t, %1, %2; shr.s64 t, t, 3; cvt.u32.s64 %0, t; }",
    (a, b) => s32(a) * s32(b) >> 3n,
  ],
  ["cvt.s32.s8 %0, %1; // the low byte", (a) => BigInt.asIntN(8, a)],
  [
    "vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;",
    (a, b, c) =>
      bytesOf(a, b).slice(0, 4).reduce((sum, byte, i) => {
        const other = bytesOf(a, b)[i + 4]!;
        return sum + (byte > other ? byte - other : other - byte);
      }, c),
  ],
];

const VALUES = [0n, 1n, 31n, 255n, 0x7fffffffn, 0x80000000n, 0xffffffffn, 0x12345678n, 0xdeadbeefn];
const COUNTS = [0n, 1n, 5n, 20n, 31n];

Deno.test("inline PTX on words gives the results of the PTX ISA", async () => {
  const cases = VALUES.flatMap((a) => VALUES.flatMap((b) => COUNTS.map((c) => [a, b, c] as const)));
  const statements = WORDS.map(([template], index) =>
    `asm volatile("${template}" : "=r"(out[${index} * n + i]) : "r"(a[i]), "r"(b[i]), "r"(c[i]));`
  );
  using module = await device.compile(`__global__ void k(const unsigned* a, const unsigned* b,
      const unsigned* c, unsigned* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    ${statements.join("\n")}
  }`);
  const column = (at: 0 | 1 | 2) => Uint32Array.from(cases, (one) => Number(one[at]));
  using a = device.upload(column(0));
  using b = device.upload(column(1));
  using c = device.upload(column(2));
  using out = device.allocate("uint32", WORDS.length * cases.length);
  const kernel = module.kernel(
    "k(const unsigned* a, const unsigned* b, const unsigned* c, unsigned* out, int n)",
  );
  kernel.launch({ grid: Math.ceil(cases.length / 64), block: 64 }, a, b, c, out, cases.length);
  const results = await out.toArray();
  for (const [row, [template, reference]] of WORDS.entries()) {
    for (const [index, one] of cases.entries()) {
      const expected = Number(u32(reference(...one)));
      assertEquals(results[row * cases.length + index], expected, `${template} of ${one}`);
    }
  }
});

/** Other instructions: the result's constraint, the template, its inputs, and the result. */
const OTHERS: readonly (readonly [string, string, string, number])[] = [
  ["l", "mov.u64 %0, %1;", '"l"(9ull)', 9],
  ["l", "cvta.to.global.u64 %0, %1;", '"l"(9ull)', 9],
  ["l", "sub.cc.u64 %0, %1, %2; subc.cc.u64 %0, %2, 0;", '"l"(3ull), "l"(9ull)', 8],
  ["l", "add.cc.u64 %0, %1, %1; addc.cc.u64 %0, %2, 0;", '"l"(~0ull), "l"(5ull)', 6],
  ["l", "mul.hi.u64 %0, %1, %2;", '"l"(1ull << 62), "l"(20ull)', 5],
  ["l", "mul.hi.s64 %0, %1, %2; neg.s64 %0, %0;", '"l"(-1ll << 62), "l"(20ll)', 5],
  ["l", "mad.hi.u64 %0, %1, %2, 7;", '"l"(1ull << 62), "l"(20ull)', 12],
  ["l", "mad.wide.u32 %0, %1, %1, %2;", '"r"(1u << 20), "l"(5ull)', 2 ** 40 + 5],
  ["l", "mad.wide.s32 %0, %1, %1, %2;", '"r"(-3), "l"(5ull)', 14],
  ["r", "mad.hi.s32 %0, %1, %2, 9;", '"r"(1 << 30), "r"(8)', 11],
  ["r", "{.reg .u16 h; cvt.u16.u32 h, %1; mul.wide.u16 %0, h, h;}", '"r"(65535)', 65535 ** 2],
  ["r", "{.reg .s16 h; cvt.s16.s32 h, %1; mul.wide.s16 %0, h, h;}", '"r"(-300)', 90000],
  ["r", "div.s32 %0, %1, 3; neg.s32 %0, %0;", '"r"(-20)', 6],
  ["r", "rem.u32 %0, %1, 7;", '"r"(20)', 6],
  // Without a comma, which nvcc does not miss.
  ["r", "sub.u32 %0, %1, %2;", '"r"(20) "r"(14)', 6],
  ["r", "sad.s32 %0, %1, 5, 1;", '"r"(-20)', 26],
  ["r", "dp4a.u32.u32 %0, %1, %1, 1;", '"r"(0x01020304)', 31],
  ["r", "dp4a.s32.s32 %0, %1, %2, 30;", '"r"(0xff000001), "r"(0x0a000002)', 22],
  [
    "r",
    "{.reg .pred p, q; setp.ne.s32 p, %1, 4; not.pred q, p; and.pred p, p, q; @!p mov.u32 %0, 8;}",
    '"r"(4)',
    8,
  ],
  ["r", "or.b32 %0, %1, 6; xor.b32 %0, %0, 1; and.b32 %0, %0, 14;", '"r"(9)', 14],
  ["r", "shf.l.clamp.b32 %0, %1, %2, 40;", '"r"(77), "r"(2)', 77],
  ["r", "shf.r.wrap.b32 %0, %1, %2, 33;", '"r"(6), "r"(0)', 3],
  ["r", "popc.b64 %0, %1;", '"l"(~0ull)', 64],
  ["r", "clz.b64 %0, %1;", '"l"(1ull)', 63],
  ["l", "brev.b64 %0, %1;", '"l"(3ull << 62)', 3],
  ["r", "bfind.u64 %0, %1;", '"l"(1ull << 40)', 40],
  ["l", "bfe.u64 %0, %1, 40, 8;", '"l"(0x5aull << 40)', 0x5a],
  ["l", "bfi.b64 %0, %1, %2, 4, 8;", '"l"(~0ull), "l"(5ull)', 0xff5],
  ["f", "sub.rm.ftz.f32 %0, %1, 1.0;", '"f"(3.0f)', 2],
  ["f", "mul.f32 %0, %1, %1; add.f32 %0, %0, %1; sub.f32 %0, %0, 0.5;", '"f"(3.0f)', 11.5],
  ["f", "div.full.f32 %0, %1, 4.0; neg.f32 %0, %0; abs.ftz.f32 %0, %0;", '"f"(3.0f)', 0.75],
  ["f", "rcp.approx.ftz.f32 %0, %1; rsqrt.approx.f32 %0, %0;", '"f"(16.0f)', 4],
  [
    "f",
    "sqrt.rn.f32 %0, %1; max.f32 %0, %0, 0f00000000; min.ftz.f32 %0, %0, 9.0;",
    '"f"(16.0f)',
    4,
  ],
  ["f", "lg2.approx.f32 %0, %1; sin.approx.f32 %0, %0;", '"f"(1.0f)', 0],
  ["f", "tanh.approx.f32 %0, %1; cos.approx.f32 %0, %0;", '"f"(0.0f)', 1],
  ["d", "fma.rz.f64 %0, %1, %1, %1; div.rn.f64 %0, %0, 0d4000000000000000;", '"d"(3.0)', 6],
  ["d", "rcp.rn.f64 %0, %1; sqrt.rn.f64 %0, %0; mul.rp.f64 %0, %0, 2.0;", '"d"(16.0)', 0.5],
  ["r", "cvt.rzi.s32.f32 %0, %1; abs.s32 %0, %0;", '"f"(-3.7f)', 3],
  ["l", "cvt.rpi.u64.f64 %0, %1;", '"d"(3.2)', 4],
  ["f", "cvt.rn.f32.u32 %0, %1;", '"r"(7)', 7],
  ["d", "cvt.rn.f64.s64 %0, %1;", '"l"(-7ll)', -7],
  ["f", "{.reg .f64 t; cvt.f64.f32 t, %1; cvt.rn.f32.f64 %0, t;}", '"f"(0.5f)', 0.5],
  ["r", "activemask.b32 %0;", "", 2 ** 32 - 1],
  [
    "r",
    "{.reg .pred p; setp.lo.u32 p, %1, 8; vote.sync.ballot.b32 %0, p, 0xffffffff;}",
    '"r"(threadIdx.x)',
    255,
  ],
  [
    "r",
    "{.reg .pred p; setp.eq.u32 p, %1, 8; vote.sync.any.pred p, p, 0xffffffff; selp.u32 %0, 1, 2, p;}",
    '"r"(threadIdx.x)',
    1,
  ],
  [
    "r",
    "{.reg .pred p; setp.eq.u32 p, %1, 8; vote.sync.all.pred p, p, 0xffffffff; selp.u32 %0, 1, 2, p;}",
    '"r"(threadIdx.x)',
    2,
  ],
  ["r", "match.any.sync.b32 %0, %1, 0xffffffff;", '"r"(threadIdx.x / 16)', 65535],
  ["r", "redux.sync.add.u32 %0, %1, 0xffffffff;", '"r"(threadIdx.x)', 496],
  [
    "r",
    "bar.warp.sync 0xffffffff; membar.gl; fence.acq_rel.gpu; nanosleep.u32 1; mov.u32 %0, %ntid.x;",
    "",
    32,
  ],
  [
    "r",
    "{.reg .pred p; .reg .u32 a, b; mov.u32 a, %smid; mov.u32 b, %nsmid; setp.lt.u32 p, a, b; selp.u32 %0, 1, 0, p;}",
    "",
    1,
  ],
  // The number of a warp is below its largest number in a multiprocessor, which is 64 at most.
  ["r", "mov.u32 %0, %warpid; shr.u32 %0, %0, 6; prefetch.global.L2 [%1];", '"l"(out)', 0],
  ["r", "add.u32 %0, %1, %2;", '"r"(threadIdx.x + 65 >> 5), "r"((int)(1 != 2 || out == 0))', 3],
];

Deno.test("inline PTX on wide integers, floats and warps gives the results of the PTX ISA", async () => {
  const types: Record<string, string> = {
    r: "unsigned",
    l: "unsigned long long",
    f: "float",
    d: "double",
  };
  using module = await device.compile(`__global__ void k(double* out) {
    ${
    OTHERS.map(([letter, template, inputs], index) =>
      `{ ${types[letter]} value;
      asm volatile("${template}" : "=${letter}"(value) : ${inputs});
      if (threadIdx.x == 0) out[${index}] = value; }`
    ).join("\n")
  }
  }`);
  using out = device.allocate("float64", OTHERS.length);
  module.kernel("k(double* out)").launch({ grid: 1, block: 32 }, out);
  for (const [index, value] of (await out.toArray()).entries()) {
    const [, template, , expected] = OTHERS[index]!;
    assertEquals(value, expected, template);
  }
});

Deno.test("inline PTX reads registers, memory and floats, and works in macros and headers", async () => {
  using module = await device.compile(
    `#include "lane.h"
    #define BEFORE(mask) asm("mov.u32 %0, %lanemask_lt;" \\
                             : "=r"(mask))
    __global__ void k(unsigned* out, float* f, unsigned long long* w, uint4* v) {
      unsigned before; BEFORE(before);
      if (threadIdx.x >= 64) asm volatile("trap;"); else out[threadIdx.x] = lane() + 100 * __popc(before);
      asm volatile("bar.sync 0;" ::: "memory");
      float x = f[threadIdx.x], y;
      asm("fma.rn.f32 %0, %1, %1, 0f3F000000; add.rz.f32 %0, %0, 0.0;" : "=f"(y) : "f"(x));
      asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(f[threadIdx.x]) : "f"(y));
      asm("red.global.add.u64 [%0], %1;" :: "l"(w), "l"(1ull << 40));
      unsigned old;
      asm volatile("atom.global.cas.b32 %0, [%1+8], 0, %2;" : "=r"(old) : "l"(w), "r"(7u + threadIdx.x) : "memory");
      if (threadIdx.x == 0) {
        uint4 four;
        asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(four.x), "=r"(four.y),
                     "=r"(four.z), "=r"(four.w) : "l"(v));
        asm volatile("st.volatile.global.v4.b32 [%4+16], {%0, %1, %2, %3};" :: "r"(four.w),
                     "r"(four.z), "r"(four.y), "r"(four.x), "l"(v) : "memory");
        unsigned long long start, end;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(end));
        w[2] = end >= start && start > 0;
      }
      asm volatile("" : "+f"(y) :: "memory");
    }`,
    {
      headers: {
        "lane.h": `__device__ inline unsigned lane() {
          unsigned id; asm("mov.u32 %0, %%laneid;" : "=r"(id)); return id; }`,
      },
    },
  );
  using out = device.allocate("uint32", 64);
  using f = device.upload(Float32Array.from({ length: 64 }, (_, index) => index / 32));
  using w = device.allocate("uint64", 3, { fill: 0 });
  using v = device.upload(Uint32Array.of(1, 2, 3, 4, 0, 0, 0, 0));
  module.kernel("k(unsigned* out, float* f, unsigned long long* w, uint4* v)")
    .launch({ grid: 1, block: 64 }, out, f, w, v);
  assertEquals([...await out.toArray()], Array.from({ length: 64 }, (_, i) => i % 32 * 101));
  for (const [index, value] of (await f.toArray()).entries()) {
    const expected = 2 ** Math.fround((index / 32) ** 2 + 0.5);
    assert(Math.abs(value - expected) <= 2 ** -22 * expected, `${index}: ${value}`);
  }
  const [sum, swapped, isLater] = await w.toArray();
  assertEquals([sum, isLater], [64n << 40n, 1n]);
  assert(swapped! >= 7n && swapped! < 71n);
  assertEquals([...await v.toArray()], [1, 2, 3, 4, 4, 3, 2, 1]);
});

Deno.test("compile() refuses the named operands of inline PTX, which CUDA does not have", async () => {
  const source = (template: string) =>
    `__global__ void k(unsigned* x) {
      asm("${template}" : [to] "=r"(x[0]) : [from] "r"(1));
    }`;
  using _numbered = await device.compile(source("mov.u32 %0, %1;"));
  for (const template of ["mov.u32 %[to], %1;", "mov.u32 %0, %[from];"]) {
    const error = await assertRejects(() => device.compile(source(template)), CompileError);
    if (device.context.info.kind === "cuda") continue;
    assertEquals(error.diagnostics[0]!.line, 2);
    assertStringIncludes(error.message, "CUDA's asm refers to its operands by number only");
  }
});

Deno.test(
  "compile() refuses other PTX by its instruction and line, where a condition keeps it",
  onHostDevice,
  async () => {
    const cases = [
      ['asm volatile("wgmma.fence.sync;");', "PTX instruction wgmma.fence.sync"],
      ['asm("bar.sync 1, 64;");', "PTX instruction bar.sync 1, 64"],
      ['asm("addc.u32 %0, 1, 2;" : "=r"(x[0]));', "carry for addc.u32 from another asm"],
      [
        'asm("ld.u32 %0, [%1];" : "=r"(x[0]) : "r"(4));',
        "ld.u32 with an address of 32 bits",
      ],
      ['asm("mov.u32 %0, %clusterid.x;" : "=r"(x[0]));', "operand %clusterid.x of mov.u32"],
      ['asm("L: bra L;");', 'PTX for "L: bra L"'],
    ] as const;
    for (const [statement, reason] of cases) {
      const source = (condition: string) =>
        `__global__ void k(unsigned* x) {\n#if ${condition}\n${statement}\n#endif\n x[0] = 1;\n}`;
      const error = await assertRejects(() => device.compile(source("1")), CompileError);
      assertStringIncludes(error.message, `the host device has no ${reason}`);
      assertEquals(error.diagnostics[0]!.line, 3);
      using _module = await device.compile(source("0"));
    }
  },
);

Deno.test("rewriteInlinePtx() keeps every line in its place, and other texts as they are", () => {
  const text = 'a; asm volatile("mov.u32 %0,"\n  " 1;" // one\n  : "=r"(x));\nb; // asm("x")\n';
  const lines = rewriteInlinePtx(text).split("\n");
  assertEquals([lines.length, lines[3]], [5, 'b; // asm("x")']);
  const others = ['auto asm_count = "asm(1)";', "int asmr;", "asm", 'asm("nop"', "asm volatile ("];
  for (const other of others) assertEquals(rewriteInlinePtx(other), other);
});
