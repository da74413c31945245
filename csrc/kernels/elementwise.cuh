/*
 * elementwise.cuh — fill: out[i] = value. add, multiply: out[i] = x[i] + y[i], x[i] * y[i].
 * scale: out[i] = factor * x[i] + offset. axpy: y[i] = a * x[i] + y[i].
 *
 * Problem: one pass over arrays, limited by memory: map.cuh, compiled in. Outputs may be inputs,
 * and both inputs may be one array. fill takes patterns, not numbers: float16 is filled as uint16,
 * float32 as uint32, float64 as uint64, so one kernel per width serves all dtypes.
 * Mapping: per thread and tile two packets of each array, and four of the only one of fill
 * (packet_walk.cuh). In the block form, each thread takes neighbours, as a loop that the compiler
 * vectorises.
 * Bytes: sizeof(T) * n for each array that is read or written. Operations: none, n, or n fused
 * multiply-adds.
 * Numerics: those of tensors. add and multiply round correctly, float16 and bfloat16 by way of
 * float: its 24 bits are at least 2 * 11 + 2, so a float sum or product rounded once more to 11 or
 * 8 bits is the correctly rounded result (but for bfloat16 products below 2^-126, where float has
 * fewer bits). Integers wrap modulo 2^bits. scale and axpy are one fused multiply-add: float32 and
 * float64 are correctly rounded, float16 and bfloat16 are computed in float with float factors and
 * rounded once more (half a unit in the last place and 2^-24 relative). fill keeps every bit.
 * Hardware: none assumed.
 */
#pragma once

#include "kernels/built_in.cuh"
#include "kernels/packet_walk.cuh"
#include "kernels/tensor/map.cuh"

namespace gridstride::tensor::elementwise {

// The host library has both forms.
inline namespace GS_FORM {

// The body of an operation on the elements of Count arrays, as map.cuh takes it.
template <typename T, int Count, typename Operation>
struct Body {
  using Result = T;
  template <int N>
  struct Inputs {
    Packet<T, N> x;
    Packet<T, N> y;
  };

  Operation operation;
  T* out;
  const T* x = nullptr;
  const T* y = nullptr;

  // Arrays have no offsets: the views begin at their addresses.
  template <int N>
  __device__ __forceinline__ void read(Inputs<N>& inputs, const i64*, i64 i) const {
    if constexpr (Count > 0) inputs.x.read(x + i);
    if constexpr (Count > 1) inputs.y.read(y + i);
  }
  template <int N>
  __device__ __forceinline__ T compute(const Inputs<N>& inputs, int j, i64) const {
    if constexpr (Count == 0) return operation();
    else if constexpr (Count == 1) return operation(inputs.x.element[j]);
    else return operation(inputs.x.element[j], inputs.y.element[j]);
  }
  template <int N>
  __device__ __forceinline__ void write(const Packet<T, N>& results, const i64*, i64 i) const {
    results.write(out + i);
  }
};

// out[i] = operation(inputs[i]...) by any launch. out may be one of the inputs, because a thread
// has loaded its elements before it stores results; a partial overlap is not allowed.
template <int Packets, typename Operation, typename T, typename... Input>
__device__ __forceinline__ void map_arrays(i64 n, Operation operation, T* out,
                                           const Input*... inputs) {
  const Body<T, sizeof...(Input), Operation> body{operation, out, inputs...};
  const Space<1, 1> space{};
#if defined(GS_BLOCK_FORM)
  map_expression<0, 0, Packets>(space, n, chunk_of_launch(n), body);
#else
  const auto visit = [&](auto position) {
    using Own = decltype(position);
    map_packets<Own::size, Own::packets, true>(space, position.first, position.step, n, body);
  };
  for_each_position<Packets>(n, visit, static_cast<const T*>(out), inputs...);
#endif
}

// Elements are computed as tensors compute them: integers without a sign, so they wrap.
template <typename T>
using Arithmetic = std::conditional_t<
    !std::is_integral<T>::value, decltype(load(T())),
    std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned int>>;

// The type of factors that go with arrays of T.
template <typename T>
using Scalar = std::conditional_t<is_same<T, double>, double, float>;

template <typename T>
struct Constant {
  T value;

  __device__ __forceinline__ T operator()() const { return value; }
};

template <typename T>
__global__ void __launch_bounds__(max_block_threads)
    fill(T* out, T value, unsigned long long n) {
  map_arrays<4>(n, Constant<T>{value}, out);
}

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
  map_arrays<2>(n, Sum<T>(), out, x, y);
}

template <typename T>
__global__ void __launch_bounds__(max_block_threads)
    multiply(const T* x, const T* y, T* out, unsigned long long n) {
  map_arrays<2>(n, Product<T>(), out, x, y);
}

template <typename T>
struct AffineMap {
  Scalar<T> factor;
  Scalar<T> offset;

  __device__ __forceinline__ T operator()(T x) const {
    return store<T>(fma(factor, load(x), offset));
  }
};

template <typename T>
__global__ void __launch_bounds__(max_block_threads)
    scale(const T* x, T* out, Scalar<T> factor, Scalar<T> offset, unsigned long long n) {
  map_arrays<2>(n, AffineMap<T>{factor, offset}, out, x);
}

template <typename T>
struct MultipleAdded {
  Scalar<T> a;

  __device__ __forceinline__ T operator()(T x, T y) const {
    return store<T>(fma(a, load(x), load(y)));
  }
};

template <typename T>
__global__ void __launch_bounds__(max_block_threads)
    axpy(Scalar<T> a, const T* x, T* y, unsigned long long n) {
  map_arrays<2>(n, MultipleAdded<T>{a}, y, x, static_cast<const T*>(y));
}

}  // namespace GS_FORM
}  // namespace gridstride::tensor::elementwise
