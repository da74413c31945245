/**
 * A sum by warp shuffles. The lanes of a warp add their values by shuffles, the warps of a block add
 * their sums through shared memory, and blocks add theirs to the result by an atomic.
 *
 * Run it with `deno run -A examples/kernels/reduction.ts`.
 */

import { type Device, openDevice } from "jsr:@gridstride/cuda";
import { report, sampleNumbers } from "./comparison.ts";

const SOURCE = `
  __device__ float warp_sum(float value) {
    for (int offset = warpSize / 2; offset > 0; offset /= 2) {
      value += __shfl_down_sync(0xffffffffu, value, offset);
    }
    return value;
  }

  extern "C" __global__ void sum(const float* x, float* total, unsigned long long n) {
    __shared__ float warp_sums[32];
    const int lane = threadIdx.x % warpSize;
    const int warp = threadIdx.x / warpSize;

    float value = 0;
    for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < n;
         i += (unsigned long long)gridDim.x * blockDim.x) {
      value += x[i];
    }
    value = warp_sum(value);
    if (lane == 0) warp_sums[warp] = value;
    __syncthreads();

    if (warp > 0) return;
    value = lane < blockDim.x / warpSize ? warp_sums[lane] : 0;
    value = warp_sum(value);
    if (lane == 0) atomicAdd(total, value);
  }
`;

/** The sum on the device, in single precision. */
export async function sum(device: Device, numbers: Float32Array<ArrayBuffer>): Promise<number> {
  using module = await device.compile(SOURCE, { name: "reduction.cu" });
  const kernel = module.kernel("sum(const float* x, float* total, unsigned long long n)");
  using x = device.upload(numbers);
  using total = device.allocate("float32", 1, { fill: 0 });
  const grid = Math.max(
    1,
    Math.min(Math.ceil(x.length / 256), 4 * device.info.multiprocessorCount),
  );
  kernel.launch({ grid, block: 256 }, x, total, x.length);
  return (await total.toArray())[0]!;
}

/** The same here, in double precision. */
export function expectedSum(numbers: Float32Array): number {
  return numbers.reduce((total, x) => total + x, 0);
}

if (import.meta.main) {
  using device = openDevice();
  const numbers = sampleNumbers(1_000_003).map(Math.abs);
  report("sum", [await sum(device, numbers)], [expectedSum(numbers)], 1e-5);
}
