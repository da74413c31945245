/*
 * fill.cuh — out[i] = value.
 *
 * Problem: give every element of an array the same bit pattern. Patterns, not numbers: float16 is
 * filled as int16, float32 as uint32, float64 as int64, so one kernel per width serves all dtypes.
 * Mapping: 16-byte packets, four per thread and tile (vector_access.cuh).
 * Bytes: sizeof(T) * n written, none read. Operations: none.
 * Numerics: exact, NaN payloads included.
 * Hardware: none assumed.
 */
#pragma once

#include "kernels/vector_access.cuh"

namespace gridstride::device_code {

template <typename T>
__global__ void __launch_bounds__(most_block_threads)
    fill(T* out, T value, unsigned long long n) {
  const auto visit = [&](auto position) {
    Elements<T, decltype(position)::count> elements;
    GS_UNROLL
    for (T& element : elements.value) {
      element = value;
    }
    store(out, position, elements);
  };
  for_each_position<T, 4>(n, visit, static_cast<const T*>(out));
}

}  // namespace gridstride::device_code
