import { assert, assertStrictEquals } from "@std/assert";
import fc from "fast-check";
import { CompileError } from "../../../src/launch/compile/compile_error.ts";
import { readDeviceSource } from "../../../src/launch/source/device_source.ts";
import { tokenize } from "../../../src/launch/source/tokens.ts";

/** Pieces that C++ is made of, and that a scanner can stumble over. */
const PIECES: readonly string[] = [
  ..."{ } ( ) [ ] < > ; , = : :: << <<< >>> -> . * & \" ' \\ / // /* */ # ?".split(" "),
  ...'template class struct enum union namespace using typedef extern "C" static inline'.split(" "),
  ..."__global__ __device__ __host__ __constant__ __shared__ __managed__ constexpr const".split(
    " ",
  ),
  ..."void float int operator main kernel x y 1 0x1'0 1.5e-3f std vector <<<1,2>>>".split(" "),
  ...'__launch_bounds__(256) alignas(16) noexcept catch try decltype(x) R"(a)" R"x( u8R"'.split(
    " ",
  ),
  ..."#if #ifdef #ifndef #elif #else #endif #define #undef #include <iostream> defined(x) A".split(
    " ",
  ),
  "\n",
  "\r\n",
  "\\\n",
  "\n#if 0\n",
  "\n#else\n",
  "\n#endif\n",
  "\n#define A {\n",
  "é",
  "\u{1f600}",
  "\uFEFF",
  "\0",
  "\ud800",
];

function textOf(pieces: readonly string[]): fc.Arbitrary<string> {
  const separated = fc.tuple(fc.constantFrom(...pieces), fc.constantFrom("", " ", "\n"));
  return fc.array(separated, { maxLength: 60 }).map((parts) => parts.flat().join(""));
}

// Most launches stand where none can be, and have the source refused.
const sourceText = fc.oneof(
  textOf(PIECES),
  textOf(PIECES.filter((piece) => !piece.includes("<<<"))),
);

/** What is left of a source; a source that is refused leaves nothing to compare. */
function scanned(source: string): string | undefined {
  try {
    return readDeviceSource(source, { name: "fuzz.cu" }).text;
  } catch (error) {
    if (error instanceof CompileError) return undefined;
    throw error;
  }
}

function assertSameLayout(source: string, text: string): void {
  assertStrictEquals(text.length, source.length);
  for (let at = 0; at < source.length; at++) {
    const [before, after] = [source[at]!, text[at]!];
    if (before === "\n" || before === "\r") assertStrictEquals(after, before);
    else if (after !== before) assertStrictEquals(after, " ", JSON.stringify(source));
  }
}

Deno.test("tokens cover the source, whatever it is", () => {
  const property = (source: string) => {
    const tokens = tokenize(source);
    assertStrictEquals(tokens.map(({ text }) => text).join(""), source);
    let at = 0;
    for (const { start, end, text } of tokens) {
      assertStrictEquals(start, at);
      assertStrictEquals(end, start + text.length);
      assert(end > start);
      at = end;
    }
  };
  fc.assert(fc.property(sourceText, property), { numRuns: 500 });
  fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 200 }), property));
});

Deno.test("blanking keeps every line and column, whatever the source is", () => {
  let compared = 0;
  const property = (source: string) => {
    const text = scanned(source);
    if (text === undefined) return;
    compared++;
    assertSameLayout(source, text);
  };
  fc.assert(fc.property(sourceText, property), { numRuns: 1000 });
  fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 200 }), property));
  assert(compared > 500, `only ${compared} sources were not refused`);
});

/** Repeats a text to half a million characters. */
function long(unit: string): string {
  return unit.repeat(Math.ceil(5e5 / unit.length));
}

/** Large sources that make readers slow which look ahead or go deep. */
const LARGE: readonly (readonly [string, string])[] = [
  ["kernels", long("__global__ void k(float* x, int n) { if (n < 3) x[n] = 1.0f; }\n").repeat(2)],
  ["host functions", long("int f(int a) { return a << 1; }\n")],
  ["open braces", long("{")],
  ["open classes", long("struct A {")],
  ["open angles", long("<")],
  ["templates without an end", long("template<")],
  ["templates cut short", long("template<f(){}")],
  ["namespaces", long("namespace a { namespace }\n")],
  ["deep namespaces", long("namespace a {")],
  [
    "declarations in deep namespaces",
    "namespace abc {".repeat(200) + long("namespace b { int a; } template void f<b>();\n"),
  ],
  ["strings", long('"a\\"')],
  ["one comment", "/*" + long("a")],
  ["raw strings without an end", long('R"a(')],
  ["conditions in each other", long("#if A\nx\n#else\n")],
  ["conditions side by side", long("#if A\n{\n#else\n}\n#endif\n")],
  ["brackets in conditions", "#if " + long("(")],
  ["macros of macros", long("#define A B B\n#define B A A\n__device__ A x;\n")],
  ["type aliases", long("typedef float a; __constant__ a b[3], c;\n")],
  ["signs", long("::<<<->>>")],
  ["declarators", "__device__ int a" + long(",a[1]") + ";"],
  ["parameters", "__global__ void k(" + long("int a = f(1, 2), ") + "int b) {}"],
  ["shared arrays", long("extern __shared__ float s[];\n")],
];

Deno.test("a large source is read in linear time, whatever it holds", () => {
  for (const [what, source] of LARGE) {
    const start = performance.now();
    scanned(source);
    const milliseconds = performance.now() - start;
    // 50 to 700 ms alone on a processor; what is quadratic takes 9 seconds and more.
    assert(milliseconds < 5_000, `${what}: ${milliseconds} ms`);
  }
});
