/*
 * arithmetic.cuh — the types in which built-in kernels compute elements.
 *
 *   dtype      C type          Value<T>       Arithmetic<T>        Scalar<T>
 *   float64    double          double         double               double
 *   float32    float           float          float                float
 *   float16    __half          float          float                float
 *   bfloat16   __nv_bfloat16   float          float                float
 *   int64      long long       long long      unsigned long long
 *   uint64     unsigned long   unsigned long  unsigned long long
 *              long            long
 *   int32      int             int            unsigned int
 *   uint32     unsigned int    unsigned int   unsigned int
 *   int16      short           int            unsigned int
 *   uint16     unsigned short  int            unsigned int
 *   int8       signed char     int            unsigned int
 *   uint8      unsigned char   int            unsigned int
 *
 * Value<T> holds any element exactly. Arithmetic<T> is where sums and products are formed: integers
 * unsigned, where C++ defines what the hardware does, wrapping modulo 2^bits. The 16-bit floating
 * types go by way of float: its 24 bits are at least 2 * 11 + 2: a float sum or product rounded
 * once more to 11 or 8 bits is the correctly rounded result (but for bfloat16 products below
 * 2^-126, where float has fewer bits). Scalar<T> is the type of factors that go with arrays of T.
 */
#pragma once

#include <math.h>
#include <string.h>

#include <type_traits>

#include "kernels/portable.cuh"

#define GS_CONTRACTS 1
#define GS_USES_FLOAT16 1
#define GS_USES_BFLOAT16 1
#include "kernels/tensor/element.cuh"

namespace gridstride::tensor {

// Integers with squares and short sums that are exact in 64 bits.
template <typename T>
constexpr bool is_narrow_integer = std::is_integral<T>::value && sizeof(T) <= 2;

template <typename T>
using Value = std::conditional_t<is_narrow_integer<T>, int, decltype(load(T()))>;

template <typename V, bool Integral = std::is_integral<V>::value>
struct Wrapping {
  using Type = V;
};
template <typename V>
struct Wrapping<V, true> {
  using Type = std::make_unsigned_t<V>;
};
template <typename T>
using Arithmetic = typename Wrapping<Value<T>>::Type;

template <typename T>
using Scalar = std::conditional_t<is_same<T, double>, double, float>;

__device__ __forceinline__ float fused_multiply_add(float x, float y, float z) {
  return fmaf(x, y, z);
}
__device__ __forceinline__ double fused_multiply_add(double x, double y, double z) {
  return fma(x, y, z);
}

}  // namespace gridstride::tensor
