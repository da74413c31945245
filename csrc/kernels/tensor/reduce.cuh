/*
 * reduce.cuh — reductions of rows and of columns.
 *
 * Problem: out[o, i] = merge of f(o, r, i) over all r. Rows: i is alone, and r runs along memory.
 * Columns: i runs along memory.
 * Mapping, threads: a row belongs to a warp or to a block; a column to a thread. Block form: a
 * block takes some rows, with 32 accumulators that are merged as a tree, or a tile of columns.
 * Numerics: every order of merging depends on the shape alone, so results repeat bit by bit.
 * Sums of floats: at most 16 elements are added up as float, and the rest as double, so with
 * u = 2^-24 the error is at most 15 u Σ|x| and the rounding of the result, whatever the length.
 * The block form adds up rows of up to 512 as float, above 16 elements as a tree: 20 u Σ|x|.
 * Sums of doubles add up 16 elements, then such sums: with u = 2^-53 at most
 * (24 + log2(n / 2048)) u Σ|x| in rows of the block form, which adds up blocks of 2048 elements in
 * pairs (Higham, "The accuracy of floating point summation", 1993). Elsewhere a thread adds them up
 * one after another: (15 + n / (16 threads) + 10) u Σ|x| in rows, (15 + n / 16) u Σ|x| in columns.
 */
#pragma once

#include "kernels/tensor/map.cuh"

namespace gridstride::tensor::reduce {

constexpr int batch = 16;  // elements that are added up in their own type

// The type of sums of batches.
template <typename V>
struct TotalOf {
  using Type = V;
};
template <>
struct TotalOf<float> {
  using Type = double;
};
template <typename V>
using Total = typename TotalOf<V>::Type;

template <typename V>
struct Sum {
  using Value = V;
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

template <typename T>
__device__ __forceinline__ T squared(T x) {
  return x * x;
}

// Whether the squares of n numbers lost nothing by a range that is too small: they are added up as
// double otherwise.
template <typename V>
__device__ __forceinline__ bool are_squares_exact(Total<V> sum, i64 n) {
  return sizeof(V) == sizeof(Total<V>) || (sum >= 1e-25 * n && sum <= 3e38);
}

}  // namespace gridstride::tensor::reduce

#include "kernels/tensor/reduce_loops.cuh"
#include "kernels/tensor/reduce_threads.cuh"

namespace gridstride::tensor::reduce {

// The sum of the squares of f(0) … f(n - 1), for a row.
template <int Threads, typename V, typename F>
__device__ __forceinline__ Total<V> sum_squares_row(i64 n, F f) {
  const Total<V> sum = sum_row<Threads, V>(n, [&](i64 i) { return squared<V>(f(i)); });
  if (are_squares_exact<V>(sum, n)) return sum;
  return sum_row<Threads, Total<V>>(n, [&](i64 i) { return squared<Total<V>>(f(i)); });
}

// Calls finish(column, sum) for the columns of a tile, with the sums of f or of its squares.
template <int Tile, typename V, bool IsSquared, typename F, typename Finish>
__device__ __forceinline__ void sum_columns(i64 begin, i64 end, i64 tile, i64 columns, F f,
                                            Finish finish) {
  const TileColumns<Tile> own(tile, columns);
  if (own.width <= 0) return;
  Total<V> total[TileColumns<Tile>::max_width];
  if constexpr (IsSquared) {
    add_rows<Tile, V>(begin, end, own,
                      [&](i64 row, i64 column) { return squared<V>(f(row, column)); }, total);
    bool is_exact = true;
    for (int j = 0; j < own.width; ++j) is_exact &= are_squares_exact<V>(total[j], end - begin);
    if (!is_exact) {
      add_rows<Tile, Total<V>>(
          begin, end, own,
          [&](i64 row, i64 column) { return squared<Total<V>>(f(row, column)); }, total);
    }
  } else {
    add_rows<Tile, V>(begin, end, own, f, total);
  }
  for (int j = 0; j < own.width; ++j) finish(own.first + j, total[j]);
}

}  // namespace gridstride::tensor::reduce
