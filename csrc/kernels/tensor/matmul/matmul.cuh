/*
 * matmul.cuh — products of matrices with any strides, whose results are finished in one pass.
 *
 * Problem: finish(m, n, sum over k of left(a[m, k]) * right(b[k, n])). Left and Right convert an
 * element to V, in which products are added up: float, double, unsigned int or unsigned long long.
 * Mapping, block form: a block computes a tile of the result. It packs parts of its rows and
 * columns into memory of the second-level cache, converted and padded with zeros, and multiplies
 * panels of these in registers (Goto and van de Geijn, "Anatomy of high-performance matrix
 * multiplication", 2008). Threads: a block of 256 computes 64 x 64 elements, 16 each, from shared
 * memory. Products of one row, or of few, read the matrix once: matmul_vector() in loops, and
 * matmul_rows_threads.cuh.
 * Numerics: products are added up in order of k as V, with fused multiply-adds, in parts of
 * Packed::depth that are then added up. An element does not depend on the shape of the result.
 */
#pragma once

#include "kernels/tensor/element.cuh"

namespace gridstride::tensor::matmul {

template <typename V, typename Left, typename Right>
struct Product {
  using Value = V;
  const typename Left::Element* a;
  const typename Right::Element* b;
  i64 m;
  i64 n;
  i64 k;
  i64 a_m;
  i64 a_k;
  i64 b_k;
  i64 b_n;
};

}  // namespace gridstride::tensor::matmul

#include "kernels/tensor/matmul/matmul_loops.cuh"
#include "kernels/tensor/matmul/matmul_threads.cuh"
#include "kernels/tensor/matmul/matmul_rows_threads.cuh"
