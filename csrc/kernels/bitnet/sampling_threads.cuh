/*
 * sampling_threads.cuh — steps of the choice of a token by CUDA threads: a block has a row. Threads
 * take elements alternately, several at once because a row's bytes in flight bound the time; those
 * whose order counts in parts, one after another.
 */
#pragma once

#if !defined(GS_BLOCK_FORM)
#include "kernels/bitnet/sampling.cuh"
#include "kernels/tensor/warp.cuh"

#define GS_SHARED __shared__

namespace gridstride::bitnet {

constexpr int max_warps = 32;

// Calls f(i, x[i]).
template <typename F>
__device__ __forceinline__ void each(const float* x, i64 n, F f) {
  constexpr int held = 8;
  const i64 threads = blockDim.x;
  for (i64 begin = threadIdx.x; begin < n; begin += held * threads) {
    float values[held];
#pragma unroll
    for (int j = 0; j < held; ++j) {
      const i64 i = begin + j * threads;
      values[j] = i < n ? x[i] : 0.0f;
    }
#pragma unroll
    for (int j = 0; j < held; ++j) {
      const i64 i = begin + j * threads;
      if (i < n) f(i, values[j]);
    }
  }
}

// Calls f(i), which reads and computes without order.
template <typename F>
__device__ __forceinline__ void for_all(i64 n, F f) {
  const i64 threads = blockDim.x;
#pragma unroll 8
  for (i64 i = threadIdx.x; i < n; i += threads) f(i);
}

// Lets all threads read what others have written.
__device__ __forceinline__ void finish_writes() { __syncthreads(); }

template <typename V>
__device__ __forceinline__ V exchanged(V value, int distance) {
  static_assert(sizeof(V) % 4 == 0, "values are exchanged by words");
  unsigned int words[sizeof(V) / 4];
  memcpy(words, &value, sizeof(V));
  for (unsigned int& word : words) word = tensor::exchange(word, distance);
  memcpy(&value, words, sizeof(V));
  return value;
}

// Merges the values of all threads; all get the result.
template <typename V, typename Merge>
__device__ __forceinline__ V merge_block(V value, Merge merge) {
  __shared__ V warps[max_warps];
  for (int distance = 16; distance > 0; distance /= 2) {
    value = merge(value, exchanged(value, distance));
  }
  __syncthreads();  // the results of an earlier call may still be read
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = warps[0];
  for (int warp = 1; warp < static_cast<int>(blockDim.x) / 32; ++warp) {
    value = merge(value, warps[warp]);
  }
  return value;
}

// The largest of f(0) … f(n - 1). Numbers that are none are passed over.
template <typename F>
__device__ __forceinline__ Best find_best(i64 n, F f) {
  Best best{-INFINITY, n};
  for_all(n, [&](i64 i) { best = Best::merge(best, {f(i), i}); });
  return merge_block(best, [](Best a, Best b) { return Best::merge(a, b); });
}

template <typename F>
__device__ __forceinline__ double sum_of(i64 n, F f) {
  double sum = 0;
  for_all(n, [&](i64 i) { sum += static_cast<double>(f(i)); });
  return merge_block(sum, [](double a, double b) { return a + b; });
}

__device__ __forceinline__ void clear(u64* histogram, int count) {
  __syncthreads();  // an earlier histogram may still be read
  for (int bin = static_cast<int>(threadIdx.x); bin < count; bin += static_cast<int>(blockDim.x)) {
    histogram[bin] = 0;
  }
  __syncthreads();
}

__device__ __forceinline__ void add(u64* bin, u64 value) { atomicAdd(bin, value); }

struct Place {
  i64 index;
  u64 before;
};

// The first of n weights with which those before it are at least `wanted`, and their sum without
// it; -1 if all are less.
template <typename Weight>
__device__ __forceinline__ Place find_place(i64 n, u64 wanted, Weight weight) {
  __shared__ u64 warps[max_warps];
  __shared__ Place found;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const i64 length = (n + blockDim.x - 1) / blockDim.x;
  const i64 begin = threadIdx.x * length;
  const i64 end = begin + length < n ? begin + length : n;
  __syncthreads();  // the histogram is complete; an earlier result is read
  u64 own = 0;
  for (i64 i = begin; i < end; ++i) own += weight(i);
  u64 sum = own;
  for (int distance = 1; distance < 32; distance *= 2) {
    const u64 other = __shfl_up_sync(tensor::whole_warp, sum, distance);
    if (lane >= distance) sum += other;
  }
  if (lane == 31) warps[warp] = sum;
  if (threadIdx.x == 0) found = {-1, 0};
  __syncthreads();
  u64 before = sum - own;
  for (int other = 0; other < warp; ++other) before += warps[other];
  if (before < wanted && before + own >= wanted) {
    i64 i = begin;
    for (u64 next = weight(i); before + next < wanted; next = weight(i)) {
      before += next;
      ++i;
    }
    found = {i, before};
  }
  __syncthreads();
  return found;
}

}  // namespace gridstride::bitnet
#endif
