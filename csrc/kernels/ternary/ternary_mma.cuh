/*
 * ternary_mma.cuh — products of 8-bit integers and packed ternary weights on tensor cores.
 *
 * Problem: that of ternary_matmul.cuh, for many rows of q, by the kernel of matmul_mma.cuh.
 * Mapping: q is its left operand. A tile of the right one has the 16 bytes of a group of 64 weights
 * for each row of codes, as they are in memory, so shared memory holds a quarter of the bytes and a
 * warp reads 32 consecutive words. Each word has, in a field of each byte, the weights that a lane
 * feeds to a tensor core in four instructions, as weights_of() of ternary_weights.cuh.
 * Bytes: codes once for each tile of rows of q, q once for each tile of rows of codes.
 * Numerics: exact, for rows of fewer than 2^18 elements.
 */
#pragma once

#include "kernels/tensor/matmul/matmul_mma.cuh"
#include "kernels/ternary/ternary_weights.cuh"

#if !defined(GS_BLOCK_FORM)
namespace gridstride::tensor::matmul {

// The elements of both operands as they are in memory.
template <typename T>
struct Stored {
  using Element = T;
};

template <typename Convert, typename T, int edge, int threads>
struct MmaTile<Convert, T, Layout::ternary, edge, threads> {
  static constexpr int per_element = ternary_matmul::fields;
  static constexpr int depth = ternary_matmul::group;
  static constexpr int row_bytes = ternary_matmul::group_bytes;
  static constexpr int size = row_bytes * edge;
  static_assert(edge <= threads, "a thread copies a row");

  static __device__ __forceinline__ int row_at(int at) { return at; }
  static __device__ __forceinline__ void fill(unsigned char* tile, const unsigned char* from,
                                              i64 row_stride, i64, int rows, int) {
    const int row = static_cast<int>(threadIdx.x);
    if (row >= edge) return;
    const bool is_row = row < rows;
    copy_chunk(tile + row * row_bytes, is_row ? from + row * row_stride : from,
               is_row ? row_bytes : 0);
  }
  static __device__ __forceinline__ void round(unsigned char*) {}
  // As of any other tile.
  static __device__ __forceinline__ void read(const unsigned char* tile, int row, int step,
                                              unsigned (&to)[4]) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const auto* const words = reinterpret_cast<const unsigned*>(tile + (row + i * 8) * row_bytes);
      const unsigned weights = ternary_matmul::signed_fields(words[lane]);
      to[i] = ternary_matmul::weights_of(weights, 2 * step);
      to[i + 2] = ternary_matmul::weights_of(weights, 2 * step + 1);
    }
  }
};

}  // namespace gridstride::tensor::matmul

namespace gridstride::tensor::ternary_matmul {

// A tile of rows x columns of the result, by 2 * columns threads.
template <typename Multiply, int rows, int columns, typename Finish>
__device__ __forceinline__ void tiles_mma(const TernaryProduct& p, const Finish& finish) {
  using matmul::Layout;
  using Left = matmul::Stored<signed char>;
  using Right = matmul::Stored<unsigned char>;
  const i64 pitch = p.depth / fields;
  const matmul::Product<unsigned int, Left, Right> product{p.q, p.codes, p.m, p.n, p.depth,
                                                           p.depth, 1, 1, pitch};
  const i64 down = (p.m + rows - 1) / rows;
  const auto finish_sum = [=](i64 row, i64 column, unsigned int sum) {
    finish(row, column, static_cast<int>(sum) / weight_unit);
  };
  matmul::matmul_mma<Multiply, signed char, unsigned char, Layout::along, Layout::ternary, rows,
                     columns, false>(product, finish_sum, blockIdx.x, down, gridDim.x);
}

}  // namespace gridstride::tensor::ternary_matmul
#endif
