// Macros are replaced by the tokens that g++ replaces them by.

import { assertEquals } from "@std/assert";
import { findProgram, runProgram } from "../../../src/ffi/build/programs.ts";
import { readSource, withMacrosExpanded } from "../../../src/launch/source/source_context.ts";
import { isSignificant, tokenize } from "../../../src/launch/source/tokens.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

/** Uses of macros, each with definitions of its own. */
const SOURCES: readonly string[] = [
  "#define N 3\n#define M (N + N)\nint a = M;",
  "#define F(x) x F(x)\n#define A B\n#define B A\nint F(1) A B F; int F ;",
  "#define CAT(a, b) a##b\n#define X(a, b) CAT(a, b)\n#define N 3\nint CAT(x, N) X(x, N) CAT(, y) CAT(z, ) CAT(,);",
  "#define A ab ## cd ## 1\n#define ab 5\nint A; int v = 1.0e ## 5;",
  '#define S(x) #x\n#define T(x) S(x)\n#define N 1\nchar s[] = S( a  + "b\\n" ) S(N) T(N) S(\'"\') S();',
  "#define V(f, ...) f(a, ##__VA_ARGS__)\nint V(g) V(g, 1, 2);",
  "#define V(...) f(__VA_ARGS__) #__VA_ARGS__\nint V() V(1) V(1, (2, 3), [4, 5]);",
  "#define V(rest...) f(0, ##rest)\nint V() V(1, 2);",
  "#define O(f, ...) f(a __VA_OPT__(, b) __VA_ARGS__)\nint O(h) O(h, ) O(h, (1, 2));",
  "#define V(p, ...) p __VA_OPT__(b) ## x p ## __VA_OPT__(c d) ## y\nint V(a) V(a, 1) V(a, );",
  "#define NONE() n\n#define ONE(x) [x]\nint NONE() NONE( ) ONE() ONE( ) NONE ();",
  "#define ID(x) x\n#define CALL ID(NAME)(1)\n#define NAME(x) <x>\nint CALL ID(ID)(2) ID(ID(ID(3)));",
  "#define LIST(X) X(float) X(double)\n#define K(T) void k_##T(T* x);\nLIST(K)\n#undef K\n#define K(T) T x_##T;\nLIST(K)",
  "#define L(x) (x\n#define R )\nint L(1) R;",
  "#define E\n#define F(x) E x E\nint E a F() F(E) F(b);",
  "#define f(a) a*g\n#define g(a) f(a)\nint f(2)(9);",
  "#define f(x) x\n#define LATE f(1)\nint LATE;\n#undef f\nint LATE;",
  "#define EQ(a, b) a == b && a <= b || a->b\nbool v = EQ(p, q);",
  "#define SEMI(x) x;\nSEMI(int a) SEMI(int b)\n/* F( */ int c; // f(1)\n",
];

function tokensIn(source: string): string[] {
  return tokenize(source).filter(isSignificant).map(({ text }) => text);
}

function expanded(source: string): string[] {
  return withMacrosExpanded(readSource(source, {})).list.tokens.map(({ text }) => text);
}

const compiler = findProgram("g++", (name) => Deno.env.get(name));

Deno.test({
  name: `macros stand for what g++ makes of them${compiler ? "" : " (skipped: no g++)"}`,
  ignore: compiler === undefined,
}, async () => {
  using folder = new TemporaryDirectory();
  // All in one go, told apart by a line that no macro changes.
  const separator = "int next_source;";
  const undone = (source: string) =>
    [...source.matchAll(/#define (\w+)/g)].map(([, name]) => `#undef ${name}\n`).join("");
  const text = SOURCES.map((source) => `${source}\n${undone(source)}${separator}\n`).join("");
  const file = folder.file(new TextEncoder().encode(text), "source.cpp");
  const { success, stdout, stderr } = await runProgram(
    [compiler!],
    ["-std=gnu++20", "-E", "-P", "-x", "c++", file],
  );
  assertEquals([success, stderr], [true, ""]);
  const expected = stdout.split(separator);
  for (const [index, source] of SOURCES.entries()) {
    assertEquals(expanded(source), tokensIn(expected[index]!), source);
  }
});

Deno.test("what stands for a macro is where it was called, with the spaces of its definition", () => {
  const source = "int a;\n#define D(T) T *f(const T&x)\nD( float );";
  const { tokens } = withMacrosExpanded(readSource(source, {})).list;
  const made = tokens.filter(({ start }) => start > 10);
  assertEquals(source.slice(made[0]!.start, made[0]!.end), "D( float )");
  const text = made.map(({ text, isSpaced }) => (isSpaced ? " " : "") + text).join("");
  assertEquals(text, " float *f(const float&x);");
});

Deno.test("a source without macros is what it was", () => {
  const context = readSource("#define UNUSED(x) x\nint a(int b) { return b; }", {});
  assertEquals(withMacrosExpanded(context), context);
});
