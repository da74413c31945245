/*
 * byte_panels.cuh — products of 8-bit integers in panels of registers, in the block form.
 *
 * Problem: finish(m, n, sum over k of left[m, k] * right[k, n]) in 32-bit integers, which wrap.
 * Mapping: left and right are packed to 32-bit words of consecutive elements along k. A word of
 * left is repeated in all lanes, and the lanes of right are columns, so no sum runs across lanes.
 * Words of Bytes have four elements, the right ones without a sign; those of Pairs two of 16 bits.
 * Numerics: exact. Where an instruction takes right without a sign, its elements have an offset,
 * and the sums of the rows of left times the offset are subtracted.
 */
#pragma once

#include "kernels/tensor/map.cuh"

#if defined(GS_BLOCK_FORM)

namespace gridstride::tensor {

// The largest tile.
constexpr int byte_tile_rows = GS_BYTE_TILE_ROWS;
constexpr int byte_tile_columns = GS_BYTE_TILE_COLUMNS;

using vectors::Vector;

// Lanes are columns.
constexpr int byte_lanes = vectors::dot_lanes;
constexpr int panel_vectors = byte_lanes == 4 ? 4 : 2;
constexpr int panel_rows = byte_lanes == 16 ? 12 : byte_lanes == 8 ? 4 : 2;
constexpr int panel_columns = panel_vectors * byte_lanes;

using ByteSums = vectors::DotSums;
using SixteenBytes = Vector<signed char, 16>;
using FourWords = Vector<int, 4>;

// Words of two elements.
struct Pairs {
  static constexpr int per_word = 2;
  static constexpr int offset = 0;

  static __device__ __forceinline__ ByteSums add(ByteSums sums, ByteSums right, ByteSums left) {
    return vectors::add_dots_of_pairs(sums, right, left);
  }
  static __device__ __forceinline__ int element(signed char x) { return x & 0xffff; }
  // Four words of consecutive elements.
  static __device__ __forceinline__ FourWords read(const signed char* from) {
    Vector<signed char, 8> elements;
    __builtin_memcpy(&elements, from, sizeof elements);
    return (FourWords)__builtin_convertvector(elements, Vector<short, 8>);
  }
  // The words of 16 columns of two rows.
  static __device__ __forceinline__ void interleave(const SixteenBytes* rows, int flip, int* to) {
    using Words = Vector<short, 16>;
    const Words low = __builtin_convertvector(
        __builtin_shufflevector(rows[0], rows[1], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22,
                                7, 23),
        Words);
    const Words high = __builtin_convertvector(
        __builtin_shufflevector(rows[0], rows[1], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14,
                                30, 15, 31),
        Words);
    __builtin_memcpy(to, &low, sizeof low);
    __builtin_memcpy(to + 8, &high, sizeof high);
  }
};

// Words of four elements, the right ones without a sign, as add_dots_of_bytes() takes them.
struct Bytes {
  static constexpr int per_word = 4;
  static constexpr int offset = 128;  // of int8

  static __device__ __forceinline__ ByteSums add(ByteSums sums, ByteSums right, ByteSums left) {
    return vectors::add_dots_of_bytes(sums, right, left);
  }
  static __device__ __forceinline__ int element(signed char x) { return x & 0xff; }
  static __device__ __forceinline__ FourWords read(const signed char* from) {
    FourWords words;
    __builtin_memcpy(&words, from, sizeof words);
    return words;
  }
  // The words of 16 columns of four rows.
  static __device__ __forceinline__ void interleave(const SixteenBytes* rows, int flip, int* to) {
    using Two = Vector<short, 8>;
    Two low[2];
    Two high[2];
    for (int i = 0; i < 2; ++i) {
      const SixteenBytes x = rows[2 * i];
      const SixteenBytes y = rows[2 * i + 1];
      low[i] = (Two)__builtin_shufflevector(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22,
                                            7, 23);
      high[i] = (Two)__builtin_shufflevector(x, y, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29,
                                             14, 30, 15, 31);
    }
    const FourWords words[4] = {
        (FourWords)__builtin_shufflevector(low[0], low[1], 0, 8, 1, 9, 2, 10, 3, 11) ^ flip,
        (FourWords)__builtin_shufflevector(low[0], low[1], 4, 12, 5, 13, 6, 14, 7, 15) ^ flip,
        (FourWords)__builtin_shufflevector(high[0], high[1], 0, 8, 1, 9, 2, 10, 3, 11) ^ flip,
        (FourWords)__builtin_shufflevector(high[0], high[1], 4, 12, 5, 13, 6, 14, 7, 15) ^ flip,
    };
    // One store of 64 bytes would go through the stack.
    for (int i = 0; i < 4; ++i) __builtin_memcpy(to + 4 * i, &words[i], sizeof words[i]);
  }
};

template <bool TakesAllBytes>
struct WordsOfInt8 {
  using Type = Bytes;
};
template <>
struct WordsOfInt8<false> {
  using Type = Pairs;
};
using Int8Words = WordsOfInt8<vectors::has_dots_of_all_bytes>::Type;

struct ByteMemory {
  static constexpr int words = 128;  // of a row, at once
  static constexpr int pitch = words + 16;

  alignas(64) int left[byte_tile_rows * pitch];
  alignas(64) int right[byte_tile_columns * words];
  alignas(64) int sums[byte_tile_rows * byte_tile_columns];
  int row_sums[byte_tile_rows];

  // Stays in the cache from one block of a thread to the next.
  static __device__ ByteMemory& own() {
    static thread_local ByteMemory memory;
    return memory;
  }
};

// A word of up to `rest` elements, and zeros.
template <typename Words>
__device__ __forceinline__ int word_of(const signed char* from, i64 stride, int rest) {
  unsigned int word = 0;
  for (int e = 0; e < Words::per_word && e < rest; ++e) {
    word |= static_cast<unsigned int>(Words::element(from[e * stride])) << 32 / Words::per_word * e;
  }
  return static_cast<int>(word);
}

// Four words of each of four columns, to four lines of a panel.
__device__ __forceinline__ void transpose_words(const FourWords* x, int* to) {
  const FourWords a = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5);
  const FourWords b = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7);
  const FourWords c = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5);
  const FourWords d = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
  const FourWords words[4] = {
      __builtin_shufflevector(a, c, 0, 1, 4, 5), __builtin_shufflevector(a, c, 2, 3, 6, 7),
      __builtin_shufflevector(b, d, 0, 1, 4, 5), __builtin_shufflevector(b, d, 2, 3, 6, 7)};
  for (int w = 0; w < 4; ++w) __builtin_memcpy(to + w * panel_columns, &words[w], sizeof words[w]);
}

// Packs rows of left, or columns of right to panels, `line` apart in memory and `along` along k.
template <typename Words, bool IsRight>
__device__ __attribute__((noinline)) void pack_words(const signed char* from, i64 line, i64 along,
                                                     int lines, int depth, int* to) {
  constexpr int some = Words::per_word;
  constexpr int to_word = IsRight ? panel_columns : 1;
  constexpr int flip = IsRight && Words::offset == 128 ? static_cast<int>(0x80808080u) : 0;
  const auto place = [&](int i) {
    constexpr int panel = panel_columns * ByteMemory::words;
    return to + (IsRight ? i / panel_columns * panel + i % panel_columns : i * ByteMemory::pitch);
  };
  const int words = depth / some;
  // The part that is packed in vectors.
  int whole_lines = 0;
  int whole_words = words;
  if (along == 1) {
    whole_words = words / 4 * 4;
    whole_lines = IsRight ? lines / 4 * 4 : lines;
    for (int i = 0; i < whole_lines; i += IsRight ? 4 : 1) {
      for (int w = 0; w < whole_words; w += 4) {
        FourWords own[4];
        for (int l = 0; l < (IsRight ? 4 : 1); ++l) {
          own[l] = Words::read(from + (i + l) * line + w * some) ^ flip;
        }
        if (IsRight) {
          transpose_words(own, place(i) + w * to_word);
        } else {
          __builtin_memcpy(place(i) + w, own, sizeof own[0]);
        }
      }
    }
  } else if (line == 1) {
    whole_lines = lines / 16 * 16;
    for (int w = 0; w < words; ++w) {
      for (int i = 0; i < whole_lines; i += 16) {
        SixteenBytes rows[some];
        for (int e = 0; e < some; ++e) {
          __builtin_memcpy(&rows[e], from + i + (w * some + e) * along, sizeof rows[e]);
        }
        int own[16];
        Words::interleave(rows, flip, IsRight ? place(i) + w * to_word : own);
        for (int l = 0; l < 16 && !IsRight; ++l) place(i + l)[w] = own[l];
      }
    }
  }
  for (int i = 0; i < lines; ++i) {
    for (int w = i < whole_lines ? whole_words : 0; w * some < depth; ++w) {
      place(i)[w * to_word] =
          word_of<Words>(from + i * line + w * some * along, along, depth - w * some) ^ flip;
    }
  }
}

// Rows of left times a panel of right.
template <typename Words, int Rows>
__device__ __attribute__((noinline)) void multiply_words(int words, const int* left,
                                                         const int* right, int* sums, bool adds) {
  ByteSums sum[Rows][panel_vectors] = {};
  for (int w = 0; w < words; ++w) {
    const auto* const columns = reinterpret_cast<const ByteSums*>(right + w * panel_columns);
    ByteSums own[panel_vectors];
#pragma GCC unroll 4
    for (int v = 0; v < panel_vectors; ++v) own[v] = columns[v];
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const ByteSums x = ByteSums{} + left[i * ByteMemory::pitch + w];
#pragma GCC unroll 4
      for (int v = 0; v < panel_vectors; ++v) sum[i][v] = Words::add(sum[i][v], own[v], x);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
    auto* const row = reinterpret_cast<ByteSums*>(sums + i * byte_tile_columns);
#pragma GCC unroll 4
    for (int v = 0; v < panel_vectors; ++v) row[v] = adds ? row[v] + sum[i][v] : sum[i][v];
  }
}

// All rows of left times a panel of right. Some rows beyond the last one have sums that nothing
// reads. After some rows it calls done(row, rows).
template <typename Words, typename Done>
__device__ __forceinline__ void multiply_rows(int rows, int words, const int* left,
                                              const int* right, int* sums, bool adds,
                                              const Done& done) {
  int i = 0;
  const auto multiply = [&](auto&& function, int own) {
    function(words, left + i * ByteMemory::pitch, right, sums + i * byte_tile_columns, adds);
    done(i, own < rows - i ? own : rows - i);
    i += own;
  };
  while (i < rows) {
    const int rest = rows - i;
    if constexpr (panel_rows == 12) {
      if (rest > 16 || (rest > 8 && rest <= 12)) {
        multiply(multiply_words<Words, 12>, 12);
        continue;
      }
      if (rest > 4) {
        multiply(multiply_words<Words, 8>, 8);
        continue;
      }
    }
    constexpr int least = panel_rows < 4 ? panel_rows : 4;
    multiply(multiply_words<Words, least>, least);
  }
}

// Adds the sums of the rows of left, four at a time.
template <typename Words>
__device__ __forceinline__ void add_row_sums(int rows, int words, ByteMemory& memory) {
  const ByteSums ones = ByteSums{} + (Words::per_word == 4 ? 0x01010101 : 0x00010001);
  for (int i = 0; i < rows; i += 4) {
    int* const own = memory.left + i * ByteMemory::pitch;
    ByteSums sums[4] = {};
    for (int r = 0; r < 4; ++r) {
      for (int w = words; w % byte_lanes != 0; ++w) own[r * ByteMemory::pitch + w] = 0;
    }
    for (int w = 0; w < words; w += byte_lanes) {
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) {
        const auto* const x = reinterpret_cast<const ByteSums*>(own + r * ByteMemory::pitch + w);
        sums[r] = Words::add(sums[r], ones, *x);
      }
    }
    for (int r = 0; r < 4; ++r) {
      for (int l = 0; l < byte_lanes; ++l) memory.row_sums[i + r] += sums[r][l];
    }
  }
}

// A tile. pack_right(k, depth, column, width, to) packs a part of up to Columns columns to panels,
// and finish(row, column, sum) takes the results.
template <typename Words, int Columns, typename PackRight, typename Finish>
__device__ __forceinline__ void multiply_tile(const signed char* left, i64 row, i64 column,
                                              int rows, int columns, i64 k, int offset,
                                              const PackRight& pack_right, const Finish& finish) {
  ByteMemory& memory = ByteMemory::own();
  constexpr int most = ByteMemory::words * Words::per_word;
  for (int i = 0; i < rows; ++i) memory.row_sums[i] = 0;
  i64 start = 0;
  do {
    const int depth = static_cast<int>(start + most < k ? most : k - start);
    const int words = (depth + Words::per_word - 1) / Words::per_word;
    const bool is_last = start + most >= k;
    pack_words<Words, false>(left + start * column, row, column, rows, depth, memory.left);
    if (offset != 0) add_row_sums<Words>(rows, words, memory);
    for (int first = 0; first < columns; first += Columns) {
      const int width = columns - first < Columns ? columns - first : Columns;
      pack_right(start, depth, first, width, memory.right);
      for (int j = 0; j < width; j += panel_columns) {
        const int begin = first + j;
        const int end = begin + panel_columns < columns ? begin + panel_columns : columns;
        // Results are stored while the next rows are multiplied: memory is slower than both.
        const auto finish_rows = [&](int top, int count) {
          for (int i = top; is_last && i < top + count; ++i) {
            const int* const sums = memory.sums + i * byte_tile_columns;
            const unsigned int rest = static_cast<unsigned int>(memory.row_sums[i]) * offset;
            GS_INDEPENDENT
            for (int x = begin; x < end; ++x) {
              finish(i, x, static_cast<int>(static_cast<unsigned int>(sums[x]) - rest));
            }
          }
        };
        multiply_rows<Words>(rows, words, memory.left, memory.right + j * ByteMemory::words,
                             memory.sums + begin, start > 0, finish_rows);
      }
    }
    start += most;
  } while (start < k);
}

// A tile of the product of int8, as matmul_tile() of matmul_loops.cuh computes one of floats.
template <typename P, typename Finish>
__device__ __forceinline__ void matmul_int8(const P& p, const Finish& finish, i64 tile, i64 down,
                                            i64 tile_m, i64 tile_n) {
  const i64 top = tile % down * tile_m;
  const i64 begin = tile / down * tile_n;
  const int rows = static_cast<int>(top + tile_m < p.m ? tile_m : p.m - top);
  const int columns = static_cast<int>(begin + tile_n < p.n ? tile_n : p.n - begin);
  const auto pack_right = [&](i64 k, int depth, int j, int width, int* to) {
    pack_words<Int8Words, true>(p.b + (begin + j) * p.b_n + k * p.b_k, p.b_n, p.b_k, width, depth,
                                to);
  };
  multiply_tile<Int8Words, byte_tile_columns>(
      p.a + top * p.a_m, p.a_m, p.a_k, rows, columns, p.k, Int8Words::offset, pack_right,
      [&](i64 i, i64 j, int sum) { finish(top + i, begin + j, static_cast<unsigned int>(sum)); });
}

}  // namespace gridstride::tensor

#endif
