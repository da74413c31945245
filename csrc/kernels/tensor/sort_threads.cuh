/*
 * sort_threads.cuh — running sums and products by CUDA threads: a block has a part, in tiles of
 * an element for each thread. Warps add up in log2(32) steps (Hillis and Steele, 1986), and their
 * sums one after another.
 */
#pragma once

#if !defined(GS_BLOCK_FORM)
#include "kernels/tensor/sort.cuh"
#include "kernels/tensor/warp.cuh"

namespace gridstride::tensor::sort {

// Sums, or products, of the first elements of a part of a row. Without out, only that of all is
// stored.
template <typename Operation, typename Value, typename T, typename Out>
__device__ __forceinline__ void scan_part(i64 count, const T* x, Value before, Out* out,
                                          Value* total) {
  __shared__ Value warps[32];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  Value carry = Operation::identity;
  for (i64 begin = 0; begin < count; begin += blockDim.x) {
    const i64 i = begin + threadIdx.x;
    Value sum = i < count ? static_cast<Value>(load(x[i])) : Operation::identity;
    for (int distance = 1; distance < 32; distance *= 2) {
      const Value other = __shfl_up_sync(whole_warp, sum, distance);
      if (lane >= distance) sum = Operation::apply(other, sum);
    }
    __syncthreads();  // the sums of the last tile are still read
    if (lane == 31) warps[warp] = sum;
    __syncthreads();
    Value tile = Operation::identity;
    for (int other = 0; other < static_cast<int>(blockDim.x) / 32; ++other) {
      if (other == warp) sum = Operation::apply(tile, sum);
      tile = Operation::apply(tile, warps[other]);
    }
    sum = Operation::apply(carry, sum);
    if (out != nullptr && i < count) out[i] = store<Out>(Operation::apply(before, sum));
    carry = Operation::apply(carry, tile);
  }
  if (out == nullptr && threadIdx.x == 0) *total = carry;
}

// Calls f(job) for the parts of a block; per_block counts in the block form.
template <typename F>
__device__ __forceinline__ void for_each_part(i64 jobs, i64 /*per_block*/, F f) {
  for (i64 job = blockIdx.x; job < jobs; job += gridDim.x) f(job);
}

}  // namespace gridstride::tensor::sort
#endif
