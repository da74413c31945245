import { assert, assertEquals } from "@std/assert";
import { readDeviceSource } from "../../../src/launch/source/device_source.ts";
import type { KernelDeclaration } from "../../../src/launch/source/kernels.ts";

/** The kernels of a source, marks as one word each. */
function kernelsOf(source: string, defines: Record<string, string> = {}): string[] {
  const options = { name: "test.cu", defines: new Map(Object.entries(defines)) };
  return readDeviceSource(source, options).kernels.map(describe);
}

function describe({ signature, line, ...marks }: KernelDeclaration): string {
  const words = [
    marks.isTemplate ? " template" : "",
    marks.isConditional ? " conditional" : "",
    marks.isOverloaded ? " overloaded" : "",
  ];
  return `${line}: ${signature}${words.join("")}`;
}

/** Each source with the kernels found in it. */
const DECLARATIONS: readonly (readonly [string, readonly string[]])[] = [
  ["", []],
  ["__global__ void k() {}", ["1: k()"]],
  ['extern "C" __global__ void k(float* x) {}', ["1: k(float* x)"]],
  ['extern "C" {\n__global__ void k(float* x) {}\n}\n__global__ void j() {}', [
    "2: k(float* x)",
    "4: j()",
  ]],
  ["static __global__ void k(int) {}", ["1: k(int)"]],
  ["__global__ static inline void\nk(int) {}", ["2: k(int)"]],
  ["void __global__ k(int) {}", ["1: k(int)"]],
  ["__global__ void __launch_bounds__(256, 2) k(int a) {}", ["1: k(int a)"]],
  ["__launch_bounds__(N * (3 + 1)) __global__ void k(int a) {}", ["1: k(int a)"]],
  ["__global__ __attribute__((used)) void k(int a) {}", ["1: k(int a)"]],
  ["[[maybe_unused]] __global__ void k(int a) {}", ["1: k(int a)"]],
  ["__global__ void k(const float* __restrict__ x, /* in */ int n // last\n) {}", [
    "1: k(const float* __restrict__ x, int n)",
  ]],
  ["__global__ void k(\n  float a,\n  float  *x\n) {}", ["1: k(float a, float *x)"]],
  ["__global__ void k(float (*x)[3], int n = f(1, 2), int m = 3) {}", [
    "1: k(float (*x)[3], int n, int m)",
  ]],
  ["__global__ void k(P<int, (1 > 0)> p, float) {}", ["1: k(P<int, (1 > 0)> p, float)"]],
  ["namespace a { namespace b::c { __global__ void k() {} } __global__ void j() {} }", [
    "1: a::b::c::k()",
    "1: a::j()",
  ]],
  ["namespace { namespace a { inline namespace v2 { __global__ void k() {} } } }", [
    "1: a::v2::k()",
  ]],
  ["namespace [[deprecated]] a { __global__ void k() {} }", ["1: a::k()"]],
  ["namespace b = a;\n__global__ void k() {}", ["2: k()"]],
  ["__global__ void n::k(int a) {}", ["1: n::k(int a)"]],
  ["template <typename T, int N = (3 > 2)> __global__ void k(T* x) {}", [
    "1: k(T* x) template",
  ]],
  ["template <template <class> class C, class... T>\n__global__ void k(C<T>... c) {}", [
    "2: k(C<T>... c) template",
  ]],
  ["template <class T> __global__ void k(T* x) {}\ntemplate __global__ void k<float>(float*);", [
    "1: k(T* x) template",
    "2: k<float>(float*)",
  ]],
  ["template <> __global__ void k<P<int>, 3>(int* x) {}", ["1: k<P<int>, 3>(int* x)"]],
  // Template arguments are named from where they stand, the kernel from outside.
  [
    "namespace a { struct L {}; enum class E { A }; namespace b { constexpr int N = 1; }\n" +
    "template __global__ void k<L, b::N, int, ::c::L, E::A>(L); }",
    [
      "2: a::k<a::L, a::b::N, int, ::c::L, a::E::A>(L)",
    ],
  ],
  // Without arguments an instance has no name.
  ["template __global__ void k(float*);", []],
  // What is only declared is not there.
  ["__global__ void k(int);", []],
  ["__global__ void k(int);\n__global__ void k(int a) {}", ["2: k(int a)"]],
  ["__global__ void k(int a) {}\n__global__ void k(float a) {}", [
    "1: k(int a) overloaded",
    "2: k(float a) overloaded",
  ]],
  ["template <class T> __global__ void k(T* x) {}\n__global__ void k(int* x) {}", [
    "1: k(T* x) template overloaded",
    "2: k(int* x) overloaded",
  ]],
  // Two ways to write one kernel, of which the compiler sees one.
  ["#ifdef __UNSEEN__\n__global__ void k(int a) {}\n#else\n__global__ void k(int b) {}\n#endif", [
    "2: k(int a) conditional",
  ]],
  // What macros make.
  ["#define NAME(x) x##_kernel\n__global__ void NAME(a)(int n) {}\n__global__ void k() {}", [
    "2: a_kernel(int n)",
    "3: k()",
  ]],
  ["#define head(name, T) __global__ void name##_##T\nhead(a, int)(int* x) { f(x); }\n", [
    "2: a_int(int* x)",
  ]],
  [
    "#define DEFINE(name, T, ...) \\\n  template <int N> __global__ void name(T* x, ##__VA_ARGS__) {} \\\n" +
    "  template __global__ void name<2>(T* x, ##__VA_ARGS__);\n" +
    "namespace n {\nDEFINE(a, float)\nDEFINE(b, double, int n);\n}",
    [
      "5: n::a(float* x) template",
      "5: n::a<2>(float* x)",
      "6: n::b(double* x, int n) template",
      "6: n::b<2>(double* x, int n)",
    ],
  ],
  // Where a macro is called decides what it is.
  [
    "#define EACH(X) X(a) X(b)\n#define X(n) __global__ void n() {}\nEACH(X)\n#undef X\n" +
    "#define X(n) __global__ void n##2() {}\nX(c)\n#undef X\nX(d)\n__global__ void last() {}",
    ["3: a()", "3: b()", "6: c2()", "9: last() conditional"],
  ],
  [
    "#ifdef __UNSEEN__\n#define DEFINE(n) __global__ void n() {}\n#else\n#define DEFINE(n)\n" +
    "#endif\nDEFINE(a)\n__global__ void k() {}",
    ["7: k() conditional"],
  ],
  // A macro without brackets, with others in it, and in a body none.
  [
    "#define ADD(T) __global__ void add_##T(T* x) {}\n#define ALL ADD(int) ADD(float)\nALL\n" +
    "__global__ void k() { ALL }",
    ["3: add_int(int* x)", "3: add_float(float* x)", "4: k()"],
  ],
  ["#define NAME k\n__global__ void NAME(int n) {}", ["2: k(int n)"]],
  ['#define KERNEL extern "C" __global__ void\nKERNEL k(int n) {}', ["2: k(int n)"]],
  ["#define REAL float\n#define ARGS REAL* x, int n\n__global__ void k(ARGS) {}\n#undef REAL", [
    "3: k(float* x, int n)",
  ]],
  [
    "typedef unsigned int word;\nusing real = double;\n__global__ void k(const real* x, word n) {}",
    [
      "3: k(const double* x, unsigned int n)",
    ],
  ],
  ["namespace n { using real = float; }\n__global__ void k(n::real x) {}", ["2: k(n::real x)"]],
  // The name is not told apart by namespaces, so an alias with two meanings stays.
  ["using a = int;\nnamespace n { using a = float; }\n__global__ void k(a x) {}", ["3: k(a x)"]],
  ["#define A A\n__global__ void k(A x) {}", ["2: k(A x)"]],
  ["DECLARE(float)\nDECLARE(int)\n__global__ void k() {}", ["3: k() conditional"]],
  ["DECLARE(float);\n__global__ void k() {}", ["2: k()"]],
  // Not kernels.
  ['const char* s = R"( __global__ void k() {} )";\n// __global__ void j() {}', []],
  ["#define K __global__ void k() {}", []],
  ["__device__ void f() {} void (*p)(int);", []],
  ["struct S { int a; } s = {1};\n__global__ void k(S s) {}", ["2: k(S s)"]],
  ["enum class E : int { A = 1 };\n__global__ void k(E e) {}", ["2: k(E e)"]],
  [
    "S::S(int a) : b{1}, c(2) {}\n__global__ void k() try {} catch (...) {}\n__global__ void j() {}",
    [
      "2: k()",
      "3: j()",
    ],
  ],
  ["__device__ bool operator<(A a, A b) { return true; }\n__global__ void k() {}", ["2: k()"]],
  // What is never closed is the compiler's to complain about.
  ["__global__ void k(int a) {", ["1: k(int a)"]],
  ["}\n__global__ void k() {}", ["2: k()"]],
  ["__global__ void k(int a", []],
];

Deno.test("kernels are found with their names, parameters and lines", () => {
  for (const [source, expected] of DECLARATIONS) {
    assertEquals(kernelsOf(source), expected, source);
  }
});

Deno.test("kernels are those that conditions leave, and marked where these cannot be decided", () => {
  const both =
    "#if A > 2 && !defined(B)\n__global__ void yes() {}\n#else\n__global__ void no() {}\n" +
    "#endif";
  assertEquals(kernelsOf(both), ["4: no()"]);
  assertEquals(kernelsOf(both, { A: "3" }), ["2: yes()"]);
  assertEquals(kernelsOf(both, { A: "3", B: "" }), ["4: no()"]);
  assertEquals(kernelsOf(both, { A: "(1 << 2) - 1" }), ["2: yes()"]);
  // A header that nobody has seen may define it.
  assertEquals(kernelsOf(`#include "unseen.h"\n${both}`), [
    "3: yes() conditional",
    "5: no() conditional",
  ]);
  const ways =
    "#ifdef __UNSEEN__\n__global__ void k(int a) {\n#else\n__global__ void j(int a) {\n" +
    "#endif\n}\n__global__ void last() {}";
  assertEquals(kernelsOf(ways), ["2: k(int a) conditional", "7: last()"]);
  const guarded = "#ifndef __GUARD_H__\n#define __GUARD_H__\n__global__ void k() {}\n#endif";
  assertEquals(kernelsOf(guarded), ["3: k()"]);
  assertEquals(kernelsOf("#if 0\n__global__ void k( {\n#endif\n__global__ void j() {}"), [
    "4: j()",
  ]);
  assertEquals(kernelsOf("#if 1\n#elif X(\n__global__ void k() {}\n#endif"), []);
});

Deno.test("macros of headers and of the caller make kernels", () => {
  const headers = new Map([["define.h", "#define DEFINE(n) __global__ void PREFIX(n)() {}\n"]]);
  const defines = new Map([["PREFIX(n)", ""], ["KIND", "fast"]]);
  const source = "#define PREFIX(n) CAT(KIND, _##n)\n#define CAT(a, b) CAT2(a, b)\n" +
    '#define CAT2(a, b) a##b\n#include "define.h"\nDEFINE(add)';
  const { kernels } = readDeviceSource(source, { name: "test.cu", headers, defines });
  assertEquals(kernels.map(describe), ["5: fast_add()"]);
});

Deno.test("macros that grow without end, or have no end, take no time to speak of", () => {
  const doubled = Array.from(
    { length: 60 },
    (_, step) => `#define A${step + 1}(x) A${step}(x) A${step}(x)\n`,
  ).join("");
  const sources = [
    `#define A0(x) x\n${doubled}A60(int a;)\n`,
    `#define F(x) x\n${"F(".repeat(20_000)}`,
    `#define F(x) x\n${"F(".repeat(5000)}1${")".repeat(5000)};`,
  ];
  for (const source of sources) {
    const start = performance.now();
    kernelsOf(source);
    assert(performance.now() - start < 5000, source.slice(0, 40));
  }
});

Deno.test("macros of headers that the program brings decide conditions too", () => {
  const headers = new Map([
    ["a.h", '#ifndef A_H\n#define A_H\n#include "b.h"\n#endif'],
    ["b.h", '#include "a.h"\n#define WIDE 1\n'],
  ]);
  const source = '#include "a.h"\n#if WIDE\n__global__ void k() {}\n#endif';
  const { kernels } = readDeviceSource(source, { name: "test.cu", headers });
  assertEquals(kernels.map(describe), ["3: k()"]);
});
