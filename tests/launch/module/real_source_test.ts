// Habits of sources that nvcc compiles and other compilers do not.

import { assertEquals } from "@std/assert";
import { device } from "../../support/device.ts";

/** Runs the kernel `k(int* out)` of a source with one thread. */
async function valuesOf(source: string, count: number): Promise<number[]> {
  using module = await device.compile(source);
  using out = device.allocate("int32", count, { fill: 0 });
  module.kernel("k(int* out)").launch({ grid: 1, block: 1 }, out);
  return [...await out.toArray()];
}

Deno.test("compile() defines __CUDACC__ and __CUDA_ARCH__ as nvcc does for kernels", async () => {
  const source = `
    #ifndef __CUDACC__
    inline int max(int a, int b) { return 0; }
    #endif
    __global__ void k(int* out) {
    #if __CUDA_ARCH__ >= 700
      out[0] = max(1, 2);
      out[1] = __CUDA_ARCH__;
    #endif
    }`;
  const capability = Number(device.info.computeCapability.replace(".", "")) * 10;
  assertEquals(await valuesOf(source, 2), [2, capability]);
});

Deno.test("compile() keeps loads behind stores through a pointer of another type", async () => {
  const source = `
    __device__ void swap_bits(float* data, void* bits, int* out) {
      *data = 1.0f;
      *((int*) bits) = 0x40000000;
      *out = (int) *data;
    }
    __global__ void k(int* out) { swap_bits((float*) (out + 1), out + 1, out); }`;
  assertEquals((await valuesOf(source, 2))[0], 2);
});

Deno.test("compile() has the limits of integers and placement new without an include", async () => {
  const source = `
    struct Count { int value; __device__ Count() : value(3) {} };
    __global__ void k(int* out) {
      new (out) Count();
      out[1] = UINT_MAX == ~0u;
      out[2] = std::numeric_limits<int>::max() == INT_MAX;
    }`;
  assertEquals(await valuesOf(source, 3), [3, 1, 1]);
});

Deno.test("compile() leaves the name __globaltimer to sources", async () => {
  const source = `
    __device__ unsigned int __globaltimer() { return 5; }
    __global__ void k(int* out) { *out = __globaltimer(); }`;
  assertEquals(await valuesOf(source, 1), [5]);
});
