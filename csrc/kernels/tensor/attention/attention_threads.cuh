/*
 * attention_threads.cuh — attention.cuh for CUDA threads, without tensor cores.
 *
 * Problem: that of attention.cuh.
 * Mapping: a block has GS_BLOCK_THREADS threads. GS_ROW_THREADS neighbouring threads share some
 * rows, of which each takes every GS_ROW_THREADS-th key and column of values. Operands lie in
 * shared memory as floats, some elements of the heads at a time.
 * Numerics: products and sums are fused, as floats.
 */
#pragma once

#include "kernels/tensor/attention/attention.cuh"
#include "kernels/tensor/warp.cuh"

#if !defined(GS_BLOCK_FORM)
namespace gridstride::tensor::attention {

constexpr int row_threads = GS_ROW_THREADS;
constexpr int row_groups = GS_BLOCK_THREADS / row_threads;
constexpr int depth = 32;       // elements of heads in shared memory
constexpr int value_tile = 16;  // rows of values there

// Columns: of values that a thread computes at most.
template <Keys Source, int TileRows, int Columns, typename T, typename M, typename Out>
__device__ __forceinline__ void attention(const Attention& a, const T* q, const T* k, const T* v,
                                          const M* mask, const bool* blocks, const int* places,
                                          Out* out, float* sums) {
  constexpr bool has_mask = !is_same<M, NoMask>;
  constexpr int Rows = TileRows / row_groups;
  constexpr int thread_keys = key_tile / row_threads;
  constexpr int operands = (TileRows + key_tile) * (depth + 1);
  constexpr int width = row_threads * Columns;
  constexpr int values = value_tile * width;
  __shared__ float shared[operands > values ? operands : values];
  __shared__ float powers[TileRows][key_tile + 1];
  float* const shared_k = shared + TileRows * (depth + 1);
  const AttentionJob job = attention_job<Source>(a, TileRows, places, blockIdx.x);
  if (job.rows <= 0) return;
  const int lane = threadIdx.x % row_threads;  // of those that share rows
  const int first_row = threadIdx.x / row_threads * Rows;
  const int size = static_cast<int>(a.size);
  const int value_size = static_cast<int>(a.value_size);
  const float scale = scale_of(a);
  const T* const k_base = k + job.batch * a.k[0] + job.head * a.k[1];
  const T* const v_base = v + job.batch * a.v[0] + job.head * a.v[1];
  AttentionRow rows[Rows];
  float row_max[Rows];
  float row_sum[Rows];
  float result[Rows][Columns];
  bool has_others = false;  // values that are NaN or infinite
  for (int r = 0; r < Rows; ++r) {
    rows[r] = row_of(a, job, first_row + r < job.rows ? first_row + r : job.rows - 1);
    row_max[r] = -INFINITY;
    row_sum[r] = 0.0f;
    for (int c = 0; c < Columns; ++c) result[r][c] = 0.0f;
  }
  for (i64 begin = job.begin; begin < job.end; begin += key_tile) {
    // Tiles in hidden blocks are skipped.
    bool is_visible[Rows];
    bool is_any = blocks == nullptr;
    for (int r = 0; r < Rows; ++r) {
      is_visible[r] = blocks == nullptr || is_block_visible(a, job, blocks, rows[r], begin);
      is_any |= is_visible[r];
    }
    if (!__syncthreads_or(is_any)) continue;
    const int count = job.end - begin < key_tile ? static_cast<int>(job.end - begin) : key_tile;

    // Scores: products of queries and keys.
    float scores[Rows][thread_keys] = {};
    for (int d = 0; d < size; d += depth) {
      __syncthreads();  // the last operands are still read
      for (int i = threadIdx.x; i < (TileRows + key_tile) * depth; i += blockDim.x) {
        const int row = i / depth;
        const int column = d + i % depth;
        float element = 0.0f;
        if (row < job.rows && column < size) {
          const AttentionRow query = row_of(a, job, row);
          element = scale * load(q[job.batch * a.q[0] + query.head * a.q[1] +
                                   (job.query + query.query) * a.q[2] + column]);
        } else if (row >= TileRows && row - TileRows < count && column < size) {
          element =
              load(k_base[key_row<Source>(a, job, begin + row - TileRows) * a.k[2] + column]);
        }
        shared[row * (depth + 1) + i % depth] = element;
      }
      __syncthreads();
      for (int i = 0; i < depth; ++i) {
        float keys[thread_keys];
        for (int j = 0; j < thread_keys; ++j) {
          keys[j] = shared_k[(lane + row_threads * j) * (depth + 1) + i];
        }
        for (int r = 0; r < Rows; ++r) {
          const float query = shared[(first_row + r) * (depth + 1) + i];
          for (int j = 0; j < thread_keys; ++j) {
            scores[r][j] = fmaf(query, keys[j], scores[r][j]);
          }
        }
      }
    }

    for (int r = 0; r < Rows; ++r) {
      // Mask: the window, the blocks, and the elements of the mask.
      const i64 diagonal = rows[r].query + job.offset;
      float tile_max = row_max[r];
      for (int j = 0; j < thread_keys; ++j) {
        const int column = lane + row_threads * j;
        const i64 key = begin + column;
        const bool is_seen = column < count && is_visible[r] && key >= diagonal - a.left &&
                             key <= diagonal + a.right;
        if constexpr (has_mask) {
          if (is_seen) {
            scores[r][j] =
                masked<M>(scores[r][j], addend_of(mask[mask_offset(a, job, rows[r], key)]));
          }
        }
        if (!is_seen) scores[r][j] = -INFINITY;
        tile_max = scores[r][j] > tile_max ? scores[r][j] : tile_max;
      }

      // Online softmax: the results so far are scaled to the new maximum.
      tile_max = warp_max<row_threads>(tile_max);
      // Of a row without visible keys all powers are 0.
      const float base = tile_max == -INFINITY ? 0.0f : tile_max;
      const float factor = exp2f(exponent_of<has_mask>(row_max[r], base));
      float sum = 0.0f;
      for (int j = 0; j < thread_keys; ++j) {
        const float power = exp2f(exponent_of<has_mask>(scores[r][j], base));
        powers[first_row + r][lane + row_threads * j] = power;
        sum += power;
      }
      row_sum[r] = fmaf(row_sum[r], factor, warp_sum<row_threads>(sum));
      row_max[r] = tile_max;
      for (int c = 0; c < Columns; ++c) result[r][c] *= factor;
    }

    // Values, some rows at a time.
    for (int j = 0; j < count; j += value_tile) {
      __syncthreads();  // the last operands are still read
      for (int i = threadIdx.x; i < value_tile * value_size; i += blockDim.x) {
        const int row = i / value_size;
        const int column = i - row * value_size;
        float element = 0.0f;
        if (j + row < count) {
          element = load(v_base[key_row<Source>(a, job, begin + j + row) * a.v[2] + column]);
        }
        const bool is_other = !is_number(element);
        has_others |= is_other;
        shared[row * width + column] = is_other ? 0.0f : element;
      }
      __syncthreads();
      for (int i = 0; i < value_tile; ++i) {
        for (int c = 0; c < Columns; ++c) {
          if (lane + row_threads * c >= value_size) break;
          const float value = shared[i * width + lane + row_threads * c];
          for (int r = 0; r < Rows; ++r) {
            result[r][c] = fmaf(powers[first_row + r][j + i], value, result[r][c]);
          }
        }
      }
    }
  }

  // Store.
  for (int r = 0; r < Rows; ++r) {
    if (first_row + r >= job.rows) continue;
    const float factor = row_sum[r] == 0.0f ? 0.0f : 1.0f / row_sum[r];
    Out* const to = out_row(a, job, rows[r], out);
    for (int c = 0; c < Columns; ++c) {
      const int column = lane + row_threads * c;
      if (column < value_size) to[column] = store<Out>(result[r][c] * factor);
    }
    if (lane == 0) store_sum<has_mask>(a, job, rows[r], row_max[r], row_sum[r], sums);
  }
  if (!__syncthreads_or(has_others)) return;
  add_others<Source>(a, job, v, mask, blocks, static_cast<int>(threadIdx.x),
                     static_cast<int>(blockDim.x), out);
}

// Merges the results of parts of the keys, each [rows, columns], by their sums. A block has 32
// columns of a row, and each of its warps some parts. Many loads are in flight at once, because
// there is little else to do.
template <typename Out>
__device__ __forceinline__ void merge_attention(i64, i64, i64 parts, i64 rows, i64 columns,
                                                const float* part_out, const float* part_sums,
                                                Out* out, float* sums) {
  constexpr int warps = GS_BLOCK_THREADS / 32;
  __shared__ float values[warps][32];
  __shared__ float all_weights[warps];
  const i64 across = (columns + 31) / 32;
  const i64 row = blockIdx.x / across;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const i64 column = blockIdx.x % across * 32 + lane;
  const float* const from = part_out + row * columns + (column < columns ? column : columns - 1);
  float row_max = -INFINITY;
  for (i64 part = lane; part < parts; part += 32) {
    row_max = fmaxf(row_max, part_sums[part * rows + row]);
  }
  row_max = warp_max(row_max);
  const float base = row_max == -INFINITY ? 0.0f : row_max;
  float weights = 0.0f;
  float value = 0.0f;
#pragma unroll 8
  for (i64 part = warp; part < parts; part += warps) {
    const float weight = exponential(part_sums[part * rows + row] - base);
    weights += weight;
    value += weight * from[part * rows * columns];
  }
  values[warp][lane] = value;
  if (lane == 0) all_weights[warp] = weights;
  __syncthreads();
  if (warp > 0 || column >= columns) return;
  for (int w = 1; w < warps; ++w) {
    weights += all_weights[w];
    value += values[w][lane];
  }
  out[row * columns + column] = store<Out>(weights == 0.0f ? 0.0f : value / weights);
  if (sums != nullptr && column == 0) {
    sums[row] = weights == 0.0f ? -INFINITY : base + logf(weights);
  }
}

}  // namespace gridstride::tensor::attention
#endif
