/*
 * matmul.cuh — products of matrices with any strides, whose results are finished in one pass.
 *
 * Problem: finish(m, n, sum over k of left(a[m, k]) * right(b[k, n])). Left and Right convert an
 * element to V, in which products are added up: float, double, unsigned int or unsigned long long.
 * Mapping, block form: a block computes a tile of the result. It packs parts of its rows and
 * columns into memory of the second-level cache, converted and padded with zeros, and multiplies
 * panels of these in registers (Goto and van de Geijn, "Anatomy of high-performance matrix
 * multiplication", 2008). Threads: a block of 256 computes 64 x 64 elements, 16 each, from shared
 * memory. matmul_vector() is for one row: it reads the matrix once, in the order of memory.
 * Numerics: products are added up in order of k as V, with fused multiply-adds, in parts of
 * packed_depth that are then added up. An element does not depend on the shape of the result.
 */
#pragma once

#include "kernels/tensor/map.cuh"

namespace gridstride::tensor {

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

#if defined(GS_BLOCK_FORM)

// Fused multiply-adds in this function.
#if defined(__clang__)
#define GS_CONTRACTED
#define GS_CONTRACT _Pragma("clang fp contract(fast)")
#else
#define GS_CONTRACTED __attribute__((noinline, optimize("fp-contract=fast")))
#define GS_CONTRACT
#endif

#if defined(__AVX512F__)
constexpr int vector_bytes = 64;
constexpr int micro_rows = 14;
#elif defined(__AVX2__) && !defined(GS_PORTABLE)
constexpr int vector_bytes = 32;
constexpr int micro_rows = 6;
#elif defined(__aarch64__) && !defined(GS_PORTABLE)
constexpr int vector_bytes = 16;
constexpr int micro_rows = 12;
#else
constexpr int vector_bytes = 16;
constexpr int micro_rows = 6;
#endif

// The largest tile of a block, as in own_variants.ts.
constexpr int tile_rows = 336;
constexpr int tile_columns = 256;

template <typename V>
struct Packed {
  typedef V Lanes __attribute__((vector_size(vector_bytes)));
  typedef V Unaligned __attribute__((vector_size(vector_bytes), aligned(alignof(V)), may_alias));
  static constexpr int lanes = vector_bytes / sizeof(V);
  static constexpr int columns = 2 * lanes;  // of a panel
  static constexpr int depth = 1024 / sizeof(V);

  alignas(64) V left[tile_rows * depth];
  alignas(64) V right[tile_columns * depth];
  alignas(64) V sums[tile_rows * tile_columns];

  // Stays in the cache from one block of a thread to the next.
  static __device__ Packed& own() {
    static thread_local Packed memory;
    return memory;
  }
};

// micro_rows rows and two vectors of columns, in registers.
template <typename V>
__device__ GS_CONTRACTED void multiply_panels(int depth, const V* left, const V* right,
                                              V* sums, bool adds) {
  GS_CONTRACT
  using Lanes = typename Packed<V>::Lanes;
  constexpr int lanes = Packed<V>::lanes;
  Lanes sum[micro_rows][2] = {};
  for (int k = 0; k < depth; ++k) {
    const auto* const columns = reinterpret_cast<const Lanes*>(right + k * 2 * lanes);
    const Lanes first = columns[0];
    const Lanes second = columns[1];
#pragma GCC unroll 16
    for (int i = 0; i < micro_rows; ++i) {
      const V x = left[i * Packed<V>::depth + k];
      sum[i][0] += first * x;
      sum[i][1] += second * x;
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < micro_rows; ++i) {
    auto* const row = reinterpret_cast<Lanes*>(sums + i * tile_columns);
    row[0] = adds ? row[0] + sum[i][0] : sum[i][0];
    row[1] = adds ? row[1] + sum[i][1] : sum[i][1];
  }
}

// Copies a matrix to rows of a pitch, converted; columns beyond those given are zeros.
template <typename V, typename Convert>
__device__ __attribute__((noinline)) void pack(const typename Convert::Element* from, i64 row,
                                               i64 column, int rows, int columns, int padded,
                                               V* to, int pitch) {
  const Convert convert{};
  if (column != 1 && row == 1) {
    // Both sides in lines of the cache.
    constexpr int edge = 16;
    for (int top = 0; top < rows; top += edge) {
      const int bottom = top + edge < rows ? top + edge : rows;
      for (int j = 0; j < columns; ++j) {
        GS_INDEPENDENT
        for (int i = top; i < bottom; ++i) to[i * pitch + j] = convert(from[i + j * column]);
      }
    }
  } else if (column == 1) {
    for (int i = 0; i < rows; ++i) {
      GS_INDEPENDENT
      for (int j = 0; j < columns; ++j) to[i * pitch + j] = convert(from[i * row + j]);
    }
  } else {
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < columns; ++j) to[i * pitch + j] = convert(from[i * row + j * column]);
    }
  }
  for (int i = 0; i < rows && columns < padded; ++i) {
    for (int j = columns; j < padded; ++j) to[i * pitch + j] = 0;
  }
}

// The tile of a block. Rows and columns of a tile are multiples of those of a panel.
template <typename V, typename Left, typename Right, typename Finish>
__device__ __forceinline__ void matmul_tile(const Product<V, Left, Right>& p, const Finish& finish,
                                            i64 tile, i64 down, i64 tile_m, i64 tile_n) {
  using Memory = Packed<V>;
  Memory& memory = Memory::own();
  const i64 top = tile % down * tile_m;
  const i64 begin = tile / down * tile_n;
  const int rows = static_cast<int>(top + tile_m < p.m ? tile_m : p.m - top);
  const int columns = static_cast<int>(begin + tile_n < p.n ? tile_n : p.n - begin);
  for (i64 k = 0; k < p.k; k += Memory::depth) {
    const int depth = static_cast<int>(k + Memory::depth < p.k ? Memory::depth : p.k - k);
    pack<V, Left>(p.a + top * p.a_m + k * p.a_k, p.a_m, p.a_k, rows, depth, depth, memory.left,
                  Memory::depth);
    for (int j = 0; j < columns; j += Memory::columns) {
      const int width = columns - j < Memory::columns ? columns - j : Memory::columns;
      V* const panel = memory.right + j * Memory::depth;
      pack<V, Right>(p.b + (begin + j) * p.b_n + k * p.b_k, p.b_k, p.b_n, depth, width,
                     Memory::columns, panel, Memory::columns);
      // Rows beyond the last one have sums of old numbers, which nothing reads.
      for (int i = 0; i < rows; i += micro_rows) {
        multiply_panels<V>(depth, memory.left + i * Memory::depth, panel,
                           memory.sums + i * tile_columns + j, k > 0);
      }
    }
  }
  for (int i = 0; i < rows; ++i) {
    V* const sums = memory.sums + i * tile_columns;
    if (p.k == 0) {
      for (int j = 0; j < columns; ++j) sums[j] = 0;
    }
    GS_INDEPENDENT
    for (int j = 0; j < columns; ++j) finish(top + i, begin + j, sums[j]);
  }
}

// One row and as many columns as a tile has rows or columns: sums along memory.
template <typename V, typename Convert>
__device__ GS_CONTRACTED void add_products(const typename Convert::Element* b, i64 b_n,
                                           int columns, const V* x, int depth, V* sums) {
  GS_CONTRACT
  using Memory = Packed<V>;
  using Lanes = typename Memory::Lanes;
  const Convert convert{};
  const auto read = [&](const typename Convert::Element* from) {
    Lanes result;
    for (int l = 0; l < Memory::lanes; ++l) result[l] = convert(from[l]);
    return result;
  };
  constexpr int together = 4;
  for (int j = 0; j < columns; j += together) {
    const typename Convert::Element* row[together];
    for (int c = 0; c < together; ++c) {
      row[c] = b + (j + c < columns ? j + c : columns - 1) * b_n;
    }
    Lanes sum[together][2] = {};
    int k = 0;
    for (; k + 2 * Memory::lanes <= depth; k += 2 * Memory::lanes) {
      const auto* const own = reinterpret_cast<const Lanes*>(x + k);
#pragma GCC unroll 4
      for (int c = 0; c < together; ++c) {
        sum[c][0] += own[0] * read(row[c] + k);
        sum[c][1] += own[1] * read(row[c] + k + Memory::lanes);
      }
    }
    for (int c = 0; c < together && j + c < columns; ++c) {
      V total = sums[j + c];
      for (int rest = k; rest < depth; ++rest) total += x[rest] * convert(row[c][rest]);
      const Lanes both = sum[c][0] + sum[c][1];
      for (int l = 0; l < Memory::lanes; ++l) total += both[l];
      sums[j + c] = total;
    }
  }
}

// The same for columns that lie along memory, or anywhere.
template <typename V, typename Convert>
__device__ GS_CONTRACTED void add_rows(const typename Convert::Element* b, i64 b_k, i64 b_n,
                                       int columns, const V* x, int depth, V* sums) {
  GS_CONTRACT
  const Convert convert{};
  int k = 0;
  for (; b_n == 1 && k + 4 <= depth; k += 4) {
    const auto* const row = b + k * b_k;
    GS_INDEPENDENT
    for (int j = 0; j < columns; ++j) {
      V sum = sums[j];
      sum += x[k] * convert(row[j]);
      sum += x[k + 1] * convert(row[b_k + j]);
      sum += x[k + 2] * convert(row[2 * b_k + j]);
      sum += x[k + 3] * convert(row[3 * b_k + j]);
      sums[j] = sum;
    }
  }
  for (; k < depth; ++k) {
    GS_INDEPENDENT
    for (int j = 0; j < columns; ++j) sums[j] += x[k] * convert(b[k * b_k + j * b_n]);
  }
}

// `p.m` is 1. Columns of a block: at most as many as a tile has elements.
template <typename V, typename Left, typename Right, typename Finish>
__device__ __forceinline__ void matmul_vector(const Product<V, Left, Right>& p,
                                              const Finish& finish, i64 tile, i64 tile_n) {
  using Memory = Packed<V>;
  Memory& memory = Memory::own();
  const i64 begin = tile * tile_n;
  const int columns = static_cast<int>(begin + tile_n < p.n ? tile_n : p.n - begin);
  for (int j = 0; j < columns; ++j) memory.sums[j] = 0;
  // A first-level cache holds half of it.
  constexpr int most = 16384 / sizeof(V);
  for (i64 k = 0; k < p.k; k += most) {
    const int depth = static_cast<int>(k + most < p.k ? most : p.k - k);
    pack<V, Left>(p.a + k * p.a_k, 0, p.a_k, 1, depth, depth, memory.left, depth);
    const auto* const b = p.b + begin * p.b_n + k * p.b_k;
    if (p.b_k == 1) {
      add_products<V, Right>(b, p.b_n, columns, memory.left, depth, memory.sums);
    } else {
      add_rows<V, Right>(b, p.b_k, p.b_n, columns, memory.left, depth, memory.sums);
    }
  }
  GS_INDEPENDENT
  for (int j = 0; j < columns; ++j) finish(0, begin + j, memory.sums[j]);
}

#else

__device__ __forceinline__ float add_product(float x, float y, float z) { return fmaf(x, y, z); }
__device__ __forceinline__ double add_product(double x, double y, double z) { return fma(x, y, z); }
template <typename V>
__device__ __forceinline__ V add_product(V x, V y, V z) {
  return x * y + z;
}

[[maybe_unused]] constexpr int simt_edge = 64;
[[maybe_unused]] constexpr int simt_depth = 16;

template <typename V, typename Left, typename Right, typename Finish>
__device__ __forceinline__ void matmul_tile(const Product<V, Left, Right>& p, const Finish& finish,
                                            i64 tile, i64 down, i64, i64) {
  // One more column: rows of one position along k lie in different banks.
  __shared__ V left[simt_depth][simt_edge + 1];
  __shared__ V right[simt_depth][simt_edge + 1];
  const i64 top = tile % down * simt_edge;
  const i64 begin = tile / down * simt_edge;
  const int thread = static_cast<int>(threadIdx.x);
  const int row = thread / 16;
  const int column = thread % 16;
  V sum[4][4] = {};
  for (i64 start = 0; start < p.k; start += simt_depth) {
    for (int e = thread; e < simt_edge * simt_depth; e += 256) {
      // Neighbouring threads read neighbours in memory.
      const int ka = p.a_k == 1 ? e % simt_depth : e / simt_edge;
      const int i = p.a_k == 1 ? e / simt_depth : e % simt_edge;
      const bool is_left = top + i < p.m && start + ka < p.k;
      left[ka][i] = is_left ? Left{}(p.a[(top + i) * p.a_m + (start + ka) * p.a_k]) : V(0);
      const int kb = p.b_k == 1 ? e % simt_depth : e / simt_edge;
      const int j = p.b_k == 1 ? e / simt_depth : e % simt_edge;
      const bool is_right = begin + j < p.n && start + kb < p.k;
      right[kb][j] = is_right ? Right{}(p.b[(start + kb) * p.b_k + (begin + j) * p.b_n]) : V(0);
    }
    __syncthreads();
    for (int k = 0; k < simt_depth; ++k) {
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) {
          sum[i][j] = add_product(left[k][row + 16 * i], right[k][column + 16 * j], sum[i][j]);
        }
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      const i64 m = top + row + 16 * i;
      const i64 n = begin + column + 16 * j;
      if (m < p.m && n < p.n) finish(m, n, sum[i][j]);
    }
  }
}

// `p.m` is 1. A block has 32 columns: of a warp each in turn if they run along memory, else of a
// lane each.
template <typename V, typename Left, typename Right, typename Finish>
__device__ __forceinline__ void matmul_vector(const Product<V, Left, Right>& p,
                                              const Finish& finish, i64 tile, i64) {
  constexpr int warps = 8;
  __shared__ V part[warps][32];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const i64 begin = tile * 32;
  const auto product = [&](i64 k, i64 n, V sum) {
    return add_product(Left{}(p.a[k * p.a_k]), Right{}(p.b[k * p.b_k + n * p.b_n]), sum);
  };
  if (p.b_k == 1) {
    for (i64 n = begin + warp; n < begin + 32 && n < p.n; n += warps) {
      V sum = 0;
      for (i64 k = lane; k < p.k; k += 32) sum = product(k, n, sum);
      for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, distance);
      }
      if (lane == 0) finish(0, n, sum);
    }
    return;
  }
  const i64 n = begin + lane;
  V sum = 0;
  for (i64 k = warp; n < p.n && k < p.k; k += warps) sum = product(k, n, sum);
  part[warp][lane] = sum;
  __syncthreads();
  if (warp > 0 || n >= p.n) return;
  for (int other = 1; other < warps; ++other) sum += part[other][lane];
  finish(0, n, sum);
}

#endif

}  // namespace gridstride::tensor
