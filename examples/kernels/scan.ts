/**
 * A running sum: each block scans its part, the sums of the blocks are scanned by one block, and
 * each part is raised by the sum of all parts ahead of it.
 *
 * Run it with `deno run -A examples/kernels/scan.ts`.
 */

import { type Device, openDevice } from "jsr:@gridstride/cuda";
import { report, sampleNumbers } from "./comparison.ts";

const BLOCK = 256;

const SOURCE = `
  namespace {

  __device__ float scan_warp(float value) {
    const int lane = threadIdx.x % warpSize;
    for (int offset = 1; offset < warpSize; offset *= 2) {
      const float below = __shfl_up_sync(0xffffffffu, value, offset);
      if (lane >= offset) value += below;
    }
    return value;
  }

  // The running sum over a block of ${BLOCK} threads.
  __device__ float scan_block(float value) {
    __shared__ float warp_sums[${BLOCK} / 32];
    const int lane = threadIdx.x % warpSize;
    const int warp = threadIdx.x / warpSize;
    value = scan_warp(value);
    if (lane == warpSize - 1) warp_sums[warp] = value;
    __syncthreads();
    float below = 0;
    for (int other = 0; other < warp; other++) below += warp_sums[other];
    __syncthreads();
    return value + below;
  }

  }  // namespace

  extern "C" __global__ void scan_parts(const float* x, float* out, float* sums, int n) {
    const int i = blockIdx.x * ${BLOCK} + threadIdx.x;
    const float value = scan_block(i < n ? x[i] : 0);
    if (i < n) out[i] = value;
    if (threadIdx.x == ${BLOCK} - 1) sums[blockIdx.x] = value;
  }

  // One block, which goes over the sums of all parts.
  extern "C" __global__ void scan_sums(float* sums, int parts) {
    __shared__ float carried;
    if (threadIdx.x == 0) carried = 0;
    for (int first = 0; first < parts; first += ${BLOCK}) {
      __syncthreads();
      const int i = first + threadIdx.x;
      const float value = scan_block(i < parts ? sums[i] : 0) + carried;
      if (i < parts) sums[i] = value;
      __syncthreads();
      if (threadIdx.x == ${BLOCK} - 1) carried = value;
    }
  }

  extern "C" __global__ void raise_parts(float* out, const float* sums, int n) {
    const int i = blockIdx.x * ${BLOCK} + threadIdx.x;
    if (blockIdx.x > 0 && i < n) out[i] += sums[blockIdx.x - 1];
  }
`;

/** The running sums, from the device, in single precision. */
export async function scan(
  device: Device,
  numbers: Float32Array<ArrayBuffer>,
): Promise<Float32Array> {
  using module = await device.compile(SOURCE, { name: "scan.cu" });
  const scanParts = module.kernel("scan_parts(const float* x, float* out, float* sums, int n)");
  const scanSums = module.kernel("scan_sums(float* sums, int parts)");
  const raiseParts = module.kernel("raise_parts(float* out, const float* sums, int n)");
  const n = numbers.length;
  const grid = Math.max(1, Math.ceil(n / BLOCK));
  using x = device.upload(numbers);
  using out = device.allocate("float32", n);
  using sums = device.allocate("float32", grid);
  scanParts.launch({ grid, block: BLOCK }, x, out, sums, n);
  scanSums.launch({ grid: 1, block: BLOCK }, sums, grid);
  raiseParts.launch({ grid, block: BLOCK }, out, sums, n);
  return await out.toArray();
}

/** The same here, in double precision. */
export function expectedScan(numbers: Float32Array): Float64Array {
  let total = 0;
  return Float64Array.from(numbers, (x) => total += x);
}

if (import.meta.main) {
  using device = openDevice();
  const numbers = sampleNumbers(100_003).map(Math.abs);
  report("scan", await scan(device, numbers), expectedScan(numbers), 1e-5);
}
