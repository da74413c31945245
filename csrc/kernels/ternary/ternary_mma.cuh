/*
 * ternary_mma.cuh — products of 8-bit integers and packed ternary weights on tensor cores.
 *
 * Problem: that of ternary_matmul.cuh, for many rows of q, by the kernel of matmul_mma.cuh.
 * Mapping: q is its left operand. A tile of the right one has the 16 bytes of a group of 64 weights
 * for each row of codes, as they are in memory, so shared memory holds a quarter of the bytes and a
 * warp reads 32 consecutive words. Each word has, at a byte of four, the weights that a lane feeds
 * to a tensor core in four instructions; shifts and masks make codes of them, from which 1 is
 * subtracted in all bytes at once.
 * Bytes: codes once for each tile of rows of q, q once for each tile of rows of codes.
 * Numerics: exact, as in ternary_matmul.cuh.
 */
#pragma once

#include "kernels/tensor/matmul/matmul_mma.cuh"

namespace gridstride::tensor::matmul {
#if !defined(GS_BLOCK_FORM)

// The elements of both operands as they are in memory.
template <typename T>
struct Stored {
  using Element = T;
};

template <typename Convert, typename T, int edge, int threads>
struct MmaTile<Convert, T, Layout::ternary, edge, threads> {
  static constexpr int per_element = 4;
  static constexpr int depth = 64;
  static constexpr int size = 16 * edge;
  static_assert(edge <= threads, "a thread copies a row");

  static __device__ __forceinline__ int row_at(int at) { return at; }
  static __device__ __forceinline__ void fill(unsigned char* tile, const unsigned char* from,
                                              i64 row_stride, i64, int rows, int) {
    const int row = static_cast<int>(threadIdx.x);
    if (row >= edge) return;
    copy_chunk(tile + row * 16, row < rows ? from + row * row_stride : from, row < rows ? 16 : 0);
  }
  static __device__ __forceinline__ void round(unsigned char*) {}
  // As of any other tile.
  static __device__ __forceinline__ void read(const unsigned char* tile, int row, int step,
                                              unsigned (&to)[4]) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const auto* const words = reinterpret_cast<const unsigned*>(tile + (row + i * 8) * 16);
      const unsigned word = words[lane] >> 4 * step;
      // A byte 0, 1 or 2 becomes -1, 0 or 1, and nothing is carried.
      to[i] = ((word & 0x03030303u) + 0x7f7f7f7fu) ^ 0x80808080u;
      to[i + 2] = ((word >> 2 & 0x03030303u) + 0x7f7f7f7fu) ^ 0x80808080u;
    }
  }
};

#endif
}  // namespace gridstride::tensor::matmul
