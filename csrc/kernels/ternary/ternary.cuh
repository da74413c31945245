/*
 * ternary.cuh — packed ternary weights: their bytes from elements, and back.
 *
 * Problem: a byte of a ternary format holds four, five or more weights -1, 0 and 1 as the digits 0,
 * 1 and 2. Formats differ in the order of weights, which src/ternary/layouts.ts describes as digits
 * of the number of a byte.
 * Mapping: one byte each by map.cuh. The digits, outermost first, give its address, and the row
 * and column of its first weight.
 * Checks: an element that is no weight times its scale, a byte that has no meaning and a bad scale
 * are reported; a scale by the negative of its place less 1.
 * Bytes: each element and each byte once.
 */
#pragma once

#include "kernels/tensor/map.cuh"

namespace gridstride::tensor::ternary {

using u8 = unsigned char;

template <typename T>
__device__ __forceinline__ u8* u8_of(T* scales) {
  return reinterpret_cast<u8*>(scales);
}
template <typename T>
__device__ __forceinline__ const u8* u8_of(const T* scales) {
  return reinterpret_cast<const u8*>(scales);
}

enum class Codec { quarters, trits, pairs, triples };
namespace rounding_of {
enum : i64 {
  exact = GS_ROUNDING_EXACT,
  reciprocal = GS_ROUNDING_RECIPROCAL,
  above_half = GS_ROUNDING_ABOVE_HALF,
  from_half = GS_ROUNDING_FROM_HALF,
};
}

// The address of a byte, and of its byte of signs; the row and column of its first weight.
struct Place {
  i64 byte;
  i64 sign;
  i64 row;
  i64 column;
  i64 rest;

  // Takes the innermost digit that is left.
  __device__ __forceinline__ void take(i64 extent, i64 byte_step, i64 row_step, i64 column_step,
                                       i64 sign_step) {
    if (extent == 1) return;
    const unsigned long long number = rest, radix = extent;
    rest = number / radix;
    const i64 digit = number - rest * radix;
    byte += digit * byte_step;
    row += digit * row_step;
    column += digit * column_step;
    sign += digit * sign_step;
  }
};

// The matrix, its scales, and the codes.
struct Matrix {
  i64 columns;
  i64 slots;
  i64 row_step;
  i64 column_step;
  // Elements of a scale; 0 if there is one scale.
  i64 per_scale;
  i64 bias;
  i64* faults;
  i64 operation;

  template <Codec C>
  __device__ __forceinline__ i64 element(const Place& place, int slot) const {
    i64 row = place.row + slot * row_step;
    i64 column = place.column + slot * column_step;
    if (C == Codec::triples) {
      row = place.row + slot / 12 * 16;
      column = place.column + slot % 12;
    }
    return column < columns ? row * columns + column : -1;
  }
  __device__ __forceinline__ i64 scale_of(i64 element) const {
    return per_scale == 0 ? 0 : element / per_scale;
  }
};

// The most weights of a byte.
template <Codec C>
constexpr int max_slots = C == Codec::triples ? 24 : C == Codec::trits ? 5 : 4;

// Four bytes of two triples each, as magnitudes of 9a + 3b + c, follow at 8, 32 and 40.
__device__ __forceinline__ i64 triple_byte(i64 first, int triple) {
  return first + triple / 4 * 8 + triple % 4 / 2 * 32;
}

// Whether the byte has a meaning.
template <Codec C>
__device__ __forceinline__ bool unpack(const u8* bytes, const Place& place, i64 bias, int* digits) {
  const unsigned byte = bytes[place.byte];
  bool is_valid = true;
  if (C == Codec::quarters) {
    for (int s = 0; s < 4; ++s) {
      digits[s] = ((byte >> (2 * s)) - static_cast<unsigned>(bias)) & 3u;
      is_valid = is_valid && digits[s] < 3;
    }
  } else if (C == Codec::trits) {
    unsigned rest = byte;
    for (int s = 0; s < 5; ++s) {
      digits[s] = rest * 3 >> 8;
      rest = rest * 3 & 255u;
    }
  } else if (C == Codec::pairs) {
    for (int s = 0; s < 4; s += 2) {
      const int pair = byte >> (4 - 2 * s) & 15;
      digits[s] = pair / 3;
      digits[s + 1] = pair % 3;
      is_valid = is_valid && pair < 9;
    }
  } else {
    const unsigned signs = bytes[place.sign];
    for (int t = 0; t < 8; ++t) {
      const int size = bytes[triple_byte(place.byte, t)] >> (t % 2 == 0 ? 4 : 0) & 15;
      const bool is_negative = signs >> (7 - 2 * (t % 4) - t / 4) & 1u;
      is_valid = is_valid && size < 14;
      const int triple = is_negative ? 13 - size : 13 + size;
      digits[3 * t] = triple / 9;
      digits[3 * t + 1] = triple / 3 % 3;
      digits[3 * t + 2] = triple % 3;
    }
  }
  return is_valid;
}

template <Codec C>
__device__ __forceinline__ void pack(u8* bytes, const Place& place, i64 bias, const int* digits) {
  unsigned byte = 0;
  if (C == Codec::quarters) {
    for (int s = 0; s < 4; ++s) byte |= (digits[s] + static_cast<unsigned>(bias) & 3u) << (2 * s);
    bytes[place.byte] = byte;
  } else if (C == Codec::trits) {
    for (int s = 0; s < 5; ++s) byte = byte * 3 + digits[s];
    bytes[place.byte] = (byte * 256 + 242) / 243;
  } else if (C == Codec::pairs) {
    bytes[place.byte] = (digits[0] * 3 + digits[1]) << 4 | (digits[2] * 3 + digits[3]);
  } else {
    unsigned signs = 0;
    for (int t = 0; t < 8; ++t) {
      const int triple = 9 * digits[3 * t] + 3 * digits[3 * t + 1] + digits[3 * t + 2] - 13;
      if (triple < 0) signs |= 1u << (7 - 2 * (t % 4) - t / 4);
      byte = byte << 4 | (triple < 0 ? -triple : triple);
      if (t % 2 == 1) bytes[triple_byte(place.byte, t)] = byte & 255u;
    }
    bytes[place.sign] = signs;
  }
}

// The digit of an element; 3 if it is none.
template <typename T>
__device__ __forceinline__ int digit_of(T element, float scale, i64 rounding) {
  const float value = load(element);
  if (rounding == rounding_of::exact) {
    if (value == 0) return 1;
    const float quotient = value / scale;
    // Scales of 16 bits are this far from the elements'.
    const bool is_weight = fabsf(fabsf(quotient) - 1.0f) <= 0.0078125f;
    return !is_weight ? 3 : quotient > 0 ? 2 : 0;
  }
  if (!(fabsf(value) < __int_as_float(0x7f800000))) return 3;
  if (scale == 0) return 1;
  const bool is_product = rounding == rounding_of::reciprocal;
  const float quotient = is_product ? value * (1.0f / scale) : value / scale;
  const bool is_zero = rounding == rounding_of::above_half ? fabsf(quotient) <= 0.5f
                                                       : fabsf(quotient) < 0.5f;
  return is_zero ? 1 : quotient > 0 ? 2 : 0;
}

__device__ __forceinline__ bool is_scale(float scale) {
  return scale >= 0 && scale < __int_as_float(0x7f800000);
}

template <Codec C, typename T>
__device__ __forceinline__ void encode_byte(const Matrix& matrix, const Place& place, const T* x,
                                            const float* scales, u8* bytes, i64 rounding) {
  int digits[max_slots<C>];
  for (int s = 0; s < max_slots<C>; ++s) {
    digits[s] = C == Codec::trits && s >= matrix.slots ? 0 : 1;
    const i64 element = s < matrix.slots ? matrix.element<C>(place, s) : -1;
    if (element < 0) continue;
    const i64 own_scale = matrix.scale_of(element);
    if (!is_scale(scales[own_scale])) report(matrix.faults, matrix.operation, -1 - own_scale);
    const int digit = digit_of(x[element], scales[own_scale], rounding);
    if (digit < 3) digits[s] = digit;
    else report(matrix.faults, matrix.operation, element);
  }
  pack<C>(bytes, place, matrix.bias, digits);
}

template <Codec C, typename T>
__device__ __forceinline__ void decode_byte(const Matrix& matrix, const Place& place,
                                            const u8* bytes, const float* scales, T* out) {
  int digits[max_slots<C>];
  if (!unpack<C>(bytes, place, matrix.bias, digits)) {
    report(matrix.faults, matrix.operation, place.byte);
  }
  for (int s = 0; s < max_slots<C>; ++s) {
    const i64 element = s < matrix.slots ? matrix.element<C>(place, s) : -1;
    if (element < 0) continue;
    const i64 own_scale = matrix.scale_of(element);
    const float scale = scales[own_scale];
    const bool is_lost = scale == 0 && digits[s] != 1;
    if (is_lost || !is_scale(scale)) report(matrix.faults, matrix.operation, -1 - own_scale);
    out[element] = store<T>(static_cast<float>(digits[s] - 1) * scale);
  }
}

// The scale that a format gives elements of a largest magnitude.
__device__ __forceinline__ float scale_for(float largest, i64 rounding) {
  if (rounding == rounding_of::above_half) return largest <= 1e-8f ? 1.0f : largest / 1.5f;
  return rounding == rounding_of::from_half && largest == 0 ? 1.0f : largest;
}

}  // namespace gridstride::tensor::ternary
