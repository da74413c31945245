/*
 * matmul_mma_staged.cuh — large products on tensor cores, in whose loop addresses are constants.
 *
 * Problem: that of matmul_mma.cuh, for elements of one or two bytes that lie along k, or of two
 * bytes across it, in aligned chunks of 16 bytes.
 * Mapping: a block of 8 warps computes 128 x 256 elements of the result, a warp 64 x 64 of them in
 * registers. Dynamic shared memory has Stages tiles of 128 bytes along k of both operands. Each
 * thread advances a pointer to each operand, and reads shared memory at four addresses of each
 * operand and constants. The operands of the next multiplications are read while tensor cores
 * multiply, and a stage is refilled as soon as no warp reads it: in tiles inside of the result by
 * a few copies between multiplications, without conditions. Chunks are permuted within 128 bytes
 * of a line, so ldmatrix and cp.async meet no bank twice.
 * Bytes: an element of the left operand is read n / 256 times, one of the right m / 128 times.
 * Numerics: as in matmul_mma.cuh, with the same order of sums.
 */
#pragma once

#include "kernels/tensor/matmul/matmul_mma.cuh"

namespace gridstride::tensor::matmul {
#if !defined(GS_BLOCK_FORM)

constexpr int staged_threads = 256;

// The tiles of an operand, Edge rows of the left one or columns of the right one: the state of a
// thread that copies and reads them.
template <typename Stored, Layout layout, int Edge, bool is_left>
struct StagedTile {
  static constexpr bool is_across = layout == Layout::across;
  static constexpr int width = sizeof(Stored);
  static constexpr int depth = 128 / width;
  static constexpr int chunk = 16 / width;
  static constexpr int size = 128 * Edge;
  // A line has the elements that are neighbours in memory.
  static constexpr int pitch = is_across ? Edge * width : 128;
  static constexpr int chunks = pitch / 16;
  static constexpr int apart = staged_threads / chunks;  // lines between copies of a thread
  static constexpr int copies = size / 16 / staged_threads;
  static_assert(!is_across || width == 2, "ldmatrix transposes elements of two bytes");
  static_assert(apart % 8 == 0, "copies of a thread are permuted alike");

  const Stored* source;
  i64 next_line;
  i64 next_stage;
  unsigned target;
  unsigned offset[4];

  // `first_row` is that of the warp's rows.
  __device__ __forceinline__ StagedTile(const Stored* from, i64 row_stride, i64 k_stride,
                                        int first_row) {
    const int thread = static_cast<int>(threadIdx.x);
    const int line = thread / chunks;
    const int column = thread % chunks;
    const i64 stride = is_across ? k_stride : row_stride;
    source = from + line * stride + column * chunk;
    next_line = apart * stride;
    next_stage = depth * k_stride;
    target = line * pitch + (column ^ (line & 7)) * 16;
    const int lane = thread % 32;
    // The order in which a tensor core has the four matrices in neighbouring registers.
    const int below = is_across == is_left ? lane / 16 : lane / 8 % 2;
    const int half = is_across == is_left ? lane / 8 % 2 : lane / 16;
    const int own_line = (is_across ? 0 : first_row) + below * 8 + lane % 8;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      offset[j] = own_line * pitch + ((2 * j + half) ^ (lane & 7)) * 16 +
                  (is_across ? first_row * width : 0);
    }
  }

  // Starts to fill the next stage with `rows` of the operand and `ks` elements along k. `valid` is
  // the address of any element.
  __device__ __forceinline__ void fill(unsigned stage, int rows, int ks, const Stored* valid) {
    const Stored* from = source;
    if (rows == Edge && ks == depth) {
#pragma unroll
      for (int i = 0; i < copies; ++i, from += next_line) {
        copy_chunk(stage + target + i * apart * pitch, from, 16);
      }
    } else {
      const int thread = static_cast<int>(threadIdx.x);
      const int rest = (is_across ? rows : ks) - thread % chunks * chunk;
      const int bytes = rest >= chunk ? 16 : rest > 0 ? rest * width : 0;
      const int lines = (is_across ? ks : rows) - thread / chunks;
#pragma unroll
      for (int i = 0; i < copies; ++i, from += next_line) {
        const int count = i * apart < lines ? bytes : 0;
        // The address must be one even where nothing is read.
        copy_chunk(stage + target + i * apart * pitch, count > 0 ? from : valid, count);
      }
    }
    source += next_stage;
  }

  // Starts to copy `Count` chunks of a whole stage, behind the first ones. Calls do so in order.
  template <int First, int Count>
  __device__ __forceinline__ void copy_whole(unsigned stage) {
#pragma unroll
    for (int i = First; i < First + Count; ++i, source += next_line) {
      copy_chunk(stage + target + i * apart * pitch, source);
    }
    // Across k, the line behind a stage is the first one of the next.
    if (!is_across && First + Count == copies) source += next_stage - copies * next_line;
  }

  // Registers of 16 of the warp's rows and 32 bytes along k. Left: rows of a lane / 4 and 8 below,
  // then both for the next 16 bytes along k. Right: both along k, then those of the rows below.
  __device__ __forceinline__ void read(unsigned stage, int i, int step, unsigned (&to)[4]) const {
    if constexpr (is_across) {
      read_transposed(stage + offset[i] + step * 16 * pitch, to);
    } else {
      read_matrices(stage + offset[step] + i * 16 * pitch, to);
    }
  }
};

template <typename Multiply, typename StoredA, typename StoredB, Layout layout_a, Layout layout_b,
          int Stages, bool is_narrow, typename V, typename Left, typename Right, typename Finish>
__device__ __forceinline__ void matmul_mma_staged(const Product<V, Left, Right>& p,
                                                  const Finish& finish, i64 tile, i64 down,
                                                  i64 tiles) {
  constexpr int rows = 128;
  constexpr int columns = 256;
  using TileA = StagedTile<StoredA, layout_a, rows, true>;
  using TileB = StagedTile<StoredB, layout_b, columns, false>;
  constexpr int stage_size = TileA::size + TileB::size;
  constexpr int depth = TileA::depth;
  constexpr int steps = 4;  // multiplications along k of a stage
  extern __shared__ __align__(128) unsigned char staged_memory[];
  const unsigned memory = static_cast<unsigned>(__cvta_generic_to_shared(staged_memory));

  // ---- the block's tile, and the warp's part -----------------------------------------------
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32;
  const int warp_row = thread / 32 / 4 * 64;
  const int warp_column = thread / 32 % 4 * 64;
  const TilePlace place = tile_place<rows, columns>(p, tile, down, tiles);
  TileA a(p.a + place.top * p.a_m, p.a_m, p.a_k, warp_row);
  TileB b(p.b + place.begin * p.b_n, p.b_n, p.b_k, warp_column);

  // ---- copies ------------------------------------------------------------------------------
  const int stages = static_cast<int>((p.k + depth - 1) / depth);
  int copied = 0;
  unsigned write = memory;
  const auto commit = [&]() {
    commit_copies();
    ++copied;
    write = write == memory + (Stages - 1) * stage_size ? memory : write + stage_size;
  };
  const auto fill = [&]() {
    if (copied < stages) {
      const int ks =
          copied + 1 < stages ? depth : static_cast<int>(p.k - (stages - 1) * i64{depth});
      a.fill(write, place.rows, ks, p.a);
      b.fill(write + TileA::size, place.columns, ks, p.b);
    }
    // An empty group where there is no such stage: groups are counted.
    commit();
  };
#pragma unroll 1
  for (int s = 0; s < Stages - 1; ++s) fill();

  // ---- multiplications ---------------------------------------------------------------------
  V sum[4][8][4] = {};
  unsigned left[2][4][4];
  unsigned right[2][4][4];
  unsigned read = memory;
  const auto load = [&](int to, int step) {
#pragma unroll
    for (int i = 0; i < 4; ++i) b.read(read + TileA::size, i, step, right[to][i]);
#pragma unroll
    for (int i = 0; i < 4; ++i) a.read(read, i, step, left[to][i]);
  };
  asm volatile("cp.async.wait_group %0;" :: "n"(Stages - 2) : "memory");
  __syncthreads();
  if (stages > 0) load(0, 0);
  // `refill` gets the stage before this one, which no warp reads any more.
  const auto multiply = [&](const auto& refill) {
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      if (step == steps - 1) {
        // The next stage is there, and the last one's operands are in registers.
        asm volatile("cp.async.wait_group %0;" :: "n"(Stages - 2) : "memory");
        __syncthreads();
        read = read == memory + (Stages - 1) * stage_size ? memory : read + stage_size;
      }
      // Behind the last stage these are old values, which nothing uses.
      load((step + 1) % 2, (step + 1) % steps);
      refill(step);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          const unsigned low = right[step % 2][j / 2][j % 2 * 2];
          const unsigned above = right[step % 2][j / 2][j % 2 * 2 + 1];
          if constexpr (is_narrow) {
            V part[4] = {};
            Multiply{}(part, left[step % 2][i], low, above);
#pragma unroll
            for (int c = 0; c < 4; ++c) sum[i][j][c] += part[c];
          } else {
            Multiply{}(sum[i][j], left[step % 2][i], low, above);
          }
        }
      }
    }
  };
  int stage = 0;
  // With the conditions of edges, copies are 200 instructions for which tensor cores would wait.
  if (place.rows == rows && place.columns == columns) {
    static_assert(TileA::copies == 4 && TileB::copies == 8, "three parts of four copies");
    const int whole = static_cast<int>(p.k / depth);
#pragma unroll 1
    for (; copied < whole; ++stage) {
      multiply([&](int step) {
        if (step == 0) a.template copy_whole<0, 4>(write);
        if (step == 1) b.template copy_whole<0, 4>(write + TileA::size);
        if (step == 2) {
          b.template copy_whole<4, 4>(write + TileA::size);
          commit();
        }
      });
    }
  }
#pragma unroll 1
  for (; stage < stages; ++stage) {
    multiply([&](int step) {
      if (step == 0) fill();
    });
  }

  // ---- results, by way of shared memory: neighbouring threads finish neighbours -------------
  constexpr int half = rows / 2;
  constexpr int pitch = columns + 8;
  static_assert(half * pitch * static_cast<int>(sizeof(V)) <= Stages * stage_size, "sums fit");
  static_assert(columns == staged_threads, "a thread finishes a column");
  V* const sums = reinterpret_cast<V*>(staged_memory);
  asm volatile("cp.async.wait_group 0;" ::: "memory");
#pragma unroll 1
  for (int first = 0; first < rows; first += half) {
    __syncthreads();
    if (warp_row == first) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) {
#pragma unroll
          for (int c = 0; c < 4; ++c) {
            const int row = i * 16 + lane / 4 + c / 2 * 8;
            const int column = warp_column + j * 8 + lane % 4 * 2 + c % 2;
            sums[row * pitch + column] = sum[i][j][c];
          }
        }
      }
    }
    __syncthreads();
    const int end = place.rows - first < half ? place.rows - first : half;
    for (int row = 0; row < end && thread < place.columns; ++row) {
      finish(place.top + first + row, place.begin + thread, sums[row * pitch + thread]);
    }
  }
}

#endif
}  // namespace gridstride::tensor::matmul
