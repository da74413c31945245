// Kernels that macros make are found by their names and signatures, without being told of.

import { assertEquals } from "@std/assert";
import { readDeviceSource } from "../../src/launch/source/device_source.ts";
import type { Kernel } from "../../mod.ts";
import { device } from "../support/device.ts";
import { nvrtc, request, withoutNvrtc } from "../support/nvrtc.ts";

const HEADERS = {
  "define.h": `
    #define CONCATENATE(a, b) a##_##b
    #define DEFINE_KERNEL(name, T, op) \\
      __global__ void CONCATENATE(name, T)(T* x, T by) { x[threadIdx.x] = x[threadIdx.x] op by; }
    #define FOR_EACH_TYPE(X) X(int) X(float)
    #define KERNEL(name) extern "C" __global__ void name##_kernel`,
};
const SOURCE = `
  #include "define.h"
  #define ADD(T) DEFINE_KERNEL(add, T, +)
  namespace n { FOR_EACH_TYPE(ADD) }
  #undef ADD
  DEFINE_KERNEL(multiply, double, *)
  KERNEL(twice)(int* x) { x[threadIdx.x] *= 2; }
  #define TABLE(T, n) __constant__ T table_##n[2] = {3, 4};
  TABLE(int, small)
`;
const NAMES = ["n::add_int", "n::add_float", "multiply_double", "twice_kernel"];

const module = await device.compile(SOURCE as string, { headers: HEADERS });
globalThis.addEventListener("unload", () => module[Symbol.dispose]());

Deno.test("kernels and variables that macros make are found, and run", async () => {
  assertEquals(module.kernelNames, NAMES);
  assertEquals(module.variableNames, ["table_small"]);
  assertEquals([...module.variable("table_small", "int32").toArraySync()], [3, 4]);
  using x = device.upload(new Int32Array([1, 2]));
  const launch = (name: string, ...rest: unknown[]) =>
    (module.kernel(name) as unknown as Kernel).launch(
      { grid: 1, block: 2 },
      ...([x, ...rest] as never[]),
    );
  launch("n::add_int", 5);
  launch("twice_kernel(int* x)");
  assertEquals(await x.toArray(), new Int32Array([12, 14]));
  using y = device.upload(new Float64Array([1.5]));
  module.kernel("multiply_double(double* x, double by)").launch({ grid: 1, block: 1 }, y, 3);
  assertEquals(await y.toArray(), new Float64Array([4.5]));
});

Deno.test({
  name: `NVRTC compiles them by the names that were found${withoutNvrtc}`,
  ignore: nvrtc === undefined,
}, async () => {
  const headers = new Map(Object.entries(HEADERS));
  const { text, kernels } = readDeviceSource(SOURCE, { name: "kernel.cu", headers });
  const expressions = kernels.map(({ expression }) => expression);
  assertEquals(expressions, NAMES);
  const { loweredNames } = await nvrtc!.compile(request(text, { headers, expressions }));
  assertEquals([...loweredNames.values()], [
    "_ZN1n7add_intEPii",
    "_ZN1n9add_floatEPff",
    "_Z15multiply_doublePdd",
    "twice_kernel",
  ]);
});
