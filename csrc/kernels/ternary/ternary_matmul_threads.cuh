/*
 * ternary_matmul_threads.cuh — ternary_matmul.cuh with CUDA threads, by dp4a.
 *
 * Mapping: a block of 256 threads keeps up to four rows of q in shared memory, and takes rows of
 * weights in turn, 32 at a time: a warp has four of them, and a lane every 32nd group of each. Eight
 * loads of 16 bytes are under way before the first is used. A part of 16 elements of q lies beside
 * the same part of the next group, so lanes read neighbours. Where the rows do not fit in shared
 * memory, they come in parts along k, again for each 32 rows of weights.
 * Bytes: codes once for four rows of q. q once for each block, from the second-level cache.
 * Numerics: exact, so the result does not depend on the number of blocks.
 */
#pragma once

#include "kernels/tensor/warp.cuh"
#include "kernels/ternary/ternary_matmul.cuh"

#if !defined(GS_BLOCK_FORM)
namespace gridstride::tensor::ternary_matmul {

[[maybe_unused]] constexpr int warp_lanes = 32;
[[maybe_unused]] constexpr int dp4a_warps = 8;
[[maybe_unused]] constexpr int dp4a_threads = warp_lanes * dp4a_warps;
[[maybe_unused]] constexpr int warp_weights = 4;  // rows
// Groups of a row of weights that a lane loads before it multiplies.
[[maybe_unused]] constexpr int groups_ahead = 2;

__device__ __forceinline__ int add_dots(int4 q, uint4 codes, int sum) {
  sum = __dp4a(q.x, static_cast<int>(codes.x & lowest_fields), sum);
  sum = __dp4a(q.y, static_cast<int>(codes.y & lowest_fields), sum);
  sum = __dp4a(q.z, static_cast<int>(codes.z & lowest_fields), sum);
  return __dp4a(q.w, static_cast<int>(codes.w & lowest_fields), sum);
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
      for (int i = static_cast<int>(threadIdx.x); i < count * fields; i += dp4a_threads) {
        const int4 elements = from[i];
        at(row, i % fields, i / fields) = elements;
        sums[row] = add_elements(elements, sums[row]);
      }
    }
  }
};

// The dots of a warp's rows of weights, whose codes begin at `codes`, with a part of q.
template <int Rows>
__device__ __forceinline__ void add_part(const PartOfRows<Rows>& part, int count,
                                         const uint4* const (&codes)[warp_weights],
                                         int (&dots)[Rows][warp_weights]) {
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  for (int start = lane; start < count; start += groups_ahead * warp_lanes) {
    uint4 packed[groups_ahead][warp_weights];
#pragma unroll
    for (int ahead = 0; ahead < groups_ahead; ++ahead) {
#pragma unroll
      for (int j = 0; j < warp_weights; ++j) {
        const int own_group = start + ahead * warp_lanes;
        packed[ahead][j] = own_group < count ? codes[j][own_group] : uint4{0, 0, 0, 0};
      }
    }
#pragma unroll
    for (int ahead = 0; ahead < groups_ahead; ++ahead) {
      // Beyond the last group codes are 0.
      const int wanted = start + ahead * warp_lanes;
      const int own_group = wanted < count ? wanted : count - 1;
#pragma unroll
      for (int field = 0; field < fields; ++field) {
#pragma unroll
        for (int row = 0; row < Rows; ++row) {
          const int4 q = part.at(row, field, own_group);
#pragma unroll
          for (int j = 0; j < warp_weights; ++j) {
            dots[row][j] = add_dots(q, packed[ahead][j], dots[row][j]);
          }
        }
#pragma unroll
        for (int j = 0; j < warp_weights; ++j) {
          uint4& codes_left = packed[ahead][j];
          codes_left = {codes_left.x >> field_bits, codes_left.y >> field_bits,
                        codes_left.z >> field_bits, codes_left.w >> field_bits};
        }
      }
    }
  }
}

// Up to Rows rows of q from `top` on, of which `part_groups` groups fit in shared memory. The blocks
// with these rows are `blocks`, of which this is number `block`.
template <int Rows, typename Finish>
__device__ __forceinline__ void rows_dp4a(const TernaryProduct& p, i64 top, i64 block,
                                              i64 blocks, int part_groups, const Finish& finish) {
  extern __shared__ int4 ternary_rows[];
  __shared__ int row_sums[Rows];
  const PartOfRows<Rows> part{ternary_rows, part_groups};
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % warp_lanes;
  const i64 groups = p.depth / group;
  constexpr int tile = dp4a_warps * warp_weights;  // rows of weights
  if (thread < Rows) row_sums[thread] = 0;
  __syncthreads();
  int own_sums[Rows] = {};
  bool is_first = true;
  for (i64 begin = block * tile; begin < p.n; begin += blocks * tile) {
    const i64 first_row = begin + thread / warp_lanes * warp_weights;
    int dots[Rows][warp_weights] = {};
    for (i64 first = 0; first < groups; first += part_groups) {
      const int count = static_cast<int>(groups - first < part_groups ? groups - first
                                                                      : part_groups);
      // One part stays for all rows of weights.
      if (is_first || groups > part_groups) {
        int sums[Rows] = {};
        __syncthreads();
        part.fill(p, top, first, count, sums);
        __syncthreads();
#pragma unroll
        for (int row = 0; row < Rows; ++row) own_sums[row] += is_first ? sums[row] : 0;
      }
      const uint4* codes[warp_weights];
#pragma unroll
      for (int j = 0; j < warp_weights; ++j) {
        // Rows beyond the last one have dots that nothing reads.
        const i64 row = first_row + j < p.n ? first_row + j : p.n - 1;
        codes[j] = reinterpret_cast<const uint4*>(p.codes) + row * groups + first;
      }
      add_part(part, count, codes, dots);
    }
    if (is_first) {
#pragma unroll
      for (int row = 0; row < Rows; ++row) {
        const int sum = warp_sum(own_sums[row]);
        if (lane == 0) atomicAdd(&row_sums[row], sum);
      }
      __syncthreads();
      is_first = false;
    }
    // A lane finishes one dot.
    int own_dot = 0;
#pragma unroll
    for (int row = 0; row < Rows; ++row) {
#pragma unroll
      for (int j = 0; j < warp_weights; ++j) {
        const int dot = warp_sum(dots[row][j]);
        if (lane == row * warp_weights + j) own_dot = dot;
      }
    }
    const int row = lane / warp_weights;
    const i64 column = first_row + lane % warp_weights;
    if (row < Rows && top + row < p.m && column < p.n) {
      finish(top + row, column, own_dot - row_sums[row]);
    }
  }
}

}  // namespace gridstride::tensor::ternary_matmul
#endif
