import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { bytesOfScalar, C_TYPES, integerRange, type ScalarType } from "../../src/launch/c_types.ts";
import { type KernelParameter, parseSignature } from "../../src/launch/signature.ts";
import { signatureDifference, signatureText } from "../../src/launch/signature_text.ts";
import { READABLE, UNREADABLE } from "./signature_table.ts";

/** A parameter as the table writes it. */
function tableText(parameter: KernelParameter): string {
  if (parameter.kind === "scalar") return parameter.type;
  return `${parameter.isConst ? "const " : ""}${parameter.dtype ?? "void"}*`;
}

Deno.test("parseSignature() reads every readable signature of the table", () => {
  for (const [text, expected] of READABLE) {
    const { parameters } = parseSignature(text);
    assertEquals(parameters.map(tableText), [...expected], text);
  }
});

Deno.test("parseSignature() refuses every unreadable one, naming the character and the text", () => {
  for (const [text, , character, part] of UNREADABLE) {
    const error = assertThrows(() => parseSignature(text), SyntaxError, `"${text}"`);
    assert(error.message.includes(`at character ${character}:`), error.message);
    assert(error.message.includes(part), error.message);
  }
});

Deno.test("parseSignature() refuses what the types let pass", () => {
  const refused: [string, string][] = [
    ["f(float a, int b, float a)", 'two are "a"'],
    ["f(float $)", '"$"'],
    ["f(float x = 1)", '"="'],
    ["f(float x[n])", '"n"'],
    ["f(float x[)", '")"'],
    ["f<float>(float x)", '"<"'],
    ["ns::f(float x)", '":"'],
    ["f((float x))", '"("'],
    ["f(float x)(", '"("'],
    ["f(float const const_ const x)", '"const"'],
    ["f(float é)", '"é"'],
    ["__launch_bounds__(1", "__launch_bounds__"],
    ["f(float 3x)", '"3"'],
  ];
  for (const [text, part] of refused) {
    assertThrows(() => parseSignature(text), SyntaxError, part);
  }
  for (const value of [undefined, null, 4, {}, Symbol()]) {
    assertThrows(() => parseSignature(value as unknown as string), TypeError, "must be a text");
  }
});

Deno.test("parseSignature() gives names, sizes and const-ness", () => {
  assertEquals(parseSignature("f(const uint16_t* codes, bool, const half x)"), {
    name: "f",
    parameters: [
      { kind: "pointer", name: "codes", type: "uint16", dtype: "int16", isConst: true, bytes: 8 },
      { kind: "scalar", type: "bool", isConst: false, bytes: 1 },
      { kind: "scalar", name: "x", type: "float16", isConst: true, bytes: 2 },
    ],
  });
  assertEquals(parseSignature("f(void*)").parameters, [
    { kind: "pointer", type: "void", isConst: false, bytes: 8 },
  ]);
});

Deno.test("parseSignature() takes 64 parameters and not 65", () => {
  const list = (count: number) => Array.from({ length: count }, (_, i) => `int p${i}`).join(",\n");
  assertStrictEquals(parseSignature(`f(${list(64)})`).parameters.length, 64);
  assertThrows(() => parseSignature(`f(${list(65)})`), SyntaxError, "at most 64 parameters");
});

Deno.test("parseSignature() shows only the surroundings of an error in a long text", () => {
  const text = `f(${Array.from({ length: 60 }, (_, i) => `int a${i}`).join(", ")}, flot x)`;
  const { message } = assertThrows(() => parseSignature(text), SyntaxError, "flot");
  assert(message.includes(`at character ${text.indexOf("flot") + 1}:`), message);
  assert(message.length < 250, message);
});

Deno.test("parseSignature() reads a million characters in a moment", () => {
  const blank = " \n\t".repeat(333_333);
  const start = performance.now();
  assertStrictEquals(parseSignature(`f(${blank}int x${blank})`).parameters.length, 1);
  assertThrows(() => parseSignature("(".repeat(1_000_000)), SyntaxError);
  assert(performance.now() - start < 3000);
});

/** What a random signature says, and one way to write it. */
interface Written {
  readonly expected: string;
  readonly text: string;
}

const blank = fc.stringMatching(/^[ \t\r\n\v\f]{0,3}$/);
const gap = fc.stringMatching(/^[ \t\r\n\v\f]{1,3}$/);
const identifier = fc.stringMatching(/^[a-z_][a-z0-9_]{0,8}$/).map((name) => `${name}_q`);
const qualifiers = fc.subarray(["const", "__restrict__", "volatile"]);

const scalarWritten: fc.Arbitrary<Written> = fc.tuple(
  fc.constantFrom(...Object.entries(C_TYPES)),
  fc.constantFrom("", "const before", "const behind"),
  gap,
).map(([[spelling, type], constness, space]) => {
  const words = spelling.replaceAll(" ", space);
  const text = constness === ""
    ? words
    : constness === "const before"
    ? `const${space}${words}`
    : `${words}${space}const`;
  return { expected: type, text };
});

const pointerWritten: fc.Arbitrary<Written> = fc.tuple(
  fc.constantFrom(...Object.entries(C_TYPES), ["void", "void"] as const),
  fc.constantFrom("", "const before", "const behind"),
  gap,
  blank,
  qualifiers,
).map(([[spelling, type], constness, space, room, behind]) => {
  const words = spelling.replaceAll(" ", space);
  const pointee = constness === ""
    ? words
    : constness === "const before"
    ? `const${space}${words}`
    : `${words}${space}const`;
  const text = [`${pointee}${room}*${room}`, ...behind].join(space);
  return { expected: `${constness === "" ? "" : "const "}${type}*`, text };
});

const arrayWritten: fc.Arbitrary<Written> = fc.tuple(scalarWritten, blank, fc.nat(4096)).map(
  ([{ expected, text }, room, extent]) => ({
    expected: `${/\bconst\b/.test(text) ? "const " : ""}${expected}*`,
    text: `${text}${room}[${room}${extent % 2 ? extent : ""}${room}]`,
  }),
);

Deno.test("parseSignature() reads back random signatures however they are written", () => {
  const parameter = fc.tuple(fc.oneof(scalarWritten, pointerWritten), fc.option(identifier));
  const signature = fc.record({
    head: fc.constantFrom("", "__global__ void ", 'extern "C"\n__global__ void '),
    name: identifier,
    parameters: fc.uniqueArray(parameter, {
      maxLength: 12,
      selector: ([, name]) => name ?? Symbol(),
    }),
    unnamedArray: fc.option(arrayWritten),
    room: blank,
    tail: fc.constantFrom("", ";", " ;\n"),
  });
  fc.assert(
    fc.property(signature, ({ head, name, parameters, unnamedArray, room, tail }) => {
      const written = parameters.map(([{ text }, own]) => own === null ? text : `${text} ${own}`);
      if (unnamedArray !== null) written.push(unnamedArray.text);
      const list = written.map((text) => `${room}${text}${room}`).join(",");
      const read = parseSignature(`${head}${name}${room}(${list})${tail}`);
      assertStrictEquals(read.name, name);
      const expected = parameters.map(([{ expected }, own]) => [expected, own ?? undefined]);
      if (unnamedArray !== null) expected.push([unnamedArray.expected, undefined]);
      const found = read.parameters.map((one) => [
        one.kind === "scalar" ? one.type : `${one.isConst ? "const " : ""}${one.type}*`,
        one.name,
      ]);
      assertEquals(found, expected);
      // Printed and read again it is the same signature.
      assertStrictEquals(signatureDifference(read, parseSignature(signatureText(read))), undefined);
    }),
    { numRuns: 500 },
  );
});

Deno.test("parseSignature() ends in a signature or a SyntaxError, whatever the text", () => {
  const piece = fc.constantFrom(
    ...["(", ")", ",", "*", "[", "]", ";", "const", "float", "unsigned", "long", "void", "x", "4"],
    ...["__restrict__", "__global__", "__launch_bounds__", " ", "\n", "é", '"C"', '"', "\0", "&"],
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), fc.constantFrom("", " "), (parts, by) => {
      try {
        const signature = parseSignature(parts.join(by));
        assertStrictEquals(parseSignature(signatureText(signature)).name, signature.name);
      } catch (error) {
        assert(error instanceof SyntaxError, String(error));
      }
    }),
    { numRuns: 3000 },
  );
});

Deno.test("every spelling of a type is read as its type", () => {
  for (const [spelling, type] of Object.entries(C_TYPES)) {
    const [scalar, named] = parseSignature(`f(${spelling}, ${spelling} x)`).parameters;
    assertStrictEquals(scalar!.type, type);
    assertStrictEquals(named!.type, type);
    assertStrictEquals(named!.bytes, bytesOfScalar(type));
  }
});

Deno.test("integerRange() gives the ends of every integer type and of nothing else", () => {
  const ends = (type: ScalarType) => Object.values(integerRange(type) ?? {});
  assertEquals(ends("int8"), [-128n, 127n]);
  assertEquals(ends("uint8"), [0n, 255n]);
  assertEquals(ends("uint16"), [0n, 65535n]);
  assertEquals(ends("int64"), [-(2n ** 63n), 2n ** 63n - 1n]);
  assertEquals(ends("uint64"), [0n, 2n ** 64n - 1n]);
  for (const type of ["bool", "float32", "float16", "bfloat16", "float8_e5m2"] as const) {
    assertEquals(ends(type), []);
  }
});

Deno.test("signatureDifference() names the first departure and none where there is none", () => {
  const compiled = parseSignature("axpy(float,const float*,float*,unsigned long long)");
  const departure = (text: string) => signatureDifference(compiled, parseSignature(text));
  assertStrictEquals(departure("axpy(float a, float const *x, float* y, size_t n)"), undefined);
  assertStrictEquals(
    departure("axpy(double a, const float* x, float* y, size_t n)"),
    "parameter 1 of 4 must be float: it is double",
  );
  assertStrictEquals(
    departure("axpy(float a, float* x, float* y, size_t n)"),
    "parameter 2 of 4 must be const float*: it is float*",
  );
  assertStrictEquals(
    departure("axpy(float a, const float* x, float* y, long long n)"),
    "parameter 4 of 4 must be unsigned long long: it is long long",
  );
  assert(departure("axpy(float a)")!.startsWith("the kernel has 4 parameters, axpy(float, const"));
  assert(departure("apxy(float a)")!.includes("apxy"));
});
