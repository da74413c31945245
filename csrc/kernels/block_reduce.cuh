/*
 * block_reduce.cuh — one value from the values that the threads of a block hold.
 *
 * Mapping: five shuffles reduce each warp to its lane 0, shared memory carries at most 32 warp
 * values to warp 0, which reduces them in the same way. One barrier in all.
 * Numerics: the order of merging depends on the block size alone, and results repeat bit by bit. A
 * value takes part in at most 10 merges.
 * Hardware: shuffles only; the reduction instructions of sm_80 exist for 32-bit integers alone.
 */
#pragma once

#include "kernels/portable.cuh"

namespace gridstride::device_code {

constexpr unsigned int warp_threads = 32;
constexpr unsigned int max_block_warps = 32;
constexpr unsigned int whole_warp = 0xffffffffu;

// A value of more than one word overloads this in its own namespace.
template <typename V>
__device__ __forceinline__ V shuffle_down(V value, unsigned int distance) {
  return __shfl_down_sync(whole_warp, value, distance);
}

// The result is in lane 0. merge(v, w) takes values of lower lanes first.
template <typename V, typename Merge>
__device__ __forceinline__ V warp_reduce(V value, Merge merge) {
  GS_UNROLL
  for (unsigned int distance = warp_threads / 2; distance > 0; distance /= 2) {
    value = merge(value, shuffle_down(value, distance));
  }
  return value;
}

// The result is in thread 0 of the block. Every thread calls it, and at most once in a kernel:
// a second call could overwrite what warp 0 still reads. The block size is a multiple of 32.
template <typename V, typename Merge>
__device__ __forceinline__ V block_reduce(V value, V neutral, Merge merge) {
  __shared__ V warp_values[max_block_warps];
  const unsigned int lane = threadIdx.x % warp_threads;
  const unsigned int warp = threadIdx.x / warp_threads;

  value = warp_reduce(value, merge);
  if (lane == 0) {
    warp_values[warp] = value;
  }
  __syncthreads();
  if (warp == 0) {
    value = lane < blockDim.x / warp_threads ? warp_values[lane] : neutral;
    value = warp_reduce(value, merge);
  }
  return value;
}

// Replaces each value by its sum over the threads of the block, in every thread: five shuffles add
// up each warp, and then every thread adds up the warps. Every thread calls it, and at most once in
// a kernel for each Count. The block size is a multiple of 32.
template <int Count>
__device__ __forceinline__ void block_sum(double (&values)[Count]) {
  __shared__ double warp_sums[Count][max_block_warps];
  const unsigned int lane = threadIdx.x % warp_threads;
  const unsigned int warp = threadIdx.x / warp_threads;
  GS_UNROLL
  for (int i = 0; i < Count; ++i) {
    const double sum = warp_reduce(values[i], [](double x, double y) { return x + y; });
    if (lane == 0) warp_sums[i][warp] = sum;
    values[i] = 0;
  }
  __syncthreads();
  for (unsigned int other = 0; other < blockDim.x / warp_threads; ++other) {
    GS_UNROLL
    for (int i = 0; i < Count; ++i) values[i] += warp_sums[i][other];
  }
}

}  // namespace gridstride::device_code
