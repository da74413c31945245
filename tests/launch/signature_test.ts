import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  bytesOfScalar,
  C_TYPES,
  integerRange,
  pointeeDType,
  type ScalarType,
} from "../../src/launch/signature/c_types.ts";
import { type KernelParameter, parseSignature } from "../../src/launch/signature/signature.ts";
import { requestedKernel } from "../../src/launch/signature/signature_reader.ts";
import { signatureDifference, signatureText } from "../../src/launch/signature/signature.ts";
import { defineStruct, type StructTypes } from "../../src/launch/signature/struct_type.ts";
import { VECTOR_SPELLINGS } from "../../src/launch/signature/c_types.ts";
import { READABLE, UNREADABLE } from "./signature_table.ts";

/** A parameter as the table writes it. */
function tableText(parameter: KernelParameter): string {
  if (parameter.kind === "scalar") return parameter.type;
  if (parameter.kind === "vector") return `${parameter.type.element}x${parameter.type.length}`;
  if (parameter.kind === "struct") return parameter.type.name;
  return `${parameter.isConst ? "const " : ""}${parameter.dtype ?? "void"}*`;
}

Deno.test("parseSignature() reads every readable signature of the table", () => {
  for (const [text, expected] of READABLE) {
    const { parameters } = parseSignature(text);
    assertStrictEquals(parameters.map(tableText).join(", "), expected, text);
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
    ["f(float x])", '"]"'],
    ["f(float 3)", '"3"'],
    ["n:: f(float x)", "nothing can stand"],
    ["n::4(float x)", "a name is expected"],
    ["f<float>4(float x)", '"4"'],
    ["f(const std::size_t ::x)", '"::"'],
    ["f(float x = )", "must have a value"],
    ["f((float x))", '"("'],
    ["f(float x)(", '"("'],
    ["f(float const const_ const x)", '"const"'],
    ["f(float é)", '"é"'],
    ["__launch_bounds__(1", "__launch_bounds__"],
    ["f(float 3x)", '"3x"'],
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
      {
        kind: "pointer",
        name: "codes",
        type: "uint16",
        dtype: "int16",
        isConst: true,
        bytes: 8,
        alignment: 8,
        pointeeBytes: 2,
        pointeeAlignment: 2,
      },
      { kind: "scalar", type: "bool", isConst: false, bytes: 1, alignment: 1 },
      { kind: "scalar", name: "x", type: "float16", isConst: true, bytes: 2, alignment: 2 },
    ],
  });
  assertEquals(parseSignature("f(void*)").parameters, [
    {
      kind: "pointer",
      type: "void",
      isConst: false,
      bytes: 8,
      alignment: 8,
      pointeeBytes: 1,
      pointeeAlignment: 1,
    },
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
  for (const piece of ["(", "[[", "f(int x[", "alignas(", "<", "/*", "//\n", "f<(", "int x,"]) {
    assertThrows(() => parseSignature(piece.repeat(30_000)), SyntaxError);
    assertThrows(() => parseSignature(`f(${piece.repeat(30_000)}`), SyntaxError);
  }
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
    ...["<", ">", "::", "float4", "//", "/*", "*/", "[[", "]]", "=", "struct", "{", "}", "std::"],
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

Deno.test("every spelling of a vector is read as its elements", () => {
  for (const spelling of VECTOR_SPELLINGS) {
    const [value, pointer] = parseSignature(`f(${spelling}, ${spelling}* x)`).parameters;
    assert(value?.kind === "vector" && pointer?.kind === "pointer");
    const { element, length, bytes, alignment } = value.type;
    assertEquals([value.bytes, value.alignment], [bytes, alignment]);
    assertStrictEquals(bytes, length * bytesOfScalar(element));
    assertStrictEquals(pointer.dtype, pointeeDType(element));
    assertEquals([pointer.pointeeBytes, pointer.pointeeAlignment], [bytes, alignment]);
  }
});

Deno.test("parseSignature() takes 4096 bytes of parameters and not more", () => {
  const Half = defineStruct("Half", { bytes: "char[2047]" });
  const read = (text: string) => parseSignature(text, [Half]).parameters.length;
  assertStrictEquals(read("f(Half a, Half b)"), 2);
  assertThrows(() => read("f(Half a, Half b, char c)"), SyntaxError, "at most 4096 bytes");
});

Deno.test("parseSignature() refuses structs that are none, and two of one name", () => {
  const One = defineStruct("S", { a: "int" });
  const Other = defineStruct("S", { a: "float" });
  assertThrows(() => parseSignature("f()", [One, Other]), TypeError, "two are S");
  assertStrictEquals(parseSignature("f(S a)", [One, One]).parameters.length, 1);
  const bad: [unknown, string][] = [
    [[{ name: "S" }], "must be a result of defineStruct(): it is an Object"],
    [{ S: "float" }, 'struct S must be a result of defineStruct(): it is "float"'],
    [null, "must be an array or an object: they are null"],
    ["S", 'must be an array or an object: they are "S"'],
  ];
  for (const [structs, part] of bad) {
    assertThrows(() => parseSignature("f()", structs as StructTypes), TypeError, part);
  }
});

Deno.test("names are read without white space, with namespaces and template arguments", () => {
  const names = [
    ["f(int x)", "f"],
    ["__global__ void ::a::b(int x)", "a::b"],
    ["tile < float, 32 >(int x)", "tile<float,32>"],
    [
      "f<unsigned  int, /* ( */ (4 > 2), g< h<k>> >::run (int x)",
      "f<unsigned int,(4>2),g<h<k>>>::run",
    ],
  ] as const;
  for (const [text, name] of names) {
    assertStrictEquals(parseSignature(text).name, name);
    const requested = requestedKernel(text);
    assertStrictEquals(requested.name, name);
    assert(text.includes(`(${requested.parameters})`), requested.parameters);
    assertEquals(requestedKernel(name), { name, parameters: undefined });
  }
  assertThrows(() => requestedKernel("f g"), SyntaxError, 'must be "(": it is "g"');
  assertThrows(() => requestedKernel("4"), SyntaxError, "a kernel's name is expected");
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
  // Namespaces may be left out; other names are other kernels.
  assertStrictEquals(departure("a::axpy(float, const float*, float*, size_t)"), undefined);
  assert(departure("saxpy(float, const float*, float*, size_t)")!.includes("name is axpy"));
  assert(departure("axpy(float a)")!.startsWith("the kernel has 4 parameters, axpy(float, const"));
  assert(departure("apxy(float a)")!.includes("apxy"));
});

Deno.test("signatureDifference() tells vectors and structs apart by what they are", () => {
  const Small = defineStruct("S", { a: "int" });
  const Large = defineStruct("S", { a: "double" });
  const between = (compiled: string, written: string) =>
    signatureDifference(parseSignature(compiled, [Small]), parseSignature(written, [Large]));
  assertStrictEquals(between("f(long2 v)", "f(const longlong2)"), undefined);
  assertStrictEquals(between("f(float x[3])", "f(float*)"), undefined);
  assertStrictEquals(
    between("f(float4* v)", "f(float* v)"),
    "parameter 1 of 1 must be float4*: it is float*",
  );
  assertStrictEquals(
    between("f(int n, const S* s)", "f(int n, const S* s)"),
    "parameter 2 of 2 must be S of 4 bytes, aligned to 4: it has 8, aligned to 8",
  );
});
