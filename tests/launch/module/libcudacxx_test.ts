// Headers of libcu++ on the include path.

import { assertEquals } from "@std/assert";
import { device } from "../../support/device.ts";

const directory = ["/usr/local/cuda/include/cccl", "/usr/local/cuda/include"].find((path) => {
  try {
    return Deno.statSync(`${path}/cuda/std/array`).isFile;
  } catch {
    return false;
  }
});
const absent = directory === undefined ? " (skipped: no libcu++)" : "";

const SOURCE: string = `
#include <cuda_fp16.h>
#include <cuda/barrier>
#include <cuda/std/array>
#include <nv/target>
__global__ void k(int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> meeting;
  __shared__ int parts[2];
  if (threadIdx.x == 0) init(&meeting, blockDim.x);
  __syncthreads();
  for (int round = 1; round <= 3; round++) {
    if (threadIdx.x == blockDim.x - 1) parts[round % 2] = round;
    meeting.arrive_and_wait();
    out[threadIdx.x] += cuda::std::array<int, 1>{parts[round % 2]}[0];
    meeting.arrive_and_wait();
  }
#if __CUDA_ARCH__ < 500
  out[0] = -1;
#endif
}`;

Deno.test({
  name: `compile() compiles cuda::std and cuda::barrier with libcu++${absent}`,
  ignore: absent !== "" || device.info.kind !== "host",
  async fn() {
    const options = [`-I${directory}`, "-I/usr/local/cuda/include"];
    using module = await device.compile(SOURCE, { options });
    using out = device.allocate("int32", 64, { fill: 0 });
    module.kernel("k(int* out)").launch({ grid: 1, block: 64 }, out);
    assertEquals([...await out.toArray()], Array(64).fill(6));
  },
});
