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
 * an order that depends on Lanes, and so on whether the result is wide, but not on the device.
 */
#pragma once

#include "kernels/tensor/matmul/matmul_threads.cuh"
#include "kernels/tensor/warp.cuh"

#if !defined(GS_BLOCK_FORM)
namespace gridstride::tensor::matmul {

constexpr int row_threads = 256;
constexpr int row_warps = row_threads / 32;
// Loads of elements of the left operand at once: before packets, and beside them, which have most
// of the registers of a thread with a single row.
constexpr int loads_before = 8;
template <int Rows>
constexpr int loads_beside = Rows > 1 ? 8 : 2;

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

// Converts elements along k of a block's rows, from `start` on, and stores them at place(row, k): a
// Chunk of them, or `length` of a single row. Elements beyond the operand are zeros. AtOnce: loads
// of a thread before it stores the first. ByRow: neighbouring threads have neighbours along k,
// otherwise the rows of one k, so that they store in different banks.
template <int Rows, int Chunk, int AtOnce, bool ByRow, typename V, typename Left, typename Right,
          typename Place>
__device__ __forceinline__ void stage_left(const Product<V, Left, Right>& p, const RowBlock& block,
                                           int start, int length, V* left, const Place& place) {
  const auto* const source = p.a + block.top * p.a_m + (block.k + start) * p.a_k;
  // The values of the last chunk have been used.
  __syncthreads();
#pragma unroll AtOnce
  for (int e = static_cast<int>(threadIdx.x); e < (Rows > 1 ? Rows * Chunk : length);
       e += row_threads) {
    const int r = ByRow ? e / Chunk : e % Rows;
    const int k = ByRow ? e % Chunk : e / Rows;
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
  // The elements of a single row are loaded as packets are, so warps do not wait for each other.
  constexpr bool is_staged = Rows > 1;
  __shared__ __align__(16) V left[is_staged ? chunk * Rows : 1];
  const RowBlock block = row_block<Rows, columns, Depth>(p, tile, down);
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % Lanes;
  const i64 column = block.column + lane * Width;
  // A thread beyond the last column computes the last packet again.
  const int slot = thread / Lanes;
  const Element* right = p.b + (column < p.n ? column : p.n - Width) * p.b_n +
                         (block.k + slot) * p.b_k;
  const auto* row = p.a + block.top * p.a_m + (block.k + slot) * p.a_k;

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
    typename Left::Element element[InFlight] = {};
    if constexpr (is_staged) {
      stage_left<Rows, chunk, loads_beside<Rows>, false>(
          p, block, start, chunk, left, [](int r, int k) { return k * Rows + r; });
    } else {
#pragma unroll
      for (int u = 0; u < InFlight; ++u) {
        if (start + u * slots + slot < block.depth) element[u] = *row;
        row += slots * p.a_k;
      }
    }
#pragma unroll
    for (int u = 0; u < InFlight; ++u) {
#pragma unroll
      for (int j = 0; j < Width; ++j) {
        const V y = Right{}(packet[u][j]);
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          const V x = is_staged ? left[(u * slots + slot) * Rows + r] : Left{}(element[u]);
          sum[r][j] = add_product(x, y, sum[r][j]);
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
  // All of a part if it fits, so warps do not wait for each other between their chunks.
  constexpr bool is_whole = Rows * Depth * sizeof(V) <= 16384;
  constexpr int staged = is_whole ? Depth : chunk;
  __shared__ __align__(16) V left[Rows * staged];
  const RowBlock block = row_block<Rows, row_warps, Depth>(p, tile, down);
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32;
  const i64 column = block.column + thread / 32;
  const Element* right =
      p.b + (column < p.n ? column : p.n - 1) * p.b_n + (block.k + lane * Width) * p.b_k;
  const auto place = [](int r, int k) {
    const int at = (k / (32 * Width) * (Width / group) + k % Width / group) * 32 + k / Width % 32;
    return r * staged + at * group + k % group;
  };
  if constexpr (is_whole) {
    static_assert(Rows == 1, "whole parts of several rows are staged to the end");
    const int used = (block.depth + chunk - 1) / chunk * chunk;
    stage_left<Rows, Depth, loads_before, true>(p, block, 0, used, left, place);
  }
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
    if constexpr (!is_whole) {
      stage_left<Rows, chunk, loads_beside<Rows>, true>(p, block, start, chunk, left, place);
    }
    // Otherwise the compiler would use registers of packets for elements in shared memory.
    __syncwarp();
    const V* const own = left + (is_whole ? start : 0) + lane * group;
#pragma unroll
    for (int u = 0; u < InFlight; ++u) {
#pragma unroll
      for (int j = 0; j < Width; ++j) {
        const V y = Right{}(packet[u][j]);
        const int at = (u * (Width / group) + j / group) * 32 * group + j % group;
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          sum[r] = add_product(own[r * staged + at], y, sum[r]);
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
