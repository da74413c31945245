/*
 * attention_mma.cuh — attention on tensor cores, for compute capability 8.0 and higher.
 *
 * Problem: that of attention.cuh, for elements of 16 bits whose rows of keys and values lie at
 * multiples of 16 bytes. Multiply is mma.sync of 16 rows, 8 columns and a depth of 16.
 * Mapping: a warp has 16 rows (Dao, "FlashAttention-2", 2023): its queries, scores and sums stay in
 * registers, and the powers of scores are the left operand of the second product as they lie there.
 * Tiles of keys and values arrive by cp.async in one half of shared memory while the other half is
 * multiplied. Chunks of 16 bytes are permuted within a row, so that ldmatrix, which transposes the
 * values, meets no bank twice. Behind the last key and the last element are zeros.
 * Bytes and operations: 2 (Size + Value) operations per visible score; keys and values are read
 * once by each tile of rows, mostly from the second-level cache.
 * Hidden keys: where a row may have one, each thread clears values that are NaN or infinite, of
 * those that it copied.
 * Numerics: as in attention.cuh, but powers are rounded to the element type before they are
 * multiplied with the values, and the tensor core rounds its sums, or truncates them.
 */
#pragma once

#include "kernels/tensor/attention/attention.cuh"
#include "kernels/tensor/matmul/tensor_core.cuh"

namespace gridstride::tensor::attention {
#if !defined(GS_BLOCK_FORM)

// Rows of keys or values in shared memory, each of `Width` elements of 16 bits.
template <int Width>
struct HeadTile {
  static constexpr int chunks = Width / 8;
  // Rows of an odd multiple of `group` chunks, at most 8, fill 128 bytes after 8 / group rows.
  static constexpr int group = chunks % 8 == 0 ? 8 : chunks % 4 == 0 ? 4 : 2;

  static __device__ __forceinline__ int place(int row, int column) {
    return (row * chunks + (column ^ (row * group / 8 % group))) * 16;
  }

  // Starts to copy the rows of some keys: `count` of `rows`, with `size` elements.
  template <Keys Source, int Rows, int Threads, typename T>
  static __device__ __forceinline__ void fill(unsigned char* tile, const Attention& a,
                                              const AttentionJob& job, const T* from, i64 stride,
                                              i64 begin, int count, int size) {
#pragma unroll 2
    for (int start = 0; start < Rows * chunks; start += Threads) {
      const int i = start + static_cast<int>(threadIdx.x);
      if (Rows * chunks % Threads != 0 && i >= Rows * chunks) break;
      const int row = i / chunks;
      const int column = i % chunks;
      const int rest = row < count ? size - column * 8 : 0;
      // The address must be one even where nothing is read.
      const T* const source =
          rest > 0 ? from + key_row<Source>(a, job, begin + row) * stride + column * 8 : from;
      copy_chunk(tile + place(row, column), source, rest <= 0 ? 0 : rest > 8 ? 16 : rest * 2);
    }
  }

  // Makes 0 of elements that are NaN or infinite, of those that this thread copied, and returns
  // whether there are any. `infinity` has the bits of one.
  template <int Rows, int Threads>
  static __device__ __forceinline__ bool clear_others(unsigned char* tile, unsigned infinity) {
    // Magnitudes of others reach the highest bit.
    const unsigned distance = (0x8000u - infinity) * 0x10001u;
    const auto others_of = [&](unsigned pair) { return (pair & 0x7fff7fffu) + distance; };
    bool result = false;
#pragma unroll 1
    for (int start = 0; start < Rows * chunks; start += Threads) {
      const int i = start + static_cast<int>(threadIdx.x);
      if (Rows * chunks % Threads != 0 && i >= Rows * chunks) break;
      auto* const pairs = reinterpret_cast<unsigned*>(tile + place(i / chunks, i % chunks));
      unsigned others = 0;
#pragma unroll
      for (int p = 0; p < 4; ++p) others |= others_of(pairs[p]);
      if ((others & 0x80008000u) == 0) continue;
      result = true;
#pragma unroll
      for (int p = 0; p < 4; ++p) pairs[p] &= ~((others_of(pairs[p]) >> 15 & 0x10001u) * 0xffffu);
    }
    return result;
  }
};

__device__ __forceinline__ float fast_power_of_2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// Two elements as a register of a tensor core has them.
template <typename T>
struct alignas(2 * sizeof(T)) ElementPair {
  T first;
  T second;
};
template <typename T>
__device__ __forceinline__ unsigned packed(float first, float second) {
  const ElementPair<T> pair = {store<T>(first), store<T>(second)};
  unsigned result;
  memcpy(&result, &pair, sizeof result);
  return result;
}

template <typename T>
__device__ __forceinline__ unsigned infinity_bits() {
  return packed<T>(INFINITY, INFINITY) & 0xffffu;
}

// The elements of a row of queries from `at` on, of which `rest` are there.
template <typename T>
__device__ __forceinline__ unsigned query_pair(const T* row, int rest) {
  unsigned result = 0;
  if (rest >= 2) {
    result = *reinterpret_cast<const unsigned*>(row);
  } else if (rest == 1) {
    memcpy(&result, row, sizeof(T));
  }
  return result;
}

// Blocks have 2 threads for each of TileRows rows. Size and Value are sizes of heads, rounded up to
// multiples of 16.
template <typename Multiply, Keys Source, int TileRows, int Size, int Value, typename T, typename M,
          typename Out>
__device__ __forceinline__ void attention_mma(const Attention& a, const T* q, const T* k,
                                              const T* v, const M* mask, const bool* blocks,
                                              const int* places, Out* out, float* sums) {
  constexpr bool has_mask = !is_same<M, NoMask>;
  constexpr int widest = Size > Value ? Size : Value;
  // Shared memory without a request for more is 48 KiB.
  constexpr int tile = widest <= 64 ? 64 : widest <= 128 ? 32 : 16;
  constexpr int threads = 2 * TileRows;
  constexpr int k_size = tile * Size * 2;
  constexpr int stage_size = k_size + tile * Value * 2;
  using TileK = HeadTile<Size>;
  using TileV = HeadTile<Value>;
  __shared__ __align__(128) unsigned char memory[2 * stage_size];
  const AttentionJob job = attention_job<Source>(a, TileRows, places, blockIdx.x);
  if (job.rows <= 0) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int first = static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4;
  const int across = lane % 4 * 2;
  const int size = static_cast<int>(a.size);
  const int value_size = static_cast<int>(a.value_size);
  const int end = static_cast<int>(job.end);
  const float scale = scale_of(a);
  const T* const k_base = k + job.batch * a.k[0] + job.head * a.k[1];
  const T* const v_base = v + job.batch * a.v[0] + job.head * a.v[1];
  AttentionRow rows[2];
  int low[2];
  int high[2];
  unsigned queries[Size / 16][4];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int own = first + 8 * r;
    rows[r] = row_of(a, job, own < job.rows ? own : job.rows - 1);
    low[r] = clamp_key(rows[r].query + job.offset - a.left, job.keys);
    const int last = clamp_key(rows[r].query + job.offset + a.right, job.keys);
    high[r] = last < end ? last : end - 1;
    const T* const row = q + job.batch * a.q[0] + rows[r].head * a.q[1] +
                         (job.query + rows[r].query) * a.q[2];
#pragma unroll
    for (int i = 0; i < Size / 16; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int at = i * 16 + half * 8 + across;
        queries[i][half * 2 + r] = query_pair(row + at, size - at);
      }
    }
  }
  // What all rows of the block see, but for blocks and masks.
  const i64 last_query = (job.row + job.rows - 1) / a.group;
  const int common_low = clamp_key(last_query + job.offset - a.left, job.keys);
  const int common_high = clamp_key(job.row / a.group + job.offset + a.right, end - 1);
  const auto is_visible = [&](int r, int begin) {
    return blocks == nullptr || is_block_visible(a, job, blocks, rows[r], begin);
  };
  // The next tile that a row of the block sees.
  const auto visible_from = [&](int begin) {
    if (blocks == nullptr) return begin;
    while (begin < end && !__syncthreads_or(is_visible(0, begin) || is_visible(1, begin))) {
      begin += tile;
    }
    return begin;
  };
  const auto fill = [&](int begin, int stage) {
    if (begin >= end) return;
    const int count = end - begin < tile ? end - begin : tile;
    unsigned char* const to = memory + stage * stage_size;
    TileK::template fill<Source, tile, threads>(to, a, job, k_base, a.k[2], begin, count, size);
    TileV::template fill<Source, tile, threads>(to + k_size, a, job, v_base, a.v[2], begin, count,
                                                value_size);
    commit_copies();
  };
  float result[Value / 8][4] = {};
  bool has_others = false;  // values that are NaN or infinite
  float row_max[2] = {-INFINITY, -INFINITY};
  float row_sum[2] = {};  // of this thread's columns
  int begin = visible_from(static_cast<int>(job.begin));
  int stage = 0;
  fill(begin, stage);
  while (begin < end) {
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    const unsigned char* const tile_k = memory + stage * stage_size;
    unsigned char* const tile_v = memory + stage * stage_size + k_size;
    const bool is_seen_by_all = !has_mask && blocks == nullptr && common_low <= begin &&
                                begin + tile - 1 <= common_high;
    if (!is_seen_by_all) {
      has_others |= TileV::template clear_others<tile, threads>(tile_v, infinity_bits<T>());
    }
    // Also the end of the products of the tile in the other half.
    __syncthreads();
    const int next = visible_from(begin + tile);
    fill(next, 1 - stage);
    float scores[tile / 8][4] = {};
#pragma unroll
    for (int i = 0; i < Size / 16; ++i) {
#pragma unroll
      for (int j = 0; j < tile / 16; ++j) {
        unsigned keys[4];
        const int row = j * 16 + lane / 16 * 8 + lane % 8;
        read_matrices(tile_k + TileK::place(row, i * 2 + lane / 8 % 2), keys);
        Multiply{}(scores[2 * j], queries[i], keys[0], keys[1]);
        Multiply{}(scores[2 * j + 1], queries[i], keys[2], keys[3]);
      }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int last = is_visible(r, begin) ? high[r] : -1;
      const bool is_whole = low[r] <= begin && begin + tile - 1 <= last;
      float largest = row_max[r];
#pragma unroll
      for (int j = 0; j < tile / 8; ++j) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          float& score = scores[j][2 * r + c];
          const int at = begin + j * 8 + across + c;
          const bool is_seen = is_whole || (at >= low[r] && at <= last);
          score *= scale;
          if constexpr (has_mask) {
            if (is_seen) {
              score = masked<M>(score, addend_of(mask[mask_offset(a, job, rows[r], at)]));
            }
          }
          if (!is_seen) score = -INFINITY;
          largest = score > largest ? score : largest;
        }
      }
#pragma unroll
      for (int distance = 2; distance > 0; distance /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, largest, distance);
        largest = other > largest ? other : largest;
      }
      // Of a row without visible keys all powers are 0.
      const float base = largest == -INFINITY ? 0.0f : largest;
      const float factor = fast_power_of_2(exponent_of<has_mask>(row_max[r], base));
      row_max[r] = largest;
      float sum = 0.0f;
#pragma unroll
      for (int j = 0; j < tile / 8; ++j) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          float& score = scores[j][2 * r + c];
          score = fast_power_of_2(exponent_of<has_mask>(score, base));
          sum += score;
        }
      }
      row_sum[r] = fmaf(row_sum[r], factor, sum);
#pragma unroll
      for (int i = 0; i < Value / 8; ++i) {
        result[i][2 * r] *= factor;
        result[i][2 * r + 1] *= factor;
      }
    }
#pragma unroll
    for (int j = 0; j < tile / 16; ++j) {
      unsigned powers[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* const pair = scores[2 * j + i / 2] + i % 2 * 2;
        powers[i] = packed<T>(pair[0], pair[1]);
      }
#pragma unroll
      for (int i = 0; i < Value / 16; ++i) {
        unsigned values[4];
        const int row = j * 16 + lane % 16;
        read_transposed(tile_v + TileV::place(row, i * 2 + lane / 16), values);
        Multiply{}(result[2 * i], powers, values[0], values[1]);
        Multiply{}(result[2 * i + 1], powers, values[2], values[3]);
      }
    }
    begin = next;
    stage = 1 - stage;
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
#pragma unroll
    for (int distance = 2; distance > 0; distance /= 2) {
      row_sum[r] += __shfl_xor_sync(0xffffffffu, row_sum[r], distance);
    }
    if (first + 8 * r >= job.rows) continue;
    const float factor = row_sum[r] == 0.0f ? 0.0f : 1.0f / row_sum[r];
    Out* const to = out_row(a, job, rows[r], out);
#pragma unroll
    for (int i = 0; i < Value / 8; ++i) {
      const int at = i * 8 + across;
      const Out left = store<Out>(result[i][2 * r] * factor);
      const Out right = store<Out>(result[i][2 * r + 1] * factor);
      if (value_size % 2 == 0) {
        if (at < value_size) *reinterpret_cast<ElementPair<Out>*>(to + at) = {left, right};
      } else {
        if (at < value_size) to[at] = left;
        if (at + 1 < value_size) to[at + 1] = right;
      }
    }
    if (across == 0) store_sum<has_mask>(a, job, rows[r], row_max[r], row_sum[r], sums);
  }
  if (!__syncthreads_or(has_others)) return;
  // The block as the compiler does not know it: of the same one, it would keep the job in registers
  // while the loop runs.
  const unsigned block = __shfl_sync(0xffffffffu, blockIdx.x, 0);
  const AttentionJob own = attention_job<Source>(a, TileRows, places, block);
  add_others<Source>(a, own, v, mask, blocks, static_cast<int>(threadIdx.x), threads, out);
}

#endif
}  // namespace gridstride::tensor::attention
