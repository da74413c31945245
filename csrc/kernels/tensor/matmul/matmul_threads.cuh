/*
 * matmul_threads.cuh — the CUDA form of matmul.cuh, without tensor cores.
 */
#pragma once

#include "kernels/tensor/matmul/matmul.cuh"

#if !defined(GS_BLOCK_FORM)
namespace gridstride::tensor::matmul {

__device__ __forceinline__ float add_product(float x, float y, float z) { return fmaf(x, y, z); }
__device__ __forceinline__ double add_product(double x, double y, double z) { return fma(x, y, z); }
template <typename V>
__device__ __forceinline__ V add_product(V x, V y, V z) {
  return x * y + z;
}

// A block has 256 threads, and Rows and Columns are multiples of 16.
template <int Rows, int Columns, typename V, typename Left, typename Right, typename Finish>
__device__ __forceinline__ void matmul_tile(const Product<V, Left, Right>& p, const Finish& finish,
                                            i64 tile, i64 down, i64, i64) {
  constexpr int depth = 16;
  constexpr int threads = 256;
  // One more column: rows of one position along k lie in different banks.
  __shared__ V left[depth][Rows + 1];
  __shared__ V right[depth][Columns + 1];
  const i64 top = tile % down * Rows;
  const i64 begin = tile / down * Columns;
  const int thread = static_cast<int>(threadIdx.x);
  const int row = thread / 16;
  const int column = thread % 16;
  V sum[Rows / 16][Columns / 16] = {};
  for (i64 start = 0; start < p.k; start += depth) {
    // Neighbouring threads read neighbours in memory.
    for (int e = thread; e < Rows * depth; e += threads) {
      const int k = p.a_k == 1 ? e % depth : e / Rows;
      const int i = p.a_k == 1 ? e / depth : e % Rows;
      const bool is_inside = top + i < p.m && start + k < p.k;
      left[k][i] = is_inside ? Left{}(p.a[(top + i) * p.a_m + (start + k) * p.a_k]) : V(0);
    }
    for (int e = thread; e < Columns * depth; e += threads) {
      const int k = p.b_k == 1 ? e % depth : e / Columns;
      const int j = p.b_k == 1 ? e / depth : e % Columns;
      const bool is_inside = begin + j < p.n && start + k < p.k;
      right[k][j] = is_inside ? Right{}(p.b[(start + k) * p.b_k + (begin + j) * p.b_n]) : V(0);
    }
    __syncthreads();
    for (int k = 0; k < depth; ++k) {
      for (int i = 0; i < Rows / 16; ++i) {
        for (int j = 0; j < Columns / 16; ++j) {
          sum[i][j] = add_product(left[k][row + 16 * i], right[k][column + 16 * j], sum[i][j]);
        }
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < Rows / 16; ++i) {
    for (int j = 0; j < Columns / 16; ++j) {
      const i64 m = top + row + 16 * i;
      const i64 n = begin + column + 16 * j;
      if (m < p.m && n < p.n) finish(m, n, sum[i][j]);
    }
  }
}

}  // namespace gridstride::tensor::matmul
#endif
