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

namespace gridstride::tensor {

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

// Merges the values of the warps of a block.
template <typename R>
__device__ __forceinline__ typename R::Value block_reduce(typename R::Value value,
                                                          typename R::Value neutral) {
  __shared__ typename R::Value warps[32];
  __syncthreads();  // the warps may still read the values of an earlier reduction
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  const int lane = threadIdx.x % 32;
  return warp_reduce<R>(lane < static_cast<int>(blockDim.x) / 32 ? warps[lane] : neutral);
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
  return block_reduce<R>(value, first);
#endif
}

// Adds up f(0) … f(n - 1), for a row. All threads of the row get the result.
template <int Threads, typename V, typename F>
__device__ __forceinline__ Total<V> sum_row(i64 n, F f) {
#if defined(GS_BLOCK_FORM)
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
#else
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
  total = warp_reduce<Sum<Total<V>>>(total + rest);
  if constexpr (Threads == 32) return total;
  return block_reduce<Sum<Total<V>>>(total, 0);
#endif
}

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

// The sum of the squares of f(0) … f(n - 1), for a row.
template <int Threads, typename V, typename F>
__device__ __forceinline__ Total<V> sum_squares_row(i64 n, F f) {
  const Total<V> sum = sum_row<Threads, V>(n, [&](i64 i) { return squared<V>(f(i)); });
  if (are_squares_exact<V>(sum, n)) return sum;
  return sum_row<Threads, Total<V>>(n, [&](i64 i) { return squared<Total<V>>(f(i)); });
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

// The sums of f(r, column) over begin ≤ r < end: of the columns of a tile in the block form, and of
// one column in a CUDA thread.
template <typename V, typename F>
__device__ __forceinline__ void add_rows(i64 begin, i64 end, i64 column, int width, F f,
                                         Total<V>* total) {
#if defined(GS_BLOCK_FORM)
  V part[tile_columns];
#else
  V part[1];
  width = 1;
#endif
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

// Calls finish(column, sum) for the columns of a tile, with the sums of f or of its squares.
template <typename V, bool IsSquared, typename F, typename Finish>
__device__ __forceinline__ void sum_columns(i64 begin, i64 end, i64 tile, i64 columns, F f,
                                            Finish finish) {
#if defined(GS_BLOCK_FORM)
  constexpr int most = tile_columns;
#else
  constexpr int most = 1;
#endif
  const i64 first = tile * (most == 1 ? blockDim.x : most) + (most == 1 ? threadIdx.x : 0);
  if (first >= columns) return;
  const int width = columns - first < most ? static_cast<int>(columns - first) : most;
  Total<V> total[most];
  if constexpr (IsSquared) {
    add_rows<V>(begin, end, first, width,
                [&](i64 row, i64 column) { return squared<V>(f(row, column)); }, total);
    bool is_exact = true;
    for (int j = 0; j < width; ++j) is_exact &= are_squares_exact<V>(total[j], end - begin);
    if (!is_exact) {
      add_rows<Total<V>>(begin, end, first, width,
                         [&](i64 row, i64 column) { return squared<Total<V>>(f(row, column)); },
                         total);
    }
  } else {
    add_rows<V>(begin, end, first, width, f, total);
  }
  for (int j = 0; j < width; ++j) finish(first + j, total[j]);
}

}  // namespace gridstride::tensor
