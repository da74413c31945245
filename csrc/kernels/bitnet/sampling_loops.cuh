/*
 * sampling_loops.cuh — steps of the choice of a token as loops.
 */
#pragma once

#if defined(GS_BLOCK_FORM)
#include "kernels/bitnet/sampling.cuh"

#define GS_SHARED

namespace gridstride::bitnet {

// Calls f(i, x[i]).
template <typename F>
__device__ __forceinline__ void each(const float* x, i64 n, F f) {
  for (i64 i = 0; i < n; ++i) f(i, x[i]);
}

__device__ __forceinline__ void finish_writes() {}

template <typename V, typename Merge>
__device__ __forceinline__ V merge_block(V value, Merge) {
  return value;
}

__device__ __forceinline__ void clear(u64* histogram, int count) {
  for (int bin = 0; bin < count; ++bin) histogram[bin] = 0;
}

__device__ __forceinline__ void add(u64* bin, u64 value) { *bin += value; }

struct Place {
  i64 index;
  u64 before;
};

// The first of n weights with which those before it are at least `wanted`, and their sum without
// it; -1 if all are less.
template <typename Weight>
__device__ __forceinline__ Place find_place(i64 n, u64 wanted, Weight weight) {
  u64 before = 0;
  for (i64 i = 0; i < n; ++i) {
    const u64 own = weight(i);
    if (own > 0 && before + own >= wanted) return {i, before};
    before += own;
  }
  return {-1, 0};
}

}  // namespace gridstride::bitnet
#endif
