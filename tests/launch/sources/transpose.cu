// out = in transposed, through a tile of shared memory that is one column wider than it is read, so
// that its columns lie in different banks.
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>

enum : int { kTile = 32, kRows = 8 };

template <typename T>
__device__ __inline__ void swap_indices(T& a, T& b) {
  T c = a;
  a = b;
  b = c;
}

template <typename T>
__global__ void transpose(const T* __restrict__ in, T* __restrict__ out, int width, int height) {
  __shared__ T tile[kTile][kTile + 1];
  int x = blockIdx.x * kTile + threadIdx.x;
  int y = blockIdx.y * kTile + threadIdx.y;
#pragma unroll 4
  for (int row = 0; row < kTile; row += kRows) {
    if (x < width && y + row < height) {
      tile[threadIdx.y + row][threadIdx.x] = __ldg(&in[(y + row) * width + x]);
    }
  }
  __syncthreads();
  x = blockIdx.y * kTile + threadIdx.x;
  y = blockIdx.x * kTile + threadIdx.y;
  swap_indices(width, height);
  for (int row = 0; row < kTile; row += kRows) {
    if (x < width && y + row < height) {
      out[(y + row) * width + x] = tile[threadIdx.x][threadIdx.y + row];
    }
  }
}

template __global__ void transpose<float>(const float*, float*, int, int);
template __global__ void transpose<uint8_t>(const uint8_t*, uint8_t*, int, int);
template __global__ void transpose<double2>(const double2*, double2*, int, int);

static void launch(const float* in, float* out, int width, int height, cudaStream_t stream) {
  const dim3 block(kTile, kRows);
  const dim3 grid((width + kTile - 1) / kTile, (height + kTile - 1) / kTile);
  transpose<float><<<grid, block, 0, stream>>>(in, out, width, height);
}

int main(int argc, char** argv) {
  const int width = argc > 1 ? 1000 : 1024, height = 333;
  float *in, *out;
  cudaMalloc(reinterpret_cast<void**>(&in), sizeof(float) * width * height);
  cudaMalloc(reinterpret_cast<void**>(&out), sizeof(float) * width * height);
  launch(in, out, width, height, 0);
  printf("%s: %s\n", argv[0], cudaGetErrorString(cudaDeviceSynchronize()));
  return 0;
}
