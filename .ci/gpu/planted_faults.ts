/**
 * Launches a kernel with a fault that compute-sanitizer must find: on some machines it finds none, and
 * then says nothing about other kernels either. The argument is the tool.
 *
 * @module
 */

import { openDevice } from "../../mod.ts";

const KERNELS = {
  /** Writes beyond all memory of the process. */
  memcheck: `extern "C" __global__ void planted(int* out) {
    out[(1ll << 40) + threadIdx.x] = 1;
  }`,
  /** The first warp writes what all others read, without a barrier. */
  racecheck: `extern "C" __global__ void planted(int* out) {
    __shared__ int shared;
    if (threadIdx.x == 0) shared = 7;
    out[threadIdx.x] = shared;
  }`,
};

const tool = Deno.args[0] as keyof typeof KERNELS;
const device = openDevice();
const module = await device.compile(KERNELS[tool]);
const out = device.allocate("int32", 256);
module.kernel("planted").launch({ grid: 1, block: 256 }, out);
// The fault is the tool's subject, whatever the device says of it.
await device.done().catch(() => {});
Deno.exit(0);
