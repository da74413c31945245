/*
 * warp.cuh — what the lanes of a warp work out together.
 *
 * Mapping: lanes exchange values with partners at half of the distance each step, so all lanes get
 * the result. Width: the lanes of a group, a power of two; the groups of a warp work at once.
 * Numerics: the order of merging depends on the width alone, and results repeat bit by bit.
 */
#pragma once

#include "kernels/tensor/element.cuh"

#if !defined(GS_BLOCK_FORM)
namespace gridstride::tensor {

[[maybe_unused]] constexpr unsigned int whole_warp = 0xffffffffu;

template <typename V>
__device__ __forceinline__ V exchange(V value, int distance) {
  return __shfl_xor_sync(whole_warp, value, distance);
}

// Whether a lane of the warp has a condition.
__device__ __forceinline__ bool any_lane(bool condition) {
  return __any_sync(whole_warp, condition) != 0;
}

// merge(x, y) takes two values.
template <int Width = 32, typename V, typename Merge>
__device__ __forceinline__ V warp_reduce(V value, Merge merge) {
#pragma unroll
  for (int distance = Width / 2; distance > 0; distance /= 2) {
    value = merge(value, exchange(value, distance));
  }
  return value;
}

template <int Width = 32, typename V>
__device__ __forceinline__ V warp_sum(V value) {
  return warp_reduce<Width>(value, [](V x, V y) { return x + y; });
}

// Adds up values over groups of Width lanes, which share out the sums: with more values than lanes,
// lane l has Count / Width sums from l * Count / Width on, at the front of its values; with fewer,
// sum v is with Width / Count lanes from v * Width / Count on. Each step exchanges half of the
// values of the step before. A sum has the bits of warp_sum().
template <int Width, typename V, int Count>
__device__ __forceinline__ void scatter_sums(V (&values)[Count]) {
  const int lane = static_cast<int>(threadIdx.x);
  int kept = Count;
#pragma unroll
  for (int distance = Width / 2; distance > 0; distance /= 2) {
    if (kept == 1) {
      values[0] += exchange(values[0], distance);
      continue;
    }
    kept /= 2;
    const bool is_upper = (lane & distance) != 0;
#pragma unroll
    for (int v = 0; v < Count / 2; ++v) {
      if (v >= kept) break;
      const V given = is_upper ? values[v] : values[v + kept];
      const V own = is_upper ? values[v + kept] : values[v];
      values[v] = own + exchange(given, distance);
    }
  }
}

// The value of a lane of a group.
template <int Width, typename V>
__device__ __forceinline__ V from_lane(V value, int lane) {
  return __shfl_sync(whole_warp, value, lane, Width);
}

// A NaN is passed over, as by fmaxf().
template <int Width = 32>
__device__ __forceinline__ float warp_max(float value) {
  return warp_reduce<Width>(value, [](float x, float y) { return fmaxf(x, y); });
}

}  // namespace gridstride::tensor
#endif
