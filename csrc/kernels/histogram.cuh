/*
 * histogram.cuh — counts[b] += the number of elements in bin b of bins equal bins of [low, high].
 *
 * Problem: a scatter of increments, limited by atomics to the same address rather than by bytes.
 * Mapping: 16-byte packets, two per thread and tile (vector_access.cuh). Three ways to count:
 *   shared  All warps of a block count in one set of bins counters in shared memory, its
 *           increments the hardware adds up within a warp; nonzero counters go to memory once.
 *   global  Increments go to memory: for more bins than shared memory has room for, where two
 *           elements seldom meet.
 *   bytes   Both kernels count 8-bit elements by their 256 values first, whatever bins is, and
 *           find the bin of a value once per block instead of once per element.
 * Launch: the shared kernel needs 4 * bins bytes of dynamic shared memory. counts is added to, so
 * the caller clears it. low < high, both finite and no further apart than the greatest double;
 * bins > 0.
 * Bytes: sizeof(T) * n read. Operations: per element (or value) three in double and an increment.
 * Numerics: bin = min(floor((double(x) - low) * (bins / (high - low))), bins - 1) for
 * low <= x <= high, each operation rounded to nearest and none contracted: the counts are those of
 * the same formula in float64 anywhere else. Elements outside, and NaN, are not counted. Counters
 * are 32 bits and wrap.
 * Hardware: the double operations bound the speed on parts with few double units.
 */
#pragma once

#include "kernels/element.cuh"
#include "kernels/vector_access.cuh"

namespace gridstride::device_code {

struct Binning {
  unsigned int bins;
  double low;
  double high;
  double scale;

  static __device__ __forceinline__ Binning of(unsigned int bins, double low, double high) {
    return {bins, low, high, __ddiv_rn(static_cast<double>(bins), __dsub_rn(high, low))};
  }

  // Comparisons with NaN are false.
  __device__ __forceinline__ bool contains(double value) const {
    return value >= low && value <= high;
  }

  // value is contained, so the product is not negative and truncation is floor.
  __device__ __forceinline__ unsigned int bin(double value) const {
    const double product = __dmul_rn(__dsub_rn(value, low), scale);
    return product < bins ? static_cast<unsigned int>(product) : bins - 1;
  }
};

__device__ __forceinline__ void clear(unsigned int* counters, unsigned int count) {
  for (unsigned int i = threadIdx.x; i < count; i += blockDim.x) {
    counters[i] = 0;
  }
}

// Adds the grid's elements to counters, in shared or global memory.
template <typename T>
__device__ __forceinline__ void count_elements(const T* __restrict__ x, unsigned long long n,
                                               const Binning& binning, unsigned int* counters) {
  const auto visit = [&](auto position) {
    const auto elements = load(x, position);
    GS_UNROLL
    for (const T& element : elements.value) {
      const double value = static_cast<double>(widen(element));
      if (binning.contains(value)) {
        atomicAdd(&counters[binning.bin(value)], 1u);
      }
    }
  };
  for_each_position<T, 2>(n, visit, x);
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
    for (const T& element : elements.value) {
      atomicAdd(&pattern_counts[static_cast<unsigned char>(element)], 1u);
    }
  };
  for_each_position<T, 2>(n, visit, x);
  __syncthreads();

  for (unsigned int pattern = threadIdx.x; pattern < patterns; pattern += blockDim.x) {
    const double value = static_cast<double>(static_cast<T>(pattern));
    const unsigned int found = pattern_counts[pattern];
    if (found > 0 && binning.contains(value)) {
      atomicAdd(&counts[binning.bin(value)], found);
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(max_block_threads, 1)
    histogram_shared(const T* __restrict__ x, unsigned int* __restrict__ counts,
                     unsigned int bins, double low, double high, unsigned long long n) {
  const Binning binning = Binning::of(bins, low, high);
  if constexpr (sizeof(T) == 1) {
    count_bytes(x, n, binning, counts);
  } else {
    GS_DYNAMIC_SHARED(unsigned int, counters);
    clear(counters, bins);
    __syncthreads();
    count_elements(x, n, binning, counters);
    __syncthreads();
    for (unsigned int bin = threadIdx.x; bin < bins; bin += blockDim.x) {
      if (counters[bin] > 0) {
        atomicAdd(&counts[bin], counters[bin]);
      }
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
    count_elements(x, n, binning, counts);
  }
}

}  // namespace gridstride::device_code
