// Conversions between integers and floating point with a stated rounding, and bit casts.
//
// Floating point to integer follows the hardware and not C++: what lies outside the range becomes
// the nearest limit, infinities included. NaN becomes 0, except that it becomes the integer with
// only its highest bit set when the source is double or the result has 64 bits (PTX ISA, cvt).
#pragma once

#include <fenv.h>

#include "integer_functions.h"
#include "qualifiers.h"

namespace gridstride::host {

enum class Rounding { to_nearest, toward_zero, toward_positive, toward_negative };

// The suffixes of CUDA's function names.
inline constexpr Rounding rn = Rounding::to_nearest;
inline constexpr Rounding rz = Rounding::toward_zero;
inline constexpr Rounding ru = Rounding::toward_positive;
inline constexpr Rounding rd = Rounding::toward_negative;

// ---- floating point to integer -----------------------------------------------------------------

template <Rounding rounding>
__device__ __forceinline__ float rounded_to_integral(float value) {
  if constexpr (rounding == rn) return __builtin_rintf(value);
  if constexpr (rounding == rz) return __builtin_truncf(value);
  if constexpr (rounding == ru) return __builtin_ceilf(value);
  if constexpr (rounding == rd) return __builtin_floorf(value);
}
template <Rounding rounding>
__device__ __forceinline__ double rounded_to_integral(double value) {
  if constexpr (rounding == rn) return __builtin_rint(value);
  if constexpr (rounding == rz) return __builtin_trunc(value);
  if constexpr (rounding == ru) return __builtin_ceil(value);
  if constexpr (rounding == rd) return __builtin_floor(value);
}

template <class Integer>
inline constexpr bool is_signed_integer = static_cast<Integer>(-1) < static_cast<Integer>(0);

template <class Integer>
inline constexpr Integer highest_bit = static_cast<Integer>(1ull << (8 * sizeof(Integer) - 1));

template <class Integer>
inline constexpr Integer lowest_integer =
    is_signed_integer<Integer> ? highest_bit<Integer> : Integer{0};
template <class Integer>
inline constexpr Integer highest_integer = static_cast<Integer>(~lowest_integer<Integer>);

// An integral value as an integer. The limits are compared as powers of two, which every floating
// type holds exactly: the highest integer itself would be rounded up on its way to float.
template <class Integer, class Float>
__device__ constexpr __forceinline__ Integer saturated_integer(Float integral, Integer of_nan) {
  constexpr Float below = static_cast<Float>(lowest_integer<Integer>);
  constexpr Float beyond = static_cast<Float>(highest_bit<Integer>) *
                           (is_signed_integer<Integer> ? Float{-1} : Float{2});
  if (integral != integral) return of_nan;
  if (integral >= beyond) return highest_integer<Integer>;
  if (integral < below) return lowest_integer<Integer>;
  return static_cast<Integer>(integral);
}

template <Rounding rounding, class Integer, class Float>
__device__ __forceinline__ Integer to_integer(Float value) {
  constexpr bool nan_is_zero = sizeof(Float) < 8 && sizeof(Integer) < 8;
  return saturated_integer<Integer>(rounded_to_integral<rounding>(value),
                                    nan_is_zero ? Integer{0} : highest_bit<Integer>);
}

// ---- integer to floating point -----------------------------------------------------------------

// Whether cutting a magnitude off must be made good by one unit in its last place.
__device__ constexpr __forceinline__ bool rounds_away(Rounding rounding, bool negative,
                                                      bool last_bit_odd, unsigned long long rest,
                                                      unsigned long long half) {
  switch (rounding) {
    case rn: return rest > half || (rest == half && last_bit_odd);
    case ru: return rest != 0 && !negative;
    case rd: return rest != 0 && negative;
    case rz: break;
  }
  return false;
}

// Rounds in integer arithmetic: compilers convert 64-bit integers by sequences that hold for the
// default rounding only.
template <Rounding rounding, class Float, int significand_bits>
__device__ constexpr inline Float from_magnitude(unsigned long long magnitude, bool negative) {
  if (magnitude == 0) return Float{0};
  const int surplus = 64 - __builtin_clzll(magnitude) - significand_bits;
  Float value = 0;
  if (surplus <= 0) {
    value = static_cast<Float>(magnitude);
  } else {
    const unsigned long long unit = 1ull << surplus;
    const unsigned long long rest = magnitude & (unit - 1);
    const unsigned long long kept = magnitude >> surplus;
    const bool away = rounds_away(rounding, negative, kept & 1u, rest, unit >> 1);
    value = static_cast<Float>(kept + away) * static_cast<Float>(unit);
  }
  return negative ? -value : value;
}

template <Rounding rounding, class Float, class Integer>
__device__ constexpr __forceinline__ Float from_integer(Integer value) {
  constexpr int significand_bits = sizeof(Float) == 4 ? 24 : 53;
  if constexpr (rounding == rn) {
    return static_cast<Float>(value);
  } else {
    const bool negative = is_signed_integer<Integer> && value < Integer{0};
    const auto wide = static_cast<unsigned long long>(value);
    return from_magnitude<rounding, Float, significand_bits>(negative ? 0 - wide : wide, negative);
  }
}

// ---- double to float ---------------------------------------------------------------------------

// The float next to one that is finite, away from zero or towards it: one step of the bit pattern.
// A step away from the largest float gives infinity, as rounding does.
__device__ constexpr __forceinline__ float stepped(float value, int steps_from_zero) {
  const auto bits = same_bits<unsigned int>(value);
  return same_bits<float>(bits + static_cast<unsigned int>(steps_from_zero));
}

template <Rounding rounding>
__device__ __forceinline__ float to_float(double value) {
  const float nearest = static_cast<float>(value);
  if constexpr (rounding != rn) {
    const double given = nearest;
    const bool too_high = given > value;
    const bool too_low = given < value;
    const bool negative = value < 0;
    const bool step_down = too_high && (rounding == rd || (rounding == rz && !negative));
    const bool step_up = too_low && (rounding == ru || (rounding == rz && negative));
    if (step_down) return stepped(nearest, negative ? 1 : -1);
    if (step_up) return stepped(nearest, negative ? -1 : 1);
  }
  return nearest;
}

}  // namespace gridstride::host

#define GS_CONVERSION(name, to, from, expression) \
  __device__ __forceinline__ to name(from x) { return expression; }
#define GS_BIT_CAST(name, to, from)                      \
  __device__ constexpr __forceinline__ to name(from x) { \
    return gridstride::host::same_bits<to>(x);           \
  }

// The four roundings of one conversion from floating point to an integer.
#define GS_TO_INTEGER(name, to, from)                                                             \
  GS_CONVERSION(name##_rn, to, from, (gridstride::host::to_integer<gridstride::host::rn, to>(x))) \
  GS_CONVERSION(name##_rz, to, from, (gridstride::host::to_integer<gridstride::host::rz, to>(x))) \
  GS_CONVERSION(name##_ru, to, from, (gridstride::host::to_integer<gridstride::host::ru, to>(x))) \
  GS_CONVERSION(name##_rd, to, from, (gridstride::host::to_integer<gridstride::host::rd, to>(x)))

GS_TO_INTEGER(__float2int, int, float)
GS_TO_INTEGER(__float2uint, unsigned int, float)
GS_TO_INTEGER(__float2ll, long long, float)
GS_TO_INTEGER(__float2ull, unsigned long long, float)
GS_TO_INTEGER(__double2int, int, double)
GS_TO_INTEGER(__double2uint, unsigned int, double)
GS_TO_INTEGER(__double2ll, long long, double)
GS_TO_INTEGER(__double2ull, unsigned long long, double)
#undef GS_TO_INTEGER

// The four roundings of one conversion from an integer to floating point.
#define GS_FROM_INTEGER(name, to, from)                                        \
  GS_CONVERSION(name##_rn, to, from,                                           \
                (gridstride::host::from_integer<gridstride::host::rn, to>(x))) \
  GS_CONVERSION(name##_rz, to, from,                                           \
                (gridstride::host::from_integer<gridstride::host::rz, to>(x))) \
  GS_CONVERSION(name##_ru, to, from,                                           \
                (gridstride::host::from_integer<gridstride::host::ru, to>(x))) \
  GS_CONVERSION(name##_rd, to, from, (gridstride::host::from_integer<gridstride::host::rd, to>(x)))

GS_FROM_INTEGER(__int2float, float, int)
GS_FROM_INTEGER(__uint2float, float, unsigned int)
GS_FROM_INTEGER(__ll2float, float, long long)
GS_FROM_INTEGER(__ull2float, float, unsigned long long)
GS_FROM_INTEGER(__ll2double, double, long long)
GS_FROM_INTEGER(__ull2double, double, unsigned long long)
#undef GS_FROM_INTEGER

GS_CONVERSION(__int2double_rn, double, int, x)
GS_CONVERSION(__uint2double_rn, double, unsigned int, x)

GS_CONVERSION(__double2float_rn, float, double, gridstride::host::to_float<gridstride::host::rn>(x))
GS_CONVERSION(__double2float_rz, float, double, gridstride::host::to_float<gridstride::host::rz>(x))
GS_CONVERSION(__double2float_ru, float, double, gridstride::host::to_float<gridstride::host::ru>(x))
GS_CONVERSION(__double2float_rd, float, double, gridstride::host::to_float<gridstride::host::rd>(x))

// ---- bit casts ---------------------------------------------------------------------------------

GS_BIT_CAST(__float_as_int, int, float)
GS_BIT_CAST(__float_as_uint, unsigned int, float)
GS_BIT_CAST(__int_as_float, float, int)
GS_BIT_CAST(__uint_as_float, float, unsigned int)
GS_BIT_CAST(__double_as_longlong, long long, double)
GS_BIT_CAST(__longlong_as_double, double, long long)
#undef GS_BIT_CAST
#undef GS_CONVERSION

__device__ constexpr __forceinline__ int __double2hiint(double x) {
  return static_cast<int>(__double_as_longlong(x) >> 32);
}
__device__ constexpr __forceinline__ int __double2loint(double x) {
  return static_cast<int>(__double_as_longlong(x));
}
__device__ constexpr __forceinline__ double __hiloint2double(int hi, int lo) {
  return gridstride::host::same_bits<double>(
      gridstride::host::word_pair(static_cast<unsigned int>(lo), static_cast<unsigned int>(hi)));
}

namespace gridstride::host {

// Single operations with a stated rounding: __fadd_rn, __dmul_rz, __fmaf_ru, … for float and
// double.
//
// The _rn forms are the plain operation with a promise: the compiler does not contract them with
// their neighbours to a fused multiply-add, whatever -ffp-contract says. The other three run the
// operation under another rounding mode of the floating-point unit and are slow accordingly.

// A value the compiler knows nothing about: it can neither fuse the operation that made it with one
// that uses it, nor compute it before the program runs.
template <class Float>
__device__ __forceinline__ Float opaque(Float value) {
#if defined(__x86_64__)
  asm("" : "+x"(value));
#elif defined(__aarch64__)
  asm("" : "+w"(value));
#else
  asm("" : "+m"(value));
#endif
  return value;
}

// The same, and kept in order with the calls that change the rounding mode.
template <class Float>
__device__ __forceinline__ Float pinned_in_order(Float value) {
#if defined(__x86_64__)
  asm volatile("" : "+x"(value) : : "memory");
#elif defined(__aarch64__)
  asm volatile("" : "+w"(value) : : "memory");
#else
  asm volatile("" : "+m"(value) : : "memory");
#endif
  return value;
}

class RoundingScope {
 public:
  explicit RoundingScope(Rounding rounding) : before_(fegetround()) { fesetround(mode(rounding)); }
  ~RoundingScope() { fesetround(before_); }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
  static int mode(Rounding rounding) {
    switch (rounding) {
      case rz: return FE_TOWARDZERO;
      case ru: return FE_UPWARD;
      case rd: return FE_DOWNWARD;
      case rn: break;
    }
    return FE_TONEAREST;
  }

  int before_;
};

template <Rounding rounding, class Float, class Operation, class... Operands>
__device__ __forceinline__ Float rounded(Operation operation, Operands... operands) {
  if constexpr (rounding == rn) {
    return opaque<Float>(operation(operands...));
  } else {
    const RoundingScope scope(rounding);
    return pinned_in_order<Float>(operation(pinned_in_order<Float>(operands)...));
  }
}

__device__ __forceinline__ float fused(float x, float y, float z) {
  return __builtin_fmaf(x, y, z);
}
__device__ __forceinline__ double fused(double x, double y, double z) {
  return __builtin_fma(x, y, z);
}
__device__ __forceinline__ float square_root(float x) { return __builtin_sqrtf(x); }
__device__ __forceinline__ double square_root(double x) { return __builtin_sqrt(x); }

}  // namespace gridstride::host

#define GS_ROUNDED_1(name, rounding, type, expression)                  \
  __device__ __forceinline__ type name##_##rounding(type x) {           \
    return gridstride::host::rounded<gridstride::host::rounding, type>( \
        [](type a) { return expression; }, x);                          \
  }
#define GS_ROUNDED_2(name, rounding, type, expression)                  \
  __device__ __forceinline__ type name##_##rounding(type x, type y) {   \
    return gridstride::host::rounded<gridstride::host::rounding, type>( \
        [](type a, type b) { return expression; }, x, y);               \
  }
#define GS_ROUNDED_3(name, rounding, type, expression)                        \
  __device__ __forceinline__ type name##_##rounding(type x, type y, type z) { \
    return gridstride::host::rounded<gridstride::host::rounding, type>(       \
        [](type a, type b, type c) { return expression; }, x, y, z);          \
  }

// One operation in all four roundings.
#define GS_ALL_ROUNDINGS(operands, name, type, expression)  \
  GS_ROUNDED_##operands(name, rn, type, expression)         \
      GS_ROUNDED_##operands(name, rz, type, expression)     \
          GS_ROUNDED_##operands(name, ru, type, expression) \
              GS_ROUNDED_##operands(name, rd, type, expression)

GS_ALL_ROUNDINGS(2, __fadd, float, a + b)
GS_ALL_ROUNDINGS(2, __fsub, float, a - b)
GS_ALL_ROUNDINGS(2, __fmul, float, a* b)
GS_ALL_ROUNDINGS(2, __fdiv, float, a / b)
GS_ALL_ROUNDINGS(1, __frcp, float, 1.0f / a)
GS_ALL_ROUNDINGS(1, __fsqrt, float, gridstride::host::square_root(a))
GS_ALL_ROUNDINGS(3, __fmaf, float, gridstride::host::fused(a, b, c))
GS_ALL_ROUNDINGS(3, __fmaf_ieee, float, gridstride::host::fused(a, b, c))

GS_ALL_ROUNDINGS(2, __dadd, double, a + b)
GS_ALL_ROUNDINGS(2, __dsub, double, a - b)
GS_ALL_ROUNDINGS(2, __dmul, double, a* b)
GS_ALL_ROUNDINGS(2, __ddiv, double, a / b)
GS_ALL_ROUNDINGS(1, __drcp, double, 1.0 / a)
GS_ALL_ROUNDINGS(1, __dsqrt, double, gridstride::host::square_root(a))
GS_ALL_ROUNDINGS(3, __fma, double, gridstride::host::fused(a, b, c))

#undef GS_ALL_ROUNDINGS
#undef GS_ROUNDED_3
#undef GS_ROUNDED_2
#undef GS_ROUNDED_1

// 1 / sqrt(x) rounded once: the error of the two double operations is too small to reach a boundary
// between floats.
__device__ __forceinline__ float __frsqrt_rn(float x) {
  return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(x)));
}
