/**
 * A kernel of a source that makes its device unusable; started by `module_fault_test.ts`.
 *
 * @module
 */

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { CudaError, openDevice } from "../../../mod.ts";
import { resourceTally } from "../../../src/ffi/native_device.ts";

const SOURCE = `
  __device__ int total;
  template <int Step> __global__ void wild(int* x) { x[Step * threadIdx.x] = 1; }
  extern "C" __global__ void fine(int* x) { *x = 5; }
`;

const { library } = openDevice("host:0").context;
const before = resourceTally(library);
{
  using device = openDevice("host:0");
  using module = await device.compile(SOURCE, { instances: ["wild<1000000>"] });
  using x = device.allocate("int32", 1);
  const fine = module.kernel("fine(int* x)");
  const total = module.variable("total", "int32");
  module.kernel("wild<1000000>(int* x)").launch({ grid: 1, block: 32 }, x);
  const error = await assertRejects(() => device.done(), CudaError);
  assert(error.sticky);
  assertEquals(error.codeName, "cudaErrorIllegalAddress");
  assert(error.message.includes("wild<1000000>"), error.message);
  // The address may also come from a pointer that a write past a local array has overwritten.
  assert(/\bpointers\b.*\bits own arrays\b/.test(error.advice), error.advice);
  assertThrows(() => fine.launch({ grid: 1, block: 1 }, x), CudaError, "cudaErrorIllegalAddress");
  await assertRejects(() => total.toArray(), CudaError);
  await assertRejects(() => device.compile(SOURCE), CudaError);
}
assertEquals(resourceTally(library).modules, before.modules);

// The other device is none the worse, and loads the same machine code.
using device = openDevice("host:1");
using module = await device.compile(SOURCE);
using x = device.allocate("int32", 1, { fill: 0 });
module.kernel("fine(int* x)").launch({ grid: 1, block: 1 }, x);
assertEquals(await x.toArray(), new Int32Array([5]));
console.log("done");
