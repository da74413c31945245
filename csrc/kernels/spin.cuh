/*
 * spin.cuh — a kernel that takes a given time, for tests and measurements of asynchrony.
 *
 * Mapping: one thread waits, all others return at once; any grid and block.
 * Bytes: 4 written. Operations: none.
 * Hardware: the time is at least the requested one; see clock.cuh for the resolution.
 */
#pragma once

#include "kernels/clock.cuh"

namespace gridstride::device_code {

// Stores value when nanoseconds have passed since the thread began.
template <typename T>
__global__ void spin(T* out, unsigned long long nanoseconds, T value) {
  constexpr unsigned int pause = 200;
  if (blockIdx.x != 0 || threadIdx.x != 0) {
    return;
  }
  const unsigned long long start = clock_nanoseconds();
  while (clock_nanoseconds() - start < nanoseconds) {
    __nanosleep(pause);
  }
  *out = value;
}

}  // namespace gridstride::device_code
