// The two 8-bit floating-point formats of the Open Compute Project (OCP 8-bit Floating Point
// Specification, revision 1.0) as bit patterns: decoding, and encoding with one rounding, to
// nearest and of ties to even.
#pragma once

#include "../cuda_bf16.h"
#include "../cuda_fp16.h"
#include "conversions.h"
#include "integer_functions.h"
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

// The pattern is the double's significand cut off at the format's unit, plus one where rounding
// requires it; the carry walks into the exponent by itself (see encode_float16).
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

// An 8-bit integer of either sign: a value out of range becomes the nearest one, NaN becomes 0.
template <class Integer>
__device__ __forceinline__ Integer clamped_integer(float value) {
  if (value != value) return 0;
  constexpr int lowest = is_signed_integer<Integer> ? -128 : 0;
  constexpr int highest = is_signed_integer<Integer> ? 127 : 255;
  if (value > static_cast<float>(highest)) return static_cast<Integer>(highest);
  if (value < static_cast<float>(lowest)) return static_cast<Integer>(lowest);
  return static_cast<Integer>(value);
}

// What the 8-bit floating-point types of both formats, and vectors of two and four of them, have in
// common. All conversions are explicit, and those to the types saturate, as CUDA's do.

template <class Format>
struct Float8 {
  unsigned char __x;

  // Trivial, for unions and __shared__ arrays.
  Float8() = default;

  explicit Float8(__half value) : Float8(static_cast<float>(value)) {}
  explicit Float8(__nv_bfloat16 value) : Float8(static_cast<float>(value)) {}
  constexpr explicit Float8(float value) : __x(encode_float8<Format>(value, true)) {}
  constexpr explicit Float8(double value) : __x(encode_float8<Format>(value, true)) {}

  // By way of float, which rounds large ones once more.
#define GS_FROM_INTEGER(type) \
  constexpr explicit Float8(type value) : Float8(static_cast<float>(value)) {}
  GS_FROM_INTEGER(unsigned short)
  GS_FROM_INTEGER(unsigned int)
  GS_FROM_INTEGER(unsigned long)
  GS_FROM_INTEGER(unsigned long long)
  GS_FROM_INTEGER(short)
  GS_FROM_INTEGER(int)
  GS_FROM_INTEGER(long)
  GS_FROM_INTEGER(long long)
#undef GS_FROM_INTEGER

  constexpr explicit operator float() const { return decode_float8<Format>(__x); }
  constexpr explicit operator double() const { return static_cast<float>(*this); }
  explicit operator __half() const { return __half(static_cast<float>(*this)); }
  explicit operator __nv_bfloat16() const { return __float2bfloat16_rz(static_cast<float>(*this)); }
  constexpr explicit operator bool() const { return (__x & 0x7f) != 0; }

#define GS_TO_INTEGER(type, convert) \
  explicit operator type() const { return convert(static_cast<float>(*this)); }
  GS_TO_INTEGER(unsigned char, clamped_integer<unsigned char>)
  GS_TO_INTEGER(signed char, clamped_integer<signed char>)
  GS_TO_INTEGER(char, clamped_integer<char>)
#undef GS_TO_INTEGER
  // By way of half, which says what becomes of NaN.
#define GS_TO_INTEGER(type, name) \
  explicit operator type() const { return name(static_cast<__half>(*this)); }
  GS_TO_INTEGER(unsigned short, __half2ushort_rz)
  GS_TO_INTEGER(unsigned int, __half2uint_rz)
  GS_TO_INTEGER(unsigned long, __half2ull_rz)
  GS_TO_INTEGER(unsigned long long, __half2ull_rz)
  GS_TO_INTEGER(short, __half2short_rz)
  GS_TO_INTEGER(int, __half2int_rz)
  GS_TO_INTEGER(long, __half2ll_rz)
  GS_TO_INTEGER(long long, __half2ll_rz)
#undef GS_TO_INTEGER
};

// Two patterns, the first one lower.
template <class Format, class Value>
__device__ constexpr __forceinline__ unsigned short encode_float8_pair(Value low, Value high,
                                                                       bool saturates) {
  return static_cast<unsigned short>(encode_float8<Format>(low, saturates) |
                                     encode_float8<Format>(high, saturates) << 8);
}
template <class Format>
__device__ __forceinline__ unsigned short encode_float8_pair(__half2 pair, bool saturates) {
  return encode_float8_pair<Format>(float{pair.x}, float{pair.y}, saturates);
}
template <class Format>
__device__ __forceinline__ unsigned short encode_float8_pair(__nv_bfloat162 pair, bool saturates) {
  return encode_float8_pair<Format>(float{pair.x}, float{pair.y}, saturates);
}
template <class Format>
__device__ constexpr __forceinline__ float2 decode_float8_pair(unsigned int bits) {
  return float2{decode_float8<Format>(bits), decode_float8<Format>(bits >> 8)};
}

template <class Format>
struct alignas(2) Float8Pair {
  unsigned short __x;

  Float8Pair() = default;
  explicit Float8Pair(__half2 pair) : __x(encode_float8_pair<Format>(pair, true)) {}
  explicit Float8Pair(__nv_bfloat162 pair) : __x(encode_float8_pair<Format>(pair, true)) {}
  constexpr explicit Float8Pair(float2 pair)
      : __x(encode_float8_pair<Format>(pair.x, pair.y, true)) {}
  constexpr explicit Float8Pair(double2 pair)
      : __x(encode_float8_pair<Format>(pair.x, pair.y, true)) {}

  constexpr explicit operator float2() const { return decode_float8_pair<Format>(__x); }
  explicit operator __half2() const {
    const float2 pair = decode_float8_pair<Format>(__x);
    return __half2(__half(pair.x), __half(pair.y));
  }
};

template <class Format>
struct alignas(4) Float8Four {
  unsigned int __x;

  Float8Four() = default;
  explicit Float8Four(__half2 low, __half2 high)
      : __x(words(encode_float8_pair<Format>(low, true), encode_float8_pair<Format>(high, true))) {}
  explicit Float8Four(__nv_bfloat162 low, __nv_bfloat162 high)
      : __x(words(encode_float8_pair<Format>(low, true), encode_float8_pair<Format>(high, true))) {}
  constexpr explicit Float8Four(float4 value) : __x(encoded(value)) {}
  constexpr explicit Float8Four(double4 value) : __x(encoded(value)) {}
  constexpr explicit Float8Four(double4_16a value) : __x(encoded(value)) {}
  constexpr explicit Float8Four(double4_32a value) : __x(encoded(value)) {}

  constexpr explicit operator float4() const {
    const float2 low = decode_float8_pair<Format>(__x);
    const float2 high = decode_float8_pair<Format>(__x >> 16);
    return float4{low.x, low.y, high.x, high.y};
  }

 private:
  static constexpr unsigned int words(unsigned short low, unsigned short high) {
    return low | static_cast<unsigned int>(high) << 16;
  }
  template <class Vector>
  static constexpr unsigned int encoded(const Vector& value) {
    return words(encode_float8_pair<Format>(value.x, value.y, true),
                 encode_float8_pair<Format>(value.z, value.w, true));
  }
};

}  // namespace gridstride::host
