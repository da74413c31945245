// The two 16-bit floating-point formats by their definition, for the rounding oracle.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "rounding_oracle.h"

struct HalfDefinition {
  using Type = __half;
  static constexpr const char* name = "half";
  static constexpr int exponent_bits = 5, fraction_bits = 10;
};

struct Bfloat16Definition {
  using Type = __nv_bfloat16;
  static constexpr const char* name = "bfloat16";
  static constexpr int exponent_bits = 8, fraction_bits = 7;
};

template <class Definition>
struct Format {
  using Type = typename Definition::Type;
  static constexpr int infinity_bits = ((1 << Definition::exponent_bits) - 1)
                                       << Definition::fraction_bits;
  static constexpr int bias = (1 << (Definition::exponent_bits - 1)) - 1;

  static unsigned short bits_of(Type value) {
    unsigned short bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
  }
  static Type of_bits(unsigned bits) {
    const auto narrow = static_cast<unsigned short>(bits);
    Type value;
    std::memcpy(static_cast<void*>(&value), &narrow, sizeof value);
    return value;
  }

  static bool is_nan(unsigned bits) { return static_cast<int>(bits & 0x7fff) > infinity_bits; }
  static bool is_infinite(unsigned bits) {
    return static_cast<int>(bits & 0x7fff) == infinity_bits;
  }
  static bool is_finite(unsigned bits) { return static_cast<int>(bits & 0x7fff) < infinity_bits; }

  // IEEE 754: (1 + f) 2^(e - bias), or f 2^(1 - bias) for e = 0. Infinity is the next power of two.
  static double magnitude(unsigned bits) {
    const int exponent = static_cast<int>(bits & 0x7fff) >> Definition::fraction_bits;
    const int fraction = static_cast<int>(bits) & ((1 << Definition::fraction_bits) - 1);
    const double unit = std::ldexp(1.0, 1 - bias - Definition::fraction_bits);
    if (exponent == 0) return fraction * unit;
    return std::ldexp((fraction + (1 << Definition::fraction_bits)) * unit, exponent - 1);
  }
  static double exact(unsigned bits) { return bits & 0x8000 ? -magnitude(bits) : magnitude(bits); }

  // The value as C++ sees it: with real infinities and NaN.
  static double number(unsigned bits) {
    if (is_nan(bits)) return std::numeric_limits<double>::quiet_NaN();
    if (!is_infinite(bits)) return exact(bits);
    return bits & 0x8000 ? -std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::infinity();
  }

  // The surroundings of a value that is not NaN. Magnitudes of neighbours differ by one in the
  // bits.
  static Candidate candidate(unsigned bits) {
    const unsigned outer = (bits & 0x7fff) + 1, inner = (bits & 0x7fff) - 1;
    const bool negative = bits & 0x8000, zero = (bits & 0x7fff) == 0;
    const double away = is_infinite(bits) ? 2 * magnitude(bits) : magnitude(outer);
    const double towards = zero ? -magnitude(1) : magnitude(inner);
    Candidate candidate;
    candidate.value = exact(bits);
    candidate.below = negative ? -away : towards;
    candidate.above = negative ? -towards : away;
    candidate.even = bits % 2 == 0;
    candidate.is_infinite = is_infinite(bits);
    const bool reaches_infinity = is_infinite(outer);
    candidate.below_is_infinite = negative && reaches_infinity;
    candidate.above_is_infinite = !negative && reaches_infinity;
    return candidate;
  }
};

inline constexpr unsigned all_patterns = 0x10000;
