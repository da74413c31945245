// The names of kernels and variables are read out of the PTX of nvcc, and what told them is taken out
// of it again, so that the machine code is that of the source alone.

import { assertEquals } from "@std/assert";
import { readNames, withNames } from "../../../src/launch/compile/nvcc_names.ts";

const EXPRESSIONS = ["tile<float, 32>", "&n::count"];

Deno.test("a variable for each expression stands behind the source, in lines of their own", () => {
  assertEquals(withNames("int x;\n  int y;", EXPRESSIONS).split("\n"), [
    "int x;",
    "  int y;",
    '#line 1 "gridstride_names"',
    "__device__ const void* gridstride_name_0 = (const void*)(tile<float, 32>);",
    "__device__ const void* gridstride_name_1 = (const void*)(&n::count);",
    "",
  ]);
});

Deno.test("names are read out of PTX in both of their forms, and all else stays", () => {
  const rest = ".visible .global .align 4 .u32 _ZN1n5countE;\n.visible .entry k()\n";
  const ptx = ".global .align 8 .u64 gridstride_name_0 = _Z4tileIfLi32EEvPT_i;\n" +
    ".visible .global .align 8 .u64 gridstride_name_1 = generic(_ZN1n5countE);\n" + rest;
  assertEquals(readNames(ptx, EXPRESSIONS), {
    ptx: rest,
    loweredNames: new Map([
      ["tile<float, 32>", "_Z4tileIfLi32EEvPT_i"],
      ["&n::count", "_ZN1n5countE"],
    ]),
  });
  assertEquals(readNames(rest, []), { ptx: rest, loweredNames: new Map() });
});
