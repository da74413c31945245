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

// A NaN is passed over, as by fmaxf().
template <int Width = 32>
__device__ __forceinline__ float warp_max(float value) {
  return warp_reduce<Width>(value, [](float x, float y) { return fmaxf(x, y); });
}

}  // namespace gridstride::tensor
#endif
