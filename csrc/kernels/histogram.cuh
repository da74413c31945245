/*
 * histogram.cuh — counts[b] += the number of elements in bin b of bins equal bins of [low, high].
 *
 * Problem: a scatter of increments, limited by atomics to the same address rather than by bytes.
 * Mapping: 16-byte packets, four per thread and tile (packet_walk.cuh), or two of elements of one
 * or two bytes, whose bins take more registers. Three ways to count:
 *   shared  A block has copies counters of each bin in shared memory, side by side, which the
 *           lanes of a warp take in turn, so that few of them meet a bank; increments of the same
 *           counter the hardware adds up within a warp. Nonzero sums go to memory once.
 *   global  Increments go to memory: for more bins than shared memory has room for, where two
 *           elements seldom meet.
 *   bytes   Both kernels count 8-bit elements by their 256 values first, whatever bins is, and
 *           find the bin of a value once per block instead of once per element.
 * Launch: the shared kernel needs 4 * (bins + 1) * copies bytes of dynamic shared memory: elements
 * outside are counted, too, because increments without conditions need no branches. counts is added
 * to, so the caller clears it. low < high, both finite and no further apart than the greatest
 * double; bins > 0.
 * Bytes: sizeof(T) * n read. Operations: per element (or value) six in float, or three in double,
 * and an increment.
 * Numerics: bin = min(floor((double(x) - low) * (bins / (high - low))), bins - 1) for
 * low <= x <= high, each operation rounded to nearest and none contracted: the counts are those of
 * the same formula in float64 anywhere else. Elements outside, and NaN, are not counted. Counters
 * are 32 bits and wrap.
 *   Elements that float holds find their bin in float first, with a bound of the error: only where
 *   the quotient is nearer to a whole number than that is it computed in double.
 * Hardware: for 32- and 64-bit integers and float64, double operations bound the speed on parts
 * with few double units.
 */
#pragma once

#include "kernels/built_in.cuh"
#include "kernels/packet_walk.cuh"

namespace gridstride::tensor::histogram {

// The counters of a thread in shared memory: one of each bin, and one for elements outside.
// Compilers compute the address of an array there anew for each access, with its place in the
// cluster's window; this one is computed once.
class SharedCounters {
 public:
  __device__ __forceinline__ SharedCounters(unsigned int* counters, unsigned int bins,
                                            unsigned int copies)
      : bins_(bins),
#if defined(__CUDASIM__)
        counters_(counters + threadIdx.x % copies),
        copies_(copies) {
  }
#else
        address_(static_cast<unsigned int>(
            __cvta_generic_to_shared(counters + threadIdx.x % copies))),
        bin_bytes_(copies * sizeof(unsigned int)) {
    asm volatile("" : "+r"(address_));
  }
#endif

  // Counts an element of a bin; one outside has any greater number.
  __device__ __forceinline__ void increment(unsigned int bin) const {
    const unsigned int own = bin < bins_ ? bin : bins_;
#if defined(__CUDASIM__)
    atomicAdd(&counters_[own * copies_], 1u);
#else
    asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(address_ + own * bin_bytes_) : "memory");
#endif
  }

 private:
  unsigned int bins_;
#if defined(__CUDASIM__)
  unsigned int* counters_;
  unsigned int copies_;
#else
  unsigned int address_;
  unsigned int bin_bytes_;
#endif
};

constexpr unsigned int not_counted = 0xffffffffu;

struct Binning {
  unsigned int bins;
  double low;
  double high;
  double scale;

  static __device__ __forceinline__ Binning of(unsigned int bins, double low, double high) {
    return {bins, low, high, __ddiv_rn(static_cast<double>(bins), __dsub_rn(high, low))};
  }

  // The bin of a value; not_counted outside. Comparisons with NaN are false.
  __device__ __forceinline__ unsigned int find(double value) const {
    if (!(value >= low && value <= high)) return not_counted;
    // The product is not negative, and truncation is floor.
    const double product = __dmul_rn(__dsub_rn(value, low), scale);
    return product < bins ? static_cast<unsigned int>(product) : bins - 1;
  }
};

// The bin of a value by float operations, if their errors cannot change it.
//
// With P = (x - low) * scale, find() has floor(P), as its own roundings are far below the margin.
// Here low, scale, the difference, the product and the last subtraction are rounded to float once
// each. For |P| <= bins + 1 these errors add up to less than 2^-24 (|low| scale + 4 bins + 5), and
// the margin is 1.25 times as much. A larger |P| cannot come within bins.
struct BinEstimate {
  float low;
  float scale;
  float limit;  // 1/2 less the margin

  static __device__ __forceinline__ BinEstimate of(const Binning& binning) {
    const double margin = (fabs(binning.low) * binning.scale + 4.0 * binning.bins + 5) * 0x1.4p-24;
    // So that float holds both with a full significand, and the rounding below works.
    const bool is_usable = fabs(binning.low) <= 1e30 && binning.scale >= 1e-30 &&
                           binning.scale <= 1e30 && binning.bins < 1u << 20;
    return {static_cast<float>(binning.low), static_cast<float>(binning.scale),
            is_usable ? static_cast<float>(0.5 - margin) : -1.0f};
  }

  // Whether the bin is certain. Outside it is a number beyond all bins.
  __device__ __forceinline__ bool find(float value, unsigned int& bin) const {
    constexpr float rounder = 0x1.8p23f;  // a sum with it is a whole number
    const float quotient = (value - low) * scale - 0.5f;
    const float sum = quotient + rounder;
    bin = __float_as_uint(sum) - __float_as_uint(rounder);
    // False for NaN, also that of infinities.
    return fabsf(quotient - (sum - rounder)) < limit;
  }
};

__device__ __forceinline__ void clear(unsigned int* counters, unsigned int count) {
  for (unsigned int i = threadIdx.x; i < count; i += blockDim.x) {
    counters[i] = 0;
  }
}

template <typename T>
constexpr bool is_exact_in_float = sizeof(T) <= 2 || std::is_same<T, float>::value;

// Calls increment(bin) for the grid's elements, also for those outside.
template <typename T, typename Increment>
__device__ __forceinline__ void count_elements(const T* __restrict__ x, unsigned long long n,
                                               const Binning& binning, Increment increment) {
  const BinEstimate estimate = BinEstimate::of(binning);
  const auto visit = [&](auto position) {
    constexpr int count = decltype(position)::count;
    const auto elements = load(x, position);
    unsigned int bins[count] = {};
    bool certain = is_exact_in_float<T>;
    GS_UNROLL
    for (int i = 0; i < count && is_exact_in_float<T>; ++i) {
      certain &= estimate.find(static_cast<float>(load(elements[i])), bins[i]);
    }
    if (!certain) {
      GS_UNROLL
      for (int i = 0; i < count; ++i) {
        const auto value = load(elements[i]);
        if (!is_exact_in_float<T> || !estimate.find(static_cast<float>(value), bins[i])) {
          bins[i] = binning.find(static_cast<double>(value));
        }
      }
    }
    GS_UNROLL
    for (int i = 0; i < count; ++i) {
      increment(bins[i]);
    }
  };
  for_each_position<sizeof(T) >= 4 ? 4 : 2>(n, visit, x);
}

template <typename T>
__device__ __forceinline__ void count_bytes(const T* __restrict__ x, unsigned long long n,
                                            const Binning& binning, unsigned int* counts) {
  constexpr unsigned int patterns = 256;
  __shared__ unsigned int pattern_counts[patterns];
  clear(pattern_counts, patterns);
  __syncthreads();

  const auto visit = [&](auto position) {
    const auto elements = load(x, position);
    GS_UNROLL
    for (int i = 0; i < decltype(position)::count; ++i) {
      atomicAdd(&pattern_counts[static_cast<unsigned char>(elements[i])], 1u);
    }
  };
  for_each_position<2>(n, visit, x);
  __syncthreads();

  for (unsigned int pattern = threadIdx.x; pattern < patterns; pattern += blockDim.x) {
    const double value = static_cast<double>(static_cast<T>(pattern));
    const unsigned int found = pattern_counts[pattern];
    const unsigned int bin = binning.find(value);
    if (found > 0 && bin < binning.bins) atomicAdd(&counts[bin], found);
  }
}

template <typename T>
__global__ void __launch_bounds__(max_block_threads, 1)
    histogram_shared(const T* __restrict__ x, unsigned int* __restrict__ counts,
                     unsigned int bins, unsigned int copies, double low, double high,
                     unsigned long long n) {
  const Binning binning = Binning::of(bins, low, high);
  if constexpr (sizeof(T) == 1) {
    count_bytes(x, n, binning, counts);
  } else {
    GS_DYNAMIC_SHARED(unsigned int, counters);
    clear(counters, (bins + 1) * copies);
    __syncthreads();
    const SharedCounters own(counters, bins, copies);
    count_elements(x, n, binning, [&](unsigned int bin) { own.increment(bin); });
    __syncthreads();
    for (unsigned int bin = threadIdx.x; bin < bins; bin += blockDim.x) {
      unsigned int sum = 0;
      // Lanes begin with counters in different banks.
      for (unsigned int i = 0; i < copies; ++i) sum += counters[bin * copies + (bin + i) % copies];
      if (sum > 0) atomicAdd(&counts[bin], sum);
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(max_block_threads)
    histogram_global(const T* __restrict__ x, unsigned int* __restrict__ counts,
                     unsigned int bins, double low, double high, unsigned long long n) {
  const Binning binning = Binning::of(bins, low, high);
  if constexpr (sizeof(T) == 1) {
    count_bytes(x, n, binning, counts);
  } else {
    count_elements(x, n, binning, [&](unsigned int bin) {
      if (bin < bins) atomicAdd(&counts[bin], 1u);
    });
  }
}

}  // namespace gridstride::tensor::histogram
