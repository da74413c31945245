/*
 * matmul_rows_threads.cuh — products of few rows with a matrix, in the CUDA form.
 *
 * Problem: that of matmul.cuh for few rows. The right operand is read once, at the speed of memory.
 * Mapping: a block of 256 threads has Rows rows and Depth elements along k. Each thread loads
 * InFlight packets of Width elements before it multiplies the first. Where packets lie along rows
 * of the right operand, Lanes threads have neighbouring packets of a row, and the others of the
 * block the rows below; where they lie along k, a warp has a column.
 * Bytes: the right operand once for each Rows rows of the left one. If k has several parts, their
 * sums are written, and added by add_parts().
 * Numerics: a thread adds up products in order of k; sums of threads, warps and parts are added in
 * an order that does not depend on the extents of the result.
 */
#pragma once

#include "kernels/tensor/matmul/matmul_threads.cuh"
#include "kernels/tensor/warp.cuh"

#if !defined(GS_BLOCK_FORM)
namespace gridstride::tensor::matmul {

constexpr int row_threads = 256;
constexpr int row_warps = row_threads / 32;

// Elements that are loaded at once: 16 bytes at a multiple of 16, or a single one.
template <typename Element, int Width>
struct Packet {
  static_assert(Width * sizeof(Element) == 16, "a packet is one load");
  uint4 bits;

  __device__ __forceinline__ void read(const Element* from) {
    bits = *reinterpret_cast<const uint4*>(from);
  }
  __device__ __forceinline__ void clear() { bits = {}; }
  __device__ __forceinline__ Element operator[](int index) const {
    Element element;
    memcpy(&element, reinterpret_cast<const char*>(&bits) + index * sizeof(Element),
           sizeof(Element));
    return element;
  }
};
template <typename Element>
struct Packet<Element, 1> {
  Element element;

  __device__ __forceinline__ void read(const Element* from) { element = *from; }
  __device__ __forceinline__ void clear() { memset(&element, 0, sizeof(Element)); }
  __device__ __forceinline__ Element operator[](int) const { return element; }
};

// The part of a product that a block computes.
struct RowBlock {
  i64 top;     // its first row
  i64 column;  // its first column
  i64 k;
  int depth;   // along k
  i64 result;  // the first row of the part's sums
};

// Neighbouring blocks read the same columns, then the next ones. `down` groups of rows.
template <int Rows, int Columns, int Depth, typename Product>
__device__ __forceinline__ RowBlock row_block(const Product& p, i64 tile, i64 down) {
  // Grids have less than 2^31 blocks.
  const auto across = static_cast<unsigned>((p.n + Columns - 1) / Columns);
  const auto groups = static_cast<unsigned>(down);
  const unsigned rest = static_cast<unsigned>(tile) / groups;
  const i64 part = rest / across;
  const i64 k = part * Depth;
  return {static_cast<i64>(static_cast<unsigned>(tile) % groups) * Rows,
          static_cast<i64>(rest % across) * Columns, k,
          k + Depth < p.k ? Depth : static_cast<int>(p.k - k), part * p.m};
}

// Converts Chunk elements along k of a block's rows, from `start` on, and stores them at place(row,
// k). Elements beyond the operand are zeros.
template <int Rows, int Chunk, typename V, typename Left, typename Right, typename Place>
__device__ __forceinline__ void stage_left(const Product<V, Left, Right>& p, const RowBlock& block,
                                           int start, V* left, const Place& place) {
  const auto* const source = p.a + block.top * p.a_m + (block.k + start) * p.a_k;
  // The values of the last chunk have been used.
  __syncthreads();
  // Registers are for packets.
#pragma unroll 2
  for (int e = static_cast<int>(threadIdx.x); e < Rows * Chunk; e += row_threads) {
    const int r = e / Chunk;
    const int k = e % Chunk;
    const bool is_inside = block.top + r < p.m && start + k < block.depth;
    left[place(r, k)] = is_inside ? Left{}(source[r * p.a_m + k * p.a_k]) : V(0);
  }
  __syncthreads();
}

// Packets along the rows of the right operand, which has whole packets.
template <int Rows, int Width, int Lanes, int InFlight, int Depth, typename V, typename Left,
          typename Right, typename Finish>
__device__ __forceinline__ void matmul_rows_across(const Product<V, Left, Right>& p,
                                                   const Finish& finish, i64 tile, i64 down) {
  using Element = typename Right::Element;
  constexpr int columns = Lanes * Width;
  constexpr int slots = row_threads / Lanes;  // rows of the right operand at once
  constexpr int chunk = slots * InFlight;
  __shared__ __align__(16) V left[chunk * Rows];
  const RowBlock block = row_block<Rows, columns, Depth>(p, tile, down);
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % Lanes;
  const i64 column = block.column + lane * Width;
  // A thread beyond the last column computes the last packet again.
  const int slot = thread / Lanes;
  const Element* right = p.b + (column < p.n ? column : p.n - Width) * p.b_n +
                         (block.k + slot) * p.b_k;

  // ---- sums of a thread ------------------------------------------------------------------------
  V sum[Rows][Width] = {};
#pragma unroll 1
  for (int start = 0; start < block.depth; start += chunk) {
    Packet<Element, Width> packet[InFlight];
#pragma unroll
    for (int u = 0; u < InFlight; ++u) {
      packet[u].clear();
      if (start + u * slots + slot < block.depth) packet[u].read(right);
      right += slots * p.b_k;
    }
    stage_left<Rows, chunk>(p, block, start, left, [](int r, int k) { return k * Rows + r; });
#pragma unroll
    for (int u = 0; u < InFlight; ++u) {
#pragma unroll
      for (int j = 0; j < Width; ++j) {
        const V y = Right{}(packet[u][j]);
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          sum[r][j] = add_product(left[(u * slots + slot) * Rows + r], y, sum[r][j]);
        }
      }
    }
  }

  // ---- sums of the block -----------------------------------------------------------------------
  __shared__ V warp_sums[row_warps][Rows][columns];
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
#pragma unroll
    for (int j = 0; j < Width; ++j) {
#pragma unroll
      for (int distance = 16; distance >= Lanes; distance /= 2) {
        sum[r][j] += exchange(sum[r][j], distance);
      }
      if (thread % 32 < Lanes) warp_sums[thread / 32][r][lane * Width + j] = sum[r][j];
    }
  }
  __syncthreads();
  for (int e = thread; e < Rows * columns; e += row_threads) {
    const int r = e / columns;
    const i64 n = block.column + e % columns;
    if (block.top + r >= p.m || n >= p.n) continue;
    V block_sum = warp_sums[0][r][e % columns];
#pragma unroll
    for (int warp = 1; warp < row_warps; ++warp) block_sum += warp_sums[warp][r][e % columns];
    finish(block.result + block.top + r, n, block_sum);
  }
}

// Packets along k, of which the right operand has whole ones: a warp has a column.
template <int Rows, int Width, int InFlight, int Depth, typename V, typename Left, typename Right,
          typename Finish>
__device__ __forceinline__ void matmul_rows_along(const Product<V, Left, Right>& p,
                                                  const Finish& finish, i64 tile, i64 down) {
  using Element = typename Right::Element;
  constexpr int chunk = 32 * Width * InFlight;
  // Lanes read neighbouring groups of the left operand's elements in shared memory.
  constexpr int group = Width < 4 ? Width : 4;
  __shared__ __align__(16) V left[Rows * chunk];
  const RowBlock block = row_block<Rows, row_warps, Depth>(p, tile, down);
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32;
  const i64 column = block.column + thread / 32;
  const Element* right =
      p.b + (column < p.n ? column : p.n - 1) * p.b_n + (block.k + lane * Width) * p.b_k;
  V sum[Rows] = {};
#pragma unroll 1
  for (int start = 0; start < block.depth; start += chunk) {
    Packet<Element, Width> packet[InFlight];
#pragma unroll
    for (int u = 0; u < InFlight; ++u) {
      packet[u].clear();
      if (start + (u * 32 + lane) * Width < block.depth) packet[u].read(right);
      right += 32 * Width * p.b_k;
    }
    stage_left<Rows, chunk>(p, block, start, left, [](int r, int k) {
      const int place =
          (k / (32 * Width) * (Width / group) + k % Width / group) * 32 + k / Width % 32;
      return r * chunk + place * group + k % group;
    });
#pragma unroll
    for (int u = 0; u < InFlight; ++u) {
#pragma unroll
      for (int j = 0; j < Width; ++j) {
        const V y = Right{}(packet[u][j]);
        const int place = (u * (Width / group) + j / group) * 32 + lane;
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          sum[r] = add_product(left[r * chunk + place * group + j % group], y, sum[r]);
        }
      }
    }
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const V column_sum = warp_sum(sum[r]);
    if (lane != 0 || block.top + r >= p.m || column >= p.n) continue;
    finish(block.result + block.top + r, column, column_sum);
  }
}

// Adds up the sums of the parts of k, in order, for all m x n elements of a result.
template <typename V, typename Sum, typename Finish>
__device__ __forceinline__ void add_parts(const Sum* sums, i64 parts, i64 m, i64 n,
                                          const Finish& finish, i64 tile) {
  const i64 element = tile * row_threads + threadIdx.x;
  if (element >= m * n) return;
  V sum = static_cast<V>(sums[element]);
#pragma unroll 8
  for (i64 part = 1; part < parts; ++part) sum += static_cast<V>(sums[part * m * n + element]);
  finish(element / n, element % n, sum);
}

}  // namespace gridstride::tensor::matmul
#endif
