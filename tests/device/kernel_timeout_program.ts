/**
 * Runs kernels that never end, each on a device of its own, and prints the errors as JSON.
 *
 * @module
 */

import { CudaError, openDevice } from "../../mod.ts";

const SOURCE = `
__global__ void poll_plain(volatile int* flag) {
  if (threadIdx.x == 2) {
    while (*flag == 0) {}
  }
  if (threadIdx.x == 3) *flag = 1;
}
__global__ void poll_after_barrier(volatile int* flag) {
  __syncthreads();
  if (threadIdx.x == 2) while (*flag == 0) {}
  __syncthreads();
  if (threadIdx.x == 3) *flag = 1;
}
__global__ void poll_atomic(int* flag) { while (atomicAdd(flag, 0) == 0) {} }
__global__ void print_forever(int* flag) {
  for (;;) printf("%s", flag == nullptr ? "null" : "");
}
__global__ void wait_for_short(int* flag) { if (threadIdx.x == 0) *flag = 7; }
`;

const outcomes: Record<string, unknown> = {};
let ordinal = 0;
for (const name of ["poll_plain", "poll_after_barrier", "poll_atomic", "print_forever"]) {
  const options = name === "poll_atomic" ? {} : { kernelTimeout: 150 };
  const device = openDevice(`host:${ordinal++}`, options);
  const module = await device.compile(SOURCE);
  const flag = device.allocate("int32", 1, { fill: 0 });
  module.kernel(name).launch({ grid: name === "poll_plain" ? [1, 3] : 1, block: 64 }, flag);
  try {
    await device.done();
    outcomes[name] = null;
  } catch (error) {
    if (!(error instanceof CudaError)) throw error;
    outcomes[name] = { code: error.code, sticky: error.sticky, detail: error.detail };
  }
}

// A launch within its limit, in many blocks and after the others were ended.
const healthy = openDevice(`host:${ordinal}`, { kernelTimeout: 60_000 });
const module = await healthy.compile(SOURCE);
using flag = healthy.allocate("int32", 1, { fill: 0 });
module.kernel("wait_for_short").launch({ grid: 5000, block: 64 }, flag);
outcomes.healthy = (await flag.toArray())[0];
console.log(JSON.stringify(outcomes));
