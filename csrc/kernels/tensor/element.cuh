/*
 * element.cuh — elements of tensors, in generated and in built-in kernels.
 *
 * Problem: a generated kernel loads elements of up to 15 types, computes in C's own types, and
 * stores the result in its element type.
 * Mapping: the narrow floating types are computed as float; all others as they are.
 * GS_USES_FLOAT16, GS_USES_BFLOAT16 and GS_USES_FLOAT8 say which headers a kernel needs: each costs
 * compile time.
 * Numerics: every operation on a narrow floating type rounds once to that type, so a fused kernel
 * has the results of its single operations. Products are not contracted to fused multiply-adds for
 * the same reason. Integer arithmetic wraps.
 *
 * GS_BLOCK_FORM selects the block form: one thread runs a block as a loop, which a C++ compiler
 * vectorises; headers that end in _loops have its functions. Otherwise a block has CUDA threads,
 * and headers that end in _threads have the same functions.
 */
#pragma once

#if defined(GS_USES_FLOAT16)
#include <cuda_fp16.h>
#endif
#if defined(GS_USES_BFLOAT16)
#include <cuda_bf16.h>
#endif
#if defined(GS_USES_FLOAT8)
#include <cuda_fp8.h>
#endif

#include "kernels/tensor/vectors.cuh"

// Generated kernels name more than each of them uses (177), and functions for all element types
// compare unsigned integers with 0 (186). Other warnings of NVRTC are mistakes.
#if defined(__CUDACC_RTC__)
#pragma nv_diag_suppress 177, 186
#endif

// Products are not contracted. The compiler's options say so for the block form; built-in kernels
// contract what they like, and define GS_CONTRACTS.
#if defined(GS_CONTRACTS)
#elif defined(__CUDASIM__) && defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__CUDASIM__) && !defined(GS_BLOCK_FORM)
#pragma GCC optimize("fp-contract=off")
#endif

// GS_SEPARATE before a kernel: a second copy of it, in the host device's loop over threads, would
// take as long to compile again.
#if defined(__CUDASIM__) && !defined(__clang__)
#define GS_SEPARATE __attribute__((noinline, noclone))
#else
#define GS_SEPARATE __attribute__((noinline))
#endif

// GS_VECTOR_FUNCTION before a kernel declares gs_name() and gs_namef(), of which vectors.cuh may
// have variants for vectors.
#if !defined(GS_VECTOR_FUNCTION)
#define GS_VECTOR_FUNCTION(name, length, next)                                  \
  __device__ __forceinline__ float gs_##name##f(float x) { return name##f(x); } \
  __device__ __forceinline__ double gs_##name(double x) { return name(x); }
#endif

namespace gridstride::tensor {

using i64 = long long;

// NVRTC has no <type_traits>, nor the built-in functions of g++ and clang++.
template <typename T, typename U>
constexpr bool is_same = false;
template <typename T>
constexpr bool is_same<T, T> = true;

template <typename T>
__device__ __forceinline__ T load(T element) {
  return element;
}

// Rounds to nearest, ties to even.
template <typename T, typename V>
__device__ __forceinline__ T store(V value) {
  return static_cast<T>(value);
}

#if defined(GS_USES_FLOAT16)
__device__ __forceinline__ float load(__half element) { return __half2float(element); }
template <>
__device__ __forceinline__ __half store<__half, float>(float value) {
  return __float2half_rn(value);
}
#endif
#if defined(GS_USES_BFLOAT16)
__device__ __forceinline__ float load(__nv_bfloat16 element) { return __bfloat162float(element); }
template <>
__device__ __forceinline__ __nv_bfloat16 store<__nv_bfloat16, float>(float value) {
  return __float2bfloat16_rn(value);
}
#endif
#if defined(GS_USES_FLOAT8)
__device__ __forceinline__ float load(__nv_fp8_e4m3 element) { return static_cast<float>(element); }
__device__ __forceinline__ float load(__nv_fp8_e5m2 element) { return static_cast<float>(element); }
#endif

// The value after rounding to an element type.
template <typename T>
__device__ __forceinline__ float rounded(float value) {
  return load(store<T>(value));
}

#if defined(GS_USES_BFLOAT16) && !defined(__CUDASIM__) && __CUDA_ARCH__ >= 800
// Compilers convert a lone value at the rate of special functions, and pairs at four times this
// rate. A pair with the value in its upper half and zero in its lower one is the rounded float.
template <>
__device__ __forceinline__ float rounded<__nv_bfloat16>(float value) {
  unsigned int pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(value), "f"(0.0f));
  return __uint_as_float(pair);
}
#endif

// The number of a 16-bit format after x in the direction of y.
template <typename T>
__device__ __forceinline__ float next_after(float x, float y) {
  if (!(x < y || x > y)) return x == y ? y : x + y;
  T next = store<T>(x);
  unsigned short bits;
  memcpy(&bits, &next, sizeof bits);
  const int least = y < 0.0f ? 0x8001 : 1;
  bits = static_cast<unsigned short>(x == 0.0f ? least : bits + ((x < y) == (x > 0.0f) ? 1 : -1));
  memcpy(&next, &bits, sizeof bits);
  return load(next);
}

// Rounds to the 10 explicit bits of TF32, ties to even. Infinity and NaN stay.
__device__ __forceinline__ float round_tf32(float value) {
  const unsigned int bits = __float_as_uint(value);
  const unsigned int rounded = (bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u;
  return (bits & 0x7f800000u) == 0x7f800000u ? value : __uint_as_float(rounded);
}

// A cast between numbers as NumPy's, but defined for all values: out of range saturates, NaN is 0.
template <typename T, typename V>
__device__ __forceinline__ T to_integer(V value) {
  constexpr bool is_signed = static_cast<T>(-1) < static_cast<T>(0);
  constexpr int bits = 8 * static_cast<int>(sizeof(T)) - (is_signed ? 1 : 0);
  constexpr T highest = static_cast<T>(~(static_cast<unsigned long long>(is_signed)
                                         << (8 * sizeof(T) - 1)));
  constexpr T lowest = is_signed ? static_cast<T>(static_cast<T>(-1) - highest) : static_cast<T>(0);
  const V limit = static_cast<V>(static_cast<V>(1ull << (bits - 1)) * static_cast<V>(2));
  if (value != value) return static_cast<T>(0);
  if (value >= limit) return highest;
  if (value <= (is_signed ? -limit : static_cast<V>(0))) return lowest;
  return static_cast<T>(value);
}

template <typename T>
__device__ __forceinline__ T floor_divide(T x, T y) {
  if (y == 0) return 0;
  if (y == static_cast<T>(-1) && static_cast<T>(-1) < static_cast<T>(0)) {
    return static_cast<T>(0 - static_cast<unsigned long long>(x));
  }
  const T quotient = static_cast<T>(x / y);
  return static_cast<T>(quotient - ((x % y != 0) && ((x < 0) != (y < 0)) ? 1 : 0));
}

// The sign is the divisor's, as in Python.
template <typename T>
__device__ __forceinline__ T floor_remainder(T x, T y) {
  if (y == 0 || (y == static_cast<T>(-1) && static_cast<T>(-1) < static_cast<T>(0))) return 0;
  const T rest = static_cast<T>(x % y);
  return rest != 0 && ((rest < 0) != (y < 0)) ? static_cast<T>(rest + y) : rest;
}

// Quotient and remainder of floats as npy_divmod() of NumPy computes them.
template <typename V>
struct FloorDivision {
  V quotient;
  V rest;
};
template <typename V>
__device__ __forceinline__ FloorDivision<V> divide_floored(V x, V y, V rest) {
  if (y == 0) return {x / y, rest};
  V quotient = (x - rest) / y;
  if (rest == 0) {
    rest = copysign(V(0), y);
  } else if ((y < 0) != (rest < 0)) {
    rest += y;
    quotient -= 1;
  }
  if (quotient == 0) return {copysign(V(0), x / y), rest};
  const V floored = floor(quotient);
  return {quotient - floored > V(0.5) ? floored + 1 : floored, rest};
}
__device__ __forceinline__ FloorDivision<double> divide_floored(double x, double y) {
  return divide_floored(x, y, fmod(x, y));
}
// fmod() takes some forty times as long as a division. As double, the quotient of two floats is
// rounded to no other integer, and the remainder is exact; NumPy's quotient is as exact up to 2^21.
__device__ __forceinline__ FloorDivision<float> divide_floored(float x, float y) {
  const double quotient = static_cast<double>(x) / static_cast<double>(y);
  if (!(fabs(quotient) >= 0.5 && fabs(quotient) <= 2097152.0)) {
    return divide_floored(x, y, fmodf(x, y));
  }
  const double floored = floor(quotient);
  const float rest = static_cast<float>(x - floored * y);
  return {static_cast<float>(floored), rest == 0.0f ? copysignf(0.0f, y) : rest};
}
__device__ __forceinline__ float floor_divide(float x, float y) {
  return divide_floored(x, y).quotient;
}
__device__ __forceinline__ double floor_divide(double x, double y) {
  return divide_floored(x, y).quotient;
}
__device__ __forceinline__ float floor_remainder(float x, float y) {
  return divide_floored(x, y).rest;
}
__device__ __forceinline__ double floor_remainder(double x, double y) {
  return divide_floored(x, y).rest;
}

// By squaring; a negative exponent gives 1 / x^y, rounded to zero.
template <typename T>
__device__ __forceinline__ T integer_power(T base, T exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    return base == static_cast<T>(-1) ? static_cast<T>(exponent % 2 == 0 ? 1 : -1) : 0;
  }
  unsigned long long result = 1;
  unsigned long long factor = static_cast<unsigned long long>(base);
  for (unsigned long long rest = static_cast<unsigned long long>(exponent); rest != 0; rest >>= 1) {
    if ((rest & 1) != 0) result *= factor;
    factor *= factor;
  }
  return static_cast<T>(result);
}

// A shift by the width or more gives zero, or the sign.
template <typename T>
__device__ __forceinline__ T shift_left(T x, T count) {
  const bool is_inside = count >= 0 && count < static_cast<T>(8 * sizeof(T));
  return is_inside ? static_cast<T>(static_cast<unsigned long long>(x) << count) : 0;
}
template <typename T>
__device__ __forceinline__ T shift_right(T x, T count) {
  const bool is_inside = count >= 0 && count < static_cast<T>(8 * sizeof(T));
  return is_inside ? static_cast<T>(x >> count) : static_cast<T>(x < 0 ? -1 : 0);
}

// Reports the first offending value of the device's operations, with the number of its operation.
__device__ __forceinline__ void report(i64* faults, i64 operation, i64 value) {
  auto* const owner = reinterpret_cast<unsigned long long*>(faults);
  if (atomicCAS(owner, 0ull, static_cast<unsigned long long>(operation)) == 0) faults[1] = value;
}

}  // namespace gridstride::tensor

#include "kernels/tensor/element_loops.cuh"
#include "kernels/tensor/element_threads.cuh"
