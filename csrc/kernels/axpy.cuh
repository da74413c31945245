/*
 * axpy.cuh — y[i] = a * x[i] + y[i].
 *
 * Problem: the BLAS update of one array by a multiple of another; x may be y.
 * Mapping: 16-byte packets, two per array, thread and tile: four loads in flight
 * (vector_access.cuh).
 * Bytes: 3 * sizeof(T) * n. Operations: n fused multiply-adds.
 * Numerics: as in scale.cuh: float32 and float64 are correctly rounded, float16 and bfloat16 are
 * computed in float and rounded once more.
 * Hardware: none assumed.
 */
#pragma once

#include "kernels/element.cuh"
#include "kernels/vector_access.cuh"

namespace gridstride::device_code {

template <typename T>
struct MultipleAdded {
  Scalar<T> a;

  __device__ __forceinline__ T operator()(T x, T y) const {
    return narrow<T>(fused_multiply_add(a, widen(x), widen(y)));
  }
};

template <typename T>
__global__ void __launch_bounds__(most_block_threads)
    axpy(Scalar<T> a, const T* x, T* y, unsigned long long n) {
  map_elements<2>(n, MultipleAdded<T>{a}, y, static_cast<const T*>(x), static_cast<const T*>(y));
}

}  // namespace gridstride::device_code
