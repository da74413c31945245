import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { CompileError } from "../../../src/launch/compile/compile_error.ts";
import {
  explainHostCode,
  readDeviceSource,
  type SourceOptions,
} from "../../../src/launch/source/device_source.ts";

/** The text of a source for devices, runs of white space as one space. */
function left(source: string, options: Partial<SourceOptions> = {}): string {
  return readDeviceSource(source, { name: "test.cu", ...options }).text.replaceAll(/\s+/g, " ")
    .trim();
}

/** Each source with its text for devices. */
const SOURCES: readonly (readonly [string, string])[] = [
  ["int main() { k<<<1, 2>>>(3); return 0; }", ""],
  ["void run(float* x) { k<<<1, 2>>>(x); } int y();", ""],
  ["__host__ int f() { return 1; }", ""],
  ["__host__ __device__ int f() { return 1; }", "__host__ __device__ int f() { return 1; }"],
  ["constexpr int f(int a) { return a; }", "constexpr int f(int a) { return a; }"],
  ["constexpr const char* f(cudaError_t e) { return 0; }", ""],
  // A macro of the source annotates a function.
  [
    "#define HD __host__ __device__\nHD int f() { return 1; }",
    "#define HD __host__ __device__ HD int f() { return 1; }",
  ],
  // A macro of an unseen header may annotate a function too.
  [
    '#include "unseen.h"\nAPI int f() { return 1; } API void g() { k<<<1, 2>>>(); }',
    '#include "unseen.h" API int f() { return 1; }',
  ],
  // Variables.
  [
    "int count = 0; std::vector<float> data(3); const int n = 4; constexpr float e = 2.7f;",
    "const int n = 4; constexpr float e = 2.7f;",
  ],
  ['const std::string name = "a"; static std::mt19937 random(42);', ""],
  ["auto launch = [](int n) { k<<<n, 2>>>(); };", ""],
  // Types.
  ["struct P { int a; float b[3]; };", "struct P { int a; float b[3]; };"],
  [
    "struct P { int a; P(int b) : a{b} {} int twice() const { return 2 * a; } };",
    "struct P { int a; };",
  ],
  [
    "struct P { int a; P() = default; __device__ int f() { return a; } };",
    "struct P { int a; P() = default; __device__ int f() { return a; } };",
  ],
  ["struct Timer { cudaEvent_t a; void start() { cudaEventRecord(a); } }; Timer t;", ""],
  [
    "struct Timer { FILE* f; }; struct Run { Timer t; }; const Run r; struct P { int Timer; };",
    "struct P { int Timer; };",
  ],
  [
    "using namespace std;\nstruct A { vector<int> v; };\nstruct B { int vector; };",
    "using namespace std; struct B { int vector; };",
  ],
  ["namespace fs = std::filesystem; namespace n { }", "namespace n { }"],
  // PyTorch.
  ["using namespace at;\nusing namespace own;", "using namespace own;"],
  ["torch::Tensor add(torch::Tensor a) { k<<<1, 2>>>(); return a; }", ""],
  ["PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def(add, &add); }", ""],
  [
    "constexpr auto type = at::kFloat; struct S { at::Tensor a; }; const int at = 1;",
    "const int at = 1;",
  ],
  ['enum { A, B }; static_assert(A == 0, "");', 'enum { A, B }; static_assert(A == 0, "");'],
];

Deno.test("readDeviceSource() leaves out host code and nothing else", () => {
  for (const [source, expected] of SOURCES) {
    assertStrictEquals(left(source), expected, source);
  }
});

/** Calls of macros that write host code, with the text for devices behind the definition. */
const MACRO_CALLS: readonly (readonly [define: string, calls: string, expected: string])[] = [
  ["LAUNCH(n) void n##_go(int* p) { n<<<1, 1>>>(p); }", "LAUNCH(k) int x;", ""],
  ["LAUNCH(n) void n##_go(int* p) { n<<<1, 1>>>(p); }", "LAUNCH(k); LAUNCH(j);", ""],
  ["LAUNCH(n) void n##_go() { n<<<1, 1>>>(); }", "namespace a { LAUNCH(k) }", "namespace a { }"],
  ["BIND(n, T) torch::Tensor n##_##T(torch::Tensor x) { return x; }", "BIND(k, float)", ""],
  [
    "TYPE(n) struct n { std::string s; };",
    "TYPE(Log)\nconst Log log; const int i = 1;",
    "const int i = 1;",
  ],
  ['HEAD(n) extern "C" void n', "HEAD(f)(int* p) { k<<<1, 1>>>(p); }", ""],
  ["HOST(n) void n() {}", 'extern "C" HOST(f) HOST(g)', ""],
  ["K(n) __global__ void n() {}", "K(a) K(b); const int c = 1;", "K(a) K(b); const int c = 1;"],
  ["K(n) __global__ void n", "K(a)(int x) { f(x); }", "K(a)(int x) { f(x); }"],
  // What the same macro writes for devices stays.
  [
    "BOTH(n) __global__ void n##_k(int* p) { p[0] += 1; } void n(int* p) { n##_k<<<1, 1>>>(p); }",
    "BOTH(a) BOTH(b);",
    "__global__ void a_k(int* p) { p[0] += 1; } __global__ void b_k(int* p) { p[0] += 1; } ;",
  ],
  // A macro of several definitions may be either.
  ["L(n) void n() {}\n#undef L\n#define L(n) __device__ int n;", "L(k)", "L(k)"],
];

Deno.test("readDeviceSource() leaves out host code that macros write", () => {
  for (const [define, calls, expected] of MACRO_CALLS) {
    const [text] = left(`#define ${define}\n#define END\n${calls}`).split("#define END ").slice(1);
    assertStrictEquals(text ?? "", expected, `${define} ${calls}`);
  }
});

Deno.test("readDeviceSource() keeps the lines of macros that write code for both", () => {
  const source = "#define BOTH(n, m) void m() {} __global__ void n() {}\nBOTH(\n  k,\n  go\n)\n" +
    "__global__ void other() {}";
  const { text } = readDeviceSource(source, { name: "test.cu" });
  assertStrictEquals(text.split("\n")[1], "__global__ void k() {}     ");
  assertStrictEquals(text.split("\n")[5], "__global__ void other() {}");
});

Deno.test("readDeviceSource() leaves out host headers, unless the program brings them", () => {
  const source =
    '#include <iostream>\n#include <vector> // a\n#include <cmath>\n#include "vector"\n';
  assertStrictEquals(left(source), "#include <cmath>");
  assertStrictEquals(
    left(
      "#include <torch/extension.h>\n#include <ATen/cuda/CUDAContext.h>\n" +
        "#include <c10/cuda/CUDAException.h>\n#include <pybind11/pybind11.h>\n" +
        "#include <nvToolsExtCuda.h>\n#include <nvtx3/nvToolsExt.h>\n#include <cuComplex.h>",
    ),
    "#include <cuComplex.h>",
  );
  assertStrictEquals(
    left("#include <torch/types.h>\n__global__ void k(half x) {}"),
    "#include <cuda_bf16.h> __global__ void k(half x) {}",
  );
  const headers = new Map([["vector", ""]]);
  assertStrictEquals(
    left(source, { headers }),
    '#include <vector> // a #include <cmath> #include "vector"',
  );
});

Deno.test("readDeviceSource() keeps conditions that begin before host code and end in it", () => {
  const source =
    "#ifdef A\nint main(int n) {\n#else\nint main() {\n#pragma omp parallel\n#endif\n" +
    "#define B 1\n  k<<<B, 2>>>();\n}\n__device__ int x;\n";
  const { text } = readDeviceSource(source, { name: "test.cu" });
  assertStrictEquals(
    text.split("\n").map((line) => line.trimEnd()).join("\n"),
    "#ifdef A\nint main(int n) {\n#else\n\n\n#endif\n#define B 1\n\n\n__device__ int x;\n",
  );
});

Deno.test("readDeviceSource() marks the line of host code that it cannot leave out", () => {
  const launch = "__global__ void k() {}\n__global__ void j() {\n  k<<<1, 2>>>();\n}";
  const error = assertThrows(() => left(launch), CompileError);
  assertStrictEquals(
    error.message,
    "Cannot compile test.cu with Gridstride:\n" +
      "test.cu:3:4: error: a kernel cannot be launched here, in code for devices: launch it from " +
      "TypeScript with kernel.launch()\n" +
      "    3 |   k<<<1, 2>>>();\n" +
      "      |    ^",
  );
  const mixed = "struct Log {\n  std::string name;\n  __device__ int f() { return 1; }\n};";
  const [diagnostic] = assertThrows(() => left(mixed), CompileError).diagnostics;
  assertStrictEquals(diagnostic!.line, 2);
  assertStrictEquals(
    diagnostic!.message,
    "Log is for devices, as it has device functions: it cannot hold std::string, which only hosts " +
      "have",
  );
});

Deno.test("explainHostCode() explains errors that name host code", () => {
  const read = readDeviceSource("\nfloat helper(float x) { return x; }", { name: "a.cu" });
  const error = new CompileError("a.cu", "g++", [
    {
      severity: "error",
      message: "'helper' was not declared in this scope",
      file: "a.cu",
      line: 5,
    },
    { severity: "error", message: "'other' was not declared in this scope" },
    { severity: "note", message: "'helper' is not here" },
  ], "log");
  const explained = explainHostCode(error, read);
  assertEquals(explained.diagnostics.map(({ message }) => message), [
    "'helper' was not declared in this scope (helper, line 2, is host code, which is left out: a " +
    "function for devices is __device__)",
    "'other' was not declared in this scope",
    "'helper' is not here",
  ]);
  assert(explained.message.includes("is host code"));
  assert(!explained.message.includes("PyTorch"));
  assertStrictEquals(explained.log, "log");
});

Deno.test("explainHostCode() gives advice where code for devices uses PyTorch", () => {
  const read = readDeviceSource("#include <torch/extension.h>\n", { name: "a.cu" });
  const errorWith = (text: string) =>
    new CompileError(
      "a.cu",
      "g++",
      [{ severity: "error", message: "m", line: 2, text }],
      "",
      "Why.",
    );
  const advice = "Why.\nHeaders of PyTorch such as torch/extension.h are left out";
  for (const text of ["__global__ void k(at::Half* x) {", "  C10_CUDA_CHECK(x);", "torch :: f()"]) {
    assert(explainHostCode(errorWith(text), read).message.includes(advice), text);
  }
  assert(!explainHostCode(errorWith("  wrong(x); // look at that"), read).message.includes(advice));
});
