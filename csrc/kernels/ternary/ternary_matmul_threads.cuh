/*
 * ternary_matmul_threads.cuh — ternary_matmul.cuh with CUDA threads, by dp4a.
 *
 * Mapping: a block keeps up to four rows of q in shared memory, and takes rows of weights in turn:
 * a warp has four of them at a time, and a lane every 32nd group of each. With one or two rows,
 * eight loads of 16 bytes are under way before the first is used. 16 elements of q for a field of
 * the codes lie beside those of the next group, so lanes read neighbours. Where the rows do not fit
 * in shared memory, they come in parts along k, again for each 32 rows of weights.
 * Bytes: codes once for four rows of q. q once for each block, from the second-level cache.
 * Numerics: exact, so the result does not depend on the number of blocks.
 */
#pragma once

#include "kernels/tensor/warp.cuh"
#include "kernels/ternary/ternary_matmul.cuh"

#if !defined(GS_BLOCK_FORM)
namespace gridstride::tensor::ternary_matmul {

[[maybe_unused]] constexpr int warp_lanes = 32;
[[maybe_unused]] constexpr int warps = GS_TERNARY_WARPS;
[[maybe_unused]] constexpr int block_threads = warp_lanes * warps;
[[maybe_unused]] constexpr int warp_weights = GS_TERNARY_WARP_WEIGHTS;  // rows
// Groups of a row of weights that a lane loads before it multiplies. With many rows of q,
// multiplications take so long that half of the loads hide.
template <int Rows>
constexpr int groups_ahead = Rows > 2 ? 1 : 2;

// Products with the fields of a mask.
__device__ __forceinline__ int add_dots(int4 q, uint4 codes, unsigned mask, int sum) {
  sum = __dp4a(q.x, static_cast<int>(codes.x & mask), sum);
  sum = __dp4a(q.y, static_cast<int>(codes.y & mask), sum);
  sum = __dp4a(q.z, static_cast<int>(codes.z & mask), sum);
  return __dp4a(q.w, static_cast<int>(codes.w & mask), sum);
}

__device__ __forceinline__ int add_elements(int4 q, int sum) {
  constexpr int ones = 0x01010101;
  return __dp4a(q.w, ones, __dp4a(q.z, ones, __dp4a(q.y, ones, __dp4a(q.x, ones, sum))));
}

// A part of rows of q in shared memory.
template <int Rows>
struct PartOfRows {
  int4* memory;
  int groups;  // for which there is memory

  __device__ __forceinline__ int4& at(int row, int field, int own_group) const {
    return memory[(row * fields + field) * groups + own_group];
  }

  // Copies groups from `first` on, and adds up the elements of this thread. Beyond the last row are
  // copies of it, whose dots nothing reads.
  __device__ __forceinline__ void fill(const TernaryProduct& p, i64 top, i64 first, int count,
                                       int (&sums)[Rows]) const {
#pragma unroll
    for (int row = 0; row < Rows; ++row) {
      const i64 own_row = top + row < p.m ? top + row : p.m - 1;
      const auto* const from = reinterpret_cast<const int4*>(p.q + own_row * p.depth +
                                                             first * group);
      for (int i = static_cast<int>(threadIdx.x); i < count * fields; i += block_threads) {
        const int4 elements = from[i];
        at(row, i % fields, i / fields) = elements;
        sums[row] = add_elements(elements, sums[row]);
      }
    }
  }
};

// Fields of codes that are multiplied without a shift: even ones as they are, odd ones as four
// times the code, each with a sum of its own. The sums of many rows have no registers for that.
template <int Rows>
constexpr int fields_at_once = Rows > 2 ? 1 : 2;

// Dots of rows of q and a warp's rows of weights.
template <int Rows>
using WarpDots = int[Rows][warp_weights][fields_at_once<Rows>];

// Groups from `first` on, one for each lane, which are all there unless is_last. Each lane's codes
// begin at its own group.
template <bool is_last, int Rows>
__device__ __forceinline__ void add_groups(const PartOfRows<Rows>& part, int first, int count,
                                           const uint4* const (&codes)[warp_weights],
                                           WarpDots<Rows>& dots) {
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  constexpr int count_ahead = groups_ahead<Rows>;
  uint4 packed[count_ahead][warp_weights];
#pragma unroll
  for (int ahead = 0; ahead < count_ahead; ++ahead) {
#pragma unroll
    for (int j = 0; j < warp_weights; ++j) {
      const bool is_there = !is_last || first + lane + ahead * warp_lanes < count;
      packed[ahead][j] = is_there ? codes[j][first + ahead * warp_lanes] : uint4{0, 0, 0, 0};
    }
  }
#pragma unroll
  for (int ahead = 0; ahead < count_ahead; ++ahead) {
    // Beyond the last group codes are 0.
    const int wanted = first + lane + ahead * warp_lanes;
    const int own_group = is_last && wanted >= count ? count - 1 : wanted;
#pragma unroll
    for (int field = 0; field < fields; ++field) {
      constexpr int at_once = fields_at_once<Rows>;
      constexpr int bits = at_once * field_bits;
      if (field > 0 && field % at_once == 0) {
#pragma unroll
        for (int j = 0; j < warp_weights; ++j) {
          const uint4 x = packed[ahead][j];
          packed[ahead][j] = {x.x >> bits, x.y >> bits, x.z >> bits, x.w >> bits};
        }
      }
      const unsigned mask = lowest_fields << field % at_once * field_bits;
#pragma unroll
      for (int row = 0; row < Rows; ++row) {
        const int4 q = part.at(row, field, own_group);
#pragma unroll
        for (int j = 0; j < warp_weights; ++j) {
          int& dot = dots[row][j][field % at_once];
          dot = add_dots(q, packed[ahead][j], mask, dot);
        }
      }
    }
  }
}

// Up to Rows rows of q from `top` on, of which `part_groups` groups fit in shared memory. The
// blocks with these rows are `blocks`, of which this is number `block`.
template <int Rows, typename Finish>
__device__ __forceinline__ void rows_dp4a(const TernaryProduct& p, i64 top, int block, int blocks,
                                          int part_groups, const Finish& finish) {
  extern __shared__ int4 ternary_rows[];
  __shared__ int row_sums[Rows];
  const PartOfRows<Rows> part{ternary_rows, part_groups};
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % warp_lanes;
  const int groups = static_cast<int>(p.depth / group);
  constexpr int tile = warps * warp_weights;  // rows of weights
  if (thread < Rows) row_sums[thread] = 0;
  __syncthreads();
  bool is_first = true;
  const int n = static_cast<int>(p.n);
  for (int begin = block * tile; begin < n; begin += blocks * tile) {
    const int first_row = begin + thread / warp_lanes * warp_weights;
    WarpDots<Rows> dots = {};
    for (int start = 0; start < groups; start += part_groups) {
      const int count = groups - start < part_groups ? groups - start : part_groups;
      // One part stays for all rows of weights.
      if (is_first || groups > part_groups) {
        int sums[Rows] = {};
        __syncthreads();
        part.fill(p, top, start, count, sums);
#pragma unroll
        for (int row = 0; row < Rows; ++row) {
          const int sum = warp_sum(sums[row]);
          if (is_first && lane == 0) atomicAdd(&row_sums[row], sum);
        }
        __syncthreads();
      }
      const uint4* codes[warp_weights];
#pragma unroll
      for (int j = 0; j < warp_weights; ++j) {
        // Rows beyond the last one have dots that nothing reads.
        const i64 row = first_row + j < n ? first_row + j : n - 1;
        codes[j] = reinterpret_cast<const uint4*>(p.codes) + row * groups + start + lane;
      }
      constexpr int step = groups_ahead<Rows> * warp_lanes;
      int first = 0;
      for (; first + step <= count; first += step) {
        add_groups<false>(part, first, count, codes, dots);
      }
      if (first < count) add_groups<true>(part, first, count, codes, dots);
    }
    is_first = false;
    // A lane finishes one dot.
    int own_dot = 0;
#pragma unroll
    for (int row = 0; row < Rows; ++row) {
#pragma unroll
      for (int j = 0; j < warp_weights; ++j) {
        int own = dots[row][j][0];
        if constexpr (fields_at_once<Rows> == 2) own += dots[row][j][1] / (1 << field_bits);
        const int dot = warp_sum(own);
        if (lane == row * warp_weights + j) own_dot = dot;
      }
    }
    const int row = lane / warp_weights;
    const int column = first_row + lane % warp_weights;
    if (row < Rows && top + row < p.m && column < n) {
      finish(top + row, column, own_dot - row_sums[row]);
    }
  }
}

}  // namespace gridstride::tensor::ternary_matmul
#endif
