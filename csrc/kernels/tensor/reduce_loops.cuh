/*
 * reduce_loops.cuh — reductions as loops: one thread runs a block.
 *
 * Mapping: a block takes some rows, with 32 accumulators that are merged as a tree, or a tile of
 * columns.
 */
#pragma once

#if defined(GS_BLOCK_FORM)
#include "kernels/tensor/reduce.cuh"

namespace gridstride::tensor::reduce {

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

// Merges f(0) … f(n - 1), n ≥ 1, for a row. An accumulator begins with f(0) if merging an element
// twice changes nothing (Maximum and its like, which have no neutral element).
template <typename R, typename F>
__device__ __forceinline__ typename R::Value reduce_row(i64 n, typename R::Value first, F f) {
  using V = typename R::Value;
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
}

// Adds up f(0) … f(n - 1), for a row.
template <typename V, typename F>
__device__ __forceinline__ Total<V> sum_row(i64 n, F f) {
  constexpr int lanes = 32;
  constexpr i64 step = batch * lanes;
  constexpr i64 block = 4 * step;
  // Sums of 1, 2, 4 … blocks, the largest first: one for each bit of the number of blocks.
  Total<V> sums[48];
  int depth = 0;
  i64 number = 0;
  for (i64 begin = 0; begin < n; begin += block) {
    const i64 end = begin + block < n ? begin + block : n;
    Total<V> total[lanes] = {};
    for (i64 first = begin; first < end; first += step) {
      const i64 stop = first + step < end ? first + step : end;
      V part[lanes] = {};
      i64 i = first;
      for (; i + lanes <= stop; i += lanes) {
        GS_INDEPENDENT
        GS_UNROLLED
        for (int j = 0; j < lanes; ++j) part[j] += f(i + j);
      }
      for (int j = 0; i + j < stop; ++j) part[j] += f(i + j);
      if (n <= step) {
        merge_lanes<Sum<V>, lanes / 2>(part);
        return part[0];
      }
      for (int j = 0; j < lanes; ++j) total[j] += part[j];
    }
    merge_lanes<Sum<Total<V>>, lanes / 2>(total);
    for (i64 bits = number++; bits % 2 != 0; bits /= 2) total[0] += sums[--depth];
    sums[depth++] = total[0];
  }
  Total<V> result = 0;
  while (depth > 0) result += sums[--depth];
  return result;
}

// The sum of the squares of f(0) … f(n - 1), for a row.
template <typename V, typename F>
__device__ __forceinline__ Total<V> sum_squares_row(i64 n, F f) {
  const Total<V> sum = sum_row<V>(n, [&](i64 i) { return squared<V>(f(i)); });
  if (are_squares_exact<V>(sum, n)) return sum;
  return sum_row<Total<V>>(n, [&](i64 i) { return squared<Total<V>>(f(i)); });
}

// Calls f(i) for the elements of a row.
template <typename F>
__device__ __forceinline__ void map_row(i64 n, F f) {
  GS_INDEPENDENT
  for (i64 i = 0; i < n; ++i) f(i);
}

// Whether the thread stores the results of its row.
template <int Threads>
__device__ __forceinline__ bool is_first_of_row() {
  return true;
}

// Calls f(row) for the rows of a block; per_block counts in the block form.
template <int Threads, typename F>
__device__ __forceinline__ void for_each_row(i64 rows, i64 per_block, F f) {
  const i64 begin = static_cast<i64>(blockIdx.x) * per_block;
  const i64 end = begin + per_block < rows ? begin + per_block : rows;
  for (i64 row = begin; row < end; ++row) f(row);
}

// The columns of a tile.
template <int Tile>
struct TileColumns {
  static constexpr int max_width = Tile;

  i64 first;
  int width;

  __device__ __forceinline__ TileColumns(i64 tile, i64 columns)
      : first(tile * Tile),
        width(columns - first < Tile ? static_cast<int>(columns - first) : Tile) {}
};

// Calls finish(column, merge of f(r, column) for begin ≤ r < end) for the columns of a tile.
template <int Tile, typename R, typename First, typename F, typename Finish>
__device__ __forceinline__ void reduce_columns(i64 begin, i64 end, i64 tile, i64 columns,
                                               First first, F f, Finish finish) {
  const TileColumns<Tile> own(tile, columns);
  typename R::Value total[Tile];
  for (int j = 0; j < own.width; ++j) total[j] = first(own.first + j);
  for (i64 row = begin; row < end; ++row) {
    GS_INDEPENDENT
    for (int j = 0; j < own.width; ++j) total[j] = R::merge(total[j], f(row, own.first + j));
  }
  for (int j = 0; j < own.width; ++j) finish(own.first + j, total[j]);
}

// The sums of f(r, column) over begin ≤ r < end.
template <int Tile, typename V, typename F>
__device__ __forceinline__ void add_rows(i64 begin, i64 end, TileColumns<Tile> own, F f,
                                         Total<V>* total) {
  const i64 column = own.first;
  const int width = own.width;
  V part[Tile];
  for (int j = 0; j < width; ++j) total[j] = 0;
  for (i64 row = begin; row < end;) {
    const i64 stop = row + batch < end ? row + batch : end;
    for (int j = 0; j < width; ++j) part[j] = 0;
    for (; row < stop; ++row) {
      GS_INDEPENDENT
      for (int j = 0; j < width; ++j) part[j] += f(row, column + j);
    }
    for (int j = 0; j < width; ++j) total[j] += part[j];
  }
}

}  // namespace gridstride::tensor::reduce
#endif
