/*
 * sum.cuh — Σ x[i], in two launches: one partial sum per block, then one block over the partials.
 *
 * Problem: a sum with an error that does not grow with the length, and which repeats bit by bit for
 * the same grid and block.
 * Mapping: 16-byte packets, four per thread and tile (vector_access.cuh): a batch of 16 float32,
 * 32 float16 or bfloat16, 8 float64 or 64 / sizeof(T) integer elements. The batch is added up as a
 * tree, which also gives the adders independent work; its sum goes to the thread's total; the
 * totals of a block meet in block_reduce.cuh.
 * Bytes: sizeof(T) * n read, 8 per block written. Operations: n additions, n / batch in double.
 * Numerics:
 *   float32, float16, bfloat16: trees in float, all above in double. With u = 2^-24, depth 4
 *     (float32) or 5, and S the exact sum,
 *       |sum - S| <= depth * u * Σ|x| + (b + 10 + c + 10) * 2^-53 * Σ|x|      (first order)
 *     where b = ceil(n / (batch * block * grid)) + 6 are the additions in one thread and
 *     c = ceil(grid / block of the second launch) those of one thread there. The sum of a batch
 *     must be within the range of float; where it is not, the result is infinite or NaN.
 *   float64: the same with 2^-53 for u and depth 3.
 *   integers: exact modulo 2^64.
 *   The result is multiplied by factor and rounded to the output's type, once each.
 * Hardware: double additions are a sixteenth of the additions or fewer, which even the parts with
 * one double unit for 64 float units do faster than memory delivers.
 */
#pragma once

#include "kernels/block_reduce.cuh"
#include "kernels/element.cuh"
#include "kernels/tree_reduce.cuh"
#include "kernels/vector_access.cuh"

namespace gridstride::device_code {

template <typename T>
using SumTotal = std::conditional_t<is_floating<T>, double, long long>;

// What a batch is added up in. 64 bytes of narrow integers cannot overflow an int.
template <typename T>
using BatchTotal = std::conditional_t<
    is_floating<T>, Value<T>, std::conditional_t<is_narrow_integer<T>, int, unsigned long long>>;

struct Plus {
  template <typename V>
  __device__ __forceinline__ V operator()(V x, V y) const {
    using A = Arithmetic<V>;
    return static_cast<V>(static_cast<A>(x) + static_cast<A>(y));
  }
};

template <typename T, int Count>
__device__ __forceinline__ BatchTotal<T> batch_sum(const Elements<T, Count>& elements) {
  BatchTotal<T> terms[Count];
  GS_UNROLL
  for (int i = 0; i < Count; ++i) {
    terms[i] = static_cast<BatchTotal<T>>(widen(elements.value[i]));
  }
  return tree_reduce(terms, Plus());
}

template <typename T>
__global__ void __launch_bounds__(max_block_threads)
    sum_partial(const T* __restrict__ x, SumTotal<T>* __restrict__ partials,
                unsigned long long n) {
  using Total = SumTotal<T>;
  Total total = 0;
  const auto visit = [&](auto position) {
    total = Plus()(total, static_cast<Total>(batch_sum(load(x, position))));
  };
  for_each_position<T, 4>(n, visit, x);

  total = block_reduce(total, Total(0), Plus());
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = total;
  }
}

// The sum of the partials, in thread 0 of the one block.
template <typename Total>
__device__ __forceinline__ Total sum_of_partials(const Total* partials, unsigned int count) {
  Total total = 0;
  for (unsigned int i = threadIdx.x; i < count; i += blockDim.x) {
    total = Plus()(total, partials[i]);
  }
  return block_reduce(total, Total(0), Plus());
}

template <typename O>
__global__ void __launch_bounds__(max_block_threads)
    sum_final(const double* __restrict__ partials, unsigned int count, double factor,
              O* __restrict__ out) {
  const double total = sum_of_partials(partials, count);
  if (threadIdx.x == 0) {
    *out = narrow<O>(total * factor);
  }
}

// Σ is exact modulo 2^64; as a signed number it is rounded to double before it is scaled.
template <typename O>
__global__ void __launch_bounds__(max_block_threads)
    mean_final(const long long* __restrict__ partials, unsigned int count, double factor,
               O* __restrict__ out) {
  const long long total = sum_of_partials(partials, count);
  if (threadIdx.x == 0) {
    *out = narrow<O>(static_cast<double>(total) * factor);
  }
}

// Sums of integers, exact modulo 2^64.
template <typename Total>
__global__ void __launch_bounds__(max_block_threads)
    sum_final_exact(const Total* __restrict__ partials, unsigned int count,
                    Total* __restrict__ out) {
  const Total total = sum_of_partials(partials, count);
  if (threadIdx.x == 0) {
    *out = total;
  }
}

}  // namespace gridstride::device_code
