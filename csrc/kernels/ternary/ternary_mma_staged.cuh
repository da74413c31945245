/*
 * ternary_mma_staged.cuh — products of many rows of 8-bit integers and packed ternary weights on
 * tensor cores, whose operands arrive while others are multiplied.
 *
 * Problem: that of ternary_matmul.cuh, for as many rows of q as a block takes.
 * Mapping: a block has 16 * high * down rows of q and, for each of its warps across, 8 * wide rows
 * of weights. A warp multiplies 16 * high rows by 8 * wide; k_warps of them share the depth: each
 * takes a group of 64 weights of a stage. Dynamic shared memory has Stages tiles of 128 elements
 * along k of both operands, which arrive by cp.async, the weights packed. A lane reads a word of
 * codes of a row of weights: the operands of two instructions, with the elements along k in their
 * order in memory. The operands of the next instructions are read while tensor cores multiply. Sums
 * of warps that share the depth are added in shared memory.
 * Bytes: codes once for each block's rows of q, q once for each block's rows of weights, from the
 * second-level cache. Tiles with four times as many rows of weights as of q read the least.
 * Numerics: exact, for rows of fewer than 2^18 elements.
 */
#pragma once

#include "kernels/tensor/matmul/matmul_mma_staged.cuh"
#include "kernels/ternary/ternary_mma.cuh"

#if !defined(GS_BLOCK_FORM)
namespace gridstride::tensor::ternary_matmul {

[[maybe_unused]] constexpr int stage_depth = 128;  // elements along k
[[maybe_unused]] constexpr int stage_groups = stage_depth / group;

// The packed weights of a stage, of `columns` rows: what a thread copies, and where a lane reads.
template <int columns>
struct StagedCodes {
  static constexpr int pitch = stage_groups * group_bytes;
  static constexpr int size = columns * pitch;
  static constexpr int apart = block_threads / stage_groups;  // rows between copies of a thread
  static constexpr int copies = (columns + apart - 1) / apart;

  const unsigned char* source[copies];
  unsigned target;
  int own_group;
  int own_row;

  // Lanes that read a group of 8 rows meet no bank twice.
  static __device__ __forceinline__ int place(int row, int group_of_stage) {
    return row * pitch + (group_of_stage ^ (row >> 2 & 1)) * group_bytes;
  }

  // Rows beyond the last one get its codes, for sums that nothing reads.
  __device__ __forceinline__ StagedCodes(const TernaryProduct& p, int first_row) {
    own_group = static_cast<int>(threadIdx.x) % stage_groups;
    own_row = static_cast<int>(threadIdx.x) / stage_groups;
    target = place(own_row, own_group);
    const int last = static_cast<int>(p.n) - 1;
#pragma unroll
    for (int i = 0; i < copies; ++i) {
      const int wanted = first_row + own_row + i * apart;
      source[i] = p.codes + (wanted < last ? wanted : last) * (p.depth / fields) +
                  own_group * group_bytes;
    }
  }

  // Starts to fill the next stage, which has `groups` of the weights' groups.
  __device__ __forceinline__ void fill(unsigned stage, int groups) {
    static_assert(apart % 8 == 0, "copies of a thread are placed alike");
#pragma unroll
    for (int i = 0; i < copies; ++i) {
      if ((i + 1) * apart <= columns || own_row + i * apart < columns) {
        const unsigned to = stage + target + i * apart * pitch;
        // q has zeros for groups beyond the depth, so their weights may be any.
        if (groups >= stage_groups || own_group < groups) copy_chunk(to, source[i]);
      }
      source[i] += pitch;
    }
  }
};

template <typename Multiply, int high, int wide, int down, int k_warps, int Stages, typename Finish>
__device__ __forceinline__ void ternary_mma_staged(const TernaryProduct& p, const Finish& finish) {
  constexpr int across = warps / down / k_warps;
  constexpr int rows = 16 * high * down;
  constexpr int warp_columns = 8 * wide;
  constexpr int columns = warp_columns * across;
  // Instructions along k of a stage for each of the warps that share the depth.
  constexpr int steps = 4 / k_warps;
  static_assert(steps >= 2, "a warp has a whole group of a stage");
  using Rows = matmul::StagedTile<signed char, matmul::Layout::along, rows, true>;
  using Codes = StagedCodes<columns>;
  constexpr int stage_size = Rows::size + Codes::size;
  extern __shared__ __align__(128) unsigned char ternary_stages[];
  const unsigned memory = shared_address(ternary_stages);

  // ---- the block's tile, and the warp's part -----------------------------------------------
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32;
  const int k_warp = thread / 32 % k_warps;
  const int warp_row = thread / 32 / k_warps % down * (16 * high);
  const int warp_column = thread / 32 / k_warps / down * warp_columns;
  const TernaryTile tile = tile_of<rows, columns>(p);
  const int depth = static_cast<int>(p.depth);
  Rows q(p.q + tile.top * p.depth, p.depth, 1, warp_row);
  Codes codes(p, tile.begin);
  // The first elements along k of a warp: two steps have a group.
#pragma unroll
  for (int j = 0; j < 4; ++j) q.offset[j] ^= k_warp * group;
  const int own_codes = Rows::size + Codes::place(warp_column + lane / 4, k_warp) + lane % 4 * 4;

  // ---- copies ------------------------------------------------------------------------------
  const int stages = (depth + stage_depth - 1) / stage_depth;
  int copied = 0;
  unsigned write = 0;
  const auto commit = [&]() {
    commit_copies();
    ++copied;
    write = write == (Stages - 1) * stage_size ? 0 : write + stage_size;
  };
  const auto fill = [&]() {
    if (copied < stages) {
      const int rest = depth - copied * stage_depth;
      q.fill(memory + write, tile.rows, rest < stage_depth ? rest : stage_depth, p.q);
      codes.fill(memory + write + Rows::size, rest / group);
    }
    // An empty group where there is no such stage: groups are counted.
    commit();
  };
#pragma unroll 1
  for (int s = 0; s < Stages - 1; ++s) fill();

  // ---- multiplications ---------------------------------------------------------------------
  unsigned sum[high][wide][4] = {};
  unsigned left[2][high][4];
  unsigned next_codes[wide];
  unsigned weights[wide];
  unsigned read = 0;
  // The operands of a step; two steps have the same word of codes.
  const auto load = [&](int step) {
#pragma unroll
    for (int i = 0; i < high; ++i) q.read(memory + read, i, step, left[step % 2][i]);
    if (step % 2 != 0) return;
    // The group of the step: the other one of a row is 16 bytes before or behind.
    const unsigned char* const from = ternary_stages + read + (own_codes ^ step / 2 * group_bytes);
#pragma unroll
    for (int c = 0; c < wide; ++c) {
      next_codes[c] = *reinterpret_cast<const unsigned*>(from + c * 8 * Codes::pitch);
    }
  };
  const auto multiply = [&](int step) {
#pragma unroll
    for (int c = 0; c < wide; ++c) {
      const unsigned low = weights_of(weights[c], step % 2 * 2);
      const unsigned above = weights_of(weights[c], step % 2 * 2 + 1);
#pragma unroll
      for (int i = 0; i < high; ++i) Multiply{}(sum[i][c], left[step % 2][i], low, above);
    }
  };
  wait_for_copies<Stages - 2>();
  __syncthreads();
  load(0);
  // `refill` gets the stage before this one, which no warp reads any more.
  const auto multiply_stage = [&](const auto& refill) {
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      if (step % 2 == 0) {
#pragma unroll
        for (int c = 0; c < wide; ++c) weights[c] = signed_fields(next_codes[c]);
      }
      if (step == steps - 1) {
        // The next stage is there, and the last one's operands are in registers.
        wait_for_copies<Stages - 2>();
        __syncthreads();
        read = read == (Stages - 1) * stage_size ? 0 : read + stage_size;
      }
      // Behind the last stage these are old values, which nothing uses.
      load((step + 1) % steps);
      if (step == 0) refill();
      multiply(step);
    }
  };
  int stage = 0;
  // With the conditions of edges, copies are 50 instructions more.
  if (tile.rows == rows) {
#pragma unroll 1
    for (const int whole = depth / stage_depth; copied < whole; ++stage) {
      multiply_stage([&]() {
        q.template copy_whole<0, Rows::copies>(memory + write);
        codes.fill(memory + write + Rows::size, stage_groups);
        commit();
      });
    }
  }
#pragma unroll 1
  for (; stage < stages; ++stage) multiply_stage(fill);

  // ---- sums of warps that share the depth, and results -------------------------------------
  // Rows of sums that lanes store together lie in different banks.
  constexpr int pitch = columns + 8;
  static_assert(columns % 32 == 0 || columns % 32 == 16, "rows are 8 or 24 banks apart");
  unsigned* const sums = reinterpret_cast<unsigned*>(ternary_stages);
  wait_for_copies();
  __syncthreads();
#pragma unroll
  for (int i = 0; i < high; ++i) {
#pragma unroll
    for (int c = 0; c < wide; ++c) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = k_warp * rows + warp_row + i * 16 + half * 8 + lane / 4;
        const int column = warp_column + c * 8 + lane % 4 * 2;
        *reinterpret_cast<uint2*>(sums + row * pitch + column) = {sum[i][c][2 * half],
                                                                  sum[i][c][2 * half + 1]};
      }
    }
  }
  __syncthreads();
  const int rest_columns = static_cast<int>(p.n) - tile.begin;
  const int used_columns = rest_columns < columns ? rest_columns : columns;
  for (int column = lane; column < used_columns; column += 32) {
#pragma unroll 4
    for (int row = thread / 32; row < tile.rows; row += warps) {
      unsigned total = sums[row * pitch + column];
#pragma unroll
      for (int w = 1; w < k_warps; ++w) total += sums[(w * rows + row) * pitch + column];
      finish(tile.top + row, tile.begin + column, static_cast<int>(total) / weight_unit);
    }
  }
}

}  // namespace gridstride::tensor::ternary_matmul
#endif
