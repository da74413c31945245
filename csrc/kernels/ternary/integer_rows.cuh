/*
 * integer_rows.cuh — products of few rows of 8-bit integers and a large matrix of them.
 *
 * Problem: dot[m, n] = sum over k of q[m, k] * w[n, k], both along memory, for few rows of q: the
 * head of a decoder, which is limited by reading w. The caller's finish(m, n, dot) scales and
 * stores.
 * Mapping: a block of the block form takes some rows of w, four at a time, which stay in the
 * first-level cache for all rows of q. A warp of CUDA threads takes two rows of w at a time, in
 * packets of 16 bytes, and multiplies them with all rows of q.
 * Bytes: w once. q once for each block or warp, from a cache.
 * Numerics: exact. Where w is multiplied as bytes without a sign, dot = sum of q * (w + 128) less
 * 128 * sum of q. A sum of 2^16 products fits in 32 bits.
 */
#pragma once

#include "kernels/tensor/vectors.cuh"
#include "kernels/tensor/warp.cuh"

namespace gridstride::tensor::integer_rows {

struct IntegerProduct {
  const signed char* q;
  const signed char* w;
  i64 m;
  i64 n;
  i64 depth;
};

#if defined(GS_BLOCK_FORM)

using vectors::DotShorts;
using vectors::DotSums;

// Rows of w that are multiplied together.
constexpr int together = 4;
constexpr i64 step = static_cast<i64>(sizeof(DotSums));

__device__ __forceinline__ DotSums read(const signed char* from) {
  DotSums words;
  __builtin_memcpy(&words, from, sizeof words);
  return words;
}

__device__ __forceinline__ DotSums add_dots(DotSums sums, DotSums w, DotSums q) {
  if constexpr (vectors::has_dots_of_all_bytes) {
    return vectors::add_dots_of_bytes(sums, w ^ static_cast<int>(0x80808080u), q);
  }
  const auto even = [](DotSums x) { return (DotSums)((DotShorts)x << 8 >> 8); };
  const auto odd = [](DotSums x) { return (DotSums)((DotShorts)x >> 8); };
  sums = vectors::add_dots_of_pairs(sums, even(w), even(q));
  return vectors::add_dots_of_pairs(sums, odd(w), odd(q));
}

// What is to be subtracted from each dot of a row of q.
__device__ __forceinline__ int excess_of(const signed char* q, i64 depth) {
  if (!vectors::has_dots_of_all_bytes) return 0;
  int sum = 0;
  for (i64 k = 0; k < depth / step * step; ++k) sum += q[k];
  return 128 * sum;
}

__device__ __attribute__((noinline)) void dots_of(const signed char* q, i64 depth,
                                                  const signed char* const* w, int* dots) {
  DotSums sums[together] = {};
  const signed char* row[together];
  for (int j = 0; j < together; ++j) row[j] = w[j];
  i64 k = 0;
  for (; k + step <= depth; k += step) {
    const DotSums part = read(q + k);
#pragma GCC unroll 4
    for (int j = 0; j < together; ++j) {
      // The next rows, which the processor does not foresee.
      __builtin_prefetch(row[j] + k + together * depth);
      sums[j] = add_dots(sums[j], read(row[j] + k), part);
    }
  }
  for (int j = 0; j < together; ++j) {
    int dot = 0;
    for (unsigned l = 0; l < sizeof(DotSums) / sizeof(int); ++l) dot += sums[j][l];
    for (i64 rest = k; rest < depth; ++rest) dot += q[rest] * row[j][rest];
    dots[j] = dot;
  }
}

// Rows of w from `begin` to `end`. There are at most Rows rows of q.
template <int Rows, typename Finish>
__device__ __forceinline__ void multiply_rows(const IntegerProduct& p, i64 begin, i64 end,
                                              const Finish& finish) {
  int excess[Rows];
  for (i64 r = 0; r < p.m; ++r) excess[r] = excess_of(p.q + r * p.depth, p.depth);
  for (i64 n = begin; n < end; n += together) {
    const signed char* w[together];
    // Rows beyond the last one have dots that nothing reads.
    for (int j = 0; j < together; ++j) w[j] = p.w + (n + j < end ? n + j : end - 1) * p.depth;
    for (i64 r = 0; r < p.m; ++r) {
      int dots[together];
      dots_of(p.q + r * p.depth, p.depth, w, dots);
      for (int j = 0; j < together && n + j < end; ++j) finish(r, n + j, dots[j] - excess[r]);
    }
  }
}

#else

[[maybe_unused]] constexpr int warp_lanes = 32;
[[maybe_unused]] constexpr int block_warps = 8;
// Rows of w that a warp multiplies together.
[[maybe_unused]] constexpr int together = 2;

__device__ __forceinline__ int add_dots(int4 w, int4 q, int sum) {
  sum = __dp4a(w.x, q.x, sum);
  sum = __dp4a(w.y, q.y, sum);
  sum = __dp4a(w.z, q.z, sum);
  return __dp4a(w.w, q.w, sum);
}

// All rows of w, of which each warp of all blocks takes every so many pairs. This block is number
// `block` of `blocks`. There are at most Rows rows of q. The depth is a multiple of 16.
template <int Rows, typename Finish>
__device__ __forceinline__ void multiply_rows(const IntegerProduct& p, int block, int blocks,
                                              const Finish& finish) {
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const int m = static_cast<int>(p.m);
  const int packets = static_cast<int>(p.depth / 16);
  const auto* const q = reinterpret_cast<const int4*>(p.q);
  const int own_pair = block * block_warps + static_cast<int>(threadIdx.x) / warp_lanes;
  for (i64 n = own_pair * together; n < p.n; n += blocks * block_warps * together) {
    const i64 second = n + 1 < p.n ? n + 1 : n;
    const auto* const w0 = reinterpret_cast<const int4*>(p.w) + n * packets;
    const auto* const w1 = reinterpret_cast<const int4*>(p.w) + second * packets;
    int sums[Rows][together] = {};
#pragma unroll 4
    for (int i = lane; i < packets; i += warp_lanes) {
      const int4 first = w0[i], other = w1[i];
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        // Beyond the last row, dots that nothing reads.
        const int4 part = q[(r < m ? r : m - 1) * packets + i];
        sums[r][0] = add_dots(first, part, sums[r][0]);
        sums[r][1] = add_dots(other, part, sums[r][1]);
      }
    }
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
#pragma unroll
      for (int j = 0; j < together; ++j) {
        const int dot = warp_sum(sums[r][j]);
        if (lane == 0 && r < m && n + j < p.n) finish(r, n + j, dot);
      }
    }
  }
}

#endif

}  // namespace gridstride::tensor::integer_rows
