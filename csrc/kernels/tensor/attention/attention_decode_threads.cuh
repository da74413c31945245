/*
 * attention_decode_threads.cuh — attention.cuh for CUDA threads and few rows of queries, such as
 * those of one query and the heads that share its keys.
 *
 * Problem: that of attention.cuh, for rows of keys and values that consist of 16-byte chunks at
 * multiples of 16 bytes. The limit is the read of all keys and values.
 * Mapping: a block of GS_BLOCK_THREADS threads takes a part of the keys. Neighbouring lanes share
 * a key, whose chunks lie across them, and the next lanes have the next key, so a warp reads
 * neighbours in memory. The chunks of Stages steps are under way to shared memory or lie there. A
 * thread reads only what it has copied, so the loop has no barrier.
 * The lanes of a group share out the scores of a step as they add them up: each has the powers of
 * some of them, and hands them round for the products with values. Each group has maxima and sums
 * of its own, which are merged at the end, first within a warp.
 * Hidden keys: keys that all rows see take a loop without comparisons. In others, values of hidden
 * keys count as 0.
 * Numerics: products and sums are fused, as floats; the order depends on the shape alone.
 */
#pragma once

#include "kernels/tensor/attention/attention.cuh"
#include "kernels/tensor/matmul/tensor_core.cuh"
#include "kernels/tensor/warp.cuh"

#if !defined(GS_BLOCK_FORM)
namespace gridstride::tensor::attention {

__device__ __forceinline__ float fast_power_of_2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// Makes 0 of elements of 16 bits that are NaN or infinite, and returns whether there are any.
// `infinity` has the bits of one.
__device__ __forceinline__ bool clear_others(uint4& chunk, unsigned infinity) {
  // Magnitudes of others reach the highest bit.
  const unsigned distance = (0x8000u - infinity) * 0x10001u;
  const auto others_of = [&](unsigned pair) { return (pair & 0x7fff7fffu) + distance; };
  const uint4 pairs = chunk;
  const unsigned others =
      others_of(pairs.x) | others_of(pairs.y) | others_of(pairs.z) | others_of(pairs.w);
  if ((others & 0x80008000u) == 0) return false;
  const auto cleared = [&](unsigned pair) {
    return pair & ~((others_of(pair) >> 15 & 0x10001u) * 0xffffu);
  };
  chunk = {cleared(pairs.x), cleared(pairs.y), cleared(pairs.z), cleared(pairs.w)};
  return true;
}

// 16 bytes of elements.
template <typename T>
struct alignas(16) Chunk {
  static constexpr int size = 16 / sizeof(T);
  T elements[size];
};

template <typename T>
__device__ __forceinline__ Chunk<T> chunk_of(uint4 bits) {
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

// The results of a warp in shared memory.
template <int Rows, int Width>
struct DecodedRows {
  float row_max[Rows];
  float row_sum[Rows];
  float result[Rows][Width];
};

// Merges the results of the warps of a block, and stores them.
template <bool HasMask, int Value, int Rows, int Width, typename Out>
__device__ __forceinline__ void store_decoded(const Attention& a, const AttentionJob& job,
                                              const DecodedRows<Rows, Width>* warps, Out* out,
                                              float* sums) {
  constexpr int count = GS_BLOCK_THREADS / 32;
  for (int i = static_cast<int>(threadIdx.x); i < Rows * Width; i += GS_BLOCK_THREADS) {
    const int r = i / Width;
    const int c = i % Width;
    if (r >= job.rows || c >= Value) continue;
    float row_max = -INFINITY;
    for (int w = 0; w < count; ++w) row_max = fmaxf(row_max, warps[w].row_max[r]);
    const float base = row_max == -INFINITY ? 0.0f : row_max;
    float row_sum = 0.0f;
    float result = 0.0f;
    for (int w = 0; w < count; ++w) {
      const float factor = fast_power_of_2(exponent_of<HasMask>(warps[w].row_max[r], base));
      row_sum = fmaf(warps[w].row_sum[r], factor, row_sum);
      result = fmaf(warps[w].result[r][c], factor, result);
    }
    const AttentionRow row = row_of(a, job, r);
    out_row(a, job, row, out)[c] = store<Out>(row_sum == 0.0f ? 0.0f : result / row_sum);
    if (c == 0) store_sum<HasMask>(a, job, row, row_max, row_sum, sums);
  }
}

// The lanes that share a row of chunks, a power of two.
constexpr int lanes_for(int chunks) {
  int lanes = 1;
  while (lanes < chunks && lanes < 32) lanes *= 2;
  return lanes;
}

// Rows: of queries, at least those of a tile. Size and Value: of heads of keys and of values.
// Copied: chunks of keys that a thread copies in a step, and as many of values.
template <Keys Source, int Rows, int Size, int Value, int Stages, int Copied, typename T,
          typename M, typename Out>
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
  constexpr int keys = Copied / Chunks;  // of a thread in a step
  constexpr int step = keys * groups;
  // Score r * keys + i is of row r and key i. A lane has `own` of them; several have the same one
  // if there are fewer scores than lanes.
  constexpr int scores = Rows * keys;
  constexpr int own = scores > Lanes ? scores / Lanes : 1;
  constexpr int lanes_of_score = scores < Lanes ? Lanes / scores : 1;
  constexpr int own_rows = own > keys ? own / keys : 1;
  constexpr int own_keys = own / own_rows;
  constexpr int lanes_of_row = lanes_of_score * (keys / own_keys);
  extern __shared__ uint4 ring[];
  // They take the place of the ring.
  using WarpRows = DecodedRows<Rows, width>;
  static_assert(warps * sizeof(WarpRows) <= Stages * 2 * Copied * GS_BLOCK_THREADS * sizeof(uint4),
                "results of warps fit");
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

  // Copies of keys and values.
  const T* const k_base = k + job.batch * a.k[0] + job.head * a.k[1];
  const T* const v_base = v + job.batch * a.v[0] + job.head * a.v[1];
  // A key of this thread, or the last one.
  const auto key_at = [&](int first, int i) {
    const int key = first + i * groups + group;
    return key < end ? key : end - 1;
  };
  // Pages are looked up a step before their keys are copied.
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
  // The chunk of a thread's key, and that of its value, in a stage.
  const auto place = [&](int stage, int i, int c, bool is_value) {
    const int number = (stage * 2 + is_value) * Copied + i * Chunks + c;
    return ring + number * GS_BLOCK_THREADS + thread;
  };
  const auto copy_step = [&](int first, int stage) {
    if (first < end) {
#pragma unroll
      for (int i = 0; i < keys; ++i) {
        const i64 row = row_at(first, i);
#pragma unroll
        for (int c = 0; c < Chunks; ++c) {
          const int k_column = column[c] < Size ? column[c] : 0;
          const int v_column = column[c] < Value ? column[c] : 0;
          copy_chunk(place(stage, i, c, false), k_base + row * a.k[2] + k_column);
          copy_chunk(place(stage, i, c, true), v_base + row * a.v[2] + v_column);
        }
      }
      find_pages(first + step);
    }
    commit_copies();
  };
  if (begin < end) find_pages(begin);
#pragma unroll
  for (int stage = 0; stage < Stages - 1; ++stage) copy_step(begin + stage * step, stage);

  // Queries, and the keys that rows see.
  int common_low = -1;
  int common_high = end - 1;
  float queries[Rows][columns];
  const auto low_of = [&](AttentionRow row) {
    return clamp_key(row.query + job.offset - a.left, job.keys);
  };
  const auto high_of = [&](AttentionRow row) {
    return clamp_key(row.query + job.offset + a.right, end - 1);
  };
  const auto clamped_row = [&](int r) { return row_of(a, job, r < job.rows ? r : job.rows - 1); };
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const AttentionRow row = clamped_row(r);
    const int low = low_of(row);
    const int high = high_of(row);
    common_low = low > common_low ? low : common_low;
    common_high = high < common_high ? high : common_high;
    const T* const query =
        q + job.batch * a.q[0] + row.head * a.q[1] + (job.query + row.query) * a.q[2];
#pragma unroll
    for (int c = 0; c < Chunks; ++c) {
#pragma unroll
      for (int e = 0; e < chunk; ++e) {
        const int at = column[c] + e;
        queries[r][c * chunk + e] = at < Size ? scale_of(a) * load(query[at]) : 0.0f;
      }
    }
  }
  const int first_score = thread % Lanes / lanes_of_score * own;
  AttentionRow rows[own_rows];
#pragma unroll
  for (int r = 0; r < own_rows; ++r) rows[r] = clamped_row(first_score / keys + r);

  PartialRows<Rows, columns, has_mask> partial;
  partial.clear();
  float row_max[own_rows];
  float row_sum[own_rows];
#pragma unroll
  for (int r = 0; r < own_rows; ++r) {
    row_max[r] = -INFINITY;
    row_sum[r] = 0.0f;
  }
  // The lane of a group that has a score.
  const auto lane_of = [](int score) { return score / own * lanes_of_score; };
  const auto use_step = [&](int first, int stage, auto is_whole) {
    // Scores.
    float score[scores];
#pragma unroll
    for (int i = 0; i < keys; ++i) {
#pragma unroll
      for (int r = 0; r < Rows; ++r) score[r * keys + i] = 0.0f;
#pragma unroll
      for (int c = 0; c < Chunks; ++c) {
        const Chunk<T> key_chunk = chunk_of<T>(*place(stage, i, c, false));
#pragma unroll
        for (int e = 0; e < chunk; ++e) {
          float element = load(key_chunk.elements[e]);
          // The first chunk is in place of one beyond the last.
          if (width > Size && column[c] >= Size) element = 0.0f;
#pragma unroll
          for (int r = 0; r < Rows; ++r) {
            score[r * keys + i] = fmaf(queries[r][c * chunk + e], element, score[r * keys + i]);
          }
        }
      }
    }
    scatter_sums<Lanes>(score);

    // Mask: its elements, the window and the blocks.
    if constexpr (!is_whole.value) {
#pragma unroll
      for (int s = 0; s < own; ++s) {
        const int key = first + (first_score % keys + s % own_keys) * groups + group;
        const AttentionRow row = rows[s / own_keys];
        bool is_seen = key >= low_of(row) && key <= high_of(row);
        if (is_seen && blocks != nullptr) is_seen = is_block_visible(a, job, blocks, row, key);
        if constexpr (has_mask) {
          if (is_seen) {
            const float addend = addend_of(mask[mask_offset(a, job, row, key)]);
            score[s] = masked<M>(score[s], addend);
          }
        }
        if (!is_seen) score[s] = -INFINITY;
      }
    }

    // Online softmax.
    float factor[own_rows];
    bool is_raised = false;
#pragma unroll
    for (int r = 0; r < own_rows; ++r) {
      float maximum = row_max[r];
#pragma unroll
      for (int i = 0; i < own_keys; ++i) maximum = fmaxf(maximum, score[r * own_keys + i]);
#pragma unroll
      for (int distance = lanes_of_score; distance < lanes_of_row; distance *= 2) {
        maximum = fmaxf(maximum, exchange(maximum, distance));
      }
      const float base = partial.base_of(maximum);
      factor[r] = fast_power_of_2(exponent_of<has_mask>(row_max[r], base));
      is_raised |= factor[r] != 1.0f;
      row_max[r] = maximum;
      row_sum[r] *= factor[r];
#pragma unroll
      for (int i = 0; i < own_keys; ++i) {
        float& power = score[r * own_keys + i];
        const bool is_hidden = !is_whole.value && power == -INFINITY;
        power = fast_power_of_2(exponent_of<has_mask>(power, base));
        row_sum[r] += power;
        // Marks keys whose values count as 0.
        if (is_hidden) power = -1.0f;
      }
    }
    if (__any_sync(whole_warp, is_raised)) {
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        const float own_factor = from_lane<Lanes>(factor[r % own_rows], lane_of(r * keys));
#pragma unroll
        for (int c = 0; c < columns; ++c) partial.result[r][c] *= own_factor;
      }
    }

    // Values.
#pragma unroll
    for (int i = 0; i < keys; ++i) {
      float power[Rows];
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        power[r] = from_lane<Lanes>(score[(r * keys + i) % own], lane_of(r * keys + i));
      }
#pragma unroll
      for (int c = 0; c < Chunks; ++c) {
        const Chunk<T> value_chunk = chunk_of<T>(*place(stage, i, c, true));
#pragma unroll
        for (int e = 0; e < chunk; ++e) {
          const float element = load(value_chunk.elements[e]);
#pragma unroll
          for (int r = 0; r < Rows; ++r) {
            float& result = partial.result[r][c * chunk + e];
            if (is_whole.value || power[r] >= 0.0f || power[r] != power[r]) {
              result = fmaf(power[r], element, result);
            }
          }
        }
      }
    }
  };
  // Steps from common_low to last_whole are seen by all rows.
  const bool is_simple = !has_mask && blocks == nullptr;
  const int last_whole = is_simple ? common_high + 1 - step : -1;
  int stage = 0;
#pragma unroll 1
  for (int first = begin; first < end; first += step) {
    wait_for_copies<Stages - 2>();
    // In place of the step before, which this thread has used.
    copy_step(first + (Stages - 1) * step, stage == 0 ? Stages - 1 : stage - 1);
    if (common_low <= first && first <= last_whole) {
      use_step(first, stage, Constant<true>{});
    } else {
      use_step(first, stage, Constant<false>{});
    }
    stage = stage == Stages - 1 ? 0 : stage + 1;
  }
#pragma unroll
  for (int r = 0; r < own_rows; ++r) {
#pragma unroll
    for (int distance = lanes_of_score; distance < lanes_of_row; distance *= 2) {
      row_sum[r] += exchange(row_sum[r], distance);
    }
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    partial.row_max[r] = from_lane<Lanes>(row_max[r % own_rows], lane_of(r * keys));
    partial.row_sum[r] = from_lane<Lanes>(row_sum[r % own_rows], lane_of(r * keys));
  }
  wait_for_copies();
  __syncthreads();
  auto* const rows_of_warp = reinterpret_cast<WarpRows*>(ring);

  // The groups of a warp, and the warps of the block.
#pragma unroll
  for (int distance = Lanes; distance < 32; distance *= 2) partial.merge_lanes(distance);
  if (thread % 32 < Lanes) {
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      rows_of_warp[thread / 32].row_max[r] = partial.row_max[r];
      rows_of_warp[thread / 32].row_sum[r] = partial.row_sum[r];
#pragma unroll
      for (int c = 0; c < columns; ++c) {
        const int at = column[c / chunk] + c % chunk;
        rows_of_warp[thread / 32].result[r][at] = partial.result[r][c];
      }
    }
  }
  __syncthreads();

  store_decoded<has_mask, Value>(a, job, rows_of_warp, out, sums);
}

}  // namespace gridstride::tensor::attention
#endif
