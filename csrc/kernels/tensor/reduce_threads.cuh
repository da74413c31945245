/*
 * reduce_threads.cuh — reductions by CUDA threads.
 *
 * Mapping: a row belongs to a warp or to a block; a column to a thread.
 */
#pragma once

#if !defined(GS_BLOCK_FORM)
#include "kernels/tensor/reduce.cuh"
#include "kernels/tensor/warp.cuh"

namespace gridstride::tensor::reduce {

template <typename V>
__device__ __forceinline__ Place<V> exchange(Place<V> place, int distance) {
  return {tensor::exchange(place.value, distance), tensor::exchange(place.index, distance)};
}

template <typename R>
__device__ __forceinline__ typename R::Value warp_reduce(typename R::Value value) {
  using V = typename R::Value;
  return tensor::warp_reduce(value, [](V x, V y) { return R::merge(x, y); });
}

// Merges the values of the warps of a block.
template <typename R>
__device__ __forceinline__ typename R::Value block_reduce(typename R::Value value,
                                                          typename R::Value neutral) {
  __shared__ typename R::Value warps[32];
  __syncthreads();  // the warps may still read the values of an earlier reduction
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  const int lane = threadIdx.x % 32;
  return reduce::warp_reduce<R>(lane < static_cast<int>(blockDim.x) / 32 ? warps[lane] : neutral);
}

// Merges f(0) … f(n - 1), n ≥ 1, for a row. All threads of the row get the result. A thread
// without an element of its own begins with f(0) if merging an element twice changes nothing
// (Maximum and its like, which have no neutral element).
template <int Threads, typename R, typename F>
__device__ __forceinline__ typename R::Value reduce_row(i64 n, typename R::Value first, F f) {
  using V = typename R::Value;
  const int thread = Threads == 32 ? threadIdx.x % 32 : threadIdx.x;
  const int threads = Threads == 32 ? 32 : blockDim.x;
  V value = first;
  for (i64 i = thread; i < n; i += threads) value = R::merge(value, f(i));
  value = reduce::warp_reduce<R>(value);
  if constexpr (Threads == 32) return value;
  return block_reduce<R>(value, first);
}

// Adds up f(0) … f(n - 1), for a row. All threads of the row get the result.
template <int Threads, typename V, typename F>
__device__ __forceinline__ Total<V> sum_row(i64 n, F f) {
  const int threads = Threads == 32 ? 32 : blockDim.x;
  i64 i = Threads == 32 ? threadIdx.x % 32 : threadIdx.x;
  Total<V> total = 0;
  for (; i + (batch - 1) * threads < n; i += batch * threads) {
    V part = 0;
#pragma unroll 4
    for (int k = 0; k < batch; ++k) part += f(i + k * threads);
    total += part;
  }
  V rest = 0;
  for (; i < n; i += threads) rest += f(i);
  total = reduce::warp_reduce<Sum<Total<V>>>(total + rest);
  if constexpr (Threads == 32) return total;
  return block_reduce<Sum<Total<V>>>(total, 0);
}

// Calls f(i) for the elements of a row.
template <int Threads, typename F>
__device__ __forceinline__ void map_row(i64 n, F f) {
  const int threads = Threads == 32 ? 32 : blockDim.x;
  for (i64 i = Threads == 32 ? threadIdx.x % 32 : threadIdx.x; i < n; i += threads) f(i);
}

// Whether the thread stores the results of its row.
template <int Threads>
__device__ __forceinline__ bool is_first_of_row() {
  return threadIdx.x % Threads == 0;
}

// Calls f(row) for the rows of a block; per_block counts in the block form.
template <int Threads, typename F>
__device__ __forceinline__ void for_each_row(i64 rows, i64 per_block, F f) {
  const i64 teams = Threads == 32 ? blockDim.x / 32 : 1;
  const i64 team = Threads == 32 ? threadIdx.x / 32 : 0;
  for (i64 row = blockIdx.x * teams + team; row < rows; row += gridDim.x * teams) f(row);
}

// The column of a thread.
template <int Tile>
struct TileColumns {
  static constexpr int max_width = 1;

  i64 first;
  int width;

  __device__ __forceinline__ TileColumns(i64 tile, i64 columns)
      : first(tile * Tile + threadIdx.x), width(first < columns ? 1 : 0) {}
};

// Calls finish(column, merge of f(r, column) for begin ≤ r < end) for the columns of a tile.
template <int Tile, typename R, typename First, typename F, typename Finish>
__device__ __forceinline__ void reduce_columns(i64 begin, i64 end, i64 tile, i64 columns,
                                               First first, F f, Finish finish) {
  const TileColumns<Tile> own(tile, columns);
  if (own.width == 0) return;
  typename R::Value value = first(own.first);
  for (i64 row = begin; row < end; ++row) value = R::merge(value, f(row, own.first));
  finish(own.first, value);
}

// The sum of f(r, column) over begin ≤ r < end.
template <int Tile, typename V, typename F>
__device__ __forceinline__ void add_rows(i64 begin, i64 end, TileColumns<Tile> own, F f,
                                         Total<V>* total) {
  *total = 0;
  for (i64 row = begin; row < end;) {
    const i64 stop = row + batch < end ? row + batch : end;
    V part = 0;
    for (; row < stop; ++row) part += f(row, own.first);
    *total += part;
  }
}

}  // namespace gridstride::tensor::reduce
#endif
