/**
 * A matrix product by tiles, as a template: the compiler knows the extent of a tile and the element
 * type, and unrolls the loops over a tile. Each thread computes one element.
 *
 * Run it with `deno run -A examples/kernels/matmul.ts`.
 */

import { type Device, openDevice } from "jsr:@gridstride/cuda";
import { report, sampleNumbers } from "./comparison.ts";

const SOURCE = `
  // c = a b; a has m rows and k columns, b has k rows and n columns, all row by row.
  template <typename T, int Tile>
  __global__ void matmul(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c,
                         int m, int n, int k) {
    __shared__ T a_tile[Tile][Tile];
    __shared__ T b_tile[Tile][Tile];
    const int row = blockIdx.y * Tile + threadIdx.y;
    const int column = blockIdx.x * Tile + threadIdx.x;

    T sum = 0;
    for (int first = 0; first < k; first += Tile) {
      const int a_column = first + threadIdx.x;
      const int b_row = first + threadIdx.y;
      a_tile[threadIdx.y][threadIdx.x] =
          row < m && a_column < k ? a[(size_t)row * k + a_column] : T(0);
      b_tile[threadIdx.y][threadIdx.x] =
          b_row < k && column < n ? b[(size_t)b_row * n + column] : T(0);
      __syncthreads();
      #pragma unroll
      for (int i = 0; i < Tile; i++) sum += a_tile[threadIdx.y][i] * b_tile[i][threadIdx.x];
      __syncthreads();
    }
    if (row < m && column < n) c[(size_t)row * n + column] = sum;
  }
`;

/** The extents of a product: of a, m × k, and of b, k × n. */
export interface ProductExtents {
  /** Rows of a and of the product. */
  readonly m: number;
  /** Columns of b and of the product. */
  readonly n: number;
  /** Columns of a and rows of b. */
  readonly k: number;
}

/** The product, row by row, from the device. */
export async function matmul(
  device: Device,
  a: Float32Array<ArrayBuffer>,
  b: Float32Array<ArrayBuffer>,
  { m, n, k }: ProductExtents,
): Promise<Float32Array> {
  using module = await device.compile(SOURCE, {
    name: "matmul.cu",
    instances: ["matmul<float, 16>"],
  });
  const kernel = module.kernel(
    "matmul<float, 16>(const float* a, const float* b, float* c, int m, int n, int k)",
  );
  using left = device.upload(a);
  using right = device.upload(b);
  using product = device.allocate("float32", m * n);
  const grid = [Math.ceil(n / 16), Math.ceil(m / 16)] as const;
  kernel.launch({ grid, block: [16, 16] }, left, right, product, m, n, k);
  return await product.toArray();
}

/** The same here, in double precision. */
export function expectedProduct(
  a: Float32Array,
  b: Float32Array,
  { m, n, k }: ProductExtents,
): Float64Array {
  return Float64Array.from({ length: m * n }, (_, index) => {
    const [row, column] = [Math.floor(index / n), index % n];
    let sum = 0;
    for (let i = 0; i < k; i++) sum += a[row * k + i]! * b[i * n + column]!;
    return sum;
  });
}

if (import.meta.main) {
  using device = openDevice();
  const extents = { m: 129, n: 65, k: 257 };
  const a = sampleNumbers(extents.m * extents.k);
  const b = sampleNumbers(extents.k * extents.n);
  report("matmul", await matmul(device, a, b, extents), expectedProduct(a, b, extents), 1e-5);
}
