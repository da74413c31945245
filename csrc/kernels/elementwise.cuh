/*
 * elementwise.cuh — fill: out[i] = value. add, multiply: out[i] = x[i] + y[i], x[i] * y[i].
 * scale: out[i] = factor * x[i] + offset. axpy: y[i] = a * x[i] + y[i].
 *
 * Problem: one pass over arrays, limited by memory. Outputs may be inputs, and both inputs may be
 * one array. fill takes patterns, not numbers: float16 is filled as uint16, float32 as uint32,
 * float64 as uint64, so one kernel per width serves all dtypes.
 * Mapping: 16-byte packets, per thread and tile two of each array, and four of the only one of fill
 * (vector_access.cuh). In the block form, each thread takes neighbours, as a loop that the compiler
 * vectorises.
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

// The host library has both forms.
#if defined(GS_BLOCK_FORM)
inline namespace loops {

// Any launch is right; the default has blocks of one thread. out may be one of the inputs.
template <int, typename Operation, typename T, typename... Input>
__device__ __forceinline__ void map_elements(unsigned long long n, Operation operation, T* out,
                                             const Input*... inputs) {
  const unsigned long long shares = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  const unsigned long long length = (n + shares - 1) / shares;
  const unsigned long long share =
      static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const unsigned long long begin = share * length < n ? share * length : n;
  const unsigned long long end = begin + length < n ? begin + length : n;
  GS_INDEPENDENT
  for (unsigned long long i = begin; i < end; ++i) out[i] = operation(inputs[i]...);
}

#else
inline namespace threads {

template <typename Result, int Count, typename Operation, typename... T>
__device__ __forceinline__ Elements<Result, Count> apply(Operation operation,
                                                         const Elements<T, Count>&... operands) {
  Elements<Result, Count> results;
  GS_UNROLL
  for (int i = 0; i < Count; ++i) {
    results.value[i] = operation(operands.value[i]...);
  }
  return results;
}

// out[i] = operation(inputs[i]...). A thread has loaded all operands of its elements before it
// stores them, so out may be one of the inputs; a partial overlap is not allowed.
template <int Packets, typename Operation, typename T, typename... Input>
__device__ __forceinline__ void map_elements(unsigned long long n, Operation operation, T* out,
                                             const Input*... inputs) {
  const auto visit = [&](auto position) {
    constexpr int count = decltype(position)::count;
    store(out, position, apply<T, count>(operation, load(inputs, position)...));
  };
  for_each_position<T, Packets>(n, visit, static_cast<const T*>(out), inputs...);
}

#endif

template <typename T>
struct Constant {
  T value;

  __device__ __forceinline__ T operator()() const { return value; }
};

template <typename T>
__global__ void __launch_bounds__(max_block_threads)
    fill(T* out, T value, unsigned long long n) {
  map_elements<4>(n, Constant<T>{value}, out);
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
  map_elements<2>(n, AffineMap<T>{factor, offset}, out, x);
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

}  // namespace loops or threads
}  // namespace gridstride::tensor::elementwise
