/*
 * clock.cuh — a clock that counts nanoseconds in device code.
 *
 * On a GPU it is %globaltimer, which all multiprocessors share and which advances in steps of up to
 * about a microsecond; clock64 counts cycles of one multiprocessor, and its frequency changes. On
 * the host device it is the system's monotonic clock.
 */
#pragma once

#include "kernels/portable.cuh"

#ifdef __CUDASIM__
#include <time.h>
#endif

namespace gridstride::device_code {

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

}  // namespace gridstride::device_code
