/*
 * spin.cuh — a kernel that takes a given time, for tests and measurements of asynchrony.
 *
 * Mapping: one thread waits, all others return at once; any grid and block.
 * Bytes: 4 written. Operations: none.
 * Hardware: the time is at least the requested one. On a GPU the clock is %globaltimer, which all
 * multiprocessors share and which advances in steps of up to about a microsecond. On the host
 * device it is the system's monotonic clock.
 */
#pragma once

#include <cuda_runtime.h>

#ifdef __CUDASIM__
#include <time.h>
#endif

namespace gridstride::diagnostics {

__device__ __forceinline__ unsigned long long clock_nanoseconds() {
#ifdef __CUDASIM__
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<unsigned long long>(now.tv_sec) * 1000000000ull +
         static_cast<unsigned long long>(now.tv_nsec);
#else
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
#endif
}

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

}  // namespace gridstride::diagnostics
