/*
 * moments.cuh — count, mean and M2 = Σ (x[i] - mean)^2, in two launches: three doubles per block,
 * then one block over them. Mean and variance follow.
 *
 * Problem: Σx² - (Σx)²/n loses every digit when the mean is large against the deviation
 * (1e4 ± 1 in float32). No step here subtracts large sums.
 * Mapping: 16-byte packets, four per thread and tile, two for 8-bit elements (packet_walk.cuh).
 *   batch   A thread has all elements of its packets in registers: it forms a rounded mean m,
 *           then the deviations d = x - m, and from Σd and Σd² the batch's own mean and M2; that m
 *           is rounded does not matter, as Σd corrects for it. Integers of 8 and 16 bits are
 *           summed exactly instead.
 *   thread  Batch means are collected relative to the first of them, in double, without a
 *           division. As the shift is itself a batch mean, M2 contains its distance from the
 *           mean, which bounds the cancellation (below).
 *   block   Two plain sums, in double (merge_threads): of the distances from the mean of
 *           thread 0, which gives the mean of the block, and of the squares about that mean. The
 *           second launch does the same with the blocks. A merge of two parts at a time would
 *           divide at each step.
 * Bytes: sizeof(T) * n read, 24 per block written. Operations: 4 n, and about 10 in double per
 * batch of 64 bytes.
 * Numerics: u = 2^-24 and D = 4 for float32, u = 2^-24 and D = 5 for float16 and bfloat16,
 * u = 2^-53 and D = 3 for float64, int64 and uint64 and 4 for int32 and uint32, u = 0 for narrower
 * integers; b = ceil(n / (batch * block * grid)) + 9 batches per thread, a = 6 + block / 32
 * additions per value of a block, c = ceil(grid / block) + 6 + block / 32 in the second launch. To
 * first order
 *     |M2 error|   <= (3 D + 5) u (M2 + n (D u max|x|)^2) + (b^2 + a + c + 12) 2^-53 M2
 *                     + 2 e sqrt(n M2) + n (e + f)^2
 *     |mean error| <= (D + 2) u sqrt(M2 / n) + (b + 2 a + 2 c + 20) 2^-53 max|x|
 *   with e = (2 a + 10) 2^-53 max|x| and f = (2 c + 10) 2^-53 max|x|, what the means of the blocks
 *   and the mean of all lose when they are rounded to double: the effect on M2 of moving every
 *   element by e. So the error is that of an input rounded a little differently, whatever the mean.
 *   A batch of float32 or bfloat16 whose squares leave the range of float is computed in double. An
 *   infinity or NaN among the elements makes mean and M2 NaN.
 * Hardware: as for sums, the double arithmetic per batch takes less time than memory, also where
 * double units are few; float64 and the 32- and 64-bit integers do all in double and are limited by
 * it there.
 */
#pragma once

#include <math_constants.h>

#include "kernels/built_in.cuh"
#include "kernels/packet_walk.cuh"
#include "kernels/tensor/reduce.cuh"

namespace gridstride::tensor::moments {

// One value from the values that a thread holds in registers: the upper half is merged into the
// lower half until one is left, so the first merges do not depend on one another and a value takes
// part in log2(Count) merges: for a sum that is the depth in its error bound.
//
// The depth is a template argument as compilers leave a halving loop standing, which would put the
// values into local memory.
template <int Half, int Count, typename V, typename Merge>
__device__ __forceinline__ void fold_halves(V (&values)[Count], Merge merge) {
  if constexpr (Half > 0) {
    GS_UNROLL
    for (int i = 0; i < Half; ++i) {
      values[i] = merge(values[i], values[i + Half]);
    }
    fold_halves<Half / 2>(values, merge);
  }
}

// Leaves partial results in values.
template <int Count, typename V, typename Merge>
__device__ __forceinline__ V tree_reduce(V (&values)[Count], Merge merge) {
  static_assert((Count & (Count - 1)) == 0, "halving needs a power of two");
  fold_halves<Count / 2>(values, merge);
  return values[0];
}

struct Moments {
  double count;
  double mean;
  double m2;
};

// What a thread, and then a block, has of parts: their count and Σ count * (mean - shift).
struct Distances {
  double count;
  double sum;

  using Value = Distances;
  static __device__ __forceinline__ Distances merge(Distances x, Distances y) {
    return {x.count + y.count, x.sum + y.sum};
  }
};
__device__ __forceinline__ Distances exchange(Distances own, int distance) {
  return {tensor::exchange(own.count, distance), tensor::exchange(own.sum, distance)};
}

// The moments of the parts that the threads of a block hold, in every thread. each(visit) calls
// visit(part) for every part of the calling thread; shift is near the means.
template <typename Each>
__device__ __forceinline__ Moments block_moments(double shift, Each each) {
  Distances own{};
  each([&](const Moments& part) {
    own.count += part.count;
    own.sum += part.count * (part.mean - shift);
  });
  const Distances all = reduce::merge_threads<Distances, reduce::any_block>(own);
  const double mean = all.count == 0 ? 0 : shift + all.sum / all.count;
  double squares = 0;
  each([&](const Moments& part) {
    const double difference = part.mean - mean;
    squares += part.m2 + part.count * difference * difference;
  });
  squares = reduce::merge_threads<reduce::Sum<double>, reduce::any_block>(squares);
  return {all.count, mean, squares};
}

// The bytes of four packets do not fit the registers.
template <typename T>
constexpr int moment_packets = sizeof(T) == 1 ? 2 : 4;

// A sum of squares that rounding made negative is zero; NaN stays.
__device__ __forceinline__ double not_negative(double square_sum) {
  return square_sum < 0 ? 0 : square_sum;
}

// Integers whose squares and short sums are exact in 64 bits.
template <typename T>
constexpr bool is_narrow_integer = std::is_integral<T>::value && sizeof(T) <= 2;

// What float64 and wide integers, or else floats, are averaged in.
template <typename T>
using MomentArithmetic = std::conditional_t<is_same<decltype(load(T())), float>, float, double>;

template <typename T, int N, int Packets>
__device__ __forceinline__ Moments exact_batch_moments(const Elements<T, N, Packets>& elements) {
  constexpr int count = N * Packets;
  // 32 squares of 8 bits fit an int, of 16 bits they do not.
  using Square = std::conditional_t<sizeof(T) == 1, int, long long>;
  int sum = 0;
  Square squares = 0;
  GS_UNROLL
  for (int i = 0; i < count; ++i) {
    const int value = elements[i];
    sum += value;
    squares += static_cast<Square>(value) * value;
  }
  const double total = sum;
  const double mean = total * (1.0 / count);
  return {count, mean, static_cast<double>(squares) - total * mean};
}

// The moments of a batch in double, element by element: it is read again, because its elements as
// doubles would take the registers that other batches need.
template <typename T, int N, int Packets>
__device__ __forceinline__ Moments wide_batch_moments(const T* x, Position<N, Packets> position) {
  constexpr int count = N * Packets;
  const auto each = [&](auto visit) {
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      visit(static_cast<double>(load(x[position.index(i)])));
    }
  };
  double shift = 0;
  each([&](double value) { shift += value * (1.0 / count); });
  double sum = 0;
  double squares = 0;
  each([&](double value) {
    const double deviation = value - shift;
    sum += deviation;
    squares += deviation * deviation;
  });
  const double correction = sum * (1.0 / count);
  return {count, shift + correction, not_negative(squares - sum * correction)};
}

template <typename T, int N, int Packets>
__device__ __forceinline__ Moments shifted_batch_moments(const T* x,
                                                         Position<N, Packets> position) {
  using A = MomentArithmetic<T>;
  constexpr int count = N * Packets;
  constexpr A reciprocal = A(1) / count;  // exact: count is a power of two
  const auto plus = [](A x, A y) { return x + y; };
  const auto elements = load(x, position);
  A deviations[count];
  A terms[count];
  GS_UNROLL
  for (int i = 0; i < count; ++i) {
    deviations[i] = static_cast<A>(load(elements[i]));
    terms[i] = deviations[i] * reciprocal;
  }
  const A shift = tree_reduce(terms, plus);
  GS_UNROLL
  for (int i = 0; i < count; ++i) {
    deviations[i] -= shift;
    terms[i] = deviations[i] * deviations[i];
  }
  const A squares = tree_reduce(terms, plus);
  if (!reduce::are_squares_exact<A>(squares, 1)) {
    bool is_constant = true;
    GS_UNROLL
    for (int i = 0; i < count; ++i) is_constant &= deviations[i] == 0;
    if (!is_constant) return wide_batch_moments(x, position);
  }
  const double sum = tree_reduce(deviations, plus);
  const double correction = sum * (1.0 / count);
  return {count, static_cast<double>(shift) + correction,
          not_negative(static_cast<double>(squares) - sum * correction)};
}

template <typename T, int N, int Packets>
__device__ __forceinline__ Moments batch_moments(const T* x, Position<N, Packets> position) {
  if constexpr (is_narrow_integer<T>) {
    return exact_batch_moments(load(x, position));
  } else {
    return shifted_batch_moments(x, position);
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
  const auto visit = [&](auto position) { own.add(batch_moments(x, position)); };
  for_each_position<moment_packets<T>>(n, visit, x);

  const Moments mine = own.moments();
  __shared__ double shift;
  if (threadIdx.x == 0) shift = mine.mean;
  __syncthreads();
  const Moments moments = block_moments(shift, [&](auto visit) { visit(mine); });
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
  const auto each = [&](auto visit) {
    for (unsigned int i = threadIdx.x; i < count; i += blockDim.x) {
      const double* partial = partials + 3ull * i;
      visit(Moments{partial[0], partial[1], partial[2]});
    }
  };
  const Moments moments = block_moments(partials[1], each);
  if (threadIdx.x == 0) {
    const double freedom = moments.count - correction;
    out[0] = store<O>(moments.count > 0 ? moments.mean : CUDART_NAN);
    out[1] = store<O>(freedom > 0 ? moments.m2 / freedom : CUDART_NAN);
  }
}

}  // namespace gridstride::tensor::moments
