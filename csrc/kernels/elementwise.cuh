/*
 * elementwise.cuh — fill: out[i] = value. add, multiply: out[i] = x[i] + y[i], x[i] * y[i].
 * scale: out[i] = factor * x[i] + offset. axpy: y[i] = a * x[i] + y[i].
 *
 * Problem: one pass over arrays, limited by memory. Outputs may be inputs, and both inputs may be
 * one array. fill takes patterns, not numbers: float16 is filled as uint16, float32 as uint32,
 * float64 as uint64, so one kernel per width serves all dtypes.
 * Mapping: 16-byte packets, per thread and tile four with one array and two per array with two, so
 * four loads are in flight (vector_access.cuh).
 * Bytes: sizeof(T) * n for each array that is read or written. Operations: none, n, or n fused
 * multiply-adds.
 * Numerics: add and multiply round correctly, float16 and bfloat16 by way of float (with the one
 * exception in arithmetic.cuh); integers wrap modulo 2^bits. scale and axpy are one fused
 * multiply-add: float32 and float64 are correctly rounded, float16 and bfloat16 are computed in
 * float with float factors and rounded once more (half a unit in the last place and 2^-24
 * relative). fill keeps every bit.
 * Hardware: none assumed.
 */
#pragma once

#include "kernels/arithmetic.cuh"
#include "kernels/vector_access.cuh"

namespace gridstride::tensor::elementwise {

template <typename T>
__global__ void __launch_bounds__(max_block_threads)
    fill(T* out, T value, unsigned long long n) {
  const auto visit = [&](auto position) {
    Elements<T, decltype(position)::count> elements;
    GS_UNROLL
    for (T& element : elements.value) {
      element = value;
    }
    store(out, position, elements);
  };
  for_each_position<T, 4>(n, visit, static_cast<const T*>(out));
}

constexpr int binary_packets = 2;

template <typename T>
struct Sum {
  __device__ __forceinline__ T operator()(T x, T y) const {
    using A = Arithmetic<T>;
    return store<T>(static_cast<A>(load(x)) + static_cast<A>(load(y)));
  }
};

template <typename T>
struct Product {
  __device__ __forceinline__ T operator()(T x, T y) const {
    using A = Arithmetic<T>;
    return store<T>(static_cast<A>(load(x)) * static_cast<A>(load(y)));
  }
};

template <typename T>
__global__ void __launch_bounds__(max_block_threads)
    add(const T* x, const T* y, T* out, unsigned long long n) {
  map_elements<binary_packets>(n, Sum<T>(), out, x, y);
}

template <typename T>
__global__ void __launch_bounds__(max_block_threads)
    multiply(const T* x, const T* y, T* out, unsigned long long n) {
  map_elements<binary_packets>(n, Product<T>(), out, x, y);
}

template <typename T>
struct AffineMap {
  Scalar<T> factor;
  Scalar<T> offset;

  __device__ __forceinline__ T operator()(T x) const {
    return store<T>(fused_multiply_add(factor, load(x), offset));
  }
};

template <typename T>
__global__ void __launch_bounds__(max_block_threads)
    scale(const T* x, T* out, Scalar<T> factor, Scalar<T> offset, unsigned long long n) {
  map_elements<4>(n, AffineMap<T>{factor, offset}, out, x);
}

template <typename T>
struct MultipleAdded {
  Scalar<T> a;

  __device__ __forceinline__ T operator()(T x, T y) const {
    return store<T>(fused_multiply_add(a, load(x), load(y)));
  }
};

template <typename T>
__global__ void __launch_bounds__(max_block_threads)
    axpy(Scalar<T> a, const T* x, T* y, unsigned long long n) {
  map_elements<2>(n, MultipleAdded<T>{a}, y, static_cast<const T*>(x), static_cast<const T*>(y));
}

}  // namespace gridstride::tensor::elementwise
