/*
 * ternary_matmul_loops.cuh — ternary_matmul.cuh in the block form: one thread runs a block as
 * loops.
 *
 * Mapping: a block takes some rows of q and of weights. Four rows of weights at a time are
 * multiplied with up to micro_rows rows of q, along k in vectors; with many rows of q they are
 * unpacked to bytes first, for the panels of byte_panels.cuh. With VNNI, rows of q that are left
 * are arranged once for all rows of weights, by which codes need two instructions for 64 products.
 * Bytes: codes once for each block, q once for four rows of weights.
 */
#pragma once

#include "kernels/tensor/matmul/byte_panels.cuh"
#include "kernels/ternary/ternary_matmul.cuh"

#if defined(GS_BLOCK_FORM)
namespace gridstride::tensor::ternary_matmul {

#if defined(__AVX2__)
typedef int EightInts __attribute__((vector_size(32)));
__device__ __forceinline__ int total_of(EightInts x) {
  const auto four = __builtin_shufflevector(x, x, 0, 1, 2, 3) +
                    __builtin_shufflevector(x, x, 4, 5, 6, 7);
  const auto two = four + __builtin_shufflevector(four, four, 2, 3, 0, 1);
  return two[0] + two[1];
}
#endif

// The codes of a group, and sums of products with them.
#if defined(__AVX512VNNI__)

constexpr int micro_rows = 4;
struct Codes {
  static constexpr bool fetches_ahead = true;
  typedef int Ints __attribute__((vector_size(64)));
  typedef unsigned int Words __attribute__((vector_size(64)));
  typedef int Quarter __attribute__((vector_size(16)));
  using Sums = Ints;
  Words bytes;

  static __device__ __forceinline__ Codes unpack(const unsigned char* from) {
    Quarter x;
    __builtin_memcpy(&x, from, sizeof x);
    // A shuffle to wider vectors would go through memory.
#if defined(__clang__)
    const Words all =
        (Words)__builtin_shufflevector(x, x, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
#else
    const Words all = (Words)__builtin_ia32_broadcasti32x4_512(x, Ints{}, (unsigned short)-1);
#endif
    return {all >> Words{0, 0, 0, 0, 2, 2, 2, 2, 4, 4, 4, 4, 6, 6, 6, 6} & 0x03030303u};
  }
  static __device__ __forceinline__ Codes read(const void* from) {
    Codes codes;
    __builtin_memcpy(&codes, from, sizeof codes);
    return codes;
  }
  static __device__ __forceinline__ Sums add(Sums sums, Codes codes, Codes q) {
#if defined(__clang__)
    return __builtin_ia32_vpdpbusd512(sums, (Ints)codes.bytes, (Ints)q.bytes);
#else
    return __builtin_ia32_vpdpbusd_v16si(sums, (Ints)codes.bytes, (Ints)q.bytes);
#endif
  }
  static __device__ __forceinline__ int total(Sums sums) {
    return total_of(__builtin_shufflevector(sums, sums, 0, 1, 2, 3, 4, 5, 6, 7) +
                    __builtin_shufflevector(sums, sums, 8, 9, 10, 11, 12, 13, 14, 15));
  }
};

#elif defined(__AVX2__) && !defined(GS_PORTABLE)

constexpr int micro_rows = 2;
struct Codes {
  static constexpr bool fetches_ahead = true;
  typedef char Bytes __attribute__((vector_size(32)));
  typedef short Shorts __attribute__((vector_size(32)));
  typedef int Ints __attribute__((vector_size(32)));
  typedef unsigned int Words __attribute__((vector_size(32)));
  using Sums = Ints;
  Words low;
  Words high;

  static __device__ __forceinline__ Codes unpack(const unsigned char* from) {
    typedef long long Half __attribute__((vector_size(16)));
    Half x;
    __builtin_memcpy(&x, from, sizeof x);
#if defined(__clang__)
    const Words all = (Words)__builtin_shufflevector(x, x, 0, 1, 0, 1);
#else
    const Words all = (Words)__builtin_ia32_vbroadcastsi256(x);
#endif
    return {all >> Words{0, 0, 0, 0, 2, 2, 2, 2} & 0x03030303u,
            all >> Words{4, 4, 4, 4, 6, 6, 6, 6} & 0x03030303u};
  }
  static __device__ __forceinline__ Codes read(const void* from) {
    Codes codes;
    __builtin_memcpy(&codes.low, from, sizeof codes.low);
    __builtin_memcpy(&codes.high, static_cast<const char*>(from) + sizeof codes.low,
                     sizeof codes.high);
    return codes;
  }
  // Pairs of products are at most 2 * 2 * 128, and sums of two pairs 1024: nothing saturates.
  static __device__ __forceinline__ Sums add(Sums sums, Codes codes, Codes q) {
    const Shorts pairs =
        (Shorts)__builtin_ia32_pmaddubsw256((Bytes)codes.low, (Bytes)q.low) +
        (Shorts)__builtin_ia32_pmaddubsw256((Bytes)codes.high, (Bytes)q.high);
    return sums + (Ints)__builtin_ia32_pmaddwd256(pairs, Shorts{} + (short)1);
  }
  static __device__ __forceinline__ int total(Sums sums) { return total_of(sums); }
};

#else

constexpr int micro_rows = 2;
struct Codes {
  static constexpr bool fetches_ahead = false;  // bound by instructions
  typedef int Sums __attribute__((vector_size(64)));
  signed char bytes[group];

  static __device__ __forceinline__ Codes unpack(const unsigned char* from) {
    Codes codes;
    for (int j = 0; j < group; ++j) {
      codes.bytes[j] = static_cast<signed char>(from[j % group_bytes] >> 2 * (j / group_bytes) & 3);
    }
    return codes;
  }
  static __device__ __forceinline__ Codes read(const void* from) {
    Codes codes;
    __builtin_memcpy(&codes, from, sizeof codes);
    return codes;
  }
  static __device__ __forceinline__ Sums add(Sums sums, const Codes& codes, const Codes& q) {
    int total[group_bytes];
    for (int j = 0; j < group_bytes; ++j) {
      short product = 0;
      for (int i = 0; i < 4; ++i) {
        product = static_cast<short>(product + codes.bytes[16 * i + j] * q.bytes[16 * i + j]);
      }
      total[j] = product;
    }
    Sums own;
    __builtin_memcpy(&own, total, sizeof own);
    return sums + own;
  }
  static __device__ __forceinline__ int total(Sums sums) {
    int result = 0;
    for (int l = 0; l < group_bytes; ++l) result += sums[l];
    return result;
  }
};

#endif

// Groups of a cache line of codes.
constexpr int line_groups = 64 / group_bytes;

// How far ahead codes are fetched, of rows that are `pitch` bytes apart: the next rows, which the
// processor does not foresee, as long as they are near.
template <int WeightRows>
__device__ __forceinline__ i64 bytes_ahead(i64 pitch) {
  constexpr i64 most = 4096;
  return pitch < most ? WeightRows * pitch : most;
}

// The dots of Rows rows of q and WeightRows rows of weights.
template <int Rows, int WeightRows>
__device__ __attribute__((noinline)) void few_dots(const signed char* q, i64 depth,
                                                   const unsigned char* const* weights,
                                                   int (*dots)[WeightRows]) {
  Codes::Sums sums[Rows][WeightRows] = {};
  const unsigned char* row[WeightRows];
  for (int j = 0; j < WeightRows; ++j) row[j] = weights[j];
  const i64 ahead = bytes_ahead<WeightRows>(depth / fields);
  for (i64 g = 0; g < depth / group; ++g) {
    Codes codes[WeightRows];
    if (Codes::fetches_ahead && g % line_groups == 0) {
#pragma GCC unroll 4
      for (int j = 0; j < WeightRows; ++j) __builtin_prefetch(row[j] + g * group_bytes + ahead);
    }
#pragma GCC unroll 4
    for (int j = 0; j < WeightRows; ++j) codes[j] = Codes::unpack(row[j] + g * group_bytes);
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
      const Codes part = Codes::read(q + r * depth + g * group);
#pragma GCC unroll 4
      for (int j = 0; j < WeightRows; ++j) sums[r][j] = Codes::add(sums[r][j], codes[j], part);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
    for (int j = 0; j < WeightRows; ++j) dots[r][j] = Codes::total(sums[r][j]);
  }
}

#if defined(__AVX512VNNI__)

// Rows of q, fewer than micro_rows, in the order in which a vector of codes has its fields: of four
// groups the elements of each field. So codes need no shift: those of a field are multiplied where
// they are, by which their sum is a multiple of a power of 4.
struct LoneRows {
  static constexpr i64 most = 32768;  // elements of a row at once
  alignas(64) signed char rows[micro_rows - 1][most];

  // Stays in the cache from one block of a thread to the next.
  static __device__ LoneRows& own() {
    static thread_local LoneRows memory;
    return memory;
  }
  __device__ __forceinline__ void arrange(int row, const signed char* q, i64 groups) {
    for (i64 g = 0; g < groups; ++g) {
      signed char* const to = rows[row] + g / line_groups * line_groups * group;
      for (int field = 0; field < fields; ++field) {
        __builtin_memcpy(to + (field * line_groups + g % line_groups) * group_bytes,
                         q + g * group + field * group_bytes, group_bytes);
      }
    }
  }
};

// Adds the dots of a row of q in that order. Rows of weights are `pitch` bytes apart.
template <int WeightRows>
__device__ __attribute__((noinline)) void lone_dots(const signed char* q, i64 groups, i64 pitch,
                                                    const unsigned char* const* weights,
                                                    int* dots) {
  Codes::Sums sums[WeightRows][fields] = {};
  const unsigned char* row[WeightRows];
  for (int j = 0; j < WeightRows; ++j) row[j] = weights[j];
  const auto add = [&](const signed char* part, const auto& line_of) {
    Codes own[fields];
#pragma GCC unroll 4
    for (int field = 0; field < fields; ++field) own[field] = Codes::read(part + field * group);
#pragma GCC unroll 4
    for (int j = 0; j < WeightRows; ++j) {
      const Codes::Words line = line_of(j);
#pragma GCC unroll 4
      for (int field = 0; field < fields; ++field) {
        const Codes codes{line & (Codes::Words{} + (lowest_fields << field * field_bits))};
        sums[j][field] = Codes::add(sums[j][field], codes, own[field]);
      }
    }
  };
  const i64 ahead = bytes_ahead<WeightRows>(pitch);
  i64 g = 0;
  for (; g + line_groups <= groups; g += line_groups) {
    add(q + g * group, [&](int j) {
      const unsigned char* const from = row[j] + g * group_bytes;
      __builtin_prefetch(from + ahead);
      return Codes::read(from).bytes;
    });
  }
  if (g < groups) {
    add(q + g * group, [&](int j) {
      // Codes 0 beyond the last group.
      unsigned char line[sizeof(Codes)] = {};
      __builtin_memcpy(line, row[j] + g * group_bytes, (groups - g) * group_bytes);
      return Codes::read(line).bytes;
    });
  }
#pragma GCC unroll 4
  for (int j = 0; j < WeightRows; ++j) {
    auto sum = sums[j][0];
    for (int field = 1; field < fields; ++field) sum += sums[j][field] >> field * field_bits;
    dots[j] += Codes::total(sum);
  }
}

// The dots of `rows` rows of q, fewer than micro_rows. Their order is prepared unless it is that of
// the last call.
template <int WeightRows>
__device__ __forceinline__ void rest_dots(const signed char* q, i64 depth, int rows, bool is_first,
                                          const unsigned char* const* weights,
                                          int (*dots)[WeightRows]) {
  LoneRows& memory = LoneRows::own();
  for (int r = 0; r < rows; ++r) {
    for (int j = 0; j < WeightRows; ++j) dots[r][j] = 0;
    for (i64 k = 0; k < depth; k += LoneRows::most) {
      const i64 groups = (depth - k < LoneRows::most ? depth - k : LoneRows::most) / group;
      const unsigned char* part[WeightRows];
      for (int j = 0; j < WeightRows; ++j) part[j] = weights[j] + k / fields;
      if (is_first || depth > LoneRows::most) memory.arrange(r, q + r * depth + k, groups);
      lone_dots<WeightRows>(memory.rows[r], groups, depth / fields, part, dots[r]);
    }
  }
}

#else

template <int WeightRows>
__device__ __forceinline__ void rest_dots(const signed char* q, i64 depth, int rows, bool,
                                          const unsigned char* const* weights,
                                          int (*dots)[WeightRows]) {
  for (int r = 0; r < rows; ++r) {
    few_dots<1, WeightRows>(q + r * depth, depth, weights, dots + r);
  }
}

#endif

// Fewer than ManyRows rows of q, and rows of weights from `begin` to `end`.
template <int ManyRows, int WeightRows, typename Finish>
__device__ __forceinline__ void few_rows(const TernaryProduct& p, i64 top, int rows, i64 begin,
                                         i64 end, const Finish& finish) {
  const signed char* const q = p.q + top * p.depth;
  int row_sums[ManyRows];
  unsigned char ones[sizeof(Codes)];
  __builtin_memset(ones, 1, sizeof ones);
  for (int r = 0; r < rows; ++r) {
    Codes::Sums sums = {};
    for (i64 k = 0; k < p.depth; k += group) {
      sums = Codes::add(sums, Codes::read(ones), Codes::read(q + r * p.depth + k));
    }
    row_sums[r] = Codes::total(sums);
  }
  for (i64 n = begin; n < end; n += WeightRows) {
    int dots[ManyRows][WeightRows];
    const unsigned char* weights[WeightRows];
    for (int j = 0; j < WeightRows; ++j) {
      const i64 row = n + j < end ? n + j : end - 1;
      weights[j] = p.codes + row * p.depth / fields;
    }
    int r = 0;
    for (; r + micro_rows <= rows; r += micro_rows) {
      few_dots<micro_rows, WeightRows>(q + r * p.depth, p.depth, weights, dots + r);
    }
    rest_dots<WeightRows>(q + r * p.depth, p.depth, rows - r, n == begin, weights, dots + r);
    for (r = 0; r < rows; ++r) {
      for (int j = 0; j < WeightRows && n + j < end; ++j) {
        finish(top + r, n + j, dots[r][j] - row_sums[r]);
      }
    }
  }
}

// Unpacks groups of `width` rows of codes, which are `pitch` bytes apart, to a panel.
__device__ __attribute__((noinline)) void unpack_panel(const unsigned char* codes, i64 pitch,
                                                       int width, int groups, int* panel) {
  alignas(64) static thread_local int packed[ByteMemory::words / 4][panel_columns];
  for (int c = 0; c < panel_columns; c += 4) {
    const unsigned char* row[4];
    // Columns beyond the last one have sums that nothing reads.
    for (int i = 0; i < 4; ++i) row[i] = codes + (c + i < width ? c + i : width - 1) * pitch;
    for (int g = 0; g < groups; ++g) {
      FourWords x[4];
      for (int i = 0; i < 4; ++i) __builtin_memcpy(&x[i], row[i] + g * group_bytes, sizeof x[i]);
      transpose_words(x, &packed[4 * g][c]);
    }
  }
  for (int g = 0; g < groups; ++g) {
    for (int i = 0; i < 4 * panel_columns; i += byte_lanes) {
      const auto codes = *reinterpret_cast<const ByteSums*>(packed[4 * g] + i);
      auto* const to = reinterpret_cast<ByteSums*>(panel + 16 * g * panel_columns + i);
#pragma GCC unroll 4
      for (int s = 0; s < 4; ++s) to[4 * s * panel_vectors] = codes >> 2 * s & 0x03030303;
    }
  }
}

// Rows of q from `top` on, and of weights from `begin` to `end`. Panels are worth it from ManyRows
// rows of q on; WeightRows rows of weights are multiplied together by fewer.
template <int ManyRows, int WeightRows, typename Finish>
__device__ __forceinline__ void ternary_tile(const TernaryProduct& p, i64 top, i64 row_step,
                                             i64 begin, i64 end, const Finish& finish) {
  const int rows = static_cast<int>(top + row_step < p.m ? row_step : p.m - top);
  if (rows < ManyRows) {
    return few_rows<ManyRows, WeightRows>(p, top, rows, begin, end, finish);
  }
  const i64 pitch = p.depth / group * group_bytes;
  const auto unpack = [&](i64 k, int depth, int j, int width, int* panel) {
    unpack_panel(p.codes + (begin + j) * pitch + k / group * group_bytes, pitch, width,
                 depth / group, panel);
  };
  multiply_tile<Bytes, panel_columns>(
      p.q + top * p.depth, p.depth, 1, rows, static_cast<int>(end - begin), p.depth, 1, unpack,
      [&](i64 i, i64 j, int dot) { finish(top + i, begin + j, dot); });
}

}  // namespace gridstride::tensor::ternary_matmul
#endif
