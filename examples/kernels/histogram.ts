/**
 * Counts bytes: each block counts into a histogram of its own in shared memory, where threads are in
 * each other's way less, and adds it to the result in the end.
 *
 * Run it with `deno run -A examples/kernels/histogram.ts`.
 */

import { type Device, openDevice } from "jsr:@gridstride/cuda";
import { report, sampleNumbers } from "./comparison.ts";

const SOURCE = `
  #include <stdint.h>

  extern "C" __global__ void count_bytes(const uint8_t* bytes, uint32_t* counts, size_t n) {
    __shared__ uint32_t own[256];
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) own[bin] = 0;
    __syncthreads();

    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += stride) {
      atomicAdd(&own[bytes[i]], 1u);
    }
    __syncthreads();

    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) {
      if (own[bin] != 0) atomicAdd(&counts[bin], own[bin]);
    }
  }
`;

/** How often each of the 256 bytes occurs, from the device. */
export async function countBytes(
  device: Device,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<Uint32Array> {
  using module = await device.compile(SOURCE, { name: "histogram.cu" });
  const kernel = module.kernel("count_bytes(const uint8_t* bytes, uint32_t* counts, size_t n)");
  using x = device.upload(bytes);
  using counts = device.allocate("uint32", 256, { fill: 0 });
  kernel.launch(device.launchFor(kernel, { elements: x.length }), x, counts, x.length);
  return await counts.toArray();
}

/** The same here. */
export function expectedCounts(bytes: Uint8Array): Uint32Array {
  const counts = new Uint32Array(256);
  for (const byte of bytes) counts[byte]!++;
  return counts;
}

if (import.meta.main) {
  using device = openDevice();
  // Not all bytes are equally frequent.
  const bytes = Uint8Array.from(sampleNumbers(1_000_003), (x) => 255 * x ** 2);
  report("histogram", await countBytes(device, bytes), expectedCounts(bytes), 0);
}
