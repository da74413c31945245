import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  type KernelParameter,
  parseSignature,
  signatureDifference,
  signatureText,
} from "../../src/launch/signature/signature.ts";
import { requestedKernel } from "../../src/launch/signature/signature_reader.ts";
import { defineStruct, type StructTypes } from "../../src/launch/signature/struct_type.ts";
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

Deno.test("parseSignature() names the character and the text of every unreadable row", () => {
  for (const [text, , character, part] of UNREADABLE) {
    const { message } = assertThrows(() => parseSignature(text), SyntaxError, part);
    assert(message.includes(`at character ${character}:`), message);
  }
});

Deno.test("parseSignature() refuses signatures that the types accept", () => {
  const refused: [string, string][] = [
    ["f(float $)", '"$"'],
    ["f(float x])", '"]"'],
    ["f(float 3)", '"3"'],
    ["n:: f(float x)", "nothing can stand"],
    ["f(float x = )", "must have a value"],
  ];
  for (const [text, part] of refused) {
    assertThrows(() => parseSignature(text), SyntaxError, part);
  }
  for (const value of [undefined, null, 4, {}, Symbol()]) {
    assertThrows(() => parseSignature(value as unknown as string), TypeError, "must be a text");
  }
});

Deno.test("parseSignature() reads a million characters in linear time", () => {
  const blank = " \n\t".repeat(333_333);
  assertStrictEquals(parseSignature(`f(${blank}int x${blank})`).parameters.length, 1);
  for (const piece of ["(", "[[", "f(int x[", "alignas(", "<", "/*", "//\n", "f<(", "int x,"]) {
    assertThrows(() => parseSignature(piece.repeat(30_000)), SyntaxError);
    assertThrows(() => parseSignature(`f(${piece.repeat(30_000)}`), SyntaxError);
  }
});

Deno.test("parseSignature() returns a signature or throws a SyntaxError for any text", () => {
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

Deno.test("parseSignature() refuses invalid structs and two of one name", () => {
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

Deno.test("requestedKernel() and parseSignature() give names without white space", () => {
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

Deno.test("signatureDifference() names the first difference, if any", () => {
  const compiled = parseSignature("axpy(float,const float*,float*,unsigned long long)");
  const departure = (text: string) => signatureDifference(compiled, parseSignature(text));
  assertStrictEquals(departure("axpy(float a, float const *x, float* y, size_t n)"), undefined);
  // Namespaces may be left out; other names are other kernels.
  assertStrictEquals(departure("a::axpy(float, const float*, float*, size_t)"), undefined);
  assert(departure("saxpy(float, const float*, float*, size_t)")!.includes("name is axpy"));
  assert(departure("axpy(float a)")!.startsWith("the kernel has 4 parameters, axpy(float, const"));
  assert(departure("apxy(float a)")!.includes("apxy"));
});

Deno.test("signatureDifference() compares vectors by spelling and structs by layout", () => {
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
