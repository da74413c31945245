/*
 * reduce.cuh — reductions of rows and of columns.
 *
 * Problem: out[o, i] = merge of f(o, r, i) over all r. Rows: i is alone, and r runs along memory.
 * Columns: i runs along memory.
 * Mapping, threads: a row belongs to a warp or to a block; a column to a thread. Block form: a
 * block takes some rows, with 32 accumulators that are merged as a tree, or a tile of columns.
 * Numerics: every order of merging depends on the shape alone, so results repeat bit by bit. Sums
 * have at least 32 accumulators, emptied every 4096 steps, which bounds the error like blocked
 * summation (Higham, "The accuracy of floating point summation", 1993).
 */
#pragma once

#include "kernels/tensor/map.cuh"

namespace gridstride::tensor {

template <typename V>
struct Sum {
  using Value = V;
  static __device__ __forceinline__ V neutral() { return 0; }
  static __device__ __forceinline__ V merge(V x, V y) { return x + y; }
};

template <typename V>
struct Product {
  using Value = V;
  static __device__ __forceinline__ V neutral() { return 1; }
  static __device__ __forceinline__ V merge(V x, V y) { return x * y; }
};

// NaN wins. The neutral element is the first element of the row or column, see below.
template <typename V>
struct Maximum {
  using Value = V;
  static __device__ __forceinline__ V merge(V x, V y) {
    const V larger = y > x ? y : x;  // x if one is NaN
    return y != y ? y : larger;
  }
};

template <typename V>
struct Minimum {
  using Value = V;
  static __device__ __forceinline__ V merge(V x, V y) {
    const V smaller = y < x ? y : x;
    return y != y ? y : smaller;
  }
};

// An element and its place. Of equal ones the first counts, and NaN wins.
template <typename V>
struct Place {
  V value;
  i64 index;
};

template <typename V, bool Largest>
struct Extremum {
  using Value = Place<V>;
  static __device__ __forceinline__ Value merge(Value x, Value y) {
    const bool is_nan = x.value != x.value;
    const bool is_other_nan = y.value != y.value;
    if (is_nan || is_other_nan) {
      if (is_nan && is_other_nan) return x.index < y.index ? x : y;
      return is_nan ? x : y;
    }
    if (x.value == y.value) return x.index < y.index ? x : y;
    return (Largest ? x.value > y.value : x.value < y.value) ? x : y;
  }
};
template <typename V>
using ArgMaximum = Extremum<V, true>;
template <typename V>
using ArgMinimum = Extremum<V, false>;

#if !defined(GS_BLOCK_FORM)
template <typename V>
__device__ __forceinline__ V exchange(V value, int distance) {
  return __shfl_xor_sync(0xffffffffu, value, distance);
}
template <typename V>
__device__ __forceinline__ Place<V> exchange(Place<V> place, int distance) {
  return {exchange(place.value, distance), exchange(place.index, distance)};
}

template <typename R>
__device__ __forceinline__ typename R::Value warp_reduce(typename R::Value value) {
  for (int distance = 16; distance > 0; distance /= 2) {
    value = R::merge(value, exchange(value, distance));
  }
  return value;
}
#endif

#if defined(GS_BLOCK_FORM)
// Without the pragma, g++ leaves the accumulators in memory.
#if defined(__clang__)
#define GS_UNROLLED
#else
#define GS_UNROLLED _Pragma("GCC unroll 4")
#endif

template <typename R, int Half, typename V>
__device__ __forceinline__ void merge_lanes(V* lanes) {
  for (int j = 0; j < Half; ++j) lanes[j] = R::merge(lanes[j], lanes[j + Half]);
  if constexpr (Half > 1) merge_lanes<R, Half / 2>(lanes);
}
#endif

// Merges f(0) … f(n - 1), n ≥ 1, for a row. All threads of the row get the result. A thread
// without an element of its own begins with f(0) if merging an element twice changes nothing
// (Maximum and its like, which have no neutral element).
template <int Threads, typename R, typename F>
__device__ __forceinline__ typename R::Value reduce_row(i64 n, typename R::Value first, F f) {
  using V = typename R::Value;
#if defined(GS_BLOCK_FORM)
  constexpr int lanes = 32;
  constexpr i64 block = 4096 * lanes;
  V total[lanes];
  for (int j = 0; j < lanes; ++j) total[j] = first;
  for (i64 begin = 0; begin < n; begin += block) {
    const i64 end = begin + block < n ? begin + block : n;
    V sums[lanes];
    for (int j = 0; j < lanes; ++j) sums[j] = first;
    i64 i = begin;
    for (; i + lanes <= end; i += lanes) {
      GS_INDEPENDENT
      GS_UNROLLED
      for (int j = 0; j < lanes; ++j) sums[j] = R::merge(sums[j], f(i + j));
    }
    for (int j = 0; i + j < end; ++j) sums[j] = R::merge(sums[j], f(i + j));
    for (int j = 0; j < lanes; ++j) total[j] = begin == 0 ? sums[j] : R::merge(total[j], sums[j]);
  }
  merge_lanes<R, lanes / 2>(total);
  return total[0];
#else
  const int thread = Threads == 32 ? threadIdx.x % 32 : threadIdx.x;
  const int threads = Threads == 32 ? 32 : blockDim.x;
  V value = first;
  for (i64 i = thread; i < n; i += threads) value = R::merge(value, f(i));
  value = warp_reduce<R>(value);
  if constexpr (Threads == 32) return value;
  __shared__ V warps[32];
  __syncthreads();  // the warps may still read the values of an earlier reduction
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  const int lane = threadIdx.x % 32;
  return warp_reduce<R>(lane < threads / 32 ? warps[lane] : first);
#endif
}

// Calls f(i) for the elements of a row.
template <int Threads, typename F>
__device__ __forceinline__ void map_row(i64 n, F f) {
#if defined(GS_BLOCK_FORM)
  GS_INDEPENDENT
  for (i64 i = 0; i < n; ++i) f(i);
#else
  const int threads = Threads == 32 ? 32 : blockDim.x;
  for (i64 i = Threads == 32 ? threadIdx.x % 32 : threadIdx.x; i < n; i += threads) f(i);
#endif
}

// Whether the thread stores the results of its row.
template <int Threads>
__device__ __forceinline__ bool is_first_of_row() {
#if defined(GS_BLOCK_FORM)
  return true;
#else
  return threadIdx.x % Threads == 0;
#endif
}

// Calls f(row) for the rows of a block; per_block counts in the block form.
template <int Threads, typename F>
__device__ __forceinline__ void for_each_row(i64 rows, i64 per_block, F f) {
#if defined(GS_BLOCK_FORM)
  const i64 begin = static_cast<i64>(blockIdx.x) * per_block;
  const i64 end = begin + per_block < rows ? begin + per_block : rows;
  for (i64 row = begin; row < end; ++row) f(row);
#else
  const i64 teams = Threads == 32 ? blockDim.x / 32 : 1;
  const i64 team = Threads == 32 ? threadIdx.x / 32 : 0;
  for (i64 row = blockIdx.x * teams + team; row < rows; row += gridDim.x * teams) f(row);
#endif
}

constexpr int tile_columns = 512;

// Calls finish(column, merge of f(r, column) for begin ≤ r < end) for the columns of a tile.
template <typename R, typename First, typename F, typename Finish>
__device__ __forceinline__ void reduce_columns(i64 begin, i64 end, i64 tile, i64 columns,
                                               First first, F f, Finish finish) {
  using V = typename R::Value;
#if defined(GS_BLOCK_FORM)
  const i64 origin = tile * tile_columns;
  const int width = columns - origin < tile_columns ? static_cast<int>(columns - origin)
                                                    : tile_columns;
  V total[tile_columns];
  for (int j = 0; j < width; ++j) total[j] = first(origin + j);
  for (i64 row = begin; row < end; ++row) {
    GS_INDEPENDENT
    for (int j = 0; j < width; ++j) total[j] = R::merge(total[j], f(row, origin + j));
  }
  for (int j = 0; j < width; ++j) finish(origin + j, total[j]);
#else
  const i64 column = tile * blockDim.x + threadIdx.x;
  if (column >= columns) return;
  V value = first(column);
  for (i64 row = begin; row < end; ++row) value = R::merge(value, f(row, column));
  finish(column, value);
#endif
}

}  // namespace gridstride::tensor
