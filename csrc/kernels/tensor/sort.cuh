/*
 * sort.cuh — running sums and products, stable sorting of rows, and search in sorted elements.
 *
 * Problem: rows of any length that lie one after another in memory.
 * Mapping: a merge sort. The first pass sorts short runs by insertion. Each later pass
 * merges pairs of runs; a job writes one segment of a merged pair, and finds its begin in both runs
 * by binary search (Odeh, Green et al., "Merge Path", 2012). Sums: a job adds up a part of a row,
 * the sums of the parts are added up in the same way, and a second pass writes the elements.
 * Products likewise.
 * Order: NaN is behind all numbers, also in descending order; equal elements keep their order.
 * Bytes: the rows, read and written once for each pass.
 */
#pragma once

#include "kernels/tensor/map.cuh"

namespace gridstride::tensor::sort {

// What running sums and products do with two values, the earlier one first.
template <typename Value>
struct Sum {
  static constexpr Value identity = 0;
  static __device__ __forceinline__ Value apply(Value a, Value b) {
    return static_cast<Value>(a + b);
  }
};

template <typename Value>
struct Product {
  static constexpr Value identity = 1;
  static __device__ __forceinline__ Value apply(Value a, Value b) {
    return static_cast<Value>(a * b);
  }
};

template <bool Descending, typename T>
__device__ __forceinline__ bool precedes(T a, T b) {
  const auto x = load(a);
  const auto y = load(b);
  return (Descending ? x > y : x < y) || (y != y && x == x);
}

// The elements of rows, and their original positions in the row if Indexed.
template <bool Indexed, typename T>
struct Entries {
  T* keys;
  i64* places;

  template <typename S>
  __device__ __forceinline__ void copy(i64 to, const Entries<Indexed, S>& source, i64 from) const {
    keys[to] = source.keys[from];
    if constexpr (Indexed) places[to] = source.places[from];
  }
};

template <bool Descending, bool Indexed, typename T>
__device__ __forceinline__ void sort_run(i64 row, i64 begin, i64 length, i64 n, const T* x,
                                         Entries<Indexed, T> out) {
  const i64 end = begin + length < n ? begin + length : n;
  for (i64 i = begin; i < end; ++i) {
    const T key = x[row + i];
    i64 at = row + i;
    for (; at > row + begin && precedes<Descending>(key, out.keys[at - 1]); --at) {
      out.copy(at, out, at - 1);
    }
    out.keys[at] = key;
    if constexpr (Indexed) out.places[at] = i;
  }
}

// Writes a segment of a pair of merged runs of some width. Segments do not cross pairs.
template <bool Descending, bool Indexed, typename T>
__device__ __forceinline__ void merge_segment(i64 row, i64 begin, i64 segment, i64 width, i64 n,
                                              Entries<Indexed, const T> in,
                                              Entries<Indexed, T> out) {
  const i64 start = begin / (2 * width) * (2 * width);
  const i64 middle = start + width < n ? start + width : n;
  const i64 stop = start + 2 * width < n ? start + 2 * width : n;
  const T* const left = in.keys + row + start;
  const T* const right = in.keys + row + middle;
  const i64 lefts = middle - start;
  const i64 rights = stop - middle;
  const i64 done = begin - start;
  // The number of elements of the left run among the first `done` of the pair.
  i64 low = done > rights ? done - rights : 0;
  i64 high = done < lefts ? done : lefts;
  while (low < high) {
    const i64 half = (low + high) / 2;
    if (precedes<Descending>(right[done - 1 - half], left[half])) high = half;
    else low = half + 1;
  }
  i64 i = low;
  i64 j = done - low;
  const i64 end = begin + segment < stop ? begin + segment : stop;
  for (i64 at = begin; at < end; ++at) {
    const bool is_left = j >= rights || (i < lefts && !precedes<Descending>(right[j], left[i]));
    out.copy(row + at, in, row + (is_left ? start + i : middle + j));
    i += is_left ? 1 : 0;
    j += is_left ? 0 : 1;
  }
}

// One pass over rows of n elements. A width of 0 sorts runs of a segment.
template <bool Descending, bool Indexed, typename T>
__device__ __forceinline__ void sort_pass(i64 jobs, i64 per_row, i64 chunk, i64 n, i64 segment,
                                          i64 width, Entries<Indexed, const T> in,
                                          Entries<Indexed, T> out) {
  map(Space<1, 1>{}, jobs, chunk, [=](const i64*, i64 job) {
    const i64 row = job / per_row;
    const i64 begin = (job - row * per_row) * segment;
    if (width == 0) sort_run<Descending>(row * n, begin, segment, n, in.keys, out);
    else merge_segment<Descending>(row * n, begin, segment, width, n, in, out);
  });
}

// The number of elements before a value, or before and equal to it.
template <bool Right, typename T>
__device__ __forceinline__ i64 search_sorted(const T* x, i64 n, T value) {
  i64 low = 0;
  i64 high = n;
  while (low < high) {
    const i64 half = low + (high - low) / 2;
    const bool is_before =
        Right ? !precedes<false>(value, x[half]) : precedes<false>(x[half], value);
    if (is_before) low = half + 1;
    else high = half;
  }
  return low;
}

}  // namespace gridstride::tensor::sort

#include "kernels/tensor/sort_loops.cuh"
#include "kernels/tensor/sort_threads.cuh"

namespace gridstride::tensor::sort {

// Rows of n elements in parts. If there are several, parts gets what each adds up to in the first
// pass, and holds the running sums of that in the last one.
template <typename Operation, typename Value, typename T, typename Out>
__device__ __forceinline__ void scan_rows(i64 jobs, i64 per_row, i64 per_block, i64 length, i64 n,
                                          bool is_last, const T* x, Out* out, Value* parts) {
  for_each_part(jobs, per_block, [=](i64 job) {
    const i64 row = job / per_row;
    const i64 part = job - row * per_row;
    const i64 begin = part * length;
    const i64 count = n - begin < length ? n - begin : length;
    const Value before = is_last && part > 0 ? parts[job - 1] : Value{Operation::identity};
    const i64 origin = row * n + begin;
    scan_part<Operation>(count, x + origin, before, is_last ? out + origin : nullptr, parts + job);
  });
}

}  // namespace gridstride::tensor::sort
