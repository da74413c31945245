import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { MacroExpander } from "../../../src/launch/source/macro_calls.ts";
import { readSource } from "../../../src/launch/source/source_context.ts";
import { isSignificant, tokenize } from "../../../src/launch/signature/tokens.ts";
import { runProgram } from "../../../src/ffi/build/programs.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

const DEFINITIONS = `
#define OBJECT 2
#define NONE()
#define ONE(a) <a>
#define PAIR(a, b) a, b; b
#define PASTE(a, b) a##b
#define INDIRECT(a, b) PASTE(a, b)
#define TEXT(a) #a
#define TEXT_OF(a) TEXT(a)
#define REST(a, ...) f(a, __VA_ARGS__)
#define OPTIONAL(a, ...) f(a, ##__VA_ARGS__)
#define NAMED(args...) f(args)
#define SELF(a) SELF(a + 1)
#define MUTUAL(a) OTHER(a)
#define OTHER(a) MUTUAL(a)
#define LIST(F) F(1) F(x)
#define OPEN ONE (
#define BRACES(a) { a }
#define MANY(a) a##_1 a##_2 /* a comment */ a
#define LINES(a) \\
  first(a);    \\
  second(a)
`;

/** A call a line. */
const CALLS = `
OBJECT NONE() ONE(OBJECT) ONE
PAIR((a, b), c) PAIR(, ) PAIR([1], "x, y")
PASTE(x, 1) PASTE(, y) PASTE(y, ) PASTE(OB, JECT) INDIRECT(OBJECT, OBJECT) PASTE(+, =)
TEXT( a  +  "b\\n" 'c' ) TEXT_OF(OBJECT) TEXT(OBJECT) TEXT()
REST(1) REST(1, 2, (3, 4)) OPTIONAL(1) OPTIONAL(1, OBJECT) NAMED() NAMED(1, OBJECT)
SELF(SELF(1)) MUTUAL(2) LIST(ONE) LIST(SELF) OPEN 3)
BRACES(PAIR(a, ONE(b))) MANY(v) LINES(ONE(OBJECT)) ONE (4) ONE
ONE(ONE)(5) INDIRECT(ON, E)(6) TEXT(1 / 2) x<<<ONE(1), 2>>>(y += 1)
`.trim().split("\n");

/** Tokens as text: spaces between them do not count. */
function words(text: string): string {
  return tokenize(text).filter(isSignificant).map((token) => token.text).join(" ");
}

function expanded(definitions: string, call: string): string | undefined {
  const { list: { tokens }, macros } = readSource(`${definitions}\n${call}\n`, {});
  return new MacroExpander(macros).expand(tokens)?.textOf(0, Infinity);
}

Deno.test("MacroExpander.expand() writes what the C++ preprocessor writes", async () => {
  using folder = TemporaryDirectory.of({ "calls.cpp": DEFINITIONS + CALLS.join("\n") });
  const file = `${folder.path}/calls.cpp`;
  const { stdout, success } = await runProgram(["c++"], ["-E", "-P", "-std=gnu++17", file]);
  assert(success);
  assertEquals(
    CALLS.map((call) => words(expanded(DEFINITIONS, call) ?? "")).join(" "),
    words(stdout),
  );
});

Deno.test("MacroExpander.expand() leaves expansions without end, or of unknown kind, alone", () => {
  const doubled = Array.from({ length: 40 }, (_, i) => `#define D${i + 1}(a) D${i}(a) D${i}(a)\n`);
  assertStrictEquals(expanded(doubled.join(""), "D40(x)"), undefined);
  assertStrictEquals(expanded("#define F(a) a", "F(".repeat(2000) + ")".repeat(2000)), undefined);
  assertStrictEquals(expanded("#define F(...) f(__VA_OPT__(1))", "F(2)"), undefined);
  const open = "F(".repeat(100);
  assertStrictEquals(words(expanded("#define F(a) a", open)!), words(open));
});
