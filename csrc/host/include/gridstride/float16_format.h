// The two 16-bit floating-point formats as bit patterns: decoding, and encoding with one rounding.
//
// Encoding gives the same bits whatever the machine offers: the one NaN is 0x7fff, as on a GPU, and
// overflow gives infinity or the largest finite value as the rounding requires.
#pragma once

#include "atomics.h"
#include "conversions.h"
#include "integer_functions.h"
#include "math_functions.h"
#include "qualifiers.h"
#include "vector_types.h"

namespace gridstride::host {

struct HalfFormat {
  static constexpr int exponent_bits = 5;
  static constexpr int fraction_bits = 10;
};

struct Bfloat16Format {
  static constexpr int exponent_bits = 8;
  static constexpr int fraction_bits = 7;
};

inline constexpr unsigned short float16_nan = 0x7fff;

// The same, out of the optimizer's sight when the program runs. g++ 12 threads jumps along the
// paths on which a value is a constant NaN, and then gets comparisons of it wrong.
__device__ __forceinline__ unsigned short opaque_float16_nan() {
  unsigned short bits = float16_nan;
  __asm__("" : "+r"(bits));
  return bits;
}

template <class Format>
inline constexpr unsigned short float16_infinity = 0x7fff & ~((1 << Format::fraction_bits) - 1);

__device__ constexpr __forceinline__ bool is_negative(double value) {
  return static_cast<long long>(same_bits<unsigned long long>(value)) < 0;
}

// ---- any value to 16 bits with any rounding, in integer arithmetic -----------------------------

// The 16-bit value's pattern is the double's significand cut off at the format's unit, plus one
// where the rounding requires it; the carry walks into the exponent by itself, up to infinity.
template <class Format, Rounding rounding>
__device__ constexpr inline unsigned short encode_float16(double value) {
  constexpr int bias = (1 << (Format::exponent_bits - 1)) - 1;
  constexpr int lowest_exponent = 1 - bias;
  constexpr unsigned short infinity = float16_infinity<Format>;
  if (value != value) {
    return __builtin_is_constant_evaluated() ? float16_nan : opaque_float16_nan();
  }

  const bool negative = is_negative(value);
  const unsigned short sign = negative ? 0x8000 : 0;
  const unsigned long long magnitude = same_bits<unsigned long long>(value) & ~(1ull << 63);
  const int exponent = static_cast<int>(magnitude >> 52) - 1023;
  if (exponent == 1024) return sign | infinity;
  if (exponent > bias) {
    const bool to_infinity =
        rounding == rn || (rounding == ru && !negative) || (rounding == rd && negative);
    return static_cast<unsigned short>(sign | (infinity - (to_infinity ? 0 : 1)));
  }
  if (magnitude == 0) return sign;

  // Below the lowest exponent the unit stays the same and the significand loses bits instead.
  // Doubles that are subnormal themselves are far below any 16-bit unit: their exponent is enough.
  const bool subnormal = exponent < lowest_exponent;
  const int lost = 52 - Format::fraction_bits + (subnormal ? lowest_exponent - exponent : 0);
  const int shift = lost < 63 ? lost : 63;
  const unsigned long long significand = (magnitude & ((1ull << 52) - 1)) | 1ull << 52;
  const unsigned long long kept = significand >> shift;
  const unsigned long long rest = significand & ((1ull << shift) - 1);
  const bool away = rounds_away(rounding, negative, kept & 1, rest, 1ull << (shift - 1));
  const unsigned int exponent_field =
      subnormal ? 0u : static_cast<unsigned int>(exponent + bias - 1) << Format::fraction_bits;
  return static_cast<unsigned short>(
      sign | (exponent_field + static_cast<unsigned int>(kept) + (away ? 1u : 0u)));
}

// Integers of up to 64 bits: those that double cannot hold keep their upper 53 bits, the last of
// them set if anything was cut off. That is enough to round correctly to far fewer bits.
template <class Format, Rounding rounding, class Integer>
__device__ constexpr __forceinline__ unsigned short encode_float16_integer(Integer value) {
  const bool negative = is_signed_integer<Integer> && value < Integer{0};
  const auto wide = static_cast<unsigned long long>(value);
  unsigned long long magnitude = negative ? 0 - wide : wide;
  if (magnitude >> 53 != 0) {
    constexpr unsigned long long tail = (1ull << 11) - 1;
    magnitude = (magnitude & ~tail) | (magnitude & tail ? tail + 1 : 0);
  }
  const auto exact = static_cast<double>(magnitude);
  return encode_float16<Format, rounding>(negative ? -exact : exact);
}

// ---- rounding to odd ---------------------------------------------------------------------------

// An inexact value rounded to the neighbour with an odd last bit. A second rounding, to at least
// two bits less, then gives what one rounding of the exact value would have given.

__device__ __forceinline__ double sum_rounded_to_odd(double x, double y) {
  const double sum = x + y;
  const double x_part = sum - y;
  const double error = (x - x_part) + (y - (sum - x_part));
  const auto bits = same_bits<unsigned long long>(sum);
  const bool inexact = error < 0.0 || error > 0.0;
  if (!inexact || (bits & 1u)) return sum;
  return same_bits<double>((error > 0.0) == (sum > 0.0) ? bits + 1 : bits - 1);
}

__device__ __forceinline__ float rounded_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  const double given = nearest;
  const bool too_low = given < value;
  const bool too_high = given > value;
  if (!(too_low || too_high) || (same_bits<unsigned int>(nearest) & 1u)) return nearest;
  return stepped(nearest, too_low == (value > 0.0) ? 1 : -1);
}

// ---- half --------------------------------------------------------------------------------------

#if defined(__F16C__)

typedef short ShortVector __attribute__((vector_size(16)));
typedef float FloatVector __attribute__((vector_size(16)));

// The builtins, as <immintrin.h> would double a kernel's compile time.
__device__ __forceinline__ float decode_half(unsigned short bits) {
  const ShortVector packed = {static_cast<short>(bits), 0, 0, 0, 0, 0, 0, 0};
  const FloatVector values = __builtin_ia32_vcvtph2ps(packed);
  return values[0];
}
__device__ __forceinline__ unsigned short encode_half_number(float value) {
  const FloatVector values = {value, 0, 0, 0};
  const ShortVector packed = __builtin_ia32_vcvtps2ph(values, 0);
  return static_cast<unsigned short>(packed[0]);
}

#elif defined(__aarch64__)

__device__ __forceinline__ float decode_half(unsigned short bits) {
  return static_cast<float>(same_bits<__fp16>(bits));
}
__device__ __forceinline__ unsigned short encode_half_number(float value) {
  return same_bits<unsigned short>(static_cast<__fp16>(value));
}

#else

// Moving the exponent into float's place multiplies by 2^-112; multiplying it back is exact and
// makes subnormals normal on the way.
__device__ __forceinline__ float decode_half(unsigned short bits) {
  const unsigned int sign = static_cast<unsigned int>(bits & 0x8000) << 16;
  const unsigned int magnitude = static_cast<unsigned int>(bits & 0x7fff) << 13;
  if (magnitude >= 0x0f800000u) {
    const unsigned int quiet = magnitude > 0x0f800000u ? 0x00400000u : 0u;
    return same_bits<float>(sign | magnitude | 0x7f800000u | quiet);
  }
  const float scaled = same_bits<float>(magnitude) * 0x1p112f;
  return same_bits<float>(sign | same_bits<unsigned int>(scaled));
}

__device__ __forceinline__ unsigned short encode_half_number(float value) {
  const unsigned int bits = same_bits<unsigned int>(value);
  const unsigned int sign = bits >> 16 & 0x8000u;
  const unsigned int magnitude = bits & 0x7fffffffu;
  unsigned int result = 0x7c00u;
  if (magnitude < 0x38800000u) {
    // Subnormal: adding 0.5 lines the last bit of the significand up with half's smallest value.
    const float shifted = same_bits<float>(magnitude) + 0.5f;
    result = same_bits<unsigned int>(shifted) - 0x3f000000u;
  } else if (magnitude < 0x47800000u) {
    const unsigned int odd = magnitude >> 13 & 1u;
    result = (magnitude - 0x38000000u + 0xfffu + odd) >> 13;
  }
  return static_cast<unsigned short>(sign | result);
}

#endif

// NaN keeps its sign and payload on the way out.
__device__ __forceinline__ float decode(HalfFormat, unsigned short bits) {
  return decode_half(bits);
}
__device__ __forceinline__ unsigned short encode(HalfFormat, float value) {
  if (__builtin_expect(value != value, 0)) return opaque_float16_nan();
  return encode_half_number(value);
}

// ---- bfloat16: the upper half of a float -------------------------------------------------------

__device__ constexpr __forceinline__ float decode(Bfloat16Format, unsigned short bits) {
  return same_bits<float>(static_cast<unsigned int>(bits) << 16);
}
__device__ __forceinline__ unsigned short encode(Bfloat16Format, float value) {
  if (__builtin_expect(value != value, 0)) return opaque_float16_nan();
  const unsigned int bits = same_bits<unsigned int>(value);
  const unsigned int odd = bits >> 16 & 1u;
  return static_cast<unsigned short>((bits + 0x7fffu + odd) >> 16);
}

// ---- the types -------------------------------------------------------------------------------

// Names the Format and the Pair of __half and __nv_bfloat16.
template <class T>
struct Float16Traits;

template <class T>
__device__ __forceinline__ float widened(T value) {
  return decode(typename Float16Traits<T>::Format{}, same_bits<unsigned short>(value));
}
template <class T>
__device__ __forceinline__ T narrowed(float value) {
  return same_bits<T>(encode(typename Float16Traits<T>::Format{}, value));
}
template <class T>
__device__ __forceinline__ T narrowed(double value) {
  return narrowed<T>(rounded_to_odd(value));
}
template <class T, Rounding rounding>
__device__ constexpr __forceinline__ T narrowed_as(double value) {
  return same_bits<T>(encode_float16<typename Float16Traits<T>::Format, rounding>(value));
}
template <class T, Rounding rounding, class Integer>
__device__ constexpr __forceinline__ T narrowed_integer(Integer value) {
  return same_bits<T>(encode_float16_integer<typename Float16Traits<T>::Format, rounding>(value));
}

}  // namespace gridstride::host

// How the names of the functions of both 16-bit floating-point types are pasted together.
// cuda_fp16.h and cuda_bf16.h define GS_FLOAT16_TOKEN (half or bfloat16) and undefine it again.

struct __half;
struct __nv_bfloat16;

#define GS_PASTE_NAME(prefix, token, suffix) prefix##token##suffix
#define GS_EXPAND_NAME(prefix, token, suffix) GS_PASTE_NAME(prefix, token, suffix)
// __float2half_rn is GS_NAME(__float2, _rn); __float2half2_rn is GS_PAIR_NAME(__float2, _rn).
#define GS_NAME(prefix, suffix) GS_EXPAND_NAME(prefix, GS_FLOAT16_TOKEN, suffix)
#define GS_PAIR_NAME(prefix, suffix) GS_EXPAND_NAME(prefix, GS_FLOAT16_PAIR_TOKEN, suffix)
