/*
 * scale.cuh — out[i] = factor * x[i] + offset.
 *
 * Problem: an affine map of one array; out may be x.
 * Mapping: 16-byte packets, four per thread and tile (vector_access.cuh).
 * Bytes: 2 * sizeof(T) * n. Operations: n fused multiply-adds.
 * Numerics: one fused multiply-add, so float32 and float64 results are correctly rounded; float16
 * and bfloat16 are computed in float with float factors and rounded once more (half a unit in the
 * last place and 2^-24 relative).
 * Hardware: none assumed.
 */
#pragma once

#include "kernels/element.cuh"
#include "kernels/vector_access.cuh"

namespace gridstride::device_code {

template <typename T>
struct AffineMap {
  Scalar<T> factor;
  Scalar<T> offset;

  __device__ __forceinline__ T operator()(T x) const {
    return narrow<T>(fused_multiply_add(factor, widen(x), offset));
  }
};

template <typename T>
__global__ void __launch_bounds__(most_block_threads)
    scale(const T* x, T* out, Scalar<T> factor, Scalar<T> offset, unsigned long long n) {
  map_elements<4>(n, AffineMap<T>{factor, offset}, out, x);
}

}  // namespace gridstride::device_code
