/*
 * extremum.cuh — the least and the greatest of x[i], in two launches of one kernel: one result per
 * block, then one block over those results.
 *
 * Mapping: 16-byte packets, four per thread and tile (vector_access.cuh), a tree over the batch,
 * then block_reduce.cuh.
 * Bytes: sizeof(T) * n read, sizeof(T) per block written. Operations: n comparisons.
 * Numerics: exact: the result is one of the elements. A NaN anywhere makes the result NaN, as in
 * NumPy and PyTorch (fmin and the hardware's plain minimum would drop it). Zeros of both signs are
 * equal and either may come back. A block without elements writes the neutral element: the
 * greatest number for a minimum, the least for a maximum, infinite for floating types.
 * Hardware: none assumed; comparisons of 16-bit floats are made in float.
 */
#pragma once

#include <math_constants.h>

#include "kernels/block_reduce.cuh"
#include "kernels/element.cuh"
#include "kernels/tree_reduce.cuh"
#include "kernels/vector_access.cuh"

namespace gridstride::device_code {

template <typename T>
__device__ __forceinline__ Value<T> greatest_value() {
  if constexpr (std::is_same<Value<T>, double>::value) {
    return CUDART_INF;
  } else if constexpr (std::is_same<Value<T>, float>::value) {
    return CUDART_INF_F;
  } else {
    using Bits = std::make_unsigned_t<T>;
    constexpr Bits every_bit = static_cast<Bits>(~Bits(0));
    return static_cast<Value<T>>(std::is_signed<T>::value ? every_bit >> 1 : every_bit);
  }
}

template <typename T>
__device__ __forceinline__ Value<T> least_value() {
  if constexpr (is_floating<T>) {
    return -greatest_value<T>();
  } else {
    return std::is_signed<T>::value ? -greatest_value<T>() - 1 : Value<T>(0);
  }
}

template <typename V>
__device__ __forceinline__ bool is_not_a_number(V value) {
  if constexpr (std::is_floating_point<V>::value) {
    return value != value;
  } else {
    return false;
  }
}

template <typename T>
struct Minimum {
  using V = Value<T>;

  static __device__ __forceinline__ V neutral() { return greatest_value<T>(); }

  __device__ __forceinline__ V operator()(V x, V y) const {
    return x <= y || is_not_a_number(x) ? x : y;
  }
};

template <typename T>
struct Maximum {
  using V = Value<T>;

  static __device__ __forceinline__ V neutral() { return least_value<T>(); }

  __device__ __forceinline__ V operator()(V x, V y) const {
    return x >= y || is_not_a_number(x) ? x : y;
  }
};

template <typename Choice, typename T, int Count>
__device__ __forceinline__ Value<T> batch_extremum(const Elements<T, Count>& elements) {
  Value<T> values[Count];
  GS_UNROLL
  for (int i = 0; i < Count; ++i) {
    values[i] = widen(elements.value[i]);
  }
  return tree_reduce(values, Choice());
}

template <typename Choice, typename T>
__device__ __forceinline__ void reduce_extremum(const T* __restrict__ x, T* __restrict__ partials,
                                                unsigned long long n) {
  Value<T> best = Choice::neutral();
  const auto visit = [&](auto position) {
    best = Choice()(best, batch_extremum<Choice>(load(x, position)));
  };
  for_each_position<T, 4>(n, visit, x);

  best = block_reduce(best, Choice::neutral(), Choice());
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = narrow<T>(best);
  }
}

template <typename T>
__global__ void __launch_bounds__(max_block_threads)
    min_partial(const T* __restrict__ x, T* __restrict__ partials, unsigned long long n) {
  reduce_extremum<Minimum<T>>(x, partials, n);
}

template <typename T>
__global__ void __launch_bounds__(max_block_threads)
    max_partial(const T* __restrict__ x, T* __restrict__ partials, unsigned long long n) {
  reduce_extremum<Maximum<T>>(x, partials, n);
}

}  // namespace gridstride::device_code
