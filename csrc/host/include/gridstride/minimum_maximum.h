// min() and max() for every pair of operand types that CUDA overloads them for, and the C names.
//
// Mixed integers follow CUDA: the result is unsigned as soon as one operand is. For floating point
// the operand that is a number wins over a NaN, and -0 is less than +0.
#ifndef GRIDSTRIDE_HOST_MINIMUM_MAXIMUM_H
#define GRIDSTRIDE_HOST_MINIMUM_MAXIMUM_H

#include "qualifiers.h"

namespace gridstride::host {

template <class Float>
__device__ constexpr __forceinline__ Float smaller_number(Float x, Float y) {
  if (x != x) return y;
  if (x == y) return __builtin_signbit(x) ? x : y;
  return y < x ? y : x;
}

template <class Float>
__device__ constexpr __forceinline__ Float larger_number(Float x, Float y) {
  if (x != x) return y;
  if (x == y) return __builtin_signbit(x) ? y : x;
  return y > x ? y : x;
}

}  // namespace gridstride::host

#define GS_INTEGER_MINIMUM_MAXIMUM(result, left, right)                \
  __device__ constexpr __forceinline__ result min(left x, right y) {   \
    const auto a = static_cast<result>(x), b = static_cast<result>(y); \
    return b < a ? b : a;                                              \
  }                                                                    \
  __device__ constexpr __forceinline__ result max(left x, right y) {   \
    const auto a = static_cast<result>(x), b = static_cast<result>(y); \
    return a < b ? b : a;                                              \
  }
#define GS_INTEGER_PAIRS(integer, natural)              \
  GS_INTEGER_MINIMUM_MAXIMUM(integer, integer, integer) \
  GS_INTEGER_MINIMUM_MAXIMUM(natural, natural, natural) \
  GS_INTEGER_MINIMUM_MAXIMUM(natural, integer, natural) \
  GS_INTEGER_MINIMUM_MAXIMUM(natural, natural, integer)
#define GS_FLOATING_MINIMUM_MAXIMUM(result, left, right)             \
  __device__ constexpr __forceinline__ result min(left x, right y) { \
    return gridstride::host::smaller_number<result>(x, y);           \
  }                                                                  \
  __device__ constexpr __forceinline__ result max(left x, right y) { \
    return gridstride::host::larger_number<result>(x, y);            \
  }

GS_INTEGER_PAIRS(int, unsigned int)
GS_INTEGER_PAIRS(long, unsigned long)
GS_INTEGER_PAIRS(long long, unsigned long long)
GS_FLOATING_MINIMUM_MAXIMUM(float, float, float)
GS_FLOATING_MINIMUM_MAXIMUM(double, double, double)
GS_FLOATING_MINIMUM_MAXIMUM(double, float, double)
GS_FLOATING_MINIMUM_MAXIMUM(double, double, float)

#undef GS_FLOATING_MINIMUM_MAXIMUM
#undef GS_INTEGER_PAIRS
#undef GS_INTEGER_MINIMUM_MAXIMUM

__device__ constexpr __forceinline__ unsigned int umin(unsigned int x, unsigned int y) {
  return min(x, y);
}
__device__ constexpr __forceinline__ unsigned int umax(unsigned int x, unsigned int y) {
  return max(x, y);
}
__device__ constexpr __forceinline__ long long llmin(long long x, long long y) { return min(x, y); }
__device__ constexpr __forceinline__ long long llmax(long long x, long long y) { return max(x, y); }
__device__ constexpr __forceinline__ unsigned long long ullmin(unsigned long long x,
                                                               unsigned long long y) {
  return min(x, y);
}
__device__ constexpr __forceinline__ unsigned long long ullmax(unsigned long long x,
                                                               unsigned long long y) {
  return max(x, y);
}

#endif
