/*
 * tree_reduce.cuh — one value from the values that a thread holds in registers.
 *
 * Mapping: the upper half is merged into the lower half until one value is left: the first merges
 * do not depend on one another and a value takes part in log2(Count) merges: for a sum that is the
 * depth in its error bound.
 */
#pragma once

#include "kernels/portable.cuh"

namespace gridstride::device_code {

// The depth is a template argument as compilers leave a halving loop standing, which would put the
// values into local memory.
template <int Half, int Count, typename V, typename Merge>
__device__ __forceinline__ void fold_halves(V (&values)[Count], Merge merge) {
  if constexpr (Half > 0) {
    GS_UNROLL
    for (int i = 0; i < Half; ++i) {
      values[i] = merge(values[i], values[i + Half]);
    }
    fold_halves<Half / 2>(values, merge);
  }
}

// Leaves partial results in values.
template <int Count, typename V, typename Merge>
__device__ __forceinline__ V tree_reduce(V (&values)[Count], Merge merge) {
  static_assert((Count & (Count - 1)) == 0, "halving needs a power of two");
  fold_halves<Count / 2>(values, merge);
  return values[0];
}

}  // namespace gridstride::device_code
