/*
 * arithmetic.cuh — out[i] = x[i] + y[i] and out[i] = x[i] * y[i].
 *
 * Problem: combine two arrays element by element; out may be x or y, or both may be one array.
 * Mapping: 16-byte packets, two per array, thread and tile: four loads in flight
 * (vector_access.cuh).
 * Bytes: 3 * sizeof(T) * n. Operations: n.
 * Numerics: every result is correctly rounded, float16 and bfloat16 by way of float (with the one
 * exception in element.cuh); integers wrap modulo 2^bits.
 * Hardware: none assumed.
 */
#pragma once

#include "kernels/element.cuh"
#include "kernels/vector_access.cuh"

namespace gridstride::device_code {

constexpr int binary_packets = 2;

template <typename T>
struct Sum {
  __device__ __forceinline__ T operator()(T x, T y) const {
    using A = Arithmetic<T>;
    return narrow<T>(static_cast<A>(widen(x)) + static_cast<A>(widen(y)));
  }
};

template <typename T>
struct Product {
  __device__ __forceinline__ T operator()(T x, T y) const {
    using A = Arithmetic<T>;
    return narrow<T>(static_cast<A>(widen(x)) * static_cast<A>(widen(y)));
  }
};

template <typename T>
__global__ void __launch_bounds__(most_block_threads)
    add(const T* x, const T* y, T* out, unsigned long long n) {
  map_elements<binary_packets>(n, Sum<T>(), out, x, y);
}

template <typename T>
__global__ void __launch_bounds__(most_block_threads)
    multiply(const T* x, const T* y, T* out, unsigned long long n) {
  map_elements<binary_packets>(n, Product<T>(), out, x, y);
}

}  // namespace gridstride::device_code
