/*
 * moments.cuh — count, mean and M2 = Σ (x[i] - mean)^2, in two launches: three doubles per block,
 * then one block over them. Mean and variance follow.
 *
 * Problem: Σx² - (Σx)²/n loses every digit when the mean is large against the deviation
 * (1e4 ± 1 in float32). No step here subtracts large sums.
 * Mapping: 16-byte packets, four per thread and tile, two for 8-bit elements (vector_access.cuh).
 *   batch   A thread has all elements of its packets in registers: it forms a rounded mean m,
 *           then the deviations d = x - m, and from Σd and Σd² the batch's own mean and M2; that m
 *           is rounded does not matter, as Σd corrects for it. Integers of 8 and 16 bits are
 *           summed exactly instead.
 *   thread  Batch means are collected relative to the first of them, in double, without a
 *           division. As the shift is itself a batch mean, M2 contains its distance from the
 *           mean, which bounds the cancellation (below).
 *   block   Chan's pairwise merge in double, in block_reduce.cuh.
 * Bytes: sizeof(T) * n read, 24 per block written. Operations: 4 n, and about 10 in double per
 * batch of 64 bytes.
 * Numerics: u = 2^-24 and D = 4 for float32, u = 2^-24 and D = 5 for float16 and bfloat16,
 * u = 2^-53 and D = 3 for float64, int64 and uint64 and 4 for int32 and uint32, u = 0 for narrower
 * integers; b = ceil(n / (batch * block * grid)) + 6 batches per thread. To first order
 *     |M2 error|   <= (3 D + 5) u (M2 + n (D u max|x|)^2) + (b^2 + 100 + c) 2^-53 M2
 *                     + 2 e sqrt(n M2) + n e^2
 *     |mean error| <= (D + 2) u sqrt(M2 / n) + (b + 100 + c) 2^-53 max|x|
 *   with c = 10 ceil(grid / block of the second launch) and e = (12 + c) 2^-53 max|x|, what means
 *   lose when they are rounded to double: the effect on M2 of moving every element by e. So the
 *   error is that of an input rounded a little differently, whatever the mean. A batch of float32
 *   or bfloat16 whose squares leave the range of float is computed in double. An infinity or NaN
 *   among the elements makes mean and M2 NaN.
 * Hardware: as for sums, the double arithmetic per batch takes less time than memory, also where
 * double units are few; float64 and the 32- and 64-bit integers do all in double and are limited by
 * it there.
 */
#pragma once

#include <math_constants.h>

#include "kernels/block_reduce.cuh"
#include "kernels/element.cuh"
#include "kernels/tree_reduce.cuh"
#include "kernels/vector_access.cuh"

namespace gridstride::device_code {

struct Moments {
  double count;
  double mean;
  double m2;
};

__device__ __forceinline__ Moments shuffle_down(Moments moments, unsigned int distance) {
  return {shuffle_down(moments.count, distance), shuffle_down(moments.mean, distance),
          shuffle_down(moments.m2, distance)};
}

struct MergeMoments {
  __device__ __forceinline__ Moments operator()(const Moments& a, const Moments& b) const {
    const double count = a.count + b.count;
    if (count == 0) {
      return a;
    }
    const double share = b.count / count;
    const double difference = b.mean - a.mean;
    return {count, a.mean + difference * share,
            a.m2 + b.m2 + difference * difference * (a.count * share)};
  }
};

// The bytes of four packets do not fit the registers.
template <typename T>
constexpr int moment_packets = sizeof(T) == 1 ? 2 : 4;

// A sum of squares that rounding made negative is zero; NaN stays.
__device__ __forceinline__ double not_negative(double square_sum) {
  return square_sum < 0 ? 0 : square_sum;
}

// What float64 and wide integers, or else floats, are averaged in.
template <typename T>
using MomentArithmetic = std::conditional_t<std::is_same<Value<T>, float>::value, float, double>;

template <typename T, int Count>
__device__ __forceinline__ Moments exact_batch_moments(const Elements<T, Count>& elements) {
  // 32 squares of 8 bits fit an int, of 16 bits they do not.
  using Square = std::conditional_t<sizeof(T) == 1, int, long long>;
  int sum = 0;
  Square squares = 0;
  GS_UNROLL
  for (int i = 0; i < Count; ++i) {
    const int value = elements.value[i];
    sum += value;
    squares += static_cast<Square>(value) * value;
  }
  const double total = sum;
  const double mean = total * (1.0 / Count);
  return {Count, mean, static_cast<double>(squares) - total * mean};
}

// Whether the squares of a batch lost nothing by the range of their type.
template <typename A>
__device__ __forceinline__ bool are_squares_exact(A squares) {
  return sizeof(A) == sizeof(double) || (squares >= A(1e-25) && squares <= A(3e38));
}

template <typename A, typename T, int Count>
__device__ __forceinline__ Moments shifted_batch_moments(const Elements<T, Count>& elements) {
  constexpr A reciprocal = A(1) / Count;  // exact: Count is a power of two
  const auto plus = [](A x, A y) { return x + y; };
  A deviations[Count];
  A terms[Count];
  GS_UNROLL
  for (int i = 0; i < Count; ++i) {
    deviations[i] = static_cast<A>(widen(elements.value[i]));
    terms[i] = deviations[i] * reciprocal;
  }
  const A shift = tree_reduce(terms, plus);
  GS_UNROLL
  for (int i = 0; i < Count; ++i) {
    deviations[i] -= shift;
    terms[i] = deviations[i] * deviations[i];
  }
  const A squares = tree_reduce(terms, plus);
  if (!are_squares_exact(squares)) {
    bool is_constant = true;
    GS_UNROLL
    for (int i = 0; i < Count; ++i) is_constant &= deviations[i] == 0;
    if (!is_constant) return shifted_batch_moments<double>(elements);
  }
  const double sum = tree_reduce(deviations, plus);
  const double correction = sum * (1.0 / Count);
  return {Count, static_cast<double>(shift) + correction,
          not_negative(static_cast<double>(squares) - sum * correction)};
}

template <typename T, int Count>
__device__ __forceinline__ Moments batch_moments(const Elements<T, Count>& elements) {
  if constexpr (is_narrow_integer<T>) {
    return exact_batch_moments(elements);
  } else {
    return shifted_batch_moments<MomentArithmetic<T>>(elements);
  }
}

// The moments of batches, relative to the mean of the first one.
class ShiftedMoments {
 public:
  __device__ __forceinline__ void add(const Moments& batch) {
    if (count_ == 0) {
      shift_ = batch.mean;
    }
    const double distance = batch.mean - shift_;
    const double weighted = batch.count * distance;
    count_ += batch.count;
    distances_ += weighted;
    squares_ += weighted * distance;
    within_ += batch.m2;
  }

  __device__ __forceinline__ Moments moments() const {
    if (count_ == 0) {
      return {0, 0, 0};
    }
    const double correction = distances_ / count_;
    return {count_, shift_ + correction,
            within_ + not_negative(squares_ - distances_ * correction)};
  }

 private:
  double count_ = 0;
  double shift_ = 0;
  double distances_ = 0;  // Σ count * (mean - shift)
  double squares_ = 0;    // Σ count * (mean - shift)^2
  double within_ = 0;     // Σ M2
};

template <typename T>
__global__ void __launch_bounds__(max_block_threads)
    moments_partial(const T* __restrict__ x, double* __restrict__ partials,
                    unsigned long long n) {
  ShiftedMoments own;
  const auto visit = [&](auto position) { own.add(batch_moments(load(x, position))); };
  for_each_position<T, moment_packets<T>>(n, visit, x);

  const Moments moments = block_reduce(own.moments(), Moments{0, 0, 0}, MergeMoments());
  if (threadIdx.x == 0) {
    double* partial = partials + 3ull * blockIdx.x;
    partial[0] = moments.count;
    partial[1] = moments.mean;
    partial[2] = moments.m2;
  }
}

// out[0] = mean, NaN without elements; out[1] = M2 / (N - correction), NaN where N <= correction.
template <typename O>
__global__ void __launch_bounds__(max_block_threads, 1)
    moments_final(const double* __restrict__ partials, unsigned int count, double correction,
                  O* __restrict__ out) {
  Moments moments = {0, 0, 0};
  for (unsigned int i = threadIdx.x; i < count; i += blockDim.x) {
    const double* partial = partials + 3ull * i;
    moments = MergeMoments()(moments, Moments{partial[0], partial[1], partial[2]});
  }
  moments = block_reduce(moments, Moments{0, 0, 0}, MergeMoments());
  if (threadIdx.x == 0) {
    const double freedom = moments.count - correction;
    out[0] = narrow<O>(moments.count > 0 ? moments.mean : CUDART_NAN);
    out[1] = narrow<O>(freedom > 0 ? moments.m2 / freedom : CUDART_NAN);
  }
}

}  // namespace gridstride::device_code
