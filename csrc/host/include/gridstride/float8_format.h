// The two 8-bit floating-point formats of the Open Compute Project (OCP 8-bit Floating Point
// Specification, revision 1.0) as bit patterns: decoding, and encoding with one rounding, to
// nearest and of ties to even.
#ifndef GRIDSTRIDE_HOST_FLOAT8_FORMAT_H
#define GRIDSTRIDE_HOST_FLOAT8_FORMAT_H

#include "bit_functions.h"
#include "conversions.h"
#include "qualifiers.h"

namespace gridstride::host {

// No infinity: the one pattern above the largest finite value is NaN.
struct E4m3Format {
  static constexpr int fraction_bits = 3;
  static constexpr int bias = 7;
  static constexpr unsigned int largest_finite = 0x7e;
  static constexpr unsigned int overflow = 0x7f;
};

// The upper half of a half.
struct E5m2Format {
  static constexpr int fraction_bits = 2;
  static constexpr int bias = 15;
  static constexpr unsigned int largest_finite = 0x7b;
  static constexpr unsigned int overflow = 0x7c;
};

template <class Format>
inline constexpr bool has_infinity = Format::overflow != 0x7f;

template <class Format>
__device__ constexpr __forceinline__ bool is_float8_nan(unsigned int bits) {
  return (bits & 0x7f) > (has_infinity<Format> ? Format::overflow : Format::largest_finite);
}

// A NaN keeps its sign and what the format has room for of its payload, as in CUDA's conversion
// from double.
template <class Format>
__device__ constexpr __forceinline__ unsigned int float8_nan(unsigned long long double_bits) {
  if (!has_infinity<Format>) return 0x7f;
  return 0x7e | (static_cast<unsigned int>(double_bits >> (52 - Format::fraction_bits)) & 3u);
}

// The pattern is the double's significand cut off so that its unit is the format's, plus one where
// rounding asks for it; the carry walks into the exponent by itself (see encode_float16).
template <class Format>
__device__ constexpr inline unsigned char encode_float8(double value, bool saturates) {
  constexpr int lowest_exponent = 1 - Format::bias;
  const auto bits = same_bits<unsigned long long>(value);
  const auto sign = static_cast<unsigned int>(bits >> 56) & 0x80u;
  const unsigned long long magnitude = bits & ~(1ull << 63);
  if (value != value) return static_cast<unsigned char>(sign | float8_nan<Format>(bits));

  const unsigned int beyond = saturates ? Format::largest_finite : Format::overflow;
  const int exponent = static_cast<int>(magnitude >> 52) - 1023;
  // Two more than any exponent of the formats: the pattern could not hold it.
  if (exponent > Format::bias + 1) return static_cast<unsigned char>(sign | beyond);

  const bool subnormal = exponent < lowest_exponent;
  const int lost = 52 - Format::fraction_bits + (subnormal ? lowest_exponent - exponent : 0);
  const int shift = lost < 63 ? lost : 63;
  const unsigned long long significand =
      magnitude == 0 ? 0 : (magnitude & ((1ull << 52) - 1)) | 1ull << 52;
  const unsigned long long kept = significand >> shift;
  const unsigned long long rest = significand & ((1ull << shift) - 1);
  const bool away = rounds_away(rn, false, kept & 1, rest, 1ull << (shift - 1));
  const unsigned int exponent_field =
      subnormal ? 0u
                : static_cast<unsigned int>(exponent + Format::bias - 1) << Format::fraction_bits;
  const unsigned int pattern = exponent_field + static_cast<unsigned int>(kept) + (away ? 1u : 0u);
  return static_cast<unsigned char>(sign | (pattern > Format::largest_finite ? beyond : pattern));
}

// Of a float's NaN nothing is kept, as the hardware keeps nothing.
template <class Format>
__device__ constexpr __forceinline__ unsigned char encode_float8(float value, bool saturates) {
  if (value != value) return 0x7f;
  return encode_float8<Format>(static_cast<double>(value), saturates);
}

// Moving the pattern into float's place scales it by a power of two; scaling it back is exact, and
// makes subnormals normal on the way.
template <class Format>
__device__ constexpr inline float decode_float8(unsigned int bits) {
  constexpr float scale = Format::bias == 7 ? 0x1p120f : 0x1p112f;
  const unsigned int sign = (bits & 0x80u) << 24;
  const unsigned int magnitude = bits & 0x7fu;
  if (is_float8_nan<Format>(bits)) return same_bits<float>(0x7fffffffu);
  if (has_infinity<Format> && magnitude == Format::overflow) {
    return same_bits<float>(sign | 0x7f800000u);
  }
  const float scaled = same_bits<float>(magnitude << (23 - Format::fraction_bits)) * scale;
  return same_bits<float>(sign | same_bits<unsigned int>(scaled));
}

// An 8-bit integer of either sign: what it cannot hold becomes its nearest, NaN becomes 0.
template <class Integer>
__device__ __forceinline__ Integer clamped_integer(float value) {
  if (value != value) return 0;
  constexpr int lowest = is_signed_integer<Integer> ? -128 : 0;
  constexpr int highest = is_signed_integer<Integer> ? 127 : 255;
  if (value > static_cast<float>(highest)) return static_cast<Integer>(highest);
  if (value < static_cast<float>(lowest)) return static_cast<Integer>(lowest);
  return static_cast<Integer>(value);
}

}  // namespace gridstride::host

#endif
