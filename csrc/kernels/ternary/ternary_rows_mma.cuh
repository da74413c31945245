/*
 * ternary_rows_mma.cuh — products of some rows of 8-bit integers and packed ternary weights on tensor
 * cores.
 *
 * Problem: that of ternary_matmul.cuh, for up to some 64 rows of q, where weights take most of the
 * time and there are few of them for each multiprocessor.
 * Mapping: a block has 8 warps, of which k_warps share the depth and the others have 16 rows of
 * weights each. The elements along k that an instruction multiplies are in any order, as long as both
 * operands have the same: a lane loads the 16 bytes of a whole group of 64 weights from memory to
 * registers, and takes from q the elements that belong to them. q lies in shared memory in this
 * order, 16 elements for each lane, so that a warp reads 512 consecutive bytes. Eight loads of codes
 * of a lane are under way at once, and begin before q has arrived. Sums of warps that share the depth
 * are added in shared memory.
 * Bytes: codes once for each 16 or 32 rows of q. q once for each block, from the second-level cache.
 * Numerics: exact, for rows of fewer than 2^18 elements.
 */
#pragma once

#include "kernels/tensor/matmul/tensor_core.cuh"
#include "kernels/ternary/ternary_weights.cuh"

#if !defined(GS_BLOCK_FORM)
namespace gridstride::tensor::ternary_matmul {

[[maybe_unused]] constexpr int rows_warps = 8;
[[maybe_unused]] constexpr int rows_threads = 32 * rows_warps;
// Groups that the four lanes of a row of weights load at once.
[[maybe_unused]] constexpr int chunk_groups = 4;
[[maybe_unused]] constexpr int chunk = chunk_groups * group;  // elements
[[maybe_unused]] constexpr int chunks_ahead = 4;
// An instruction has 8 rows of weights and 16 rows of q.
[[maybe_unused]] constexpr int wide = 2;
[[maybe_unused]] constexpr int warp_columns = 8 * wide;

// Shared memory for a part of 16 * high rows of q.
template <int high>
struct RowsMemory {
  static constexpr int rows = 16 * high;
  unsigned char* memory;

  // Packets of 16 bytes: `packet` is the number of 16 elements in a chunk. The permutation keeps
  // both copies of neighbouring packets and reads of a warp free of bank conflicts.
  static __device__ __forceinline__ int place(int own_chunk, int field, int row, int lane_group) {
    const int line = (own_chunk * fields + field) * 2 * high + row / 8;
    return (line * 32 + ((row % 8 * chunk_groups + lane_group) ^ 2 * field)) * group_bytes;
  }

  // Starts to copy chunks from k on; beyond the last row and the depth are zeros.
  __device__ __forceinline__ void fill(const TernaryProduct& p, i64 top, i64 k, int chunks) const {
    constexpr int packet = 16;
    constexpr int packets = chunk / packet;
    const int count = chunks * packets;
    for (int i = static_cast<int>(threadIdx.x); i < rows * count; i += rows_threads) {
      const int row = i / count;
      const int own = i % count;
      const i64 first = k + own * packet;
      const bool is_there = top + row < p.m && first < p.depth;
      const int at = place(own / packets, own % fields, row, own / fields % chunk_groups);
      copy_chunk(memory + at, is_there ? p.q + (top + row) * p.depth + first : p.q,
                 is_there ? packet : 0);
    }
    commit_copies();
  }

  // The elements of two rows, 8 apart, that belong to a field of the lane's groups.
  __device__ __forceinline__ void read(int own_chunk, int field, int step, uint4 (&to)[2]) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at = place(own_chunk, field, step * 16 + half * 8 + lane / 4, lane % 4);
      to[half] = *reinterpret_cast<const uint4*>(memory + at);
    }
  }
};

// Up to 16 * high rows of q, of which `part` elements along k fit in shared memory.
template <typename Multiply, int high, int k_warps, typename Finish>
__device__ __forceinline__ void rows_mma(const TernaryProduct& p, i64 part,
                                                   const Finish& finish) {
  extern __shared__ uint4 ternary_memory[];
  using Memory = RowsMemory<high>;
  const Memory memory{reinterpret_cast<unsigned char*>(ternary_memory)};
  constexpr int columns = warp_columns * (rows_warps / k_warps);
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32;
  const int k_warp = thread / 32 % k_warps;
  const int column_warp = thread / 32 / k_warps;
  const i64 down = (p.m + Memory::rows - 1) / Memory::rows;
  const i64 top = blockIdx.x % down * Memory::rows;
  const i64 begin = blockIdx.x / down * columns;
  const i64 groups = p.depth / group;

  // Rows of weights beyond the last one have sums that nothing reads.
  const uint4* codes[wide];
#pragma unroll
  for (int c = 0; c < wide; ++c) {
    const i64 wanted = begin + column_warp * warp_columns + c * 8 + lane / 4;
    const i64 row = wanted < p.n ? wanted : p.n - 1;
    codes[c] = reinterpret_cast<const uint4*>(p.codes) + row * groups;
  }
  uint4 packed[chunks_ahead][wide];
  // The codes of the chunks that this warp multiplies next; q has zeros for those beyond the depth.
  const auto load = [&](i64 first_chunk, int own_chunk, int chunks) {
#pragma unroll
    for (int ahead = 0; ahead < chunks_ahead; ++ahead) {
      const i64 wanted = (first_chunk + own_chunk + ahead * k_warps) * chunk_groups + lane % 4;
      const bool is_there = own_chunk + ahead * k_warps < chunks && wanted < groups;
#pragma unroll
      for (int c = 0; c < wide; ++c) {
        packed[ahead][c] = is_there ? codes[c][wanted] : uint4{0, 0, 0, 0};
      }
    }
  };
  unsigned sum[high][wide][4] = {};
  const auto multiply = [&](int own_chunk, const uint4 (&codes_of_chunk)[wide]) {
    uint4 weights[wide];
#pragma unroll
    for (int c = 0; c < wide; ++c) {
      const uint4 x = codes_of_chunk[c];
      weights[c] = {signed_fields(x.x), signed_fields(x.y), signed_fields(x.z), signed_fields(x.w)};
    }
#pragma unroll
    for (int field = 0; field < fields; ++field) {
#pragma unroll
      for (int step = 0; step < high; ++step) {
        uint4 q[2];
        memory.read(own_chunk, field, step, q);
        const unsigned first[4] = {q[0].x, q[1].x, q[0].y, q[1].y};
        const unsigned second[4] = {q[0].z, q[1].z, q[0].w, q[1].w};
#pragma unroll
        for (int c = 0; c < wide; ++c) {
          Multiply{}(sum[step][c], first, weights_of(weights[c].x, field),
                     weights_of(weights[c].y, field));
          Multiply{}(sum[step][c], second, weights_of(weights[c].z, field),
                     weights_of(weights[c].w, field));
        }
      }
    }
  };

  for (i64 k = 0; k < p.depth; k += part) {
    const i64 rest = p.depth - k < part ? p.depth - k : part;
    const int chunks = static_cast<int>((rest + chunk - 1) / chunk);
    if (k > 0) __syncthreads();
    memory.fill(p, top, k, chunks);
    load(k / chunk, k_warp, chunks);
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    for (int own_chunk = k_warp; own_chunk < chunks; own_chunk += chunks_ahead * k_warps) {
#pragma unroll
      for (int ahead = 0; ahead < chunks_ahead; ++ahead) {
        if (own_chunk + ahead * k_warps >= chunks) break;
        multiply(own_chunk + ahead * k_warps, packed[ahead]);
      }
      load(k / chunk, own_chunk + chunks_ahead * k_warps, chunks);
    }
  }

  // The sums of warps that share the depth, in the memory of q.
  unsigned* const sums = reinterpret_cast<unsigned*>(ternary_memory);
  constexpr int warp_sums = Memory::rows * warp_columns;
  __syncthreads();
#pragma unroll
  for (int step = 0; step < high; ++step) {
#pragma unroll
    for (int c = 0; c < wide; ++c) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = step * 16 + i / 2 * 8 + lane / 4;
        const int column = c * 8 + lane % 4 * 2 + i % 2;
        sums[thread / 32 * warp_sums + row * warp_columns + column] = sum[step][c][i];
      }
    }
  }
  __syncthreads();
  for (int i = thread; i < Memory::rows * columns; i += rows_threads) {
    const int row = i / columns;
    const int column = i % columns;
    if (top + row >= p.m || begin + column >= p.n) continue;
    const unsigned* const own = sums + column / warp_columns * k_warps * warp_sums +
                                row * warp_columns + column % warp_columns;
    unsigned total = 0;
#pragma unroll
    for (int w = 0; w < k_warps; ++w) total += own[w * warp_sums];
    finish(top + row, begin + column, static_cast<int>(total) / weight_unit);
  }
}

}  // namespace gridstride::tensor::ternary_matmul
#endif
