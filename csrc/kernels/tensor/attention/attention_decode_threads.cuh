/*
 * attention_decode_threads.cuh — attention.cuh for CUDA threads and few rows of queries, such as
 * those of one query and the heads that share its keys.
 *
 * Problem: that of attention.cuh, for rows of keys and values that consist of 16-byte chunks at
 * multiples of 16 bytes. The limit is the read of all keys and values.
 * Mapping: a block of GS_BLOCK_THREADS threads takes a part of the keys. Neighbouring lanes share
 * a key, whose chunks lie across them, and the next lanes have the next key, so a warp reads
 * neighbours in memory. A thread loads the chunks of some keys and of their values before it uses
 * the first one: 128 to 256 bytes in flight. Each group of lanes has a maximum and a sum of its
 * own, which are merged at the end, first within a warp.
 * Hidden keys: keys that all rows see take a loop without comparisons. In others, values of hidden
 * keys count as 0.
 * Numerics: products and sums are fused, as floats; the order depends on the shape alone.
 */
#pragma once

#include "kernels/tensor/attention/attention.cuh"
#include "kernels/tensor/warp.cuh"

#if !defined(GS_BLOCK_FORM)
namespace gridstride::tensor::attention {

__device__ __forceinline__ float fast_power_of_2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// 16 bytes of elements.
template <typename T>
struct alignas(16) Chunk {
  static constexpr int size = 16 / sizeof(T);
  T elements[size];
};

template <typename T>
__device__ __forceinline__ Chunk<T> load_chunk(const T* from) {
  const uint4 bits = *reinterpret_cast<const uint4*>(from);
  Chunk<T> chunk;
  memcpy(&chunk, &bits, sizeof chunk);
  return chunk;
}

// The results so far of the keys of a group of lanes, as a thread has them.
template <int Rows, int Columns, bool HasMask>
struct PartialRows {
  float row_max[Rows];
  float row_sum[Rows];
  float result[Rows][Columns];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      row_max[r] = -INFINITY;
      row_sum[r] = 0.0f;
#pragma unroll
      for (int c = 0; c < Columns; ++c) result[r][c] = 0.0f;
    }
  }

  // The base of powers: of a row without visible keys all powers are 0.
  static __device__ __forceinline__ float base_of(float maximum) {
    return maximum == -INFINITY ? 0.0f : maximum;
  }

  __device__ __forceinline__ void raise(int r, float maximum) {
    const float factor = fast_power_of_2(exponent_of<HasMask>(row_max[r], base_of(maximum)));
    row_max[r] = maximum;
    row_sum[r] *= factor;
#pragma unroll
    for (int c = 0; c < Columns; ++c) result[r][c] *= factor;
  }

  // Merges those of the lanes at a distance.
  __device__ __forceinline__ void merge_lanes(int distance) {
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      raise(r, fmaxf(row_max[r], exchange(row_max[r], distance)));
      row_sum[r] += exchange(row_sum[r], distance);
#pragma unroll
      for (int c = 0; c < Columns; ++c) result[r][c] += exchange(result[r][c], distance);
    }
  }
};

// The lanes that share a row of chunks, a power of two.
constexpr int lanes_for(int chunks) {
  int lanes = 1;
  while (lanes < chunks && lanes < 32) lanes *= 2;
  return lanes;
}

// Rows: of queries, at least those of a tile. Size and Value: of heads of keys and of values.
template <Keys Source, int Rows, int Size, int Value, typename T, typename M, typename Out>
__device__ __forceinline__ void attention_decode(const Attention& a, const T* q, const T* k,
                                                 const T* v, const M* mask, const bool* blocks,
                                                 const int* places, Out* out, float* sums) {
  constexpr bool has_mask = !is_same<M, NoMask>;
  constexpr int chunk = Chunk<T>::size;
  constexpr int widest = (Size > Value ? Size : Value) / chunk;
  constexpr int Lanes = lanes_for(widest);
  constexpr int Chunks = (widest + Lanes - 1) / Lanes;
  constexpr int columns = Chunks * chunk;
  constexpr int width = Lanes * columns;
  constexpr int groups = GS_BLOCK_THREADS / Lanes;
  constexpr int warps = GS_BLOCK_THREADS / 32;
  // Keys that a thread loads at once. More rows need registers for queries and results.
  constexpr int keys = Rows <= 4 ? 8 / Chunks : 4 / Chunks;
  constexpr int step = keys * groups;
  __shared__ float max_of_warp[warps][Rows];
  __shared__ float sum_of_warp[warps][Rows];
  __shared__ float result_of_warp[warps][Rows][width];
  const AttentionJob job = attention_job<Source>(a, Rows, places, blockIdx.x);
  if (job.rows <= 0) return;
  const int thread = static_cast<int>(threadIdx.x);
  const int group = thread / Lanes;
  const int begin = static_cast<int>(job.begin);
  const int end = static_cast<int>(job.end);
  // A chunk beyond the last one is the first one, whose products are not used.
  int column[Chunks];
#pragma unroll
  for (int c = 0; c < Chunks; ++c) column[c] = (thread % Lanes + c * Lanes) * chunk;

  // Queries, and the keys that rows see.
  AttentionRow rows[Rows];
  int low[Rows];
  int high[Rows];
  int common_low = -1;
  int common_high = end - 1;
  float queries[Rows][columns];
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    rows[r] = row_of(a, job, r < job.rows ? r : job.rows - 1);
    low[r] = clamp_key(rows[r].query + job.offset - a.left, job.keys);
    high[r] = clamp_key(rows[r].query + job.offset + a.right, end - 1);
    common_low = low[r] > common_low ? low[r] : common_low;
    common_high = high[r] < common_high ? high[r] : common_high;
    const T* const query = q + job.batch * a.q[0] + rows[r].head * a.q[1] +
                           (job.query + rows[r].query) * a.q[2];
#pragma unroll
    for (int c = 0; c < Chunks; ++c) {
#pragma unroll
      for (int e = 0; e < chunk; ++e) {
        const int at = column[c] + e;
        queries[r][c * chunk + e] = at < Size ? scale_of(a) * load(query[at]) : 0.0f;
      }
    }
  }
  const T* const k_base = k + job.batch * a.k[0] + job.head * a.k[1];
  const T* const v_base = v + job.batch * a.v[0] + job.head * a.v[1];
  int k_column[Chunks];
  int v_column[Chunks];
#pragma unroll
  for (int c = 0; c < Chunks; ++c) {
    k_column[c] = column[c] < Size ? column[c] : 0;
    v_column[c] = column[c] < Value ? column[c] : 0;
  }

  PartialRows<Rows, columns, has_mask> partial;
  partial.clear();
  // A key of this thread, or the last one.
  const auto key_at = [&](int first, int i) {
    const int key = first + i * groups + group;
    return key < end ? key : end - 1;
  };
  // Pages are looked up before the keys of the last step are used.
  int pages[keys] = {};
  const auto find_pages = [&](int first) {
    if constexpr (Source == Keys::paged) {
#pragma unroll
      for (int i = 0; i < keys; ++i) pages[i] = job.places[page_of(a, key_at(first, i))];
    }
  };
  const auto row_at = [&](int first, int i) {
    const i64 key = key_at(first, i);
    if constexpr (Source != Keys::paged) return job.key + key;
    return key + (pages[i] - page_of(a, key)) * a.page;
  };
  if (begin < end) find_pages(begin);
  const auto take_keys = [&](int first, auto is_whole) {
    // All loads, and the pages of the next keys.
    Chunk<T> key_chunks[keys][Chunks];
    Chunk<T> value_chunks[keys][Chunks];
#pragma unroll
    for (int i = 0; i < keys; ++i) {
      const T* const row = k_base + row_at(first, i) * a.k[2];
#pragma unroll
      for (int c = 0; c < Chunks; ++c) key_chunks[i][c] = load_chunk(row + k_column[c]);
    }
#pragma unroll
    for (int i = 0; i < keys; ++i) {
      const T* const row = v_base + row_at(first, i) * a.v[2];
#pragma unroll
      for (int c = 0; c < Chunks; ++c) value_chunks[i][c] = load_chunk(row + v_column[c]);
    }
    find_pages(first + step);

    // Scores.
    float scores[Rows][keys];
#pragma unroll
    for (int i = 0; i < keys; ++i) {
#pragma unroll
      for (int r = 0; r < Rows; ++r) scores[r][i] = 0.0f;
#pragma unroll
      for (int c = 0; c < Chunks; ++c) {
#pragma unroll
        for (int e = 0; e < chunk; ++e) {
          float element = load(key_chunks[i][c].elements[e]);
          // The first chunk is in place of one beyond the last.
          if (width > Size && column[c] >= Size) element = 0.0f;
#pragma unroll
          for (int r = 0; r < Rows; ++r) {
            scores[r][i] = fmaf(queries[r][c * chunk + e], element, scores[r][i]);
          }
        }
      }
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        scores[r][i] = tensor::warp_sum<Lanes>(scores[r][i]);
      }
    }

    // Mask: its elements, the window and the blocks.
    if constexpr (!is_whole.value) {
#pragma unroll
      for (int i = 0; i < keys; ++i) {
        const int key = first + i * groups + group;
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          bool is_seen = key >= low[r] && key <= high[r];
          if (is_seen && blocks != nullptr) {
            is_seen = is_block_visible(a, job, blocks, rows[r], key);
          }
          if constexpr (has_mask) {
            if (is_seen) {
              const float addend = addend_of(mask[mask_offset(a, job, rows[r], key)]);
              scores[r][i] = masked<M>(scores[r][i], addend);
            }
          }
          if (!is_seen) scores[r][i] = -INFINITY;
        }
      }
    }

    // Online softmax.
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      float maximum = partial.row_max[r];
#pragma unroll
      for (int i = 0; i < keys; ++i) maximum = fmaxf(maximum, scores[r][i]);
      partial.raise(r, maximum);
      const float base = partial.base_of(maximum);
#pragma unroll
      for (int i = 0; i < keys; ++i) {
        const bool is_hidden = !is_whole.value && scores[r][i] == -INFINITY;
        scores[r][i] = fast_power_of_2(exponent_of<has_mask>(scores[r][i], base));
        partial.row_sum[r] += scores[r][i];
        // Marks keys whose values count as 0.
        if (is_hidden) scores[r][i] = -1.0f;
      }
    }

    // Values.
#pragma unroll
    for (int i = 0; i < keys; ++i) {
#pragma unroll
      for (int c = 0; c < Chunks; ++c) {
#pragma unroll
        for (int e = 0; e < chunk; ++e) {
          const float element = load(value_chunks[i][c].elements[e]);
#pragma unroll
          for (int r = 0; r < Rows; ++r) {
            float& result = partial.result[r][c * chunk + e];
            if (is_whole.value || scores[r][i] >= 0.0f || scores[r][i] != scores[r][i]) {
              result = fmaf(scores[r][i], element, result);
            }
          }
        }
      }
    }
  };
  // Steps from common_low to last_whole are seen by all rows.
  const bool is_simple = !has_mask && blocks == nullptr;
  const int last_whole = is_simple ? common_high + 1 - step : -1;
  int first = begin;
  while (first < end) {
    if (common_low <= first && first <= last_whole) {
      do {
        take_keys(first, Constant<true>{});
        first += step;
      } while (first <= last_whole);
    } else {
      take_keys(first, Constant<false>{});
      first += step;
    }
  }

  // The groups of a warp, and the warps of the block.
#pragma unroll
  for (int distance = Lanes; distance < 32; distance *= 2) partial.merge_lanes(distance);
  if (thread % 32 < Lanes) {
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      max_of_warp[thread / 32][r] = partial.row_max[r];
      sum_of_warp[thread / 32][r] = partial.row_sum[r];
#pragma unroll
      for (int c = 0; c < columns; ++c) {
        result_of_warp[thread / 32][r][column[c / chunk] + c % chunk] = partial.result[r][c];
      }
    }
  }
  __syncthreads();

  // Store.
  for (int i = thread; i < Rows * width; i += GS_BLOCK_THREADS) {
    const int r = i / width;
    const int c = i % width;
    if (r >= job.rows || c >= Value) continue;
    float row_max = -INFINITY;
    for (int w = 0; w < warps; ++w) row_max = fmaxf(row_max, max_of_warp[w][r]);
    const float base = row_max == -INFINITY ? 0.0f : row_max;
    float row_sum = 0.0f;
    float result = 0.0f;
    for (int w = 0; w < warps; ++w) {
      const float factor = fast_power_of_2(exponent_of<has_mask>(max_of_warp[w][r], base));
      row_sum = fmaf(sum_of_warp[w][r], factor, row_sum);
      result = fmaf(result_of_warp[w][r][c], factor, result);
    }
    const AttentionRow row = row_of(a, job, r);
    out_row(a, job, row, out)[c] = store<Out>(row_sum == 0.0f ? 0.0f : result / row_sum);
    if (c == 0) store_sum<has_mask>(a, job, row, row_max, row_sum, sums);
  }
}

}  // namespace gridstride::tensor::attention
#endif
