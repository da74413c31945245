/*
 * sampling_loops.cuh — steps of the choice of a token as loops, those over a whole row with
 * accumulators for vector registers.
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

// Calls f(i), which reads and computes without order.
template <typename F>
__device__ __forceinline__ void for_all(i64 n, F f) {
  GS_INDEPENDENT
  for (i64 i = 0; i < n; ++i) f(i);
}

constexpr int lanes = 32;

// The largest of f(0) … f(n - 1). Numbers that are none are passed over.
template <typename F>
__device__ __forceinline__ Best find_best(i64 n, F f) {
  float top[lanes];
  for (float& lane : top) lane = -INFINITY;
  i64 i = 0;
  for (; i + lanes <= n; i += lanes) {
    GS_INDEPENDENT
    for (int j = 0; j < lanes; ++j) {
      const float value = f(i + j);
      top[j] = value > top[j] ? value : top[j];
    }
  }
  float best = -INFINITY;
  for (; i < n; ++i) best = f(i) > best ? f(i) : best;
  for (const float lane : top) best = lane > best ? lane : best;
  i64 token = 0;
  while (token < n && f(token) != best) ++token;
  return {best, token};
}

template <typename F>
__device__ __forceinline__ double sum_of(i64 n, F f) {
  constexpr i64 block = 64 * lanes;
  double sum = 0;
  for (i64 begin = 0; begin < n; begin += block) {
    const i64 end = begin + block < n ? begin + block : n;
    float parts[lanes] = {};
    i64 i = begin;
    for (; i + lanes <= end; i += lanes) {
      GS_INDEPENDENT
      for (int j = 0; j < lanes; ++j) parts[j] += f(i + j);
    }
    for (; i < end; ++i) parts[0] += f(i);
    for (const float part : parts) sum += static_cast<double>(part);
  }
  return sum;
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
