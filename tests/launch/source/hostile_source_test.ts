// Sources that are large or made to take forever: a reader that is not linear, or without limits,
// takes minutes for them or ends with an exception.

import { assert, assertEquals } from "@std/assert";
import { CompileError } from "../../../src/launch/compile/compile_error.ts";
import { readDeviceSource } from "../../../src/launch/source/device_source.ts";
import { readStructs } from "../../../src/launch/source/structs.ts";

const KERNEL = "\n__global__ void k(int* x) { }\n";

function lines(count: number, line: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => line(index)).join("");
}

/** Repeats a text to a quarter of a million characters. */
function long(unit: string): string {
  return unit.repeat(Math.ceil(2.5e5 / unit.length));
}

/** Texts that a kernel may stand behind. */
const BEFORE_KERNEL: Readonly<Record<string, string>> = {
  "macros that double": lines(60, (i) => `#define A${i} A${i + 1} A${i + 1}\n`) +
    "#define A60 int x;\nA0\n",
  "macros that double in a condition": lines(60, (i) => `#define A${i} (A${i + 1} + A${i + 1})\n`) +
    "#define A60 1\n#if A0\nint y;\n#endif\n",
  "a long chain of macros": lines(30000, (i) => `#define A${i} A${i + 1}\n`) + "A0 z;\n",
  "nested choices": `#if ${"1?".repeat(50000)}1${":0".repeat(50000)}\n#endif\n`,
  "angles that nothing closes": `__global__ void other(${"A<".repeat(30000)} int n) {}\n`,
};

for (const [name, text] of Object.entries(BEFORE_KERNEL)) {
  Deno.test(`readDeviceSource() finds the kernel behind ${name}`, () => {
    const { kernels } = readDeviceSource(text + KERNEL, { name: "hostile.cu" });
    assert(kernels.some(({ signature }) => signature === "k(int* x)"), "the kernel is not found");
  });
}

/** Large sources that slow down readers that look ahead or recurse. */
const LARGE: Readonly<Record<string, string>> = {
  "kernels": long("__global__ void k(float* x, int n) { if (n < 3) x[n] = 1.0f; }\n").repeat(2),
  "host functions": long("int f(int a) { return a << 1; }\n"),
  "open braces": long("{"),
  "open classes": long("struct A {"),
  "open angles": long("<"),
  "templates without an end": long("template<"),
  "templates cut short": long("template<f(){}"),
  "namespaces": long("namespace a { namespace }\n"),
  "deep namespaces": long("namespace a {"),
  "strings": long('"a\\"'),
  "nested conditions": long("#if A\nx\n#else\n"),
  "conditions side by side": long("#if A\n{\n#else\n}\n#endif\n"),
  "brackets in conditions": "#if " + long("("),
  "macros of macros": long("#define A B B\n#define B A A\n__device__ A x;\n"),
  "type aliases": long("typedef float a; __constant__ a b[3], c;\n"),
  "parameters": "__global__ void k(" + long("int a = f(1, 2), ") + "int b) {}",
  "shared arrays": long("extern __shared__ float s[];\n"),
};

Deno.test("readDeviceSource() reads large sources in linear time", () => {
  for (const source of Object.values(LARGE)) {
    try {
      readDeviceSource(source, { name: "large.cu" });
    } catch (error) {
      if (!(error instanceof CompileError)) throw error;
    }
  }
});

Deno.test("readStructs() cuts up headers that include each other once each", () => {
  const filler = "__device__ inline float f(float a, float b) { return a * b + 1; }\n".repeat(150);
  const headers = Object.fromEntries(
    Array.from({ length: 150 }, (_, i): [string, string] => {
      const before = i === 0 ? "" : `#include "h${i - 1}.h"\n`;
      return [`h${i}.h`, `#pragma once\n${before}struct S${i} { int x[N${i}]; };\n${filler}`];
    }),
  );
  const defines = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`N${i}`, i + 1]));
  const { structs } = readStructs('#include "h149.h"\nstruct T { S149 a; };', { headers, defines });
  assertEquals(structs["T"]!.bytes, 600);
});
