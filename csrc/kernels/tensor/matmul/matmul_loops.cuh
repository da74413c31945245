/*
 * matmul_loops.cuh — the block form of matmul.cuh: packed panels in vector registers.
 */
#pragma once

#include "kernels/tensor/matmul/matmul.cuh"

#if defined(GS_BLOCK_FORM)
namespace gridstride::tensor::matmul {

// ---- tiles -------------------------------------------------------------------------------------

// Rows of sums in registers, each in two vectors, beside two vectors of columns.
constexpr int micro_rows =
    vectors::panel_registers < 32 ? 6 : vectors::panel_bytes == 64 ? 14 : 12;

template <typename V>
struct Panel {
  static constexpr int lanes = vectors::panel_bytes / sizeof(V);
  using Lanes = vectors::Vector<V, lanes>;
  static constexpr int columns = 2 * lanes;
  static constexpr int depth = 1024 / sizeof(V);
};

// The memory of tiles of up to Rows and Columns.
template <typename V, int Rows, int Columns>
struct TileMemory {
  alignas(64) V left[Rows * Panel<V>::depth];
  alignas(64) V right[Columns * Panel<V>::depth];
  alignas(64) V sums[Rows * Columns];

  // Stays in the cache from one block of a thread to the next.
  static __device__ TileMemory& own() {
    static thread_local TileMemory memory;
    return memory;
  }
};

// micro_rows rows and two vectors of columns, in registers. Pitch is that of rows of sums.
template <int Pitch, typename V>
__device__ GS_CONTRACTED void multiply_panels(int depth, const V* left, const V* right,
                                              V* sums, bool adds) {
  GS_CONTRACT
  using Lanes = typename Panel<V>::Lanes;
  constexpr int lanes = Panel<V>::lanes;
  Lanes sum[micro_rows][2] = {};
  for (int k = 0; k < depth; ++k) {
    const auto* const columns = reinterpret_cast<const Lanes*>(right + k * 2 * lanes);
    const Lanes first = columns[0];
    const Lanes second = columns[1];
#pragma GCC unroll 16
    for (int i = 0; i < micro_rows; ++i) {
      const V x = left[i * Panel<V>::depth + k];
      sum[i][0] += first * x;
      sum[i][1] += second * x;
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < micro_rows; ++i) {
    auto* const row = reinterpret_cast<Lanes*>(sums + i * Pitch);
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

// The tile of a block, of at most Rows and Columns, which are multiples of those of a panel.
template <int Rows, int Columns, typename V, typename Left, typename Right, typename Finish>
__device__ __forceinline__ void matmul_tile(const Product<V, Left, Right>& p, const Finish& finish,
                                            i64 tile, i64 down, i64 tile_m, i64 tile_n) {
  auto& memory = TileMemory<V, Rows, Columns>::own();
  constexpr int panel_depth = Panel<V>::depth;
  constexpr int panel_columns = Panel<V>::columns;
  const i64 top = tile % down * tile_m;
  const i64 begin = tile / down * tile_n;
  const int rows = static_cast<int>(top + tile_m < p.m ? tile_m : p.m - top);
  const int columns = static_cast<int>(begin + tile_n < p.n ? tile_n : p.n - begin);
  for (i64 k = 0; k < p.k; k += panel_depth) {
    const int depth = static_cast<int>(k + panel_depth < p.k ? panel_depth : p.k - k);
    pack<V, Left>(p.a + top * p.a_m + k * p.a_k, p.a_m, p.a_k, rows, depth, depth, memory.left,
                  panel_depth);
    for (int j = 0; j < columns; j += panel_columns) {
      const int width = columns - j < panel_columns ? columns - j : panel_columns;
      V* const panel = memory.right + j * panel_depth;
      pack<V, Right>(p.b + (begin + j) * p.b_n + k * p.b_k, p.b_k, p.b_n, depth, width,
                     panel_columns, panel, panel_columns);
      // Rows beyond the last one have sums of old numbers, which nothing reads.
      for (int i = 0; i < rows; i += micro_rows) {
        multiply_panels<Columns>(depth, memory.left + i * panel_depth, panel,
                                 memory.sums + i * Columns + j, k > 0);
      }
    }
  }
  for (int i = 0; i < rows; ++i) {
    V* const sums = memory.sums + i * Columns;
    if (p.k == 0) {
      for (int j = 0; j < columns; ++j) sums[j] = 0;
    }
    GS_INDEPENDENT
    for (int j = 0; j < columns; ++j) finish(top + i, begin + j, sums[j]);
  }
}

// ---- one row -----------------------------------------------------------------------------------

// The sums of columns that lie along memory.
template <typename V, typename Convert>
__device__ GS_CONTRACTED void add_products(const typename Convert::Element* b, i64 b_n,
                                           int columns, const V* x, int depth, V* sums) {
  GS_CONTRACT
  using Lanes = typename Panel<V>::Lanes;
  constexpr int lanes = Panel<V>::lanes;
  const Convert convert{};
  const auto read = [&](const typename Convert::Element* from) {
    Lanes result;
    for (int l = 0; l < lanes; ++l) result[l] = convert(from[l]);
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
    for (; k + 2 * lanes <= depth; k += 2 * lanes) {
      const auto* const own = reinterpret_cast<const Lanes*>(x + k);
#pragma GCC unroll 4
      for (int c = 0; c < together; ++c) {
        sum[c][0] += own[0] * read(row[c] + k);
        sum[c][1] += own[1] * read(row[c] + k + lanes);
      }
    }
    for (int c = 0; c < together && j + c < columns; ++c) {
      V column_sum = sums[j + c];
      for (int rest = k; rest < depth; ++rest) column_sum += x[rest] * convert(row[c][rest]);
      const Lanes both = sum[c][0] + sum[c][1];
      for (int l = 0; l < lanes; ++l) column_sum += both[l];
      sums[j + c] = column_sum;
    }
  }
}

// The sums of columns if rows lie along memory, or for any strides.
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

// A first-level cache holds half of the part of the row.
template <typename V, int Columns>
struct RowMemory {
  static constexpr int depth = 16384 / sizeof(V);

  alignas(64) V left[depth];
  alignas(64) V sums[Columns];

  // Stays in the cache from one block of a thread to the next.
  static __device__ RowMemory& own() {
    static thread_local RowMemory memory;
    return memory;
  }
};

// `p.m` is 1. A block has at most Columns columns.
template <int Columns, typename V, typename Left, typename Right, typename Finish>
__device__ __forceinline__ void matmul_vector(const Product<V, Left, Right>& p,
                                              const Finish& finish, i64 tile, i64 tile_n) {
  auto& memory = RowMemory<V, Columns>::own();
  constexpr int max_depth = RowMemory<V, Columns>::depth;
  const i64 begin = tile * tile_n;
  const int columns = static_cast<int>(begin + tile_n < p.n ? tile_n : p.n - begin);
  for (int j = 0; j < columns; ++j) memory.sums[j] = 0;
  for (i64 k = 0; k < p.k; k += max_depth) {
    const int depth = static_cast<int>(k + max_depth < p.k ? max_depth : p.k - k);
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

}  // namespace gridstride::tensor::matmul
#endif
