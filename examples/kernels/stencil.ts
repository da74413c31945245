/**
 * Heat spreads over a plate: a five-point stencil, step by step between two buffers. A block keeps
 * its part of the plate and a rim of one cell around it in dynamic shared memory; the size follows
 * from the block's.
 *
 * Run it with `deno run -A examples/kernels/stencil.ts`.
 */

import { type Device, openDevice } from "jsr:@gridstride/cuda";
import { report, sampleNumbers } from "./comparison.ts";

const SOURCE = `
  __constant__ float conductivity = 0.2f;

  // The cells outside of the plate are as warm as those at its rim.
  __device__ int clamped(int at, int extent) { return at < 0 ? 0 : at < extent ? at : extent - 1; }

  extern "C" __global__ void spread(const float* before, float* after, int width, int height) {
    extern __shared__ float cells[];
    const int pitch = blockDim.x + 2;
    const int left = (int)(blockIdx.x * blockDim.x) - 1;
    const int top = (int)(blockIdx.y * blockDim.y) - 1;
    for (int y = threadIdx.y; y < (int)blockDim.y + 2; y += blockDim.y) {
      for (int x = threadIdx.x; x < pitch; x += blockDim.x) {
        cells[y * pitch + x] =
            before[(size_t)clamped(top + y, height) * width + clamped(left + x, width)];
      }
    }
    __syncthreads();

    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const float* cell = cells + (threadIdx.y + 1) * pitch + threadIdx.x + 1;
    after[(size_t)y * width + x] =
        cell[0] + conductivity * (cell[-1] + cell[1] + cell[-pitch] + cell[pitch] - 4 * cell[0]);
  }
`;

/** The plate after so many steps, from the device. */
export async function spread(
  device: Device,
  plate: Float32Array<ArrayBuffer>,
  width: number,
  steps: number,
): Promise<Float32Array> {
  using module = await device.compile(SOURCE, { name: "stencil.cu" });
  const kernel = module.kernel(
    "spread(const float* before, float* after, int width, int height)",
  );
  using one = device.upload(plate);
  using other = device.allocate("float32", plate.length);
  const height = plate.length / width;
  const block = [32, 8] as const;
  const config = {
    grid: [Math.ceil(width / block[0]), Math.ceil(height / block[1])],
    block,
    sharedMemory: (block[0] + 2) * (block[1] + 2) * Float32Array.BYTES_PER_ELEMENT,
  } as const;
  let [before, after] = [one, other];
  for (let step = 0; step < steps; step++) {
    kernel.launch(config, before, after, width, height);
    [before, after] = [after, before];
  }
  return await before.toArray();
}

/** The same here, in double precision. */
export function expectedSpread(plate: Float32Array, width: number, steps: number): Float64Array {
  const height = plate.length / width;
  const clamped = (at: number, extent: number) => Math.min(Math.max(at, 0), extent - 1);
  let cells = Float64Array.from(plate);
  for (let step = 0; step < steps; step++) {
    const at = (x: number, y: number) => cells[clamped(y, height) * width + clamped(x, width)]!;
    cells = cells.map((cell, index) => {
      const [x, y] = [index % width, Math.floor(index / width)];
      return cell + 0.2 * (at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1) - 4 * cell);
    });
  }
  return cells;
}

if (import.meta.main) {
  using device = openDevice();
  const plate = sampleNumbers(301 * 199);
  const after = await spread(device, plate, 301, 25);
  report("stencil", after, expectedSpread(plate, 301, 25), 1e-5);
}
