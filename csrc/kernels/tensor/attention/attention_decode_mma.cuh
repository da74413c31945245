/*
 * attention_decode_mma.cuh — attention_decode_threads.cuh on tensor cores, for compute capability
 * 8.0 and higher.
 *
 * Problem: that of attention.cuh, for at most 8 rows of queries, and rows of keys and values at
 * multiples of 16 bytes, of 16 bits per element and multiples of 16 elements. The limit is the read
 * of all keys and values, for which CUDA threads have too many products to add up.
 * Mapping: a block takes a part of the keys, whose steps of 16 its warps share out. Queries are the
 * upper 8 rows of a left operand and stay in registers. Keys and values are copied to a ring of
 * Stages steps that belongs to the warp, so the loop has no barrier of the block.
 * The powers of scores are rounded to the element type, and what that takes from them is the lower
 * 8 rows of the left operand: their product, added at the end, makes up for it.
 * Hidden keys: a step that all rows see takes no comparisons. In others the warp clears values that
 * are NaN or infinite, and add_others() adds them.
 * Numerics: products with keys are exact and added up as floats; weights have twice the digits of
 * the element type. The base of powers is a score, and changes seldom. The order depends on the
 * shape alone.
 */
#pragma once

#include "kernels/tensor/attention/attention_mma.cuh"

#if !defined(GS_BLOCK_FORM)
namespace gridstride::tensor::attention {

constexpr int decode_rows = 8;
constexpr int decode_keys = 16;  // of a warp in a step

// 16 rows of a ring: see HeadTile.
template <int Width>
struct DecodeTile {
  static constexpr int chunks = Width / 8;
  static constexpr int pitch = HeadTile<Width>::pitch;
  static constexpr int bytes = decode_keys * pitch;

  // Calls visit(row, column, offset) for each chunk of this lane.
  template <typename Visit>
  static __device__ __forceinline__ void for_chunks(Visit visit) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    static_assert(decode_keys * chunks % 32 == 0, "all lanes have equally many");
#pragma unroll
    for (int i = 0; i < decode_keys * chunks / 32; ++i) {
      const int number = i * 32 + lane;
      const int row = number / chunks;
      const int column = number % chunks;
      visit(row, column, row * pitch + column * 16);
    }
  }
};

template <typename Multiply, Keys Source, int Size, int Value, int Stages, typename T, typename M,
          typename Out>
__device__ __forceinline__ void attention_decode_mma(const Attention& a, const T* q, const T* k,
                                                     const T* v, const M* mask, const bool* blocks,
                                                     const int* places, Out* out, float* sums) {
  constexpr bool has_mask = !is_same<M, NoMask>;
  using TileK = DecodeTile<Size>;
  using TileV = DecodeTile<Value>;
  constexpr int warps = GS_BLOCK_THREADS / 32;
  constexpr int step = warps * decode_keys;
  constexpr int stage_bytes = TileK::bytes + TileV::bytes;
  using PartialRows = DecodedRows<decode_rows, Value>;
  static_assert(warps * sizeof(PartialRows) <= warps * Stages * stage_bytes,
                "results of warps fit");
  extern __shared__ __align__(128) unsigned char memory[];
  const AttentionJob job = attention_job<Source>(a, decode_rows, places, blockIdx.x);
  if (job.rows <= 0) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int end = static_cast<int>(job.end);
  const int begin = static_cast<int>(job.begin) + warp * decode_keys;
  unsigned char* const ring = memory + warp * Stages * stage_bytes;

  // Copies of keys and values. The last key stands for those behind it.
  const T* const k_base = k + job.batch * a.k[0] + job.head * a.k[1];
  const T* const v_base = v + job.batch * a.v[0] + job.head * a.v[1];
  const auto key_at = [&](int key) { return key < end ? key : end - 1; };
  // Pages are looked up a step before their keys are copied, each by two lanes.
  i64 place = 0;
  const auto find_pages = [&](int first) {
    if constexpr (Source == Keys::paged) {
      place = key_row<Source>(a, job, key_at(first + lane % decode_keys));
    }
  };
  const auto row_at = [&](int first, int row) -> i64 {
    if constexpr (Source == Keys::paged) return from_lane<32>(place, row);
    else return job.key + key_at(first + row);
  };
  const auto copy_step = [&](int first, int stage) {
    if (first < end) {
      const unsigned tile = shared_address(ring + stage * stage_bytes);
      TileK::for_chunks([&](int row, int column, int offset) {
        copy_chunk(tile + offset, k_base + row_at(first, row) * a.k[2] + column * 8);
      });
      TileV::for_chunks([&](int row, int column, int offset) {
        copy_chunk(tile + TileK::bytes + offset,
                   v_base + row_at(first, row) * a.v[2] + column * 8);
      });
      if (first + step < end) find_pages(first + step);
    }
    commit_copies();
  };
  if (begin < end) find_pages(begin);
#pragma unroll
  for (int stage = 0; stage < Stages - 1; ++stage) copy_step(begin + stage * step, stage);

  // The query of this thread, and the keys that it and all see. A row beyond the last one repeats
  // it.
  const int own_row = lane / 4 < job.rows ? lane / 4 : job.rows - 1;
  const AttentionRow row = row_of(a, job, own_row);
  const auto low_of = [&](AttentionRow row) {
    return clamp_key(row.query + job.offset - a.left, job.keys);
  };
  const auto high_of = [&](AttentionRow row) {
    return clamp_key(row.query + job.offset + a.right, end - 1);
  };
  const int low = low_of(row);
  const int high = high_of(row);
  const int common_low = low_of(row_of(a, job, job.rows - 1));
  const int common_high = high_of(row_of(a, job, 0));
  const bool is_simple = !has_mask && blocks == nullptr;
  const int last_whole = is_simple ? common_high + 1 - decode_keys : -1;
  const T* const query =
      q + job.batch * a.q[0] + row.head * a.q[1] + (job.query + row.query) * a.q[2];
  unsigned queries[Size / 16][4];
#pragma unroll
  for (int s = 0; s < Size / 16; ++s) {
    const auto* const pairs = reinterpret_cast<const unsigned*>(query + s * 16) + lane % 4;
    queries[s][0] = pairs[0];
    queries[s][1] = 0;
    queries[s][2] = pairs[4];
    queries[s][3] = 0;
  }

  const float scale = scale_of(a);
  float row_base = -INFINITY;
  float row_sum = 0.0f;  // of this thread's columns
  float result[Value / 8][4];
#pragma unroll
  for (int i = 0; i < Value / 8; ++i) {
#pragma unroll
    for (int c = 0; c < 4; ++c) result[i][c] = 0.0f;
  }
  bool has_others = false;  // values that are NaN or infinite
  // Rows of four matrices: two keys' beside each other, above two others; for values, two below
  // each other, beside two others.
  const unsigned k_row = shared_address(ring) + (lane / 16 * 8 + lane % 8) * TileK::pitch +
                         lane / 8 % 2 * 16;
  const unsigned v_row = shared_address(ring) + TileK::bytes + lane % 16 * TileV::pitch +
                         lane / 16 * 16;

  const auto use_step = [&](int first, int stage, auto is_whole) {
    // Scores.
    float products[2][4] = {};
#pragma unroll
    for (int s = 0; s < Size / 16; ++s) {
      unsigned keys[4];
      read_matrices(k_row + stage * stage_bytes + s * 32, keys);
      Multiply{}(products[0], queries[s], keys[0], keys[1]);
      Multiply{}(products[1], queries[s], keys[2], keys[3]);
    }
    float score[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) score[i] = products[i / 2][i % 2] * scale;

    // Mask: its elements, the window and the blocks.
    if constexpr (!is_whole.value) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int key = first + i / 2 * 8 + lane % 4 * 2 + i % 2;
        bool is_seen = key >= low && key <= high;
        if (is_seen && blocks != nullptr) is_seen = is_block_visible(a, job, blocks, row, key);
        if constexpr (has_mask) {
          if (is_seen) {
            score[i] = masked<M>(score[i], addend_of(mask[mask_offset(a, job, row, key)]));
          }
        }
        if (!is_seen) score[i] = -INFINITY;
      }
      TileV::for_chunks([&](int, int, int offset) {
        auto* const chunk = reinterpret_cast<uint4*>(ring + stage * stage_bytes + TileK::bytes +
                                                     offset);
        has_others |= clear_others(*chunk, infinity_bits<T>());
      });
      __syncwarp();
    }

    // Online softmax.
    const float largest = fmaxf(fmaxf(score[0], score[1]), fmaxf(score[2], score[3]));
    if (any_lane(exponent_of<has_mask>(largest, row_base) > max_exponent)) {
      const float tile_max = warp_max<4>(largest);
      const float before = row_base;
      if (exponent_of<has_mask>(tile_max, before) > max_exponent) row_base = tile_max;
      const float base = fmaxf(row_base, lowest_float);
      const float factor =
          row_base == before ? 1.0f : fast_power_of_2(exponent_of<has_mask>(before, base));
      row_sum *= factor;
#pragma unroll
      for (int i = 0; i < Value / 8; ++i) {
#pragma unroll
        for (int c = 0; c < 4; ++c) result[i][c] *= factor;
      }
    }
    const float base = fmaxf(row_base, lowest_float);
    unsigned powers[4];
#pragma unroll
    for (int p = 0; p < 2; ++p) {
      float power[2];
      float rest[2];
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        power[c] = fast_power_of_2(exponent_of<has_mask>(score[2 * p + c], base));
        row_sum += power[c];
        rest[c] = power[c] - load(store<T>(power[c]));
      }
      powers[2 * p] = packed<T>(power[0], power[1]);
      powers[2 * p + 1] = packed<T>(rest[0], rest[1]);
    }

    // Values.
#pragma unroll
    for (int i = 0; i < Value / 16; ++i) {
      unsigned values[4];
      read_transposed(v_row + stage * stage_bytes + i * 32, values);
      Multiply{}(result[2 * i], powers, values[0], values[1]);
      Multiply{}(result[2 * i + 1], powers, values[2], values[3]);
    }
  };
  int stage = 0;
#pragma unroll 1
  for (int first = begin; first < end; first += step) {
    wait_for_copies<Stages - 2>();
    // Copies of all lanes are there, and the step before was used by all.
    __syncwarp();
    copy_step(first + (Stages - 1) * step, stage == 0 ? Stages - 1 : stage - 1);
    if (common_low <= first && first <= last_whole) {
      use_step(first, stage, Constant<true>{});
    } else {
      use_step(first, stage, Constant<false>{});
    }
    stage = stage == Stages - 1 ? 0 : stage + 1;
  }

  // The warps of the block.
  wait_for_copies();
  __syncthreads();
  auto* const partial = reinterpret_cast<PartialRows*>(memory);
  row_sum = warp_sum<4>(row_sum);
  partial[warp].row_max[lane / 4] = row_base;
  partial[warp].row_sum[lane / 4] = row_sum;
#pragma unroll
  for (int i = 0; i < Value / 8; ++i) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const float sum = result[i][c];
      // The rest of a power times infinity is no number.
      partial[warp].result[lane / 4][i * 8 + lane % 4 * 2 + c] =
          is_number(sum) ? sum + result[i][2 + c] : sum;
    }
  }
  __syncthreads();
  store_decoded<has_mask, Value>(a, job, partial, out, sums);
  if (!__syncthreads_or(has_others)) return;
  add_others<Source>(a, job, v, mask, blocks, static_cast<int>(threadIdx.x), GS_BLOCK_THREADS, out);
}

}  // namespace gridstride::tensor::attention
#endif
