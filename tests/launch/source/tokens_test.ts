import { assertEquals } from "@std/assert";
import { tokenize, type TokenKind } from "../../../src/launch/source/tokens.ts";

/** The tokens of a source without white space, each as its kind and text. */
function tokensOf(source: string): [TokenKind, string][] {
  return tokenize(source)
    .filter(({ kind }) => kind !== "space")
    .map(({ kind, text }) => [kind, text]);
}

Deno.test("tokenize() tells comments, literals, numbers, words and signs apart", () => {
  const cases: [string, [TokenKind, string][]][] = [
    ["", []],
    ["a/* } */b", [["word", "a"], ["comment", "/* } */"], ["word", "b"]]],
    ["a // b\nc", [["word", "a"], ["comment", "// b"], ["word", "c"]]],
    ["// a \\\nb\nc", [["comment", "// a \\\nb"], ["word", "c"]]],
    ["// a \\\r\nb\r\nc", [["comment", "// a \\\r\nb\r"], ["word", "c"]]],
    ["/* open", [["comment", "/* open"]]],
    ["/*/ a */", [["comment", "/*/ a */"]]],
    ['"a\\"b" c', [["string", '"a\\"b"'], ["word", "c"]]],
    ['"open\nx', [["string", '"open'], ["word", "x"]]],
    ["'\\'' '{'", [["character", "'\\''"], ["character", "'{'"]]],
    ['u8"a" L\'b\' LR"(c)"', [
      ["string", 'u8"a"'],
      ["character", "L'b'"],
      ["string", 'LR"(c)"'],
    ]],
    ['R"x(a)" )x" b', [["string", 'R"x(a)" )x"'], ["word", "b"]]],
    ['R"(a)b" c', [["string", 'R"(a)b" c']]],
    ['XR"(a"', [["word", "XR"], ["string", '"(a"']]],
    ["1'000'000 0x1'F 1.5e-3f .5 1.", [
      ["number", "1'000'000"],
      ["number", "0x1'F"],
      ["number", "1.5e-3f"],
      ["number", ".5"],
      ["number", "1."],
    ]],
    ["k<<<1, 2>>>(x)", [
      ["word", "k"],
      ["sign", "<<<"],
      ["number", "1"],
      ["sign", ","],
      ["number", "2"],
      ["sign", ">"],
      ["sign", ">"],
      ["sign", ">"],
      ["sign", "("],
      ["word", "x"],
      ["sign", ")"],
    ]],
    ["operator<<<int>", [
      ["word", "operator"],
      ["sign", "<<"],
      ["sign", "<"],
      ["word", "int"],
      ["sign", ">"],
    ]],
    ["a->b", [["word", "a"], ["sign", "->"], ["word", "b"]]],
    ["größe_2", [["word", "größe_2"]]],
    ["a\\\nb", [["word", "a"], ["word", "b"]]],
    ["\u{1f600} \0", [["word", "\u{1f600}"], ["sign", "\0"]]],
  ];
  for (const [source, expected] of cases) assertEquals(tokensOf(source), expected, source);
});

Deno.test("tokenize() takes a line of the preprocessor whole, with what is spliced to it", () => {
  const cases: [string, [TokenKind, string][]][] = [
    ["#define A \\\n {\nb", [["directive", "#define A \\\n {"], ["word", "b"]]],
    ["  # if 0 // c\nb", [["directive", "# if 0 // c"], ["word", "b"]]],
    ["#define A /* a\nb */ c\nd", [["directive", "#define A /* a\nb */ c"], ["word", "d"]]],
    ['#define A "/*"\nb', [["directive", '#define A "/*"'], ["word", "b"]]],
    ["#define A 'x\nb", [["directive", "#define A 'x"], ["word", "b"]]],
    ["/* c */ #define A\nb", [
      ["comment", "/* c */"],
      ["directive", "#define A"],
      ["word", "b"],
    ]],
    ["a # b", [["word", "a"], ["sign", "#"], ["word", "b"]]],
    ["a \\\n # b", [["word", "a"], ["sign", "#"], ["word", "b"]]],
    ["#", [["directive", "#"]]],
  ];
  for (const [source, expected] of cases) assertEquals(tokensOf(source), expected, source);
});
