/*
 * attention_loops.cuh — attention.cuh in the block form: one thread runs a block as loops.
 *
 * Problem: that of attention.cuh.
 * Mapping: the lanes of vectors are rows, so that keys and values are read as they lie in memory,
 * and maxima and sums need no exchange between lanes. attention_block() walks over the keys. Its
 * tile computes the products: AttentionTile as floats, into which narrow elements are widened, and
 * MatrixTile of attention_tiles.cuh as bfloat16.
 * Numerics: products and sums are floats.
 */
#pragma once

#include "kernels/tensor/attention/attention.cuh"

#if defined(GS_BLOCK_FORM)
namespace gridstride::tensor::attention {

GS_CONTRACT_REST
#define GS_UNROLL_16 _Pragma("GCC unroll 16")

using vectors::power_of_2;
using Lanes = vectors::FloatLanes;
using IntLanes = vectors::IntLanes;
constexpr int lanes = sizeof(Lanes) / sizeof(float);
// Vectors of sums in registers, beside a factor for all lanes.
constexpr int wide_vectors = vectors::register_count == 32 ? 4 : 2;

// sums[r][v] += vectors[t][v] · factor(r, t) over t < count, with the sums in registers.
template <int Rows, int Vectors, int Stride, typename Factor>
__device__ __forceinline__ void accumulate(int count, const Lanes* vectors,
                                           Lanes (&sums)[Rows][Vectors], Factor factor) {
  for (int t = 0; t < count; ++t) {
    Lanes row[Vectors];
    GS_UNROLL_16
    for (int v = 0; v < Vectors; ++v) row[v] = vectors[t * Stride + v];
    GS_UNROLL_16
    for (int r = 0; r < Rows; ++r) {
      const Lanes other = Lanes{} + factor(r, t);
      GS_UNROLL_16
      for (int v = 0; v < Vectors; ++v) sums[r][v] = row[v] * other + sums[r][v];
    }
  }
}

// A row as floats, which are copied to `wide` if need be.
template <typename T>
__device__ __forceinline__ const float* widened(const T* row, i64 size, float* wide) {
  i64 d = vectors::widen(row, size, wide);
  GS_INDEPENDENT
  for (; d < size; ++d) wide[d] = load(row[d]);
  return wide;
}
__device__ __forceinline__ const float* widened(const float* row, i64, float*) { return row; }

// The rows of a tile are the lanes of some columns of vectors. Scores are those of Span columns.
template <int Columns, int Span>
struct ScoreTile {
  static constexpr int columns = Columns;
  static constexpr int span = Span;
  static constexpr int rows = columns * lanes;

  Lanes scores[key_tile * span];
  Lanes addends[key_tile * span];  // to scores
  Lanes row_max[columns];
  Lanes row_sum[columns];
  Lanes factor[columns];
  IntLanes low[columns];
  IntLanes high[columns];
};

// Products of floats take some columns of vectors at once.
template <int Vectors, int Columns>
struct AttentionTile : ScoreTile<Columns, Columns> {
  static constexpr int columns = Columns;
  static constexpr int width = Vectors;
  // Rows of a product that are computed together, and depend on the number of registers.
  static constexpr int step = Vectors == 1 ? 8 : 6;
  using ScoreTile<Columns, Columns>::rows;
  using ScoreTile<Columns, Columns>::scores;
  using ScoreTile<Columns, Columns>::row_max;
  using ScoreTile<Columns, Columns>::row_sum;
  using ScoreTile<Columns, Columns>::factor;

  Lanes q[max_head * columns];
  Lanes sums[max_head * columns];
  const float* k[key_tile];
  const float* v[key_tile];
  float wide_k[key_tile * max_head];
  float wide_v[key_tile * max_head];

  // The factor of scores that are products already.
  static __device__ __forceinline__ float unit(float) { return 1.0f; }

  template <typename T>
  __device__ __forceinline__ void begin(const T* const (&queries)[rows], int used, int size,
                                        int value_size, float scale) {
    for (int r = 0; r < used * lanes; ++r) {
      float* const to = reinterpret_cast<float*>(q) + r;
      for (int d = 0; d < size; ++d) to[d * rows] = static_cast<float>(load(queries[r][d])) * scale;
    }
    for (int d = 0; d < value_size; ++d) {
      for (int c = 0; c < used; ++c) sums[d * columns + c] = Lanes{};
    }
  }
  __device__ __forceinline__ void end() {}

  // Makes 0 of values that are NaN or infinite, and returns whether there are any.
  __device__ __forceinline__ bool clear_others(int count, int value_size) {
    // Products with 0 are 0 or NaN.
    Lanes zeros[4] = {};
    float zero = 0.0f;
    for (int j = 0; j < count; ++j) {
      int c = 0;
      for (; c + lanes <= value_size; c += lanes) {
        Lanes values;
        __builtin_memcpy(&values, v[j] + c, sizeof values);
        zeros[c / lanes % 4] = values * 0.0f + zeros[c / lanes % 4];
      }
      for (; c < value_size; ++c) zero += v[j][c] * 0.0f;
    }
    const Lanes all = zeros[0] + zeros[1] + zeros[2] + zeros[3];
    for (int r = 0; r < lanes; ++r) zero += all[r];
    if (zero == 0.0f) return false;
    for (int j = 0; j < count; ++j) {
      float* const to = wide_v + j * max_head;
      for (int c = 0; c < value_size; ++c) to[c] = is_number(v[j][c]) ? v[j][c] : 0.0f;
      v[j] = to;
    }
    return true;
  }

  __device__ __forceinline__ bool begin_keys(int count, int, int value_size, bool is_whole) {
    return !is_whole && clear_others(count, value_size);
  }

  template <typename T>
  __device__ __forceinline__ void set_key(int j, const T* key, const T* value, int size,
                                          int value_size) {
    k[j] = widened(key, size, wide_k + j * max_head);
    v[j] = widened(value, value_size, wide_v + j * max_head);
  }

  template <int Rows>
  __device__ __forceinline__ void score_rows(int group, int j, int size) {
    Lanes products[Rows][Vectors] = {};
    accumulate<Rows, Vectors, columns>(size, q + group * Vectors, products,
                                       [&](int r, int d) { return k[j + r][d]; });
    GS_UNROLL_16
    for (int r = 0; r < Rows; ++r) {
      GS_UNROLL_16
      for (int v = 0; v < Vectors; ++v) {
        scores[(j + r) * columns + group * Vectors + v] = products[r][v];
      }
    }
  }

  __device__ __forceinline__ void score(int, int used, int count, int size) {
    for (int group = 0; group < used / Vectors; ++group) {
      int j = 0;
      for (; j + step <= count; j += step) score_rows<step>(group, j, size);
      for (; j < count; ++j) score_rows<1>(group, j, size);
    }
  }

  template <int Rows>
  __device__ __forceinline__ void add_columns(int group, int c, int count) {
    Lanes products[Rows][Vectors];
    Lanes* const place = sums + c * columns + group * Vectors;
    GS_UNROLL_16
    for (int r = 0; r < Rows; ++r) {
      GS_UNROLL_16
      for (int v = 0; v < Vectors; ++v) {
        products[r][v] = place[r * columns + v] * factor[group * Vectors + v];
      }
    }
    accumulate<Rows, Vectors, columns>(count, scores + group * Vectors, products,
                                       [&](int r, int j) { return this->v[j][c + r]; });
    GS_UNROLL_16
    for (int r = 0; r < Rows; ++r) {
      GS_UNROLL_16
      for (int v = 0; v < Vectors; ++v) place[r * columns + v] = products[r][v];
    }
  }

  __device__ __forceinline__ void add_values(int, int used, int count, int value_size) {
    for (int group = 0; group < used / Vectors; ++group) {
      int c = 0;
      for (; c + step <= value_size; c += step) add_columns<step>(group, c, count);
      for (; c < value_size; ++c) add_columns<1>(group, c, count);
    }
  }

  // Turns the scores of a column of vectors into powers, and updates its maximum and sum.
  template <bool HasMask>
  __device__ __forceinline__ void normalize(int column, int count, float) {
    Lanes* const place = scores + column;
    const Lanes before = row_max[column];
    Lanes largest = before;
    for (int j = 0; j < count; ++j) {
      const Lanes s = place[j * columns];
      largest = s > largest ? s : largest;
    }
    row_max[column] = largest;
    // If a row has no visible keys, all of its powers are 0.
    const Lanes base = largest == -INFINITY ? Lanes{} : largest;
    factor[column] = power_of_2(exponent_of<HasMask>(before, base));
    Lanes sum = row_sum[column] * factor[column];
    for (int j = 0; j < count; ++j) {
      const Lanes p = power_of_2(exponent_of<HasMask>(place[j * columns], base));
      place[j * columns] = p;
      sum += p;
    }
    row_sum[column] = sum;
  }

  template <typename Out>
  __device__ __forceinline__ void store_row(int r, Out* to, int value_size, float factor) {
    const float* const from = reinterpret_cast<const float*>(sums) + r;
    for (int c = 0; c < value_size; ++c) to[c] = store<Out>(from[c * rows] * factor);
  }
};

template <typename T>
__device__ __forceinline__ void prefetch(const T* row, i64 size) {
  for (i64 d = 0; d < size; d += 64 / sizeof(T)) __builtin_prefetch(row + d, 0, 2);
}

// Inlined, a variable of the thread would be looked up at each use.
template <typename Tile>
__device__ GS_SEPARATE Tile& tile_of_thread() {
  alignas(64) static thread_local Tile tile;
  return tile;
}

template <typename Tile, Keys Source, typename T, typename M, typename Out>
__device__ __forceinline__ void attention_block(const Attention& a, const T* q, const T* k,
                                                const T* v, const M* mask, const bool* blocks,
                                                const int* places, Out* out, float* sums) {
  constexpr bool has_mask = !is_same<M, NoMask>;
  Tile& tile = tile_of_thread<Tile>();
  const AttentionJob job = attention_job<Source>(a, Tile::rows, places, blockIdx.x);
  if (job.rows <= 0) return;
  const int size = static_cast<int>(a.size);
  const int value_size = static_cast<int>(a.value_size);
  const int used = (job.rows + Tile::width * lanes - 1) / (Tile::width * lanes) * Tile::width;
  const float scale = scale_of(a);
  const float unit = Tile::unit(scale);
  const T* const k_base = k + job.batch * a.k[0] + job.head * a.k[1];
  const T* const v_base = v + job.batch * a.v[0] + job.head * a.v[1];
  AttentionRow rows[Tile::rows];
  const T* queries[Tile::rows];
  int low[Tile::rows];
  int high[Tile::rows];
  int common_low = -1;
  int common_high = static_cast<int>(job.keys);
  for (int r = 0; r < used * lanes; ++r) {
    // The lanes behind the last row repeat it.
    const int own = r < job.rows ? r : job.rows - 1;
    rows[r] = row_of(a, job, own);
    low[r] = clamp_key(rows[r].query + job.offset - a.left, job.keys);
    high[r] = clamp_key(rows[r].query + job.offset + a.right, job.keys);
    common_low = low[r] > common_low ? low[r] : common_low;
    common_high = high[r] < common_high ? high[r] : common_high;
    queries[r] = q + job.batch * a.q[0] + rows[r].head * a.q[1] +
                 (job.query + rows[r].query) * a.q[2];
  }
  bool has_others = false;  // values that are NaN or infinite
  tile.begin(queries, used, size, value_size, scale);
  __builtin_memcpy(tile.low, low, sizeof low);
  __builtin_memcpy(tile.high, high, sizeof high);
  for (int c = 0; c < used; ++c) {
    tile.row_max[c] = Lanes{} - INFINITY;
    tile.row_sum[c] = Lanes{};
  }
  for (i64 begin = job.begin; begin < job.end; begin += key_tile) {
    const int count = job.end - begin < key_tile ? static_cast<int>(job.end - begin) : key_tile;
    // Tiles in hidden blocks are skipped.
    if (blocks != nullptr) {
      bool is_visible = false;
      for (int r = 0; r < used * lanes; ++r) {
        const bool is_own = is_block_visible(a, job, blocks, rows[r], begin);
        is_visible |= is_own;
        reinterpret_cast<int*>(tile.high)[r] = is_own ? high[r] : -1;
      }
      if (!is_visible) continue;
    }
    // Operands: the rows of keys and values.
    for (int j = 0; j < count; ++j) {
      const i64 row = key_row<Source>(a, job, begin + j);
      tile.set_key(j, k_base + row * a.k[2], v_base + row * a.v[2], size, value_size);
      // Few rows take less time than reading the keys.
      if (Tile::rows == few_rows && begin + key_tile + j < job.end) {
        const i64 next = key_row<Source>(a, job, begin + key_tile + j);
        prefetch(k_base + next * a.k[2], size);
        prefetch(v_base + next * a.v[2], value_size);
      }
    }
    const bool is_whole = common_low <= begin && begin + count - 1 <= common_high;
    has_others |= tile.begin_keys(count, size, value_size,
                                  is_whole && !has_mask && blocks == nullptr);
    for (int first = 0; first < used; first += Tile::span) {
      const int last = used - first < Tile::span ? used : first + Tile::span;
      // Scores.
      tile.score(first, last, count, size);
      // Mask: its elements, the window and the blocks.
      if constexpr (has_mask) {
        for (int r = first * lanes; r < last * lanes && r < job.rows; ++r) {
          const M* const own = mask + mask_offset(a, job, rows[r], begin);
          float* const place = reinterpret_cast<float*>(tile.addends) + r - first * lanes;
          for (int j = 0; j < count; ++j) {
            place[j * Tile::span * lanes] = addend_of(own[j * a.mask[3]]);
          }
        }
        for (int j = 0; j < count; ++j) {
          for (int c = 0; c < last - first; ++c) {
            Lanes& score = tile.scores[j * Tile::span + c];
            score = masked<M>(score * unit, tile.addends[j * Tile::span + c]);
          }
        }
      }
      if (!is_whole || blocks != nullptr) {
        for (int j = 0; j < count; ++j) {
          const int at = static_cast<int>(begin) + j;
          for (int c = first; c < last; ++c) {
            Lanes& place = tile.scores[j * Tile::span + c - first];
            place = ((tile.low[c] <= at) & (tile.high[c] >= at)) ? place : Lanes{} - INFINITY;
          }
        }
      }
      // Online softmax, and values.
      for (int c = first; c < last; ++c) tile.template normalize<has_mask>(c, count, unit);
      tile.add_values(first, last, count, value_size);
    }
  }
  // Store.
  tile.end();
  for (int r = 0; r < job.rows; ++r) {
    const float sum = tile.row_sum[r / lanes][r % lanes];
    const float factor = sum == 0.0f ? 0.0f : 1.0f / sum;
    tile.store_row(r, out_row(a, job, rows[r], out), value_size, factor);
    store_sum<has_mask>(a, job, rows[r], tile.row_max[r / lanes][r % lanes], sum, sums);
  }
  if (has_others) add_others<Source>(a, job, v, mask, blocks, 0, 1, out);
}

#if defined(GS_USES_BFLOAT16) && defined(GS_HAS_MATRIX_TILES)
#define GS_MATRIX_TILES 1
// See attention_tiles.cuh.
template <int Columns>
struct MatrixTile;
#endif

template <Keys Source, int Rows, int, typename T, typename M, typename Out>
__device__ __forceinline__ void attention(const Attention& a, const T* q, const T* k, const T* v,
                                          const M* mask, const bool* blocks, const int* places,
                                          Out* out, float* sums) {
  constexpr int columns = Rows / lanes;
  constexpr int vectors = columns < wide_vectors ? columns : wide_vectors;
#if defined(GS_MATRIX_TILES)
  if constexpr (is_same<T, __nv_bfloat16>) {
    using Tile = MatrixTile<columns>;
    if (Tile::template run<Source>(a, q, k, v, mask, blocks, places, out, sums)) return;
  }
#endif
  attention_block<AttentionTile<vectors, columns>, Source>(a, q, k, v, mask, blocks, places, out,
                                                           sums);
}

}  // namespace gridstride::tensor::attention
#endif
