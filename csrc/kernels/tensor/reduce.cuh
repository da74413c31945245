/*
 * reduce.cuh — reductions of rows and of columns.
 *
 * Problem: out[o, i] = merge of f(o, r, i) over all r. Rows: i is alone, and r runs along memory.
 * Columns: i runs along memory.
 * Mapping: reduce_loops.cuh and reduce_threads.cuh.
 * Numerics: every order of merging depends on the shape and on the element types alone, so results
 * repeat bit by bit, also those of views. (On the host device, softmax and its like divide few rows
 * of more than 262,144 elements among threads if there are twice as many of them.)
 * Sums of floats: at most 16 elements are added up as float, and the rest as double, so the error
 * does not grow with the length. With u = 2^-24 it is at most, beside the rounding of the result:
 *   rows of CUDA threads    5 u Σ|x|: 16 elements are added up as four sums
 *   columns                 7 u Σ|x|: 8 rows; 15 u Σ|x| in the block form
 *   rows of the block form 20 u Σ|x| up to 512 elements, as a tree of sums of 16; 15 u Σ|x| beyond
 * Sums of doubles add up 16 elements, then such sums. With u = 2^-53 the error is at most
 *   rows of CUDA threads   (15 + n / (16 threads)) u Σ|x|: a thread adds up its sums one by one,
 *                          and 10 more steps merge the threads; parts of rows are merged in the
 *                          same way
 *   columns                (7 + n / (8 groups) + groups) u Σ|x|, where groups of threads take rows
 *                          alternately; (15 + n / 16) u Σ|x| in the block form
 *   rows of the block form (24 + log2(n / 2048)) u Σ|x|: blocks of 2048 elements are added up in
 *                          pairs (Higham, "The accuracy of floating point summation", 1993)
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
  static __device__ __forceinline__ V merge(V x, V y) { return x * y; }
};

// NaN wins.
template <typename V>
__device__ __forceinline__ V larger_of(V x, V y) {
  const V larger = y > x ? y : x;  // x if one is NaN
  return y != y ? y : larger;
}
template <typename V>
__device__ __forceinline__ V smaller_of(V x, V y) {
  const V smaller = y < x ? y : x;
  return y != y ? y : smaller;
}

#if !defined(__CUDASIM__) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// One instruction instead of four.
__device__ __forceinline__ float larger_of(float x, float y) {
  float larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(x), "f"(y));
  return larger;
}
__device__ __forceinline__ float smaller_of(float x, float y) {
  float smaller;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(smaller) : "f"(x), "f"(y));
  return smaller;
}
#endif

// The neutral element is the first element of the row or column.
template <typename V>
struct Maximum {
  using Value = V;
  static __device__ __forceinline__ V merge(V x, V y) { return larger_of(x, y); }
};

template <typename V>
struct Minimum {
  using Value = V;
  static __device__ __forceinline__ V merge(V x, V y) { return smaller_of(x, y); }
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
template <typename V, typename S>
__device__ __forceinline__ bool are_squares_exact(S sum, i64 n) {
  return sizeof(V) == sizeof(Total<V>) || (sum >= S(1e-25) * n && sum <= S(3e38));
}

}  // namespace gridstride::tensor::reduce

#include "kernels/tensor/reduce_loops.cuh"
#include "kernels/tensor/reduce_threads.cuh"
