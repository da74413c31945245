// What the 8-bit floating-point types of both formats, and vectors of two and four of them, have in
// common. All conversions are explicit, and those to the types saturate, as CUDA's do.
#ifndef GRIDSTRIDE_HOST_FLOAT8_TYPE_H
#define GRIDSTRIDE_HOST_FLOAT8_TYPE_H

#include "../cuda_bf16.h"
#include "../cuda_fp16.h"
#include "float8_format.h"

namespace gridstride::host {

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

#endif
