/*
 * attention.cuh — softmax(q kᵀ · scale + mask) v without the scores in memory.
 *
 * Problem: queries of some heads, keys and values of as many heads or fewer: `group` heads of
 * queries share one of keys. Lengths of any size; sequences may lie one after another (ragged), and
 * keys may lie in pages.
 * Mapping: a block takes a tile of rows, the queries of all heads of a group, and walks over tiles
 * of 64 keys with a running maximum and sum (Milakov and Gimelshein, "Online normalizer calculation
 * for softmax", 2018; Dao, "FlashAttention-2", 2023). With few tiles of rows, blocks take parts of
 * the keys, and a second kernel merges them. Tiles that no row sees are skipped. Threads: 8 threads
 * share a row. Block form: the lanes of vectors are rows, so that keys and values are read as they
 * lie in memory, and maxima and sums need no exchange between lanes.
 * Numerics: products and sums as float, in units of log2; the order depends on the shape alone. A
 * row that sees no key is zero, and its logarithm of the sum is -infinity.
 */
#pragma once

#include "kernels/tensor/map.cuh"

namespace gridstride::tensor {

constexpr int key_tile = 64;
constexpr int max_head = 256;
constexpr int few_rows = 16;  // a tile's; otherwise 64
constexpr float log2_of_e = 1.44269504f;
constexpr float log_of_2 = 0.693147181f;

enum class Keys { dense, ragged, paged };

// Stands for the element type of an absent mask.
struct NoMask {};

// Strides are of batches, heads and rows; those of the masks also of columns.
struct Attention {
  i64 heads;  // of keys
  i64 group;
  i64 queries;  // the longest sequence
  i64 keys;
  i64 size;
  i64 value_size;
  i64 q[3];
  i64 k[3];
  i64 v[3];
  i64 out[4];  // and of parts
  i64 sums[4];
  i64 mask[4];
  i64 blocks[4];
  i64 block_rows;
  i64 block_columns;
  i64 left;  // the distances of visible keys
  i64 right;
  i64 tiles;
  i64 parts;
  i64 part_keys;
  i64 page;
  i64 width;  // of the rows of places
  i64 scale;  // the bits of a float, in units of log2
};

// A part of the keys for a tile of rows.
struct AttentionJob {
  i64 batch;
  i64 head;
  i64 part;
  i64 row;  // the first one
  int rows;
  i64 query;  // where the sequence begins
  i64 key;
  i64 offset;  // the key on the diagonal of query 0
  i64 keys;
  i64 begin;
  i64 end;
  const int* places;
};

// The tile of a block. Ragged: places holds the ends of queries, then of keys. Paged: the number of
// keys and the pages of each sequence.
template <Keys Source>
__device__ __forceinline__ AttentionJob attention_job(const Attention& a, int tile_rows,
                                                      const int* places) {
  i64 rest = blockIdx.x;
  AttentionJob job{};
  job.part = rest % a.parts;
  rest /= a.parts;
  // Late tiles see more keys if the mask is causal: they begin first.
  const i64 tile = a.tiles - 1 - rest % a.tiles;
  rest /= a.tiles;
  job.head = rest % a.heads;
  job.batch = rest / a.heads;
  i64 queries = a.queries;
  job.keys = a.keys;
  job.places = places;
  if constexpr (Source == Keys::ragged) {
    job.query = places[job.batch];
    queries = places[job.batch + 1] - job.query;
    job.key = places[a.width + job.batch];
    job.keys = places[a.width + job.batch + 1] - job.key;
  }
  if constexpr (Source == Keys::paged) {
    job.places = places + job.batch * a.width + 1;
    job.keys = job.places[-1];
  }
  job.row = tile * tile_rows;
  const i64 count = queries * a.group - job.row;
  job.rows = count < tile_rows ? static_cast<int>(count) : tile_rows;
  job.offset = job.keys - queries;
  const i64 first = job.row / a.group + job.offset - a.left;
  const i64 last = (job.row + job.rows - 1) / a.group + job.offset + a.right;
  job.begin = job.part * a.part_keys;
  job.end = job.begin + a.part_keys;
  if (first > job.begin) job.begin = first / key_tile * key_tile;
  if (last + 1 < job.end) job.end = last + 1;
  if (job.keys < job.end) job.end = job.keys;
  return job;
}

// The place of a key among the rows of k and v.
template <Keys Source>
__device__ __forceinline__ i64 key_row(const Attention& a, const AttentionJob& job, i64 j) {
  if constexpr (Source != Keys::paged) return job.key + j;
  return job.places[j / a.page] * a.page + j % a.page;
}

// A query and its head.
struct AttentionRow {
  i64 query;
  i64 head;
};
__device__ __forceinline__ AttentionRow row_of(const Attention& a, const AttentionJob& job, int r) {
  const i64 query = (job.row + r) / a.group;
  return {query, job.head * a.group + job.row + r - query * a.group};
}

__device__ __forceinline__ int clamp_key(i64 j, i64 keys) {
  return static_cast<int>(j < -1 ? -1 : j > keys ? keys : j);
}

// Whether a block of keys is visible. A tile lies in one block.
__device__ __forceinline__ bool is_block_visible(const Attention& a, const AttentionJob& job,
                                                 const bool* blocks, AttentionRow row, i64 j) {
  return blocks[job.batch * a.blocks[0] + row.head * a.blocks[1] +
                row.query / a.block_rows * a.blocks[2] + j / a.block_columns * a.blocks[3]];
}

// What a mask adds to a score, in units of log2.
template <typename M>
__device__ __forceinline__ float mask_value(M element) {
  return load(element) * log2_of_e;
}
template <>
__device__ __forceinline__ float mask_value<bool>(bool element) {
  return element ? 0.0f : -INFINITY;
}

__device__ __forceinline__ float scale_of(const Attention& a) {
  return __uint_as_float(static_cast<unsigned int>(a.scale));
}

// Stores the elements of a row from their sums.
template <typename Out>
__device__ __forceinline__ Out* out_row(const Attention& a, const AttentionJob& job,
                                        AttentionRow row, Out* out) {
  return out + job.part * a.out[3] + job.batch * a.out[0] + row.head * a.out[1] +
         (job.query + row.query) * a.out[2];
}
__device__ __forceinline__ void store_sum(const Attention& a, const AttentionJob& job,
                                          AttentionRow row, float most, float sum, float* sums) {
  if (sums == nullptr) return;
  sums[job.part * a.sums[3] + job.batch * a.sums[0] + row.head * a.sums[1] +
       (job.query + row.query) * a.sums[2]] =
      sum == 0.0f ? -INFINITY : (most + log2f(sum)) * log_of_2;
}

#if defined(GS_BLOCK_FORM)
// Products of vectors become fused multiply-adds, which g++ does not know by name behind a
// precompiled header.
#if defined(__clang__)
#pragma clang fp contract(fast)
#else
#pragma GCC optimize("O3,fp-contract=fast")
#endif

#if defined(__AVX512F__)
constexpr int lanes = 16;
constexpr int wide_vectors = 4;
#elif defined(__AVX2__)
constexpr int lanes = 8;
constexpr int wide_vectors = 2;
#else
constexpr int lanes = 4;
#if defined(__aarch64__)
constexpr int wide_vectors = 4;
#else
constexpr int wide_vectors = 2;
#endif
#endif
typedef float Lanes __attribute__((vector_size(4 * lanes)));
typedef int IntLanes __attribute__((vector_size(4 * lanes)));
#define GS_UNROLL _Pragma("GCC unroll 16")

// 2^x for x ≤ 0, at most 2 ULP from the true value; 0 below the normal numbers.
__device__ __forceinline__ Lanes power_of_2(Lanes x) {
  const Lanes low = Lanes{} - 126.0f;
  const Lanes limited = x < low ? low : x;
  const Lanes shift = Lanes{} + 12582912.0f;  // leaves the nearest integer in the lowest bits
  const Lanes shifted = limited + shift;
  const Lanes r = limited - (shifted - shift);
  Lanes p = Lanes{} + 1.5403530e-4f;
  p = p * r + 1.3333558e-3f;
  p = p * r + 9.6181291e-3f;
  p = p * r + 5.5504109e-2f;
  p = p * r + 2.4022651e-1f;
  p = p * r + 6.9314718e-1f;
  p = p * r + 1.0f;
  const IntLanes exponent = (reinterpret_cast<const IntLanes&>(shifted) - 0x4b400000 + 127) << 23;
  return x < low ? Lanes{} : p * reinterpret_cast<const Lanes&>(exponent);
}

// sums[r][v] += vectors[t][v] · factor(r, t) over t < count, with the sums in registers.
template <int Rows, int Vectors, int Stride, typename Factor>
__device__ __forceinline__ void accumulate(int count, const Lanes* vectors,
                                           Lanes (&sums)[Rows][Vectors], Factor factor) {
  for (int t = 0; t < count; ++t) {
    Lanes row[Vectors];
    GS_UNROLL
    for (int v = 0; v < Vectors; ++v) row[v] = vectors[t * Stride + v];
    GS_UNROLL
    for (int r = 0; r < Rows; ++r) {
      const Lanes other = Lanes{} + factor(r, t);
      GS_UNROLL
      for (int v = 0; v < Vectors; ++v) sums[r][v] = row[v] * other + sums[r][v];
    }
  }
}

// The rows of a tile are the lanes of some columns of vectors, of which a product takes a few.
template <int Vectors, int Columns>
struct AttentionTile {
  static constexpr int columns = Columns;
  static constexpr int rows = columns * lanes;
  // Rows of a product that are computed together, and depend on the number of registers.
  static constexpr int step = Vectors == 1 ? 8 : 6;

  Lanes q[max_head * columns];
  Lanes scores[key_tile * columns];
  Lanes sums[max_head * columns];
  Lanes most[columns];
  Lanes total[columns];
  Lanes factor[columns];
  IntLanes low[columns];
  IntLanes high[columns];
  const float* k[key_tile];
  const float* v[key_tile];
  float wide_k[key_tile * max_head];
  float wide_v[key_tile * max_head];

  template <int Rows>
  __device__ __forceinline__ void score(int group, int j, int size) {
    Lanes products[Rows][Vectors] = {};
    accumulate<Rows, Vectors, columns>(size, q + group * Vectors, products,
                                       [&](int r, int d) { return k[j + r][d]; });
    GS_UNROLL
    for (int r = 0; r < Rows; ++r) {
      GS_UNROLL
      for (int v = 0; v < Vectors; ++v) {
        scores[(j + r) * columns + group * Vectors + v] = products[r][v];
      }
    }
  }

  template <int Rows>
  __device__ __forceinline__ void add_values(int group, int c, int count) {
    Lanes products[Rows][Vectors];
    Lanes* const place = sums + c * columns + group * Vectors;
    GS_UNROLL
    for (int r = 0; r < Rows; ++r) {
      GS_UNROLL
      for (int v = 0; v < Vectors; ++v) {
        products[r][v] = place[r * columns + v] * factor[group * Vectors + v];
      }
    }
    accumulate<Rows, Vectors, columns>(count, scores + group * Vectors, products,
                                       [&](int r, int j) { return this->v[j][c + r]; });
    GS_UNROLL
    for (int r = 0; r < Rows; ++r) {
      GS_UNROLL
      for (int v = 0; v < Vectors; ++v) place[r * columns + v] = products[r][v];
    }
  }

  // Turns the scores of a column of vectors into powers, and updates its maximum and sum.
  __device__ __forceinline__ void normalize(int column, int count) {
    Lanes* const place = scores + column;
    const Lanes before = most[column];
    Lanes largest = before;
    for (int j = 0; j < count; ++j) {
      const Lanes s = place[j * columns];
      largest = s > largest ? s : largest;
    }
    most[column] = largest;
    // Of a row without visible keys all powers are 0.
    const Lanes base = largest == -INFINITY ? Lanes{} : largest;
    factor[column] = power_of_2(before - base);
    Lanes sum = total[column] * factor[column];
    for (int j = 0; j < count; ++j) {
      const Lanes p = power_of_2(place[j * columns] - base);
      place[j * columns] = p;
      sum += p;
    }
    total[column] = sum;
  }
};

// A row as floats, which are copied to `wide` if need be.
template <typename T>
__device__ __forceinline__ const float* widened(const T* row, i64 size, float* wide) {
  GS_INDEPENDENT
  for (i64 d = 0; d < size; ++d) wide[d] = load(row[d]);
  return wide;
}
__device__ __forceinline__ const float* widened(const float* row, i64, float*) { return row; }
#if defined(GS_USES_FLOAT16) && defined(__F16C__)
// Single elements take several times as long.
__device__ __forceinline__ const float* widened(const __half* row, i64 size, float* wide) {
  typedef short Halves __attribute__((vector_size(16)));
  typedef float Floats __attribute__((vector_size(32)));
  i64 d = 0;
  for (; d + 8 <= size; d += 8) {
    Halves packed;
    __builtin_memcpy(&packed, row + d, sizeof packed);
    const Floats floats = __builtin_ia32_vcvtph2ps256(packed);
    __builtin_memcpy(wide + d, &floats, sizeof floats);
  }
  for (; d < size; ++d) wide[d] = load(row[d]);
  return wide;
}
#endif

template <typename T>
__device__ __forceinline__ void prefetch(const T* row, i64 size) {
  for (i64 d = 0; d < size; d += 64 / sizeof(T)) __builtin_prefetch(row + d, 0, 2);
}

template <Keys Source, int Rows, int, typename T, typename M, typename Out>
__device__ __forceinline__ void attention(const Attention& a, const T* q, const T* k, const T* v,
                                          const M* mask, const bool* blocks, const int* places,
                                          Out* out, float* sums) {
  constexpr int Vectors = Rows / lanes < wide_vectors ? Rows / lanes : wide_vectors;
  using Tile = AttentionTile<Vectors, Rows / lanes>;
  constexpr bool has_mask = !__is_same(M, NoMask);
  alignas(64) static thread_local Tile tile;
  const AttentionJob job = attention_job<Source>(a, Tile::rows, places);
  if (job.rows <= 0) return;
  const int size = static_cast<int>(a.size);
  const int value_size = static_cast<int>(a.value_size);
  const int groups = (job.rows + Vectors * lanes - 1) / (Vectors * lanes);
  const int used = groups * Vectors;
  const float scale = scale_of(a);
  const T* const own_k = k + job.batch * a.k[0] + job.head * a.k[1];
  const T* const own_v = v + job.batch * a.v[0] + job.head * a.v[1];
  AttentionRow rows[Tile::rows];
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
    const T* const from = q + job.batch * a.q[0] + rows[r].head * a.q[1] +
                          (job.query + rows[r].query) * a.q[2];
    float* const to = reinterpret_cast<float*>(tile.q) + r;
    for (int d = 0; d < size; ++d) to[d * Tile::rows] = static_cast<float>(load(from[d])) * scale;
  }
  __builtin_memcpy(tile.low, low, sizeof low);
  __builtin_memcpy(tile.high, high, sizeof high);
  for (int c = 0; c < used; ++c) {
    tile.most[c] = Lanes{} - INFINITY;
    tile.total[c] = Lanes{};
    for (int d = 0; d < value_size; ++d) tile.sums[d * Tile::columns + c] = Lanes{};
  }
  for (i64 begin = job.begin; begin < job.end; begin += key_tile) {
    const int count = job.end - begin < key_tile ? static_cast<int>(job.end - begin) : key_tile;
    if (blocks != nullptr) {
      bool is_visible = false;
      for (int r = 0; r < used * lanes; ++r) {
        const bool is_own = is_block_visible(a, job, blocks, rows[r], begin);
        is_visible |= is_own;
        reinterpret_cast<int*>(tile.high)[r] = is_own ? high[r] : -1;
      }
      if (!is_visible) continue;
    }
    for (int j = 0; j < count; ++j) {
      const i64 row = key_row<Source>(a, job, begin + j);
      tile.k[j] = widened(own_k + row * a.k[2], size, tile.wide_k + j * max_head);
      tile.v[j] = widened(own_v + row * a.v[2], value_size, tile.wide_v + j * max_head);
      // Few rows take less time than reading the keys.
      if (Rows == few_rows && begin + key_tile + j < job.end) {
        const i64 next = key_row<Source>(a, job, begin + key_tile + j);
        prefetch(own_k + next * a.k[2], size);
        prefetch(own_v + next * a.v[2], value_size);
      }
    }
    for (int group = 0; group < groups; ++group) {
      int j = 0;
      for (; j + Tile::step <= count; j += Tile::step) {
        tile.template score<Tile::step>(group, j, size);
      }
      for (; j < count; ++j) tile.template score<1>(group, j, size);
    }
    if constexpr (has_mask) {
      for (int r = 0; r < job.rows; ++r) {
        const M* const own = mask + job.batch * a.mask[0] + rows[r].head * a.mask[1] +
                             rows[r].query * a.mask[2] + begin * a.mask[3];
        float* const place = reinterpret_cast<float*>(tile.scores) + r;
        for (int j = 0; j < count; ++j) place[j * Tile::rows] += mask_value(own[j * a.mask[3]]);
      }
    }
    const bool is_whole = common_low <= begin && begin + count - 1 <= common_high;
    if (!is_whole || blocks != nullptr) {
      for (int j = 0; j < count; ++j) {
        const int at = static_cast<int>(begin) + j;
        for (int c = 0; c < used; ++c) {
          Lanes& place = tile.scores[j * Tile::columns + c];
          place = ((tile.low[c] <= at) & (tile.high[c] >= at)) ? place : Lanes{} - INFINITY;
        }
      }
    }
    for (int c = 0; c < used; ++c) tile.normalize(c, count);
    for (int group = 0; group < groups; ++group) {
      int c = 0;
      for (; c + Tile::step <= value_size; c += Tile::step) {
        tile.template add_values<Tile::step>(group, c, count);
      }
      for (; c < value_size; ++c) tile.template add_values<1>(group, c, count);
    }
  }
  for (int r = 0; r < job.rows; ++r) {
    const float sum = tile.total[r / lanes][r % lanes];
    const float factor = sum == 0.0f ? 0.0f : 1.0f / sum;
    const float* const from = reinterpret_cast<const float*>(tile.sums) + r;
    Out* const to = out_row(a, job, rows[r], out);
    for (int c = 0; c < value_size; ++c) to[c] = store<Out>(from[c * Tile::rows] * factor);
    store_sum(a, job, rows[r], tile.most[r / lanes][r % lanes], sum, sums);
  }
}
#else
constexpr int depth = 32;       // elements of heads in shared memory
constexpr int value_tile = 16;  // rows of values there

// Blocks of 128 threads: 16 groups of 8 threads, each of which shares rows. Columns: of values that
// a thread computes at most.
template <Keys Source, int TileRows, int Columns, typename T, typename M, typename Out>
__device__ __forceinline__ void attention(const Attention& a, const T* q, const T* k, const T* v,
                                          const M* mask, const bool* blocks, const int* places,
                                          Out* out, float* sums) {
  constexpr bool has_mask = !__is_same(M, NoMask);
  constexpr int Rows = TileRows / 16;
  constexpr int per_thread = key_tile / 8;
  constexpr int operands = (TileRows + key_tile) * (depth + 1);
  constexpr int values = value_tile * 8 * Columns;
  __shared__ float shared[operands > values ? operands : values];
  __shared__ float powers[TileRows][key_tile + 1];
  float* const shared_k = shared + TileRows * (depth + 1);
  const AttentionJob job = attention_job<Source>(a, TileRows, places);
  if (job.rows <= 0) return;
  const int across = threadIdx.x % 8;
  const int first = threadIdx.x / 8 * Rows;
  const int size = static_cast<int>(a.size);
  const int value_size = static_cast<int>(a.value_size);
  const float scale = scale_of(a);
  const T* const own_k = k + job.batch * a.k[0] + job.head * a.k[1];
  const T* const own_v = v + job.batch * a.v[0] + job.head * a.v[1];
  AttentionRow rows[Rows];
  float most[Rows];
  float total[Rows];
  float result[Rows][Columns];
  for (int r = 0; r < Rows; ++r) {
    rows[r] = row_of(a, job, first + r < job.rows ? first + r : job.rows - 1);
    most[r] = -INFINITY;
    total[r] = 0.0f;
    for (int c = 0; c < Columns; ++c) result[r][c] = 0.0f;
  }
  for (i64 begin = job.begin; begin < job.end; begin += key_tile) {
    bool is_visible[Rows];
    bool is_any = blocks == nullptr;
    for (int r = 0; r < Rows; ++r) {
      is_visible[r] = blocks == nullptr || is_block_visible(a, job, blocks, rows[r], begin);
      is_any |= is_visible[r];
    }
    if (!__syncthreads_or(is_any)) continue;
    const int count = job.end - begin < key_tile ? static_cast<int>(job.end - begin) : key_tile;
    float scores[Rows][per_thread] = {};
    for (int d = 0; d < size; d += depth) {
      __syncthreads();  // the last operands are still read
      for (int i = threadIdx.x; i < (TileRows + key_tile) * depth; i += blockDim.x) {
        const int row = i / depth;
        const int at = d + i % depth;
        float element = 0.0f;
        if (row < job.rows && at < size) {
          const AttentionRow own = row_of(a, job, row);
          element = scale * load(q[job.batch * a.q[0] + own.head * a.q[1] +
                                   (job.query + own.query) * a.q[2] + at]);
        } else if (row >= TileRows && row - TileRows < count && at < size) {
          element = load(own_k[key_row<Source>(a, job, begin + row - TileRows) * a.k[2] + at]);
        }
        shared[row * (depth + 1) + i % depth] = element;
      }
      __syncthreads();
      for (int i = 0; i < depth; ++i) {
        float keys[per_thread];
        for (int j = 0; j < per_thread; ++j) keys[j] = shared_k[(across + 8 * j) * (depth + 1) + i];
        for (int r = 0; r < Rows; ++r) {
          const float query = shared[(first + r) * (depth + 1) + i];
          for (int j = 0; j < per_thread; ++j) scores[r][j] = fmaf(query, keys[j], scores[r][j]);
        }
      }
    }
    for (int r = 0; r < Rows; ++r) {
      const i64 diagonal = rows[r].query + job.offset;
      float largest = most[r];
      for (int j = 0; j < per_thread; ++j) {
        const i64 at = begin + across + 8 * j;
        const bool is_seen = across + 8 * j < count && is_visible[r] && at >= diagonal - a.left &&
                             at <= diagonal + a.right;
        if constexpr (has_mask) {
          if (is_seen) {
            scores[r][j] += mask_value(mask[job.batch * a.mask[0] + rows[r].head * a.mask[1] +
                                            rows[r].query * a.mask[2] + at * a.mask[3]]);
          }
        }
        if (!is_seen) scores[r][j] = -INFINITY;
        largest = scores[r][j] > largest ? scores[r][j] : largest;
      }
      for (int distance = 4; distance > 0; distance /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, largest, distance);
        largest = other > largest ? other : largest;
      }
      // Of a row without visible keys all powers are 0.
      const float base = largest == -INFINITY ? 0.0f : largest;
      const float factor = exp2f(most[r] - base);
      float sum = 0.0f;
      for (int j = 0; j < per_thread; ++j) {
        const float power = exp2f(scores[r][j] - base);
        powers[first + r][across + 8 * j] = power;
        sum += power;
      }
      for (int distance = 4; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, distance);
      }
      total[r] = fmaf(total[r], factor, sum);
      most[r] = largest;
      for (int c = 0; c < Columns; ++c) result[r][c] *= factor;
    }
    for (int j = 0; j < count; j += value_tile) {
      __syncthreads();  // the last operands are still read
      for (int i = threadIdx.x; i < value_tile * value_size; i += blockDim.x) {
        const int row = i / value_size;
        const int column = i - row * value_size;
        shared[row * 8 * Columns + column] =
            j + row < count
                ? load(own_v[key_row<Source>(a, job, begin + j + row) * a.v[2] + column])
                : 0.0f;
      }
      __syncthreads();
      for (int i = 0; i < value_tile; ++i) {
        for (int c = 0; c < Columns; ++c) {
          if (across + 8 * c >= value_size) break;
          const float value = shared[i * 8 * Columns + across + 8 * c];
          for (int r = 0; r < Rows; ++r) {
            result[r][c] = fmaf(powers[first + r][j + i], value, result[r][c]);
          }
        }
      }
    }
  }
  for (int r = 0; r < Rows; ++r) {
    if (first + r >= job.rows) continue;
    const float factor = total[r] == 0.0f ? 0.0f : 1.0f / total[r];
    Out* const to = out_row(a, job, rows[r], out);
    for (int c = 0; c < Columns; ++c) {
      if (across + 8 * c < value_size) to[across + 8 * c] = store<Out>(result[r][c] * factor);
    }
    if (across == 0) store_sum(a, job, rows[r], most[r], total[r], sums);
  }
}
#endif

// Merges the results of parts of the keys, each [rows, columns], by their sums.
template <typename Out>
__device__ __forceinline__ void merge_attention(i64 elements, i64 chunk, i64 parts, i64 rows,
                                                i64 columns, const float* part_out,
                                                const float* part_sums, Out* out, float* sums) {
  map(Space<1, 1>{}, elements, chunk, [=](const i64*, i64 i) {
    const i64 row = i / columns;
    float most = -INFINITY;
    for (i64 part = 0; part < parts; ++part) {
      const float own = part_sums[part * rows + row];
      most = own > most ? own : most;
    }
    const float base = most == -INFINITY ? 0.0f : most;
    float total = 0.0f;
    float value = 0.0f;
    for (i64 part = 0; part < parts; ++part) {
      const float weight = exponential(part_sums[part * rows + row] - base);
      total += weight;
      value += weight * part_out[part * elements + i];
    }
    out[i] = store<Out>(total == 0.0f ? 0.0f : value / total);
    if (sums != nullptr && i == row * columns) {
      sums[row] = total == 0.0f ? -INFINITY : base + logf(total);
    }
  });
}

}  // namespace gridstride::tensor
