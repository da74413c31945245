/*
 * attention.cuh — softmax(q kᵀ · scale + mask) v without the scores in memory.
 *
 * Problem: queries of some heads, keys and values of as many heads or fewer: `group` heads of
 * queries share one of keys. Lengths of any size; sequences may lie one after another (ragged), and
 * keys may lie in pages.
 * Mapping: a block takes a tile of rows, the queries of all heads of a group, and walks over tiles
 * of 64 keys with a running maximum and sum (Milakov and Gimelshein, "Online normalizer calculation
 * for softmax", 2018; Dao, "FlashAttention-2", 2023). With few tiles of rows, blocks take parts of
 * the keys, and a second kernel merges them. Tiles that no row sees are skipped. The block form is
 * in attention_loops.cuh, CUDA threads are in attention_threads.cuh, those for few rows in
 * attention_decode_threads.cuh, and tensor cores in attention_mma.cuh.
 * Numerics: products and sums as float; the order depends on the shape alone. Scores are in units
 * of log2, but with a mask in units of e: the lowest float has no finite multiple. Only -infinity
 * and false hide a key. A row that sees no key is zero, and its logarithm of the sum is -infinity.
 * Hidden keys: nothing of them reaches a row. Their scores are -infinity, whatever the products. A
 * power of 0 times a value that is NaN or infinite would be NaN, so the products take such values
 * for 0 where keys may be hidden, and add_others() adds them to the results of the rows that see
 * them. The loop over tiles is no slower for values that hardly any call has.
 */
#pragma once

#include "kernels/tensor/map.cuh"

namespace gridstride::tensor::attention {

// Keys of a tile of the block form and of CUDA threads; bounds are multiples of it.
constexpr int key_tile = GS_KEY_TILE;
constexpr int max_head = GS_MAX_HEAD;
constexpr int few_rows = GS_FEW_ROWS;  // of a small tile
constexpr float log2_of_e = 1.44269504f;
constexpr float log_of_2 = 0.693147181f;
constexpr float lowest_float = -3.402823466e38f;

// Neither NaN nor infinite.
__device__ __forceinline__ bool is_number(float x) { return x - x == 0.0f; }

template <bool Value>
struct Constant {
  static constexpr bool value = Value;
};

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
  i64 all_heads;  // of keys, in all batches
  i64 section;    // heads whose tiles alternate
  i64 parts;
  i64 part_keys;
  i64 page;
  i64 page_factor;  // of a key, for its page: bits page_shift and higher of the product
  i64 page_shift;
  i64 width;  // of the rows of places
  i64 scale;  // the bits of a float, in the units of scores
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
                                                      const int* places, unsigned block) {
  i64 rest = block;
  AttentionJob job{};
  job.part = rest % a.parts;
  rest /= a.parts;
  // Late tiles see more keys if the mask is causal: those of all heads of a section begin first,
  // and short ones end the launch.
  const i64 first_head = rest / (a.section * a.tiles) * a.section;
  rest -= first_head * a.tiles;
  const i64 rest_heads = a.all_heads - first_head;
  const i64 section = a.section < rest_heads ? a.section : rest_heads;
  const i64 tile = a.tiles - 1 - rest / section;
  const i64 head = first_head + rest % section;
  job.head = head % a.heads;
  job.batch = head / a.heads;
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

// The page of a key below 2^31, without a division.
__device__ __forceinline__ i64 page_of(const Attention& a, i64 key) {
  const auto product = static_cast<unsigned long long>(static_cast<unsigned int>(key)) *
                       static_cast<unsigned int>(a.page_factor);
  return static_cast<i64>(product >> a.page_shift);
}

// The place of a key among the rows of k and v.
template <Keys Source>
__device__ __forceinline__ i64 key_row(const Attention& a, const AttentionJob& job, i64 j) {
  if constexpr (Source != Keys::paged) return job.key + j;
  const i64 page = page_of(a, j);
  return j + (job.places[page] - page) * a.page;
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

__device__ __forceinline__ i64 mask_offset(const Attention& a, const AttentionJob& job,
                                          AttentionRow row, i64 j) {
  return job.batch * a.mask[0] + row.head * a.mask[1] + row.query * a.mask[2] + j * a.mask[3];
}

// What a mask adds to a score.
template <typename M>
__device__ __forceinline__ float addend_of(M element) {
  return load(element);
}
template <>
__device__ __forceinline__ float addend_of<bool>(bool element) {
  return element ? 0.0f : -INFINITY;
}

// The score under a mask of elements M. A sum below the numbers is the lowest one, because the key
// is not hidden.
template <typename M, typename V>
__device__ __forceinline__ V masked(V score, V addend) {
  if constexpr (is_same<M, bool>) {
    return addend == -INFINITY ? addend : score;
  } else {
    const V lowest = V{} + lowest_float;
    const V sum = score + addend;
    const V limited = sum < lowest ? lowest : sum;
    return addend == -INFINITY ? addend : limited;
  }
}

// The exponent of a power of 2: a difference of scores.
template <bool HasMask, typename V>
__device__ __forceinline__ V exponent_of(V score, V base) {
  if constexpr (HasMask) return (score - base) * log2_of_e;
  else return score - base;
}

__device__ __forceinline__ float scale_of(const Attention& a) {
  return __uint_as_float(static_cast<unsigned int>(a.scale));
}

// The elements of a row in the result.
template <typename Out>
__device__ __forceinline__ Out* out_row(const Attention& a, const AttentionJob& job,
                                        AttentionRow row, Out* out) {
  return out + job.part * a.out[3] + job.batch * a.out[0] + row.head * a.out[1] +
         (job.query + row.query) * a.out[2];
}

// Adds values that are NaN or infinite to the results of the rows that see them. A thread takes the
// columns from one on, at a distance.
template <Keys Source, typename T, typename M, typename Out>
__device__ __forceinline__ void add_others(const Attention& a, const AttentionJob& job, const T* v,
                                           const M* mask, const bool* blocks, int column,
                                           int distance, Out* out) {
  const auto is_seen = [&](AttentionRow row, i64 j) {
    const i64 diagonal = row.query + job.offset;
    if (j < diagonal - a.left || j > diagonal + a.right) return false;
    if (blocks != nullptr && !is_block_visible(a, job, blocks, row, j)) return false;
    if constexpr (is_same<M, NoMask>) return true;
    else return addend_of(mask[mask_offset(a, job, row, j)]) != -INFINITY;
  };
  for (i64 j = job.begin; j < job.end; ++j) {
    const T* const value =
        v + job.batch * a.v[0] + job.head * a.v[1] + key_row<Source>(a, job, j) * a.v[2];
    for (i64 c = column; c < a.value_size; c += distance) {
      const float element = load(value[c]);
      if (is_number(element)) continue;
      for (int r = 0; r < job.rows; ++r) {
        const AttentionRow row = row_of(a, job, r);
        if (!is_seen(row, j)) continue;
        Out& result = out_row(a, job, row, out)[c];
        result = store<Out>(static_cast<float>(load(result)) + element);
      }
    }
  }
}

template <bool HasMask>
__device__ __forceinline__ void store_sum(const Attention& a, const AttentionJob& job,
                                          AttentionRow row, float row_max, float row_sum,
                                          float* sums) {
  if (sums == nullptr) return;
  const float base = HasMask ? row_max : row_max * log_of_2;
  sums[job.part * a.sums[3] + job.batch * a.sums[0] + row.head * a.sums[1] +
       (job.query + row.query) * a.sums[2]] =
      row_sum == 0.0f ? -INFINITY : fmaf(log2f(row_sum), log_of_2, base);
}

#if defined(GS_BLOCK_FORM)
// Merges the results of parts of the keys, each [rows, columns], by their sums.
template <typename Out>
__device__ __forceinline__ void merge_attention(i64 elements, i64 chunk, i64 parts, i64 rows,
                                                i64 columns, const float* part_out,
                                                const float* part_sums, Out* out, float* sums) {
  map(Space<1, 1>{}, elements, chunk, [=](const i64*, i64 i) {
    const i64 row = i / columns;
    float row_max = -INFINITY;
    for (i64 part = 0; part < parts; ++part) {
      const float part_sum = part_sums[part * rows + row];
      row_max = part_sum > row_max ? part_sum : row_max;
    }
    const float base = row_max == -INFINITY ? 0.0f : row_max;
    float weights = 0.0f;
    float value = 0.0f;
    for (i64 part = 0; part < parts; ++part) {
      const float weight = exponential(part_sums[part * rows + row] - base);
      weights += weight;
      value += weight * part_out[part * elements + i];
    }
    out[i] = store<Out>(weights == 0.0f ? 0.0f : value / weights);
    if (sums != nullptr && i == row * columns) {
      sums[row] = weights == 0.0f ? -INFINITY : base + logf(weights);
    }
  });
}
#endif

}  // namespace gridstride::tensor::attention

#if defined(GS_BLOCK_FORM)
#include "kernels/tensor/attention/attention_loops.cuh"
#else
#include "kernels/tensor/attention/attention_threads.cuh"
#include "kernels/tensor/attention/attention_decode_threads.cuh"
#endif
