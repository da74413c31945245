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
  ['enum { A, B }; static_assert(A == 0, "");', 'enum { A, B }; static_assert(A == 0, "");'],
];

Deno.test("readDeviceSource() leaves out host code and nothing else", () => {
  for (const [source, expected] of SOURCES) {
    assertStrictEquals(left(source), expected, source);
  }
});

Deno.test("readDeviceSource() leaves out host headers, unless the program brings them", () => {
  const source =
    '#include <iostream>\n#include <vector> // a\n#include <cmath>\n#include "vector"\n';
  assertStrictEquals(left(source), "#include <cmath>");
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
  const { hostCode } = readDeviceSource("\nfloat helper(float x) { return x; }", { name: "a.cu" });
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
  const explained = explainHostCode(error, hostCode);
  assertEquals(explained.diagnostics.map(({ message }) => message), [
    "'helper' was not declared in this scope (helper, line 2, is host code, which is left out: a " +
    "function for devices is __device__)",
    "'other' was not declared in this scope",
    "'helper' is not here",
  ]);
  assert(explained.message.includes("is host code"));
  assertStrictEquals(explained.log, "log");
});
