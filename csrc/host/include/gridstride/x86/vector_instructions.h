// Instructions of AVX-512 that g++ and clang++ have under different names. They are in a header of
// the language because inline assembly of kernels is PTX.
#pragma once

#include "../qualifiers.h"

namespace gridstride::host {

typedef float SixteenFloats __attribute__((vector_size(64)));

// x - floor(x), which is 0 for infinities.
__device__ __forceinline__ SixteenFloats above_floor(SixteenFloats x) {
  SixteenFloats result;
  __asm__("vreduceps $9, %1, %0" : "=v"(result) : "v"(x));
  return result;
}

// x · 2^floor(exponent)
__device__ __forceinline__ SixteenFloats scaled_by_floor(SixteenFloats x, SixteenFloats exponent) {
  __asm__("vscalefps %1, %0, %0" : "+v"(x) : "v"(exponent));
  return x;
}

}  // namespace gridstride::host
