import { assertEquals, assertThrows } from "@std/assert";
import type { Kernel } from "../../../mod.ts";
import { device } from "../../support/device.ts";

const HEADERS = {
  "define.h": `
    #define CONCATENATE(a, b) a##_##b
    #define DEFINE_KERNEL(name, T, op) \\
      __global__ void CONCATENATE(name, T)(T* x, T by) { x[threadIdx.x] = x[threadIdx.x] op by; }
    #define KERNEL(name) extern "C" __global__ void name##_kernel`,
};
const SOURCE = `
  #include "define.h"
  namespace n { DEFINE_KERNEL(add, int, +) DEFINE_KERNEL(add, float, +) }
  DEFINE_KERNEL(multiply, double, *)
  KERNEL(twice)(int* x) { x[threadIdx.x] *= 2; }
  #define TABLE(T, n) __constant__ T table_##n[2] = {3, 4};
  TABLE(int, small)
  __global__ void halve(float* x) { x[threadIdx.x] /= 2; }
`;

Deno.test("compile() takes kernels that macros declare as instances", async () => {
  const instances = ["n::add_int", "n::add_float", "multiply_double", "twice_kernel", "halve"];
  using module = await device.compile(SOURCE as string, { headers: HEADERS, instances });
  assertEquals(module.kernelNames.toSorted(), instances.toSorted());
  using x = device.upload(new Int32Array([1, 2]));
  const launch = (signature: string, ...args: unknown[]) =>
    (module.kernel(signature) as unknown as Kernel).launch(
      { grid: 1, block: 2 },
      ...args as never[],
    );
  launch("n::add_int(int* x, int by)", x, 5);
  launch("twice_kernel(int* x)", x);
  assertEquals(await x.toArray(), new Int32Array([12, 14]));
  using y = device.upload(new Float64Array([1.5, 2]));
  launch("multiply_double(double* x, double by)", y, 3);
  assertEquals(await y.toArray(), new Float64Array([4.5, 6]));
  assertThrows(() => module.kernel("twice_kernel"), TypeError, "give its signature");
  assertThrows(
    () => module.kernel("add_int(int* x, int by)"),
    TypeError,
    'that a macro declares in the options of compile(), { instances: ["add_int"] }',
  );
});
