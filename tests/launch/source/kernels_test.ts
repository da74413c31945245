import { assertEquals } from "@std/assert";
import { readDeviceSource } from "../../../src/launch/source/device_source.ts";
import type { KernelDeclaration } from "../../../src/launch/source/kernels.ts";

/** The kernels of a source, marks as one word each. */
function kernelsOf(source: string, defines: Record<string, string> = {}): string[] {
  const options = { name: "test.cu", defines: new Map(Object.entries(defines)) };
  return readDeviceSource(source, options).kernels.map(describe);
}

function describe({ signature, ...marks }: KernelDeclaration): string {
  const words = [
    marks.isTemplate ? " template" : "",
    marks.isConditional ? " conditional" : "",
    marks.isOverloaded ? " overloaded" : "",
  ];
  return `${signature}${words.join("")}`;
}

/** Each source with the kernels found in it. */
const DECLARATIONS: readonly (readonly [string, readonly string[]])[] = [
  ["", []],
  ["__global__ void k() {}", ["k()"]],
  ['extern "C" __global__ void k(float* x) {}', ["k(float* x)"]],
  ['extern "C" {\n__global__ void k(float* x) {}\n}\n__global__ void j() {}', [
    "k(float* x)",
    "j()",
  ]],
  ["__global__ void __launch_bounds__(256, 2) k(int a) {}", ["k(int a)"]],
  ["__global__ void k(float (*x)[3], int n = f(1, 2), int m = 3) {}", [
    "k(float (*x)[3], int n, int m)",
  ]],
  ["__global__ void k(P<int, (1 > 0)> p, float) {}", ["k(P<int, (1 > 0)> p, float)"]],
  ["namespace a { namespace b::c { __global__ void k() {} } __global__ void j() {} }", [
    "a::b::c::k()",
    "a::j()",
  ]],
  ["namespace { namespace a { inline namespace v2 { __global__ void k() {} } } }", [
    "a::v2::k()",
  ]],
  ["__global__ void n::k(int a) {}", ["n::k(int a)"]],
  // Operators whose names have more signs than one do not hide what follows.
  ...["+=", "-=", "*=", "/=", "|=", "=", "==", "<<=", "[]", "()", " new[]", "<", ",", " int"]
    .map((name) =>
      [
        `struct V {}; __device__ V operator${name}(V a, V b) { return a; } ${"__global__"} void k() {}`,
        [
          "k()",
        ],
      ] as const
    ),
  ["template <typename T, int N = (3 > 2)> __global__ void k(T* x) {}", [
    "k(T* x) template",
  ]],
  ["template <class T> __global__ void k(T* x) {}\ntemplate __global__ void k<float>(float*);", [
    "k(T* x) template",
    "k<float>(float*)",
  ]],
  ["template <> __global__ void k<P<int>, 3>(int* x) {}", ["k<P<int>, 3>(int* x)"]],
  // Template arguments are named from where they stand, the kernel from outside.
  [
    "namespace a { struct L {}; enum class E { A }; namespace b { constexpr int N = 1; }\n" +
    "template __global__ void k<L, b::N, int, ::c::L, E::A>(L); }",
    [
      "a::k<a::L, a::b::N, int, ::c::L, a::E::A>(L)",
    ],
  ],
  ["__global__ void k(int);\n__global__ void k(int a) {}", ["k(int a)"]],
  ["__global__ void k(int a) {}\n__global__ void k(float a) {}", [
    "k(int a) overloaded",
    "k(float a) overloaded",
  ]],
  ["template <class T> __global__ void k(T* x) {}\n__global__ void k(int* x) {}", [
    "k(T* x) template overloaded",
    "k(int* x) overloaded",
  ]],
  // Two ways to write one kernel, of which the compiler sees one.
  ["#ifdef __UNSEEN__\n__global__ void k(int a) {}\n#else\n__global__ void k(int b) {}\n#endif", [
    "k(int a) conditional",
  ]],
  // A kernel that a macro declares is not found, nor is the one behind it certain.
  ["#define NAME(x) x##_kernel\n__global__ void NAME(a)(int n) {}\n__global__ void k() {}", [
    "k()",
  ]],
  ["#define DEFINE(n) __global__ void n() {}\nDEFINE(a)\n__global__ void k() {}", ["k()"]],
  // The macro's text may end inside of a declaration.
  ["#define FOR(T) template <class T>\nFOR(a)\n__global__ void k() {}", ["k() conditional"]],
  ["UNSEEN(a)\n__global__ void k() {}", ["k() conditional"]],
  ["#define NAME k\n__global__ void NAME(int n) {}", ["k(int n)"]],
  ['#define KERNEL extern "C" __global__ void\nKERNEL k(int n) {}', ["k(int n)"]],
  [
    "typedef unsigned int word;\nusing real = double;\n__global__ void k(const real* x, word n) {}",
    [
      "k(const double* x, unsigned int n)",
    ],
  ],
  ["namespace n { using real = float; }\n__global__ void k(n::real x) {}", ["k(n::real x)"]],
  // Aliases ignore namespaces: one with two meanings stays.
  ["using a = int;\nnamespace n { using a = float; }\n__global__ void k(a x) {}", ["k(a x)"]],
  ["DECLARE(float);\n__global__ void k() {}", ["k()"]],
  // Not kernels.
  ['const char* s = R"( __global__ void k() {} )";\n// __global__ void j() {}', []],
  ["#define K __global__ void k() {}", []],
  ["__device__ void f() {} void (*p)(int);", []],
  [
    "S::S(int a) : b{1}, c(2) {}\n__global__ void k() try {} catch (...) {}\n__global__ void j() {}",
    [
      "k()",
      "j()",
    ],
  ],
  ["__device__ bool operator<(A a, A b) { return true; }\n__global__ void k() {}", ["k()"]],
  // The compiler reports brackets that nothing closes.
  ["__global__ void k(int a) {", ["k(int a)"]],
  ["}\n__global__ void k() {}", ["k()"]],
  ["__global__ void k(int a", []],
];

Deno.test("readDeviceSource() finds kernels with their names and parameters", () => {
  for (const [source, expected] of DECLARATIONS) {
    assertEquals(kernelsOf(source), expected, source);
  }
});

Deno.test("readDeviceSource() finds the kernels that conditions leave, and marks unknown ones", () => {
  const both =
    "#if A > 2 && !defined(B)\n__global__ void yes() {}\n#else\n__global__ void no() {}\n" +
    "#endif";
  assertEquals(kernelsOf(both), ["no()"]);
  assertEquals(kernelsOf(both, { A: "3" }), ["yes()"]);
  assertEquals(kernelsOf(both, { A: "3", B: "" }), ["no()"]);
  assertEquals(kernelsOf(both, { A: "(1 << 2) - 1" }), ["yes()"]);
  // An unseen header may define it.
  assertEquals(kernelsOf(`#include "unseen.h"\n${both}`), [
    "yes() conditional",
    "no() conditional",
  ]);
  const ways =
    "#ifdef __UNSEEN__\n__global__ void k(int a) {\n#else\n__global__ void j(int a) {\n" +
    "#endif\n}\n__global__ void last() {}";
  assertEquals(kernelsOf(ways), ["k(int a) conditional", "last()"]);
});

// ---- Variables -----------------------------------------------------------------------------------

/** The variables of a source, each as memory, type, name and extents. */
function variablesOf(source: string): string[] {
  const { variables } = readDeviceSource(source, { name: "test.cu" });
  return variables.map(({ memory, type, expression, extents }) =>
    `${memory} ${type} ${expression}${extents.map((extent) => `[${extent}]`).join("")}`
  );
}

const VARIABLES: readonly (readonly [string, readonly string[]])[] = [
  ["__device__ int count;", ["device int count"]],
  ["__constant__ float table[2 * N][3] = {{1, 2}, {3}};", ["constant float table[2 * N][3]"]],
  ["__device__ __managed__ double total{0};", ["managed double total"]],
  ["namespace a { namespace {\n__device__ int x; } }", ["device int a::x"]],
  ["__device__ Pair<int, 3> p, q;", [
    "device Pair < int , 3 > p",
    "device Pair < int , 3 > q",
  ]],
  ["using real = float;\n#define M __constant__\nM real r[4];", ["constant float r[4]"]],
  // Constants, mere declarations and templates have no address.
  ["__device__ constexpr int n = 3;", []],
  ["extern __device__ int x;", []],
  ["template <class T> __device__ T x;", []],
  // Not variables of the device.
  ["__device__ int f(int a);\n__device__ int g() { __shared__ int x; return x; }", []],
  ["#ifdef __UNSEEN__\n__device__ int x;\n#endif", []],
];

Deno.test("readDeviceSource() finds variables with their memory, types and extents", () => {
  for (const [source, expected] of VARIABLES) {
    assertEquals(variablesOf(source), expected, source);
  }
});
