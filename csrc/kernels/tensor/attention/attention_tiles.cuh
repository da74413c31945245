/*
 * attention_tiles.cuh — attention_loops.cuh for bfloat16 in the tile registers (AMX) of x86-64
 * processors.
 *
 * Problem: that of attention.cuh. A tile register has 16 rows of 16 words. An instruction adds a
 * product to 16 × 16 floats: the left factor has 16 rows of 32 elements; the right one has 32 rows
 * of 16, and each of its words holds elements of two rows.
 * Mapping: scores are keys · queriesᵀ, so lanes are queries as with floats. Keys whose rows are
 * close together are read in place, others are copied; queries are transposed once per block.
 * Results are powers · values: the powers of pairs of keys are transposed, and pairs of values are
 * interleaved. Scores and powers are computed for 16 queries at a time, so keys and values stay in
 * the first-level cache. Elements and values beyond the last one are zeros.
 * Bytes and operations: per 256 scores, (head size + value size) / 32 instructions of 16 cycles and
 * about 250 vector instructions. Results are read and written once per 64 keys.
 * Numerics: products are exact and sums are floats; subnormal elements count as 0. The powers that
 * multiply values are rounded to bfloat16, those of the sum are not. Their base is a score of the
 * row, and changes when another exceeds it by more than 8: results are seldom rescaled.
 */
#pragma once

#include "kernels/tensor/attention/attention_loops.cuh"

#if defined(GS_MATRIX_TILES)
#include <gridstride/x86/matrix_tiles.h>

namespace gridstride::tensor::attention {

// g++ -O3 takes twice as long to compile this, and makes no faster code of it.
#if !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O2")
#endif

constexpr int words = 16;  // of a row of a register
constexpr int register_words = 16 * words;
constexpr float max_exponent = 8.0f;
using WordLanes = vectors::Vector<unsigned int, 16>;
using HalfLanes = vectors::Vector<unsigned short, 32>;

// Each step rotates the bits of an element's row and column by one.
__device__ GS_SEPARATE void transpose(WordLanes (&rows)[16]) {
  GS_UNROLL_16
  for (int step = 0; step < 4; ++step) {
    WordLanes next[16];
    GS_UNROLL_16
    for (int i = 0; i < 8; ++i) {
      next[2 * i] = __builtin_shufflevector(rows[i], rows[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20,
                                            5, 21, 6, 22, 7, 23);
      next[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + 8], 8, 24, 9, 25, 10, 26, 11, 27,
                                                12, 28, 13, 29, 14, 30, 15, 31);
    }
    GS_UNROLL_16
    for (int i = 0; i < 16; ++i) rows[i] = next[i];
  }
}

__device__ __forceinline__ Lanes larger(Lanes x, Lanes y) { return x > y ? x : y; }

// Stores up to 16 elements, as float or bfloat16.
__device__ __forceinline__ void store_lanes(Lanes x, float* to, int count) {
  if (count >= lanes) __builtin_memcpy(to, &x, sizeof x);
  else if (count > 0) __builtin_memcpy(to, &x, count * sizeof *to);
}
__device__ __forceinline__ void store_lanes(Lanes x, __nv_bfloat16* to, int count) {
  using Halves = vectors::Vector<unsigned short, 16>;
  const WordLanes bits = (WordLanes)x;
  const WordLanes rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  const Halves halves = __builtin_convertvector(x == x ? rounded : WordLanes{} + 0x7fff, Halves);
  if (count >= lanes) __builtin_memcpy(to, &halves, sizeof halves);
  else if (count > 0) __builtin_memcpy(to, &halves, count * sizeof *to);
}

// 32 elements from one on, and zeros behind the last one.
__device__ __forceinline__ HalfLanes elements_of(const __nv_bfloat16* row, int from, int size) {
  HalfLanes elements{};
  if (from + 32 <= size) __builtin_memcpy(&elements, row + from, sizeof elements);
  else __builtin_memcpy(&elements, row + from, (size - from) * sizeof *row);
  return elements;
}

template <int Columns>
struct MatrixTile : ScoreTile<Columns, 1> {
  static constexpr int columns = Columns;
  static constexpr int width = 1;
  using ScoreTile<Columns, 1>::rows;
  using ScoreTile<Columns, 1>::scores;
  using ScoreTile<Columns, 1>::row_max;
  using ScoreTile<Columns, 1>::row_sum;
  using ScoreTile<Columns, 1>::factor;

  // What a register reads or writes is together.
  unsigned int q[columns][max_head / 32][register_words];
  unsigned int k[key_tile][max_head / 2];
  unsigned int v[key_tile / 32][max_head / 16][register_words];
  unsigned int powers[key_tile / 32][register_words];
  Lanes sums[columns][max_head / 16][16];
  bool is_rescaled[columns];
  const __nv_bfloat16* keys[key_tile];
  const __nv_bfloat16* values[key_tile];
  const void* first_key;
  int key_stride;  // in bytes
  __nv_bfloat16 zeros[max_head];

  // The product with queries would round.
  static __device__ __forceinline__ float unit(float scale) { return scale; }

  __device__ GS_TILE_FUNCTION void begin(const __nv_bfloat16* const (&queries)[rows], int used,
                                         int size, int value_size, float) {
    const int steps = (size + 31) / 32;
    for (int c = 0; c < used; ++c) {
      for (int s = 0; s < steps; ++s) {
        WordLanes all[16];
        for (int r = 0; r < 16; ++r) {
          all[r] = (WordLanes)elements_of(queries[c * 16 + r], s * 32, size);
        }
        transpose(all);
        __builtin_memcpy(q[c][s], all, sizeof all);
      }
      is_rescaled[c] = false;
      for (int t = 0; t < (value_size + 31) / 32 * 2; ++t) {
        for (int r = 0; r < 16; ++r) sums[c][t][r] = Lanes{};
      }
    }
    // The first palette, all registers of 16 rows of 64 bytes.
    struct {
      unsigned char palette;
      unsigned char unused[15];
      unsigned short bytes[16];
      unsigned char row_count[16];
    } shape{};
    shape.palette = 1;
    for (int t = 0; t < 8; ++t) {
      shape.bytes[t] = 64;
      shape.row_count[t] = 16;
    }
    GS_TILE_CONFIGURE(shape);
  }
  __device__ GS_TILE_FUNCTION void end() { GS_TILE_RELEASE(); }

  __device__ __forceinline__ void set_key(int j, const __nv_bfloat16* key,
                                          const __nv_bfloat16* value, int, int) {
    keys[j] = key;
    values[j] = value;
  }

  // Whether the keys of a whole tile can be read where they lie.
  __device__ __forceinline__ bool are_keys_in_place(int count, int size) {
    if (count < key_tile || size % 32 != 0) return false;
    const i64 stride = keys[1] - keys[0];
    if (stride < 0 || stride > max_head) return false;
    for (int j = 2; j < key_tile; ++j) {
      if (keys[j] != keys[0] + j * stride) return false;
    }
    first_key = keys[0];
    key_stride = static_cast<int>(stride * sizeof *keys[0]);
    return true;
  }

  // Copies keys if need be, and interleaves values. Of 32 elements, fours alternate between two
  // registers, because vector instructions interleave within 128 bits. Values that are NaN or
  // infinite become 0 if keys may be hidden; returns whether there are any.
  __device__ GS_TILE_FUNCTION bool begin_keys(int count, int size, int value_size, bool is_whole) {
    if (!are_keys_in_place(count, size)) {
      for (int j = 0; j < count; ++j) {
        for (int d = 0; d < size; d += 32) {
          const HalfLanes elements = elements_of(keys[j], d, size);
          __builtin_memcpy(k[j] + d / 2, &elements, sizeof elements);
        }
      }
      first_key = k;
      key_stride = sizeof k[0];
    }
    for (int j = count; j < key_tile; ++j) values[j] = zeros;
    HalfLanes others{};
    const unsigned short limit = is_whole ? 0x8000 : 0x7f80;  // of magnitudes
    const auto numbers_of = [&](const __nv_bfloat16* row, int c) {
      const HalfLanes elements = elements_of(row, c, value_size);
      const HalfLanes is_other = (HalfLanes)((elements & 0x7fff) >= limit);
      others |= is_other;
      return elements & ~is_other;
    };
    for (int j = 0; j < key_tile; j += 2) {
      unsigned int* to = v[j / 32][0] + j % 32 / 2 * words;
      for (int c = 0; c < value_size; c += 32) {
        const HalfLanes even = numbers_of(values[j], c);
        const HalfLanes odd = numbers_of(values[j + 1], c);
        const HalfLanes low = __builtin_shufflevector(
            even, odd, 0, 32, 1, 33, 2, 34, 3, 35, 8, 40, 9, 41, 10, 42, 11, 43, 16, 48, 17, 49, 18,
            50, 19, 51, 24, 56, 25, 57, 26, 58, 27, 59);
        const HalfLanes high = __builtin_shufflevector(
            even, odd, 4, 36, 5, 37, 6, 38, 7, 39, 12, 44, 13, 45, 14, 46, 15, 47, 20, 52, 21, 53,
            22, 54, 23, 55, 28, 60, 29, 61, 30, 62, 31, 63);
        __builtin_memcpy(to, &low, sizeof low);
        __builtin_memcpy(to + register_words, &high, sizeof high);
        to += 2 * register_words;
      }
    }
    bool has_others = false;
    for (int i = 0; i < 32; ++i) has_others |= others[i] != 0;
    return has_others;
  }

  // Behind the last key are other ones, whose scores are not read.
  __device__ GS_TILE_FUNCTION void score(int c, int, int, int size) {
    const int steps = (size + 31) / 32;
    const int stride = key_stride;
    const i64 next = 16 * stride;
    GS_TILE_ZERO(0);
    GS_TILE_ZERO(1);
    GS_TILE_ZERO(2);
    GS_TILE_ZERO(3);
    for (int s = 0; s < steps; ++s) {
      const char* const from = static_cast<const char*>(first_key) + s * 64;
      GS_TILE_LOAD(4, q[c][s], 64);
      GS_TILE_LOAD(5, from, stride);
      GS_TILE_MULTIPLY(5, 4, 0);
      GS_TILE_LOAD(6, from + next, stride);
      GS_TILE_MULTIPLY(6, 4, 1);
      GS_TILE_LOAD(7, from + 2 * next, stride);
      GS_TILE_MULTIPLY(7, 4, 2);
      GS_TILE_LOAD(5, from + 3 * next, stride);
      GS_TILE_MULTIPLY(5, 4, 3);
    }
    GS_TILE_STORE(0, scores, 64);
    GS_TILE_STORE(1, scores + 16, 64);
    GS_TILE_STORE(2, scores + 32, 64);
    GS_TILE_STORE(3, scores + 48, 64);
  }

  // Turns the scores of a column into powers, and updates its base and sum. Scores under a mask are
  // in units of e.
  template <bool HasMask>
  __device__ GS_TILE_FUNCTION void normalize(int column, int count, float unit) {
    // One maximum would be one chain of instructions.
    Lanes largest[4];
    for (Lanes& each : largest) each = Lanes{} - INFINITY;
    int first = 0;
    for (; first + 4 <= count; first += 4) {
      GS_UNROLL_16
      for (int i = 0; i < 4; ++i) largest[i] = larger(scores[first + i], largest[i]);
    }
    for (; first < count; ++first) largest[0] = larger(scores[first], largest[0]);
    const Lanes here =
        larger(larger(largest[0], largest[1]), larger(largest[2], largest[3])) *
        (HasMask ? 1.0f : unit);
    const Lanes before = row_max[column];
    const IntLanes grows = here > before + max_exponent;
    const Lanes now = grows ? here : before;
    // If a row has no visible keys, all of its powers are 0.
    const Lanes base = now == -INFINITY ? Lanes{} : now;
    int is_changed = 0;
    for (int r = 0; r < lanes; ++r) is_changed |= grows[r];
    if (is_changed != 0) {
      row_max[column] = now;
      factor[column] = power_of_2(exponent_of<HasMask>(before, base));
      row_sum[column] *= factor[column];
      is_rescaled[column] = true;
    }
    Lanes sum = row_sum[column];
    for (int s = 0; s < key_tile / 32; ++s) {
      WordLanes pairs[16];
      for (int i = 0; i < 16; ++i) {
        const int j = s * 32 + 2 * i;
        Lanes even{};
        Lanes odd{};
        const auto exponent = [&](Lanes score) {
          return HasMask ? exponent_of<true>(score, base) : score * unit - base;
        };
        if (j < count) even = power_of_2(exponent(scores[j]));
        if (j + 1 < count) odd = power_of_2(exponent(scores[j + 1]));
        sum += even + odd;
        pairs[i] = ((WordLanes)even + 0x8000) >> 16 | (((WordLanes)odd + 0x8000) & 0xffff0000);
      }
      transpose(pairs);
      __builtin_memcpy(powers[s], pairs, sizeof pairs);
    }
    row_sum[column] = sum;
  }

  __device__ __forceinline__ void rescale(int column, int value_tiles) {
    is_rescaled[column] = false;
    for (int t = 0; t < value_tiles; ++t) {
      for (int r = 0; r < 16; ++r) sums[column][t][r] *= factor[column][r];
    }
  }

  __device__ GS_TILE_FUNCTION void add_values(int c, int, int, int value_size) {
    const int value_tiles = (value_size + 31) / 32 * 2;
    if (is_rescaled[c]) rescale(c, value_tiles);
    GS_TILE_LOAD(6, powers[0], 64);
    GS_TILE_LOAD(7, powers[1], 64);
    int t = 0;
    for (; t + 4 <= value_tiles; t += 4) {
      GS_TILE_LOAD(0, sums[c][t], 64);
      GS_TILE_LOAD(1, sums[c][t + 1], 64);
      GS_TILE_LOAD(2, sums[c][t + 2], 64);
      GS_TILE_LOAD(3, sums[c][t + 3], 64);
      GS_TILE_LOAD(4, v[0][t], 64);
      GS_TILE_MULTIPLY(6, 4, 0);
      GS_TILE_LOAD(5, v[0][t + 1], 64);
      GS_TILE_MULTIPLY(6, 5, 1);
      GS_TILE_LOAD(4, v[0][t + 2], 64);
      GS_TILE_MULTIPLY(6, 4, 2);
      GS_TILE_LOAD(5, v[0][t + 3], 64);
      GS_TILE_MULTIPLY(6, 5, 3);
      GS_TILE_LOAD(4, v[1][t], 64);
      GS_TILE_MULTIPLY(7, 4, 0);
      GS_TILE_LOAD(5, v[1][t + 1], 64);
      GS_TILE_MULTIPLY(7, 5, 1);
      GS_TILE_LOAD(4, v[1][t + 2], 64);
      GS_TILE_MULTIPLY(7, 4, 2);
      GS_TILE_LOAD(5, v[1][t + 3], 64);
      GS_TILE_MULTIPLY(7, 5, 3);
      GS_TILE_STORE(0, sums[c][t], 64);
      GS_TILE_STORE(1, sums[c][t + 1], 64);
      GS_TILE_STORE(2, sums[c][t + 2], 64);
      GS_TILE_STORE(3, sums[c][t + 3], 64);
    }
    for (; t < value_tiles; ++t) {
      GS_TILE_LOAD(0, sums[c][t], 64);
      GS_TILE_LOAD(4, v[0][t], 64);
      GS_TILE_MULTIPLY(6, 4, 0);
      GS_TILE_LOAD(5, v[1][t], 64);
      GS_TILE_MULTIPLY(7, 5, 0);
      GS_TILE_STORE(0, sums[c][t], 64);
    }
  }

  template <typename Out>
  __device__ __forceinline__ void store_row(int r, Out* to, int value_size, float by) {
    for (int c = 0; c < value_size; c += 32) {
      const Lanes low = sums[r / 16][c / 16][r % 16] * by;
      const Lanes high = sums[r / 16][c / 16 + 1][r % 16] * by;
      const Lanes first = __builtin_shufflevector(low, high, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7,
                                                  20, 21, 22, 23);
      const Lanes second = __builtin_shufflevector(low, high, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13,
                                                   14, 15, 28, 29, 30, 31);
      store_lanes(first, to + c, value_size - c);
      store_lanes(second, to + c + 16, value_size - c - 16);
    }
  }

  // Computes a block, if the registers can be used.
  template <Keys Source, typename T, typename M, typename Out>
  static __device__ GS_SEPARATE bool run(const Attention& a, const T* q, const T* k, const T* v,
                                         const M* mask, const bool* blocks, const int* places,
                                         Out* out, float* sums) {
    static const bool is_permitted = host::request_matrix_tiles();
    // By such a factor a hidden score remains -infinity.
    if (!is_permitted || !(scale_of(a) > 0.0f)) return false;
    attention_block<MatrixTile, Source>(a, q, k, v, mask, blocks, places, out, sums);
    return true;
  }
};

#if !defined(__clang__)
#pragma GCC pop_options
#endif

}  // namespace gridstride::tensor::attention
#endif
