// A source made to take forever, or all memory, is read in a moment, whatever it comes to: nothing is
// kept waiting but what it declares plainly, which is found all the same.

import { assert, assertEquals } from "@std/assert";
import { readDeviceSource } from "../../../src/launch/source/device_source.ts";
import { readStructs } from "../../../src/launch/source/source_structs.ts";

const KERNEL = "\n__global__ void k(int* x) { }\n";
/** Of each of them the time without limits is minutes at least, or it ended with an exception. */
const MOST_MILLISECONDS = 8000;

function lines(count: number, line: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => line(index)).join("");
}

const MACROS: Readonly<Record<string, string>> = {
  "each macro twice the next one": lines(60, (i) => `#define A${i} A${i + 1} A${i + 1}\n`) +
    "#define A60 int x;\nA0\n",
  "the same in a condition": lines(60, (i) => `#define A${i} (A${i + 1} + A${i + 1})\n`) +
    "#define A60 1\n#if A0\nint y;\n#endif\n",
  "calls in each other, each twice its argument": `#define D(x) x x\n${"D(".repeat(60)}int y;${
    ")".repeat(60)
  }\n`,
  "a long argument, used often": `#define D(x) ${"x ".repeat(2000)}\nD(${"a ".repeat(50000)})\n`,
  "a long argument, made a string often": `#define S(x) ${"#x ".repeat(2000)}\nconst char* y = S(${
    "a ".repeat(50000)
  });\n`,
  "a name that doubles": lines(60, (i) => `#define P${i}(x) P${i + 1}(x##x)\n`) +
    "#define P60(x) x\nP0(ab) y;\n",
  "a name of many parts": `#define P ${Array(50000).fill("a").join("##")}\nP y;\n`,
  "a long chain": lines(30000, (i) => `#define A${i} A${i + 1}\n`) + "A0 z;\n",
  "optional parts in each other": `#define V(...) ${"__VA_OPT__(".repeat(20000)}${
    ")".repeat(20000)
  }\nV(a)\n`,
  "choices in each other": `#if ${"1?".repeat(50000)}1${":0".repeat(50000)}\n#endif\n`,
  "angles that nothing closes": `__global__ void other(${"A<".repeat(30000)} int n) {}\n`,
};

for (const [name, text] of Object.entries(MACROS)) {
  Deno.test(`a source is read in a moment: ${name}`, () => {
    const begun = performance.now();
    const { kernels } = readDeviceSource(text + KERNEL, { name: "hostile.cu" });
    const milliseconds = performance.now() - begun;
    assert(kernels.some(({ signature }) => signature === "k(int* x)"), "the kernel is not found");
    assert(milliseconds < MOST_MILLISECONDS, `it took ${milliseconds} ms`);
  });
}

Deno.test("a parameter of a macro that stands for very much keeps the macro's name", () => {
  const source = `#define W ${"a ".repeat(100000)}\n__global__ void k(${"W ".repeat(2000)}) {}\n`;
  const [kernel] = readDeviceSource(source, { name: "hostile.cu" }).kernels;
  assertEquals(kernel!.signature, `k(${"W ".repeat(2000).trimEnd()})`);
});

Deno.test("structs by the thousand take as long as their text", () => {
  const begun = performance.now();
  const { structs } = readStructs(lines(20000, (i) => `struct S${i} { int x; };\n`));
  assertEquals(Object.keys(structs).length, 20000);
  const milliseconds = performance.now() - begun;
  assert(milliseconds < MOST_MILLISECONDS, `it took ${milliseconds} ms`);
});

Deno.test("headers that include each other in a row are cut up once each", () => {
  const filler = "__device__ inline float f(float a, float b) { return a * b + 1; }\n".repeat(150);
  const headers = Object.fromEntries(
    Array.from({ length: 150 }, (_, i): [string, string] => {
      const before = i === 0 ? "" : `#include "h${i - 1}.h"\n`;
      return [`h${i}.h`, `#pragma once\n${before}struct S${i} { int x[N${i}]; };\n${filler}`];
    }),
  );
  const defines = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`N${i}`, i + 1]));
  const begun = performance.now();
  const { structs } = readStructs('#include "h149.h"\nstruct T { S149 a; };', { headers, defines });
  const milliseconds = performance.now() - begun;
  assertEquals(structs["T"]!.bytes, 600);
  // Of 1.5 MB; each of them again for each that it is included by took half a minute.
  assert(milliseconds < MOST_MILLISECONDS, `it took ${milliseconds} ms`);
});
