/*
 * matmul_mma.cuh — products of matrices on tensor cores, for compute capability 8.0 and higher.
 *
 * Problem: that of matmul.cuh, for operands that a tensor core has a format for. StoredA and
 * StoredB are the types in which it gets them, and Multiply is its instruction: mma.sync of 16
 * rows, 8 columns and 32 bytes along k, with sums in float or 32-bit integers.
 * Mapping: a block computes rows x columns of the result, of which a warp has half of the rows
 * and 32 columns, in registers. Shared memory holds `stages` tiles of 64 bytes along k of each
 * operand, so the next ones arrive while one is multiplied. Elements that layout along k, or along
 * rows, at addresses and strides of 16 bytes arrive by cp.async; any others by single loads, on
 * whose way they are converted. Chunks of 16 bytes are permuted within a row of shared memory,
 * so that ldmatrix and cp.async meet no bank twice. Beyond the edges are zeros. ldmatrix transposes
 * elements of 16 bits; bytes across k are transposed in pairs, which are then taken apart.
 * Bytes and operations: 2 m n k operations; an element of the left operand is read n / columns
 * times, one of the right m / rows times, mostly from the second-level cache, because
 * neighbouring blocks compute squares of the result. The result is written once.
 * Numerics: products of a step along k are exact, and the rounding of their sum with earlier
 * ones is the tensor core's, which may truncate. Its sums of 8-bit floats may have fewer bits
 * than float, so they hold one step, and steps are added as float. Sums of integers are exact
 * modulo 2^32. An element does not depend on the shape of the result.
 */
#pragma once

#include "kernels/tensor/matmul/matmul.cuh"
#include "kernels/tensor/matmul/tensor_core.cuh"

namespace gridstride::tensor::matmul {
#if !defined(GS_BLOCK_FORM)

// How elements lie: along k or across it, in aligned chunks of 16 bytes, or anyhow.
enum class Layout { along, across, any };

// A tile of an operand: `edge` rows of the left one or columns of the right one, here both called
// rows, by `depth` elements along k. Shared memory holds rows of 64 bytes along k, or, across, rows
// of all elements at one k.
template <typename Convert, typename Stored, Layout layout, int edge, int threads>
struct MmaTile {
  using Element = typename Convert::Element;
  static constexpr int width = sizeof(Stored);
  static constexpr int depth = 64 / width;
  static constexpr int chunk = 16 / width;
  static constexpr int size = 64 * edge;
  static constexpr int chunks = layout == Layout::across ? edge / chunk : 4;
  static constexpr int copies = size / 16 / threads;

  // The byte of a chunk. Rows that lanes read together have different values of `other`, or lie in
  // different halves of 128 bytes.
  static __device__ __forceinline__ int place(int row, int column) {
    int other = row >> 1 & 3;
    if (layout == Layout::across && width == 4) other = (row & 3) * 2;
    if (layout == Layout::across && width == 2) other = row & 7;
    if (layout == Layout::across && width == 1) {
      other = chunks == 4 ? row >> 2 & 3 : (row & 1) | (row >> 2 & 3) << 1;
    }
    return (row * chunks + (column ^ other)) * 16;
  }

  // The row that read() puts in the place of one of 16 rows.
  static __device__ __forceinline__ int row_at(int at) {
    return layout == Layout::across && width == 1 ? at % 8 * 2 + at / 8 : at;
  }

  // The bits of an element as the tensor core gets it.
  static __device__ __forceinline__ unsigned bits_of(Element element) {
    if constexpr (is_same<Element, Stored> && width < 4) {
      return bits(element);
    } else {
      return bits(store<Stored>(Convert{}(element)));
    }
  }
  static __device__ __forceinline__ unsigned bits(Stored stored) {
    unsigned result = 0;
    memcpy(&result, &stored, width);
    return result;
  }

  // Starts to fill a tile from its first element; it has `rows` and `ks` of the operand's elements.
  static __device__ __forceinline__ void fill(unsigned char* tile, const Element* from,
                                              i64 row_stride, i64 k_stride, int rows, int ks) {
    const int thread = static_cast<int>(threadIdx.x);
    if constexpr (layout == Layout::any) {
      // Words of elements along k. Neighbouring threads read neighbours in memory.
      constexpr int in_word = 4 / width;
      constexpr int words = edge * 16 / threads;
      constexpr int together = width == 4 ? 8 : 4;  // in registers
      const bool is_along = k_stride == 1;
      const int row = is_along ? thread / 16 : thread % edge;
      const int k = is_along ? thread % 16 : thread / edge;
      const int next_row = is_along ? threads / 16 : 0;
      const int next_k = is_along ? 0 : threads / edge;
      const Element* source = from + row * row_stride + k * in_word * k_stride;
      const i64 next = next_row * row_stride + next_k * in_word * k_stride;
#pragma unroll 1
      for (int start = 0; start < words; start += together) {
        unsigned word[together];
#pragma unroll
        for (int i = 0; i < together; ++i) {
          const int own = row + (start + i) * next_row;
          const int first = (k + (start + i) * next_k) * in_word;
          word[i] = 0;
#pragma unroll
          for (int e = 0; e < in_word; ++e) {
            if (own >= rows || first + e >= ks) continue;
            word[i] |= bits_of(source[e * k_stride]) << 8 * width * e;
          }
          source += next;
        }
#pragma unroll
        for (int i = 0; i < together; ++i) {
          const int own = row + (start + i) * next_row;
          const int at = k + (start + i) * next_k;
          *reinterpret_cast<unsigned*>(tile + place(own, at / 4) + at % 4 * 4) = word[i];
        }
      }
    } else {
      const i64 stride = layout == Layout::across ? k_stride : row_stride;
      const int lines = layout == Layout::across ? ks : rows;
      const int length = layout == Layout::across ? rows : ks;
#pragma unroll
      for (int i = 0; i < copies; ++i) {
        const int row = (thread + i * threads) / chunks;
        const int column = (thread + i * threads) % chunks;
        const int rest = row < lines ? length - column * chunk : 0;
        const int count = rest > chunk ? chunk : rest;
        // The address must be one even where nothing is read.
        const Element* const source = count > 0 ? from + row * stride + column * chunk : from;
        copy_chunk(tile + place(row, column), source, count > 0 ? count * width : 0);
      }
    }
  }

  // Rounds what this thread has copied to TF32, where that has been floats.
  static __device__ __forceinline__ void round(unsigned char* tile) {
    if constexpr (layout != Layout::any && width == 4) {
      const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
      for (int i = 0; i < copies; ++i) {
        const int at = thread + i * threads;
        auto* const values = reinterpret_cast<float4*>(tile + place(at / chunks, at % chunks));
        float4 v = *values;
        v = {round_tf32(v.x), round_tf32(v.y), round_tf32(v.z), round_tf32(v.w)};
        *values = v;
      }
    }
  }

  // Registers of 16 rows and 32 bytes along k: rows of a lane / 4 and 8 below, then both for the
  // next 16 bytes along k, but for the order of row_at().
  static __device__ __forceinline__ void read(unsigned char* tile, int row, int step,
                                              unsigned (&to)[4]) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if constexpr (layout == Layout::across && width == 4) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int k = step * 8 + i / 2 * 4 + lane % 4;
        const int own = row + i % 2 * 8 + lane / 4;
        to[i] = *reinterpret_cast<const unsigned*>(tile + place(k, own / 4) + own % 4 * 4);
      }
    } else if constexpr (layout == Layout::across && width == 1) {
      // Pairs of rows are transposed, of two k at a time, and then taken apart.
      const int k = step * 32 + lane / 16 * 16 + lane / 8 % 2 * 2 + lane % 8 / 2 * 4 + lane % 2;
      unsigned pair[4];
      read_transposed(tile + place(k, row / 16), pair);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int first = i / 2 * 2;
        to[i] = __byte_perm(pair[first], pair[first + 1], i % 2 == 0 ? 0x6420 : 0x7531);
      }
    } else if constexpr (layout == Layout::across) {
      const int k = step * 16 + lane / 16 * 8 + lane % 8;
      read_transposed(tile + place(k, row / 8 + lane / 8 % 2), to);
    } else {
      read_matrices(tile + place(row + lane % 16, step * 2 + lane / 16), to);
    }
  }
};

// The tile of a block.
struct TilePlace {
  i64 top;
  i64 begin;
  int rows;  // of the result
  int columns;
};

// Bands of 8 tiles down: blocks that run together share rows and columns.
template <int Rows, int Columns, typename Product>
__device__ __forceinline__ TilePlace tile_place(const Product& p, i64 tile, i64 down, i64 tiles) {
  const i64 band = 8 * (tiles / down);
  const i64 first = tile / band * 8;
  const i64 band_rows = down - first < 8 ? down - first : 8;
  const i64 top = (first + tile % band % band_rows) * Rows;
  const i64 begin = tile % band / band_rows * Columns;
  return {top, begin, static_cast<int>(p.m - top < Rows ? p.m - top : Rows),
          static_cast<int>(p.n - begin < Columns ? p.n - begin : Columns)};
}

// Blocks have 2 * columns threads: two warps down, one of every 32 columns across. `is_narrow` is
// for sums of a tensor core that have fewer bits than float.
template <typename Multiply, typename StoredA, typename StoredB, Layout layout_a, Layout layout_b,
          int rows, int columns, bool is_narrow, typename V, typename Left, typename Right,
          typename Finish>
__device__ __forceinline__ void matmul_mma(const Product<V, Left, Right>& p, const Finish& finish,
                                           i64 tile, i64 down, i64 tiles) {
  constexpr int threads = 2 * columns;
  constexpr int high = rows / 32;  // steps of 16 rows of a warp
  using TileA = MmaTile<Left, StoredA, layout_a, rows, threads>;
  using TileB = MmaTile<Right, StoredB, layout_b, columns, threads>;
  constexpr int stage_size = TileA::size + TileB::size;
  constexpr int stages = 4 * stage_size > 48 * 1024 ? 3 : 4;
  __shared__ __align__(128) unsigned char memory[stages * stage_size];
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32;
  const int warp_row = thread / 32 / (columns / 32);
  const int warp_column = thread / 32 % (columns / 32);
  const TilePlace own = tile_place<rows, columns>(p, tile, down, tiles);
  const i64 top = own.top;
  const i64 begin = own.begin;
  const int used_rows = own.rows;
  const int used_columns = own.columns;
  constexpr int depth = TileA::depth;
  const i64 steps = (p.k + depth - 1) / depth;
  const auto fill = [&](i64 step, int stage) {
    if (step < steps) {
      const i64 k = step * depth;
      const int ks = static_cast<int>(p.k - k < depth ? p.k - k : depth);
      unsigned char* const to = memory + stage * stage_size;
      TileA::fill(to, p.a + top * p.a_m + k * p.a_k, p.a_m, p.a_k, used_rows, ks);
      const auto* const b = p.b + begin * p.b_n + k * p.b_k;
      TileB::fill(to + TileA::size, b, p.b_n, p.b_k, used_columns, ks);
    }
    // An empty group where there is no such step: groups are counted.
    commit_copies();
  };
  V sum[high][4][4] = {};
#pragma unroll
  for (int s = 0; s < stages - 1; ++s) fill(s, s);
  int stage = 0;
  for (i64 step = 0; step < steps; ++step) {
    asm volatile("cp.async.wait_group %0;" :: "n"(stages - 2) : "memory");
    unsigned char* const a = memory + stage * stage_size;
    unsigned char* const b = a + TileA::size;
    TileA::round(a);
    TileB::round(b);
    // Also the end of the multiplications of the stage that is filled next.
    __syncthreads();
    fill(step + stages - 1, stage == 0 ? stages - 1 : stage - 1);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      unsigned left[high][4];
      unsigned right[2][4];
#pragma unroll
      for (int j = 0; j < 2; ++j) TileB::read(b, warp_column * 32 + j * 16, half, right[j]);
#pragma unroll
      for (int i = 0; i < high; ++i) {
        TileA::read(a, warp_row * (rows / 2) + i * 16, half, left[i]);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const unsigned low = right[j / 2][j % 2];
          const unsigned above = right[j / 2][j % 2 + 2];
          if constexpr (is_narrow) {
            V part[4] = {};
            Multiply{}(part, left[i], low, above);
#pragma unroll
            for (int c = 0; c < 4; ++c) sum[i][j][c] += part[c];
          } else {
            Multiply{}(sum[i][j], left[i], low, above);
          }
        }
      }
    }
    stage = stage + 1 < stages ? stage + 1 : 0;
  }
  // Half of the rows at a time go through shared memory: neighbouring threads finish neighbours.
  constexpr int pitch = columns + 8;
  static_assert(rows / 2 * pitch * static_cast<int>(sizeof(V)) <= stages * stage_size, "fits");
  V* const sums = reinterpret_cast<V*>(memory);
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  for (int part = 0; part < 2; ++part) {
    __syncthreads();
    if (warp_row == part) {
#pragma unroll
      for (int i = 0; i < high; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
#pragma unroll
          for (int c = 0; c < 4; ++c) {
            const int row = i * 16 + TileA::row_at(lane / 4 + c / 2 * 8);
            const int column = j / 2 * 16 + TileB::row_at(j % 2 * 8 + lane % 4 * 2 + c % 2);
            sums[row * pitch + warp_column * 32 + column] = sum[i][j][c];
          }
        }
      }
    }
    __syncthreads();
    for (int e = thread; e < rows / 2 * columns; e += threads) {
      const int row = part * (rows / 2) + e / columns;
      const int column = e % columns;
      if (row >= used_rows || column >= used_columns) continue;
      finish(top + row, begin + column, sums[e / columns * pitch + column]);
    }
  }
}

#endif
}  // namespace gridstride::tensor::matmul
