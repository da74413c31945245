/*
 * ternary_matmul.cuh — products of 8-bit integers and packed ternary weights.
 *
 * Problem: dot[m, n] = sum over k of q[m, k] * (code[n, k] - 1), codes 0, 1 and 2 in 2 bits. Rows
 * of q have `depth` elements, a multiple of 64, and rows of codes depth / 4 bytes: of each group of
 * 64 weights, byte j has the weights j, j + 16, j + 32 and j + 48 from its lowest bits. The
 * caller's finish(m, n, dot) scales and stores.
 * Mapping: ternary_matmul_loops.cuh is the block form, ternary_matmul_threads.cuh has dp4a for CUDA
 * threads, and ternary_mma.cuh and ternary_mma_staged.cuh are for tensor cores.
 * Numerics: exact. Where the codes are multiplied as they are, dot = sum of q * code - sum of q. A
 * sum of 2^22 products fits in 32 bits.
 */
#pragma once

#include "kernels/tensor/element.cuh"

namespace gridstride::tensor::ternary_matmul {

struct TernaryProduct {
  const signed char* q;
  const unsigned char* codes;
  i64 m;
  i64 n;
  i64 depth;
};

[[maybe_unused]] constexpr int group = GS_TERNARY_GROUP;  // weights
[[maybe_unused]] constexpr int group_bytes = 16;
// A byte has a weight of each field, which are this many weights apart.
[[maybe_unused]] constexpr int fields = 4;
[[maybe_unused]] constexpr int field_bits = 2;
[[maybe_unused]] constexpr unsigned int lowest_fields = 0x03030303u;

}  // namespace gridstride::tensor::ternary_matmul

#if defined(GS_BLOCK_FORM)
#include "kernels/ternary/ternary_matmul_loops.cuh"
#else
#include "kernels/ternary/ternary_matmul_threads.cuh"
#endif
