/*
 * sort_loops.cuh — running sums and products as loops: one thread has the parts of a block.
 */
#pragma once

#if defined(GS_BLOCK_FORM)
#include "kernels/tensor/sort.cuh"

namespace gridstride::tensor::sort {

// Sums, or products, of the first elements of a part of a row. Without out, only that of all is
// stored.
template <typename Operation, typename Value, typename T, typename Out>
__device__ __forceinline__ void scan_part(i64 count, const T* x, Value before, Out* out,
                                          Value* total) {
  Value sum = Operation::identity;
  if (out == nullptr) {
    for (i64 i = 0; i < count; ++i) sum = Operation::apply(sum, static_cast<Value>(load(x[i])));
    *total = sum;
    return;
  }
  for (i64 i = 0; i < count; ++i) {
    sum = Operation::apply(sum, static_cast<Value>(load(x[i])));
    out[i] = store<Out>(Operation::apply(before, sum));
  }
}

// Calls f(job) for the parts of a block.
template <typename F>
__device__ __forceinline__ void for_each_part(i64 jobs, i64 per_block, F f) {
  const i64 begin = static_cast<i64>(blockIdx.x) * per_block;
  const i64 end = begin + per_block < jobs ? begin + per_block : jobs;
  for (i64 job = begin; job < end; ++job) f(job);
}

}  // namespace gridstride::tensor::sort
#endif
