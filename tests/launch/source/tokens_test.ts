import { assert, assertStrictEquals } from "@std/assert";
import fc from "fast-check";
import { CompileError } from "../../../src/launch/compile/compile_error.ts";
import { readDeviceSource } from "../../../src/launch/source/device_source.ts";
import { isSignificant, textOfTokens, tokenize } from "../../../src/launch/signature/tokens.ts";

/** Pieces of C++ that can confuse a scanner. */
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

// Most launches stand in device code, and have the source refused.
const sourceText = fc.oneof(
  textOf(PIECES),
  textOf(PIECES.filter((piece) => !piece.includes("<<<"))),
);

/** The text for devices; undefined if the source is refused. */
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

Deno.test("tokenize() covers any source", () => {
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

Deno.test("readDeviceSource() keeps every line and column of any source", () => {
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

Deno.test("textOfTokens() keeps operators of several tokens together", () => {
  const text = "x >> 1 != y || z++ && (a > b)";
  const tokens = tokenize(text.replace(" != ", "\n!= /* not */ ")).filter(isSignificant);
  assertStrictEquals(textOfTokens(tokens), text);
});
