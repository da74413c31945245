/*
 * ternary_mma.cuh — products of 8-bit integers and packed ternary weights on tensor cores.
 *
 * Problem: that of ternary_matmul.cuh, for up to 32 rows of q.
 * Mapping: an instruction has 16 rows of q and 8 rows of weights. A block has 16 * high rows of q.
 * Of its warps, k_warps share the depth, and the others have 8 * wide rows of weights each. Only q
 * goes through shared memory, so there are no barriers but those of its parts. The elements along k
 * that an instruction multiplies are in any order, as long as both operands have the same: a lane
 * loads the 16 bytes of a whole group of 64 weights from memory to registers, and takes from q the
 * elements that belong to them. q lies in shared memory in this order, as the registers of an
 * instruction for each lane, so that a warp reads 512 bytes at once. The first loads of codes begin
 * before those of q. Sums of warps that share the depth are added in shared memory. Neighbouring
 * blocks compute squares of the result.
 * Bytes: codes once for each block's rows of q, q once for each block's rows of weights, mostly
 * from the second-level cache.
 * Numerics: exact, for rows of fewer than 2^18 elements.
 */
#pragma once

#include "kernels/ternary/ternary_weights.cuh"

#if !defined(GS_BLOCK_FORM)
namespace gridstride::tensor::ternary_matmul {

// Groups that the four lanes of a row of weights load at once.
[[maybe_unused]] constexpr int chunk_groups = 4;
[[maybe_unused]] constexpr int chunk = GS_TERNARY_CHUNK;  // elements
static_assert(chunk == chunk_groups * group, "a chunk is what four lanes load");

// Shared memory for a part of 16 * high rows of q.
template <int high>
struct RowsMemory {
  static constexpr int rows = 16 * high;
  static constexpr int packet = 16;                      // elements
  static constexpr int chunk_lines = fields * high * 2;  // 512 bytes, a packet for each lane
  uint4* memory;

  // The permutation keeps copies of neighbouring packets free of bank conflicts, too.
  static __device__ __forceinline__ int place(int own_chunk, int field, int step, int lane) {
    return (own_chunk * chunk_lines + (field * high + step) * 2) * 32 + (lane ^ 2 * field);
  }

  // Copies chunks from k on; beyond the last row and the depth are zeros. A warp copies pairs of
  // rows.
  __device__ __forceinline__ void fill(const TernaryProduct& p, int top, int k, int chunks) const {
    constexpr int together = 4;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int row = static_cast<int>(threadIdx.x) / 32;
    const int packets = chunks * (chunk / packet);
    const int rest = static_cast<int>(p.depth) - k;
#pragma unroll
    for (int step = 0; step < high; ++step) {
      const i64 first = top + step * 16 + row;
      const signed char* const from = p.q + first * p.depth + k;
      const bool is_row[2] = {first < p.m, first + 8 < p.m};
      for (int start = lane; start < packets; start += 32 * together) {
        uint4 x[together][2];
#pragma unroll
        for (int i = 0; i < together; ++i) {
          const int at = (start + 32 * i) * packet;
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const bool is_there = is_row[half] && at < rest;
            const auto* const source = from + half * 8 * p.depth + at;
            x[i][half] = is_there ? *reinterpret_cast<const uint4*>(source) : uint4{0, 0, 0, 0};
          }
        }
#pragma unroll
        for (int i = 0; i < together; ++i) {
          const int own = start + 32 * i;
          if (own >= packets) break;
          const int field = own % fields;
          const int reader = row * chunk_groups + own / fields % chunk_groups;
          uint4* const to = memory + place(own / (chunk / packet), field, step, reader);
          to[0] = {x[i][0].x, x[i][1].x, x[i][0].y, x[i][1].y};
          to[32] = {x[i][0].z, x[i][1].z, x[i][0].w, x[i][1].w};
        }
      }
    }
  }

  // The left operands of two instructions, of rows from 16 * step on.
  __device__ __forceinline__ void read(int own_chunk, int field, int step, unsigned (&first)[4],
                                       unsigned (&second)[4]) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const uint4* const from = memory + place(own_chunk, field, step, lane);
    const uint4 x = from[0];
    const uint4 y = from[32];
    first[0] = x.x, first[1] = x.y, first[2] = x.z, first[3] = x.w;
    second[0] = y.x, second[1] = y.y, second[2] = y.z, second[3] = y.w;
  }
};

// The tile of a block.
struct TernaryTile {
  int top;
  int begin;
  int rows;  // of q
};

// Bands of 8 tiles down: blocks that run together share rows of q and of weights.
template <int rows, int columns>
__device__ __forceinline__ TernaryTile tile_of(const TernaryProduct& p) {
  const int m = static_cast<int>(p.m);
  const int down = (m + rows - 1) / rows;
  const int across = (static_cast<int>(p.n) + columns - 1) / columns;
  const int block = static_cast<int>(blockIdx.x);
  const int band = block / (8 * across) * 8;
  const int in_band = block % (8 * across);
  const int band_rows = down - band < 8 ? down - band : 8;
  const int top = (band + in_band % band_rows) * rows;
  return {top, in_band / band_rows * columns, m - top < rows ? m - top : rows};
}

// Up to 16 * high rows of q, of which `part` elements along k fit in shared memory.
template <typename Multiply, int high, int wide, int k_warps, typename Finish>
__device__ __forceinline__ void ternary_mma(const TernaryProduct& p, int part,
                                         const Finish& finish) {
  extern __shared__ uint4 ternary_memory[];
  using Memory = RowsMemory<high>;
  const Memory memory{ternary_memory};
  // Chunks whose codes are loaded before the first is multiplied: eight loads at once.
  constexpr int chunks_ahead = 8 / wide;
  constexpr int warp_columns = 8 * wide;
  constexpr int columns = warp_columns * (warps / k_warps);
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32;
  const int k_warp = thread / 32 % k_warps;
  const int column_warp = thread / 32 / k_warps;
  const int n = static_cast<int>(p.n);
  const auto [top, begin, rows] = tile_of<Memory::rows, columns>(p);
  const int depth = static_cast<int>(p.depth);
  const int groups = depth / group;

  const auto* const codes = reinterpret_cast<const uint4*>(p.codes) +
                            static_cast<i64>(begin) * groups;
  const int rest_columns = n - begin < columns ? n - begin : columns;
  int first_group[wide];
#pragma unroll
  for (int c = 0; c < wide; ++c) {
    // Rows of weights beyond the last one have sums that nothing reads.
    const int wanted = column_warp * warp_columns + c * 8 + lane / 4;
    first_group[c] = (wanted < rest_columns ? wanted : rest_columns - 1) * groups + lane % 4;
  }
  uint4 packed[chunks_ahead][wide];
  // The codes of chunks that this warp multiplies next. q has zeros for those beyond the depth.
  const auto load = [&](int first_chunk, int end_chunk) {
#pragma unroll
    for (int ahead = 0; ahead < chunks_ahead; ++ahead) {
      const int own_chunk = first_chunk + ahead * k_warps;
      const int own_group = own_chunk * chunk_groups;
      const bool is_there = own_chunk < end_chunk && own_group + lane % 4 < groups;
#pragma unroll
      for (int c = 0; c < wide; ++c) {
        packed[ahead][c] = is_there ? codes[first_group[c] + own_group] : uint4{0, 0, 0, 0};
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
        unsigned first[4];
        unsigned second[4];
        memory.read(own_chunk, field, step, first, second);
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

  for (int k = 0; k < depth; k += part) {
    const int rest = depth - k < part ? depth - k : part;
    const int first_chunk = k / chunk;
    const int chunks = (rest + chunk - 1) / chunk;
    load(first_chunk + k_warp, first_chunk + chunks);
    if (k > 0) __syncthreads();
    memory.fill(p, top, k, chunks);
    __syncthreads();
#pragma unroll 1
    for (int own_chunk = k_warp; own_chunk < chunks; own_chunk += chunks_ahead * k_warps) {
#pragma unroll
      for (int ahead = 0; ahead < chunks_ahead; ++ahead) {
        if (own_chunk + ahead * k_warps >= chunks) break;
        multiply(own_chunk + ahead * k_warps, packed[ahead]);
      }
      load(first_chunk + own_chunk + chunks_ahead * k_warps, first_chunk + chunks);
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
  for (int i = thread; i < Memory::rows * columns; i += block_threads) {
    const int row = i / columns;
    const int column = i % columns;
    if (row >= rows || begin + column >= n) continue;
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
