/**
 * Transposes a matrix by tiles: reads and writes go along rows: their elements are adjacent in memory,
 * and shared memory turns the tile. Its rows have one element more than they need, which puts the
 * elements of a column into different banks.
 *
 * Run it with `deno run -A examples/kernels/transpose.ts`.
 */

import { type Device, openDevice } from "jsr:@gridstride/cuda";
import { report, sampleNumbers } from "./comparison.ts";

const SOURCE = `
  #define TILE 32
  #define ROWS 8

  extern "C" __global__ void __launch_bounds__(TILE * ROWS)
  transpose(const float* __restrict__ in, float* __restrict__ out, int rows, int columns) {
    __shared__ float tile[TILE][TILE + 1];

    int column = blockIdx.x * TILE + threadIdx.x;
    int row = blockIdx.y * TILE + threadIdx.y;
    for (int step = 0; step < TILE; step += ROWS) {
      if (column < columns && row + step < rows) {
        tile[threadIdx.y + step][threadIdx.x] = in[(size_t)(row + step) * columns + column];
      }
    }
    __syncthreads();

    column = blockIdx.y * TILE + threadIdx.x;
    row = blockIdx.x * TILE + threadIdx.y;
    for (int step = 0; step < TILE; step += ROWS) {
      if (column < rows && row + step < columns) {
        out[(size_t)(row + step) * rows + column] = tile[threadIdx.x][threadIdx.y + step];
      }
    }
  }
`;

/** The transposed matrix, row by row, from the device. */
export async function transpose(
  device: Device,
  matrix: Float32Array<ArrayBuffer>,
  rows: number,
  columns: number,
): Promise<Float32Array> {
  using module = await device.compile(SOURCE, { name: "transpose.cu" });
  const kernel = module.kernel("transpose(const float* in, float* out, int rows, int columns)");
  using x = device.upload(matrix);
  using y = device.allocate("float32", x.length);
  const grid = [Math.ceil(columns / 32), Math.ceil(rows / 32)] as const;
  kernel.launch({ grid, block: [32, 8] }, x, y, rows, columns);
  return await y.toArray();
}

/** The same here. */
export function expectedTranspose(
  matrix: Float32Array,
  rows: number,
  columns: number,
): Float32Array {
  return matrix.map((_, index) => matrix[(index % rows) * columns + Math.floor(index / rows)]!);
}

if (import.meta.main) {
  using device = openDevice();
  const [rows, columns] = [1021, 515];
  const matrix = sampleNumbers(rows * columns);
  const turned = await transpose(device, matrix, rows, columns);
  report("transpose", turned, expectedTranspose(matrix, rows, columns), 0);
}
