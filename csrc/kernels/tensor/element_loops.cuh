/*
 * element_loops.cuh — functions of elements in the block form.
 *
 * Mapping: arithmetic only, so every compiler vectorises it, and elements beside and inside of a
 * vector have the same bits.
 */
#pragma once

#include "kernels/tensor/element.cuh"

#if defined(GS_BLOCK_FORM)

// GS_INDEPENDENT before a loop whose iterations touch different elements.
#if defined(__clang__)
#define GS_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define GS_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace gridstride::tensor {

using vectors::multiply_add;

__device__ __forceinline__ float float_of(unsigned int bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

// x = n ln 2 + r with |r| <= ln 2 / 2, and the quotient (exp(r) - 1 - r) / r^2 by a minimax
// polynomial. The lowest bits are n + bias.
struct ReducedExponent {
  unsigned int bits;
  float r;
  float quotient;
};
__device__ __forceinline__ ReducedExponent reduce_exponent(float x, float bias) {
  // The addend leaves the nearest integer in the lowest bits.
  const float addend = 12582912.0f + bias;
  const float shifted = multiply_add(x, 1.44269504f, addend);
  const float n = shifted - addend;
  float r = multiply_add(n, -0.693145752f, x);
  r = multiply_add(n, -1.42860677e-6f, r);
  float quotient = 0.00138377f;
  quotient = multiply_add(quotient, r, 0.00837312f);
  quotient = multiply_add(quotient, r, 0.04166852f);
  quotient = multiply_add(quotient, r, 0.16666464f);
  quotient = multiply_add(quotient, r, 0.49999994f);
  unsigned int bits;
  __builtin_memcpy(&bits, &shifted, sizeof bits);
  return {bits, r, quotient};
}

// At most 1 ULP from the true value. Two factors, as 2^n may lie outside of the normal numbers: the
// exponents of both, with their biases, add up to n + 254.
__device__ __forceinline__ float exponential(float x) {
  const float low = x < -104.0f ? -104.0f : x;
  const ReducedExponent e = reduce_exponent(low > 89.0f ? 89.0f : low, 254.0f);
  const float fraction = multiply_add(multiply_add(e.quotient, e.r, 1.0f), e.r, 1.0f);
  const unsigned int half = e.bits << 22 & 0xff800000u;
  return fraction * float_of(half) * float_of((e.bits << 23) - half);
}

// At most 3 ULP: (exp(2|x|) - 1) / (exp(2|x|) + 1), which is 1 beyond 9.1.
__device__ __forceinline__ float hyperbolic_tangent(float x) {
  const float size = fabsf(x);
  const ReducedExponent e = reduce_exponent(2.0f * (size > 9.1f ? 9.1f : size), 127.0f);
  const float power = float_of(e.bits << 23);
  const float above = multiply_add(multiply_add(e.quotient * e.r, e.r, e.r), power, power - 1.0f);
  return copysignf(above / (above + 2.0f), x);
}

}  // namespace gridstride::tensor
#endif
