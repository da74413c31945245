/*
 * reduction.cuh — sums and extrema of one row that is dense: reduce.cuh, compiled in.
 *
 * Problem: parts[s] = merge of x[i] over the s-th part of width elements, of length each, then the
 * same over the parts. Sums have the bits of those of tensors: the same functions merge the same
 * parts in the same order.
 * Mapping: the grid has a block for each part; further blocks do nothing. How the 256 threads take
 * it (threads, size) is chosen with the length of the parts, in row_plan.ts: the bits of a sum
 * depend on it. Where threads is 32, all warps do the same. In the block form, a block is one
 * thread.
 * Bytes: sizeof(T) * width read. Operations: one for each element.
 * Numerics: those of reduce.cuh; integers are exact modulo 2^64. A NaN anywhere makes an extremum
 * NaN. Of zeros of both signs, either may be the extremum.
 */
#pragma once

#include "kernels/built_in.cuh"
#include "kernels/tensor/reduce.cuh"

namespace gridstride::tensor::reduce {

// The host library has both forms.
inline namespace GS_FORM {

// Elements are added up as V. Sums of 64-bit integers wrap.
template <typename T>
struct SumOf {
  using V = unsigned long long;
  using Parts = long long;
};
template <>
struct SumOf<double> {
  using V = double;
  using Parts = double;
};
template <>
struct SumOf<float> {
  using V = float;
  using Parts = double;
};
template <>
struct SumOf<__half> : SumOf<float> {};
template <>
struct SumOf<__nv_bfloat16> : SumOf<float> {};

// The type in which elements are compared.
template <typename T>
using Compared = decltype(load(T()));

// The elements of a part.
template <typename T>
struct Part {
  const T* begin;
  i64 length;

  __device__ __forceinline__ Part(const T* x, i64 width, i64 most)
      : begin(x + blockIdx.x * most),
        length(width - blockIdx.x * most < most ? width - blockIdx.x * most : most) {}
};

#if defined(GS_BLOCK_FORM)

template <typename V, typename T>
__device__ __forceinline__ Total<V> sum_part(const Part<T>& part, int, int) {
  const T* const x = part.begin;
  return sum_row<V>(part.length, [=](i64 i) { return static_cast<V>(load(x[i])); });
}

template <typename R, typename T>
__device__ __forceinline__ typename R::Value extremum_part(const Part<T>& part) {
  using V = typename R::Value;
  const T* const x = part.begin;
  const auto value = [=](i64 i) { return static_cast<V>(load(x[i])); };
  return reduce_row<R>(part.length, value(0), value);
}

#else

constexpr int packet_bytes = 16;
// Loads of a thread before it uses the first. The bits do not depend on it.
constexpr int step_bytes = 128;

// Calls use(row, value) with a row of packets of Size elements for Threads threads.
template <typename V, int Threads, int Size, bool IsAligned, typename T, typename Use>
__device__ __forceinline__ auto with_row(const Part<T>& part, Use use) {
  constexpr int step_elements = step_bytes / sizeof(T) < 32 ? step_bytes / sizeof(T) : 32;
  using Elements = Packet<T, Size>;
  using Own = Share<Threads, Size, step_elements / Size>;
  const T* const x = part.begin;
  const auto read = [=](Elements& to, i64 i) {
    if constexpr (IsAligned) to.read(x + i);
    else to.read(x + i, 1);
  };
  const Row<Own, false, Elements, decltype(read)> row(part.length, read);
  return use(row, [](const Elements& own, int, int j, i64) {
    return static_cast<V>(load(own.element[j]));
  });
}

template <typename T>
constexpr int packet_size = packet_bytes / sizeof(T);

template <typename T>
__device__ __forceinline__ bool is_aligned(const T* x) {
  return reinterpret_cast<unsigned long long>(x) % packet_bytes == 0;
}

template <typename V, typename T>
__device__ __forceinline__ Total<V> sum_part(const Part<T>& part, int threads, int size) {
  constexpr int packed = packet_size<T>;
  const auto sum = [](const auto& row, auto value) { return sum_row<V>(row, value); };
  if (threads == 32) {
    // So few elements are read one by one.
    if (size == 1) return with_row<V, 32, 1, false>(part, sum);
    return with_row<V, 32, packed, false>(part, sum);
  }
  if (size == 1) return with_row<V, 256, 1, false>(part, sum);
  if (!is_aligned(part.begin)) return with_row<V, 256, packed, false>(part, sum);
  return with_row<V, 256, packed, true>(part, sum);
}

// The order does not matter, so any row may have packets as far as it has whole ones.
template <typename R, typename T>
__device__ __forceinline__ typename R::Value extremum_part(const Part<T>& part) {
  constexpr int packed = packet_size<T>;
  const auto merge = [](const auto& row, auto value) { return reduce_row<R>(row, value); };
  using V = typename R::Value;
  if (part.length % packed != 0 || !is_aligned(part.begin)) {
    return with_row<V, 256, 1, false>(part, merge);
  }
  return with_row<V, 256, packed, true>(part, merge);
}

#endif

__device__ __forceinline__ bool has_part(i64 width, i64 length) {
  return blockIdx.x == 0 || blockIdx.x * length < width;
}

// Parts of the row are blocks of the grid.
template <typename T, typename V, typename P>
__device__ __forceinline__ void sum_row_part(const T* x, P* parts, i64 width, i64 length,
                                             int threads, int size) {
  if (!has_part(width, length)) return;
  const Total<V> sum = sum_part<V>(Part<T>(x, width, length), threads, size);
  if (threadIdx.x == 0) parts[blockIdx.x] = static_cast<P>(sum);
}

template <typename T>
__global__ void __launch_bounds__(256, 4)
    sum_row_of(const T* x, typename SumOf<T>::Parts* parts, i64 width, i64 length, int threads,
               int size) {
  sum_row_part<T, typename SumOf<T>::V>(x, parts, width, length, threads, size);
}

// Integers whose mean is wanted are added up as double.
template <typename T>
__global__ void __launch_bounds__(256, 4)
    real_sum_row_of(const T* x, double* parts, i64 width, i64 length, int threads, int size) {
  sum_row_part<T, double>(x, parts, width, length, threads, size);
}

// The quotient is rounded to float before it is rounded to 16 bits.
template <typename O>
__device__ __forceinline__ O finished(double value) {
  if constexpr (sizeof(O) == 2) return store<O>(static_cast<float>(value));
  else return static_cast<O>(value);
}

// out[0] = Σ parts / divisor, by one block.
template <typename O>
__global__ void __launch_bounds__(256, 4)
    sum_final_of(const double* parts, O* out, i64 count, double divisor, int threads, int size) {
  const double sum = sum_part<double>(Part<double>(parts, count, count), threads, size);
  if (threadIdx.x == 0) *out = finished<O>(sum / divisor);
}

template <typename R, typename T>
__device__ __forceinline__ void extremum_row_part(const T* x, T* parts, i64 width, i64 length) {
  if (!has_part(width, length)) return;
  const typename R::Value extremum = extremum_part<R>(Part<T>(x, width, length));
  if (threadIdx.x == 0) parts[blockIdx.x] = store<T>(extremum);
}

template <typename T>
__global__ void __launch_bounds__(256, 4)
    min_row_of(const T* x, T* parts, i64 width, i64 length) {
  extremum_row_part<Minimum<Compared<T>>>(x, parts, width, length);
}

template <typename T>
__global__ void __launch_bounds__(256, 4)
    max_row_of(const T* x, T* parts, i64 width, i64 length) {
  extremum_row_part<Maximum<Compared<T>>>(x, parts, width, length);
}

}  // namespace GS_FORM
}  // namespace gridstride::tensor::reduce
