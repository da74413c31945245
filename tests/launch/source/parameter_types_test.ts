// What tells a kernel from others of its name: the types of its parameters, as they are written at
// the end of the source.

import { assertEquals } from "@std/assert";
import { readDeviceSource } from "../../../src/launch/source/device_source.ts";
import {
  overloadExpression,
  overloadIn,
  readableExpression,
} from "../../../src/launch/source/overload_expression.ts";

function typesOf(source: string): string[] {
  return readDeviceSource(source, { name: "test.cu" }).kernels
    .map(({ parameterTypes }) => parameterTypes);
}

/** Parameters, and the types that they come to. */
const PARAMETERS: readonly (readonly [string, string])[] = [
  ["", ""],
  ["void", ""],
  ["int", "int"],
  ["int n", "int"],
  ["unsigned", "unsigned"],
  ["unsigned long long n", "unsigned long long"],
  ["const float* __restrict__ x, int n = f(1, 2), bool", "const float*,int,bool"],
  [
    "float x[4][8], Pair<float, 2> p, Pair<int, (1 > 0)>",
    "float[4][8],Pair<float,2>,Pair<int,(1>0)>",
  ],
  ["const __grid_constant__ Settings s", "const Settings"],
  [
    "struct Settings s, struct Settings, Settings const s",
    "struct Settings,struct Settings,Settings const",
  ],
  [
    "other::Settings, ::Settings s, other::Settings s",
    "other::Settings,::Settings,other::Settings",
  ],
  ["Settings", "Settings"],
  ["float *const x, volatile int* flag", "float*const,volatile int*"],
  ["Box b = Box{1, 2}, const Box* c", "n::Box,const n::Box*"],
  // A parameter may be called as something that its namespace has.
  ["int Box", "int"],
  ["REAL* x", "double*"],
];

Deno.test("parameters are written as types, without names, defaults and what is their own", () => {
  const before = "#define REAL double\nnamespace n { struct Box { int a, b; };";
  for (const [parameters, expected] of PARAMETERS) {
    const [found] = typesOf(`${before} __global__ void k(${parameters}) {} }`);
    assertEquals(found?.replaceAll(/ ?([,*[\]<>:&]) ?/g, "$1"), expected, parameters);
  }
});

Deno.test("an expression that chooses an overload can be read again, others are what they are", () => {
  for (
    const overload of [
      { name: "add", types: "" },
      { name: "n::add<(1 > 0), 3>", types: "const float*, Pair<int, (2)>" },
    ]
  ) {
    const expression = overloadExpression(overload);
    assertEquals(overloadIn(expression), overload);
    assertEquals(readableExpression(expression), `${overload.name}(${overload.types})`);
  }
  for (const plain of ["add", "n::tile<float, 32>", "&table"]) {
    assertEquals(overloadIn(plain), undefined);
    assertEquals(readableExpression(plain), plain);
  }
});
