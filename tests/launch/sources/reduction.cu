// Sums and extrema of an array: shuffles within warps, shared memory between them, atomics between
// blocks.
#include <cuda_runtime.h>

#include <float.h>

namespace reduction {

constexpr unsigned full_mask = 0xffffffffu;

struct Sum {
  static constexpr float identity = 0.0f;
  __device__ __forceinline__ float operator()(float a, float b) const { return a + b; }
};

struct Maximum {
  static constexpr float identity = -FLT_MAX;
  __device__ __forceinline__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

template <class Operation>
__device__ __forceinline__ float over_warp(float value, Operation operation) {
#pragma unroll
  for (int offset = warpSize / 2; offset > 0; offset /= 2) {
    value = operation(value, __shfl_down_sync(full_mask, value, offset));
  }
  return value;
}

template <unsigned BlockSize, class Operation>
__device__ float over_block(float value, Operation operation) {
  static_assert(BlockSize % 32 == 0 && BlockSize <= 1024, "whole warps");
  __shared__ float partial[BlockSize / 32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  value = over_warp(value, operation);
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  value = threadIdx.x < BlockSize / 32 ? partial[lane] : Operation::identity;
  return warp == 0 ? over_warp(value, operation) : value;
}

// One value for each block.
template <unsigned BlockSize, class Operation>
__global__ void __launch_bounds__(BlockSize) blocks(const float* in, float* out, unsigned n) {
  float value = Operation::identity;
  for (unsigned i = blockIdx.x * BlockSize + threadIdx.x; i < n; i += gridDim.x * BlockSize) {
    value = Operation()(value, in[i]);
  }
  value = over_block<BlockSize>(value, Operation());
  if (threadIdx.x == 0) out[blockIdx.x] = value;
}

}  // namespace reduction

// A tree in dynamic shared memory; one warp performs the last steps.
__global__ void sum_tree(const int* in, int* out, unsigned n) {
  extern __shared__ int values[];
  const unsigned t = threadIdx.x;
  const unsigned i = blockIdx.x * blockDim.x * 2 + t;
  values[t] = (i < n ? in[i] : 0) + (i + blockDim.x < n ? in[i + blockDim.x] : 0);
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half >>= 1) {
    if (t < half) values[t] += values[t + half];
    __syncthreads();
  }
  if (t == 0) atomicAdd(out, values[0]);
}

template __global__ void reduction::blocks<128, reduction::Sum>(const float*, float*, unsigned);
template __global__ void reduction::blocks<256, reduction::Maximum>(const float*, float*, unsigned);
