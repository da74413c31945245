/*
 * random.cuh — random numbers of positions.
 *
 * Problem: element i of a tensor is a function of a seed and of i alone, so that any order and any
 * device give the same numbers.
 * Mapping: Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
 * 1, 2, 3", 2011) encrypts a counter of 128 bits, the position and the number of a stream, with the
 * seed as its key. One encryption gives the 128 bits of one element.
 * Numerics: in double precision, rounded once to the element type. Only exact operations, explicit
 * fused multiply-adds, divisions and square roots are used, which IEEE 754 defines to the bit. The
 * polynomials are Chebyshev fits of 3e-19 (sine) and 5e-18 (logarithm). A standard normal number is
 * within 4 ULP of the exact Box-Muller value as float64, and within 0.501 as float32.
 * Work: about 60 integer operations, and 40 of double precision for a normal number.
 */
#pragma once

#include "kernels/tensor/map.cuh"

namespace gridstride::tensor::random {

using u64 = unsigned long long;

struct Words {
  unsigned int x, y, z, w;
};

__device__ __forceinline__ Words philox(Words words, unsigned int key0, unsigned int key1) {
  for (int round = 0; round < 10; ++round) {
    const u64 first = 0xd2511f53ull * words.x;
    const u64 second = 0xcd9e8d57ull * words.z;
    words = {static_cast<unsigned int>(second >> 32) ^ words.y ^ key0,
             static_cast<unsigned int>(second),
             static_cast<unsigned int>(first >> 32) ^ words.w ^ key1,
             static_cast<unsigned int>(first)};
    key0 += 0x9e3779b9u;
    key1 += 0xbb67ae85u;
  }
  return words;
}

__device__ __forceinline__ Words words_of(i64 position, u64 seed, u64 stream) {
  const u64 counter = static_cast<u64>(position);
  return philox({static_cast<unsigned int>(counter), static_cast<unsigned int>(counter >> 32),
                 static_cast<unsigned int>(stream), static_cast<unsigned int>(stream >> 32)},
                static_cast<unsigned int>(seed), static_cast<unsigned int>(seed >> 32));
}

__device__ __forceinline__ double with_bits(u64 bits) {
  return __longlong_as_double(static_cast<i64>(bits));
}

// 1 and 52 bits after the point: in [1, 2).
__device__ __forceinline__ double one_and(unsigned int low, unsigned int high) {
  return with_bits(0x3ff0000000000000ull | (static_cast<u64>(high) << 20) | (low >> 12));
}

// Horner's scheme, without a loop, which would keep the loop over elements from being vectorised.
__device__ __forceinline__ double polynomial(double, double sum) { return sum; }
template <typename... Rest>
__device__ __forceinline__ double polynomial(double x, double sum, double next, Rest... rest) {
  return polynomial(x, fma(sum, x, next), rest...);
}

// The natural logarithm in (0, 1]: 2 atanh(s) for the significand, in 1/√2 to √2.
__device__ __forceinline__ double logarithm(double x) {
  constexpr u64 root = 0x3fe6a09e667f3bcdull;
  const u64 bits = static_cast<u64>(__double_as_longlong(x)) + (0x3ff0000000000000ull - root);
  // The exponent as a double: its bits in the lowest ones of 2^52.
  const double exponent = with_bits(0x4330000000000000ull | (bits >> 52)) - (0x1p52 + 1023);
  const double rest = with_bits((bits & 0x000fffffffffffffull) + root) - 1;
  const double s = rest / (2 + rest);
  const double z = s * s;
  const double series =
      polynomial(z, 0x1.2b584aae78a57p-3, 0x1.39fe606542ddep-3, 0x1.7462b4ab2ef6bp-3,
                 0x1.c71c62e5800a1p-3, 0x1.2492492df148dp-2, 0x1.99999999952e2p-2,
                 0x1.5555555555558p-1);
  return fma(exponent, 0x1.62e42fefa39efp-1, fma(s * z, series, 2 * s));
}

// sin(2πx) for |x| ≤ 1/4.
__device__ __forceinline__ double sine_of_turn(double x) {
  return x * polynomial(x * x, 0x1.9d462020fcc78p-4, -0x1.6f7acdb8f6580p-1, 0x1.e8f3675ee37ddp+1,
                        -0x1.e3074dfaf87afp+3, 0x1.5078348551854p+5, -0x1.32d2cce627c86p+6,
                        0x1.466bc6775aa7dp+6, -0x1.4abbce625be52p+5, 0x1.921fb54442d18p+2);
}

// In [low, low + width), but for the rounding of the sum.
__device__ __forceinline__ double uniform_at(i64 position, u64 seed, u64 stream, double low,
                                             double width) {
  const Words words = words_of(position, seed, stream);
  return fma(one_and(words.x, words.y) - 1, width, low);
}

// In [low, low + count), by the high half of a product with 64 random bits: of count numbers, some
// are likelier by 2^-64. A count of 0 stands for 2^64.
__device__ __forceinline__ i64 integer_at(i64 position, u64 seed, u64 stream, i64 low, u64 count) {
  const Words words = words_of(position, seed, stream);
  const u64 bits = static_cast<u64>(words.y) << 32 | words.x;
  return static_cast<i64>(static_cast<u64>(low) + (count == 0 ? bits : __umul64hi(bits, count)));
}

// Box and Muller's method; the cosine of an angle is the sine of its complement.
__device__ __forceinline__ double normal_at(i64 position, u64 seed, u64 stream, double mean,
                                            double deviation) {
  const Words words = words_of(position, seed, stream);
  const double radius = sqrt(-2 * logarithm(2 - one_and(words.x, words.y)));
  const double turn = fabs(one_and(words.z, words.w) - 1.5);
  return fma(radius * sine_of_turn(0.25 - turn), deviation, mean);
}

}  // namespace gridstride::tensor::random
