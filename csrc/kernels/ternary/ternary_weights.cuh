/*
 * ternary_weights.cuh — packed ternary weights as 8-bit integers for tensor cores.
 *
 * Problem: a word has four weights in each of four fields of 2 bits, as codes 0, 1 and 2.
 * Mapping: all codes of a word become two's complement fields at once. A field at the top of its
 * byte, with zeros below, is the weight times weight_unit with its sign: a shift and a mask, where
 * a code would also need a subtraction in each byte.
 * Numerics: sums are multiples of weight_unit, and exact as long as 128 * weight_unit * depth fits
 * in 31 bits: for fewer than 2^18 weights.
 */
#pragma once

#include "kernels/ternary/ternary_matmul.cuh"

#if !defined(GS_BLOCK_FORM)
namespace gridstride::tensor::ternary_matmul {

[[maybe_unused]] constexpr int weight_unit = 64;

// Codes 0, 1 and 2 as fields -1, 0 and 1: the low bit is inverted, and the high one is set if both
// bits are clear.
__device__ __forceinline__ unsigned signed_fields(unsigned codes) {
  constexpr unsigned low_bits = 0x55555555u;
  return ~codes & (~codes << 1 | low_bits);
}

// The four weights of a field, each times weight_unit.
__device__ __forceinline__ unsigned weights_of(unsigned weights, int field) {
  constexpr unsigned highest_fields = lowest_fields << (fields - 1) * field_bits;
  return weights << (fields - 1 - field) * field_bits & highest_fields;
}

}  // namespace gridstride::tensor::ternary_matmul
#endif
