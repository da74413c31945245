/*
 * attention_mma.cuh — attention on tensor cores, for compute capability 8.0 and higher.
 *
 * Problem: that of attention.cuh, for elements of 16 bits whose rows of keys and values lie at
 * multiples of 16 bytes. Multiply is mma.sync of 16 rows, 8 columns and a depth of 16.
 * Mapping: a warp has RowTiles times 16 rows (Dao, "FlashAttention-2", 2023), whose scores, sums
 * and results stay in registers; the powers of scores are the left operand of the second product as
 * they lie there. Two times 16 rows share each fragment of keys and values, which halves the reads
 * of shared memory. Queries, a tile of keys and one of values lie there, by cp.async: values arrive
 * while their keys are multiplied, and the next keys while the values are. Rows have an odd number
 * of chunks of 16 bytes, so that ldmatrix, which transposes the values, meets no bank twice. Behind
 * the last key and the last element are zeros. The next fragments are read while some are
 * multiplied.
 * Bytes and operations: 2 (Size + Value) operations per visible score; keys and values are read
 * once by each tile of rows, mostly from the second-level cache.
 * Hidden keys: tiles that all rows see take a loop without comparisons. In others each thread
 * clears values that are NaN or infinite, of those that it copied, and rows compare their limits,
 * which lie in shared memory. Blocks are looked up for 1,024 tiles at once.
 * Numerics: as in attention.cuh, but powers are rounded to the element type before they are
 * multiplied with the values, and the tensor core rounds its sums, or truncates them. Without a
 * mask, scores are scaled as their base is subtracted, in one rounding. The base of a row's powers
 * is a score of the row, and changes when another exceeds it by more than a factor of 2^8: results
 * are seldom rescaled.
 */
#pragma once

#include "kernels/tensor/attention/attention.cuh"
#include "kernels/tensor/matmul/tensor_core.cuh"
#include "kernels/tensor/warp.cuh"

#if !defined(GS_BLOCK_FORM)
namespace gridstride::tensor::attention {

constexpr float max_exponent = 8.0f;

// Rows of queries, keys or values in shared memory, each of `Width` elements of 16 bits and a chunk
// of 16 bytes without use: an odd number of chunks, so 8 rows below each other meet no bank twice.
template <int Width>
struct HeadTile {
  static constexpr int chunks = Width / 8;
  static constexpr int pitch = (chunks + 1) * 16;
  // Threads that copy a row, a power of two. Those beyond its chunks have no work.
  static constexpr int row_threads = chunks <= 2 ? 2 : chunks <= 4 ? 4 : chunks <= 8 ? 8
                                   : chunks <= 16 ? 16 : 32;

  // Calls visit(row, offset) for each chunk of this thread: its column, and every `Threads /
  // row_threads`-th row from the first one on.
  static __device__ __forceinline__ int column() {
    return static_cast<int>(threadIdx.x) % row_threads;
  }
  static __device__ __forceinline__ int first_row() {
    return static_cast<int>(threadIdx.x) / row_threads;
  }
  template <int Rows, int Threads, int Unroll = Rows, typename Visit>
  static __device__ __forceinline__ void for_chunks(Visit visit) {
    if (chunks < row_threads && column() >= chunks) return;
    constexpr int step = Threads / row_threads;
    const int first = first_row();
    const int offset = first * pitch + column() * 16;
#pragma unroll Unroll
    for (int row = 0; row < Rows; row += step) {
      if (Rows % step != 0 && row + first >= Rows) break;
      visit(row + first, offset + row * pitch);
    }
  }

  // Starts to copy `count` of `Rows` rows with `size` elements. source_of(row) is called for the
  // rows of this thread in their order, and returns the thread's chunk of one, or any address where
  // there is none.
  template <int Rows, int Threads, typename SourceOf>
  static __device__ __forceinline__ void fill(unsigned tile, int count, int size,
                                              SourceOf source_of) {
    const int rest = size - column() * 8;
    const int bytes = rest <= 0 ? 0 : rest > 8 ? 16 : rest * 2;
    for_chunks<Rows, Threads, 1>([&](int row, int offset) {
      copy_chunk(tile + offset, source_of(row), row < count ? bytes : 0);
    });
  }

  // The same for rows that are all there.
  template <int Rows, int Threads, typename SourceOf>
  static __device__ __forceinline__ void fill_whole(unsigned tile, SourceOf source_of) {
    for_chunks<Rows, Threads>(
        [&](int row, int offset) { copy_chunk(tile + offset, source_of(row)); });
  }

  // The same for all chunks that this thread copied.
  template <int Rows, int Threads>
  static __device__ __forceinline__ bool clear_others(unsigned char* tile, unsigned infinity) {
    bool result = false;
    for_chunks<Rows, Threads, 1>([&](int, int offset) {
      result |= attention::clear_others(*reinterpret_cast<uint4*>(tile + offset), infinity);
    });
    return result;
  }
};

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

// The keys that a row sees.
struct alignas(8) KeyRange {
  int low;
  int high;
};

// The registers of a warp: RowTiles times 16 rows, of which a thread has rows lane / 4 and 8 below,
// and columns lane % 4 * 2 and the next of every 8.
template <typename Multiply, int RowTiles, int KeyTile, int Size, int Value, typename T>
struct WarpRows {
  using TileK = HeadTile<Size>;
  using TileV = HeadTile<Value>;

  float scores[RowTiles][KeyTile / 8][4];
  float result[RowTiles][Value / 8][4];
  float row_base[RowTiles][2];
  float row_sum[RowTiles][2];  // of this thread's columns

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int t = 0; t < RowTiles; ++t) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        row_base[t][r] = -INFINITY;
        row_sum[t][r] = 0.0f;
      }
#pragma unroll
      for (int i = 0; i < Value / 8; ++i) {
#pragma unroll
        for (int c = 0; c < 4; ++c) result[t][i][c] = 0.0f;
      }
    }
  }

  // The offset of the lane's row of four matrices: two below each other, beside two others.
  template <typename Tile>
  static __device__ __forceinline__ unsigned lane_offset() {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    return lane % 16 * Tile::pitch + lane / 16 * 16;
  }
  // The same for two beside each other, above two others: the right operands of two products, each
  // in neighbouring registers.
  static __device__ __forceinline__ unsigned key_offset() {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    return (lane / 16 * 8 + lane % 8) * TileK::pitch + lane / 8 % 2 * 16;
  }

  // scores = queries · keys, from the addresses of their first rows.
  __device__ __forceinline__ void multiply_keys(unsigned q_tile, unsigned k_tile) {
    constexpr int across = KeyTile / 16;
    constexpr int steps = Size / 16 * across;
    const unsigned q_row = q_tile + lane_offset<TileK>();
    const unsigned k_row = k_tile + key_offset();
    unsigned queries[RowTiles][4];
    unsigned keys[2][4];
    const auto read = [&](int step) {
      const int i = step / across;
      const int j = step % across;
      read_matrices(k_row + i * 32 + j * 16 * TileK::pitch, keys[step % 2]);
    };
#pragma unroll
    for (int t = 0; t < RowTiles; ++t) {
#pragma unroll
      for (int j = 0; j < KeyTile / 8; ++j) {
#pragma unroll
        for (int c = 0; c < 4; ++c) scores[t][j][c] = 0.0f;
      }
    }
    read(0);
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      if (step + 1 < steps) read(step + 1);
      const int j = step % across;
      if (j == 0) {
#pragma unroll
        for (int t = 0; t < RowTiles; ++t) {
          read_matrices(q_row + step / across * 32 + t * 16 * TileK::pitch, queries[t]);
        }
      }
      const unsigned(&key)[4] = keys[step % 2];
#pragma unroll
      for (int t = 0; t < RowTiles; ++t) {
        const unsigned(&query)[4] = queries[t];
        Multiply{}(scores[t][2 * j], query, key[0], key[1]);
        Multiply{}(scores[t][2 * j + 1], query, key[2], key[3]);
      }
    }
  }

  // Rescales rows if scores exceed their bases by far. With a mask, scores are in units of e;
  // otherwise they are products that lack a factor.
  template <bool HasMask>
  __device__ __forceinline__ void update_bases(float scale) {
    float tile_max[RowTiles][2];
    bool grows = false;
#pragma unroll
    for (int t = 0; t < RowTiles; ++t) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float largest = scores[t][0][2 * r];
#pragma unroll
        for (int j = 0; j < KeyTile / 8; ++j) {
          largest = fmaxf(largest, fmaxf(scores[t][j][2 * r], scores[t][j][2 * r + 1]));
        }
        largest = warp_max<4>(largest);
        if constexpr (!HasMask) largest *= scale;
        tile_max[t][r] = largest;
        grows |= exponent_of<HasMask>(largest, row_base[t][r]) > max_exponent;
      }
    }
    if (__any_sync(whole_warp, grows)) rescale<HasMask>(tile_max);
  }

  // Makes a score of the tile the base of rows that exceed theirs by far.
  template <bool HasMask>
  __device__ __forceinline__ void rescale(const float (&tile_max)[RowTiles][2]) {
#pragma unroll
    for (int t = 0; t < RowTiles; ++t) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float before = row_base[t][r];
        if (exponent_of<HasMask>(tile_max[t][r], before) > max_exponent) {
          row_base[t][r] = tile_max[t][r];
        }
        const float base = fmaxf(row_base[t][r], lowest_float);
        const float factor = row_base[t][r] == before
                                 ? 1.0f
                                 : fast_power_of_2(exponent_of<HasMask>(before, base));
        row_sum[t][r] *= factor;
#pragma unroll
        for (int i = 0; i < Value / 8; ++i) {
          result[t][i][2 * r] *= factor;
          result[t][i][2 * r + 1] *= factor;
        }
      }
    }
  }

  // Makes powers of 2 of the scores of 16 keys, packed as a left operand, and adds them up.
  template <bool HasMask>
  __device__ __forceinline__ void take_powers(int step, float scale,
                                              unsigned (&powers)[RowTiles][4]) {
#pragma unroll
    for (int t = 0; t < RowTiles; ++t) {
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        // Of a row without visible keys all powers are 0.
        const float base = fmaxf(row_base[t][p % 2], lowest_float);
        const float* const pair = scores[t][2 * step + p / 2] + p % 2 * 2;
        float power[2];
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          power[c] = fast_power_of_2(HasMask ? exponent_of<true>(pair[c], base)
                                             : fmaf(pair[c], scale, -base));
          row_sum[t][p % 2] += power[c];
        }
        powers[t][p] = packed<T>(power[0], power[1]);
      }
    }
  }

  // result += powers · values.
  template <bool HasMask>
  __device__ __forceinline__ void multiply_values(unsigned v_tile, float scale) {
    const unsigned row = v_tile + lane_offset<TileV>();
    constexpr int across = Value / 16;
    constexpr int steps = KeyTile / 16 * across;
    unsigned powers[RowTiles][4];
    unsigned values[2][4];
    const auto read = [&](int step) {
      const int j = step / across;
      read_transposed(row + step % across * 32 + j * 16 * TileV::pitch, values[step % 2]);
    };
    read(0);
#pragma unroll
    for (int j = 0; j < KeyTile / 16; ++j) {
      take_powers<HasMask>(j, scale, powers);
#pragma unroll
      for (int i = 0; i < across; ++i) {
        const int step = j * across + i;
        if (step + 1 < steps) read(step + 1);
        const unsigned(&value)[4] = values[step % 2];
#pragma unroll
        for (int t = 0; t < RowTiles; ++t) {
          Multiply{}(result[t][2 * i], powers[t], value[0], value[1]);
          Multiply{}(result[t][2 * i + 1], powers[t], value[2], value[3]);
        }
      }
    }
  }
};

// Makes the compiler keep a value in a register, instead of computing it again from several.
template <typename V>
__device__ __forceinline__ void keep_value(V*& pointer) {
  asm volatile("" : "+l"(pointer));
}

// The tiles of keys that the rows of a block see, as bits. A tile has the same bit in each table.
constexpr int table_words = 32;
struct TileTable {
  unsigned some[table_words];  // which some row sees
  unsigned all[table_words];   // which all rows see
  int limit;                   // the key behind them
};

// Size and Value are sizes of heads, rounded up to multiples of 16. SharedBytes are the dynamic
// shared memory of a launch.
template <typename Multiply, Keys Source, int Warps, int RowTiles, int KeyTile, int Size, int Value,
          int SharedBytes, bool HasBlocks, typename T, typename M, typename Out>
__device__ __forceinline__ void attention_mma(const Attention& a, const T* q, const T* k,
                                              const T* v, const M* mask, const bool* blocks,
                                              const int* places, Out* out, float* sums) {
  constexpr bool has_mask = !is_same<M, NoMask>;
  using TileK = HeadTile<Size>;
  using TileV = HeadTile<Value>;
  constexpr int threads = 32 * Warps;
  constexpr int warp_rows = 16 * RowTiles;
  constexpr int TileRows = Warps * warp_rows;
  constexpr int k_begin = TileRows * TileK::pitch;
  constexpr int v_begin = k_begin + KeyTile * TileK::pitch;
  constexpr int ranges_begin = v_begin + KeyTile * TileV::pitch;
  constexpr int block_rows_begin = ranges_begin + (TileRows + 1) * sizeof(KeyRange);
  constexpr int block_bytes = TileRows * sizeof(i64) + sizeof(TileTable);
  static_assert(block_rows_begin + (HasBlocks ? block_bytes : 0) == SharedBytes,
                "the launch has the shared memory of the tiles");
  extern __shared__ __align__(128) unsigned char memory[];
  const AttentionJob job = attention_job<Source>(a, TileRows, places, blockIdx.x);
  if (job.rows <= 0) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp_row = static_cast<int>(threadIdx.x) / 32 * warp_rows;
  const int size = static_cast<int>(a.size);
  const int value_size = static_cast<int>(a.value_size);
  const int end = static_cast<int>(job.end);
  const unsigned tile_q = shared_address(memory);
  const unsigned tile_k = tile_q + k_begin;
  const unsigned tile_v = tile_q + v_begin;
  auto* const ranges = reinterpret_cast<KeyRange*>(memory + ranges_begin);
  KeyRange* const whole_tiles = ranges + TileRows;
  // The rows of visible blocks in their mask, and what was looked up there.
  auto* const block_rows = reinterpret_cast<i64*>(memory + block_rows_begin);
  auto* const table = reinterpret_cast<TileTable*>(block_rows + TileRows);

  // The key behind the tiles in the table.
  const auto limit = [&] {
    if constexpr (HasBlocks) return table->limit;
    else return end;
  };

  // Copies of the next operands, from the chunk of this thread in the first row.
  constexpr int k_step = threads / TileK::row_threads;
  constexpr int v_step = threads / TileV::row_threads;
  const T* const k_base = k + job.batch * a.k[0] + job.head * a.k[1] + TileK::column() * 8;
  const T* const v_base = v + job.batch * a.v[0] + job.head * a.v[1] + TileV::column() * 8;
  const T* k_first = k_base + (job.key + TileK::first_row()) * a.k[2];
  const T* v_first = v_base + (job.key + TileV::first_row()) * a.v[2];
  keep_value(k_first);
  keep_value(v_first);
  const auto source_of_rows = [&](const T* base, const T* first, i64 stride, int step, int begin) {
    return [=, &a, &job, next = first + begin * stride](int row) mutable {
      if constexpr (Source == Keys::paged) {
        const i64 key = begin + row < end ? begin + row : end - 1;
        return base + key_row<Source>(a, job, key) * stride;
      } else {
        const T* const source = next;
        next += step * stride;
        return source;
      }
    };
  };
  // A whole tile of keys or values. All pages are looked up before the first copy.
  const auto fill_whole = [&](auto tile_type, unsigned tile, const T* base, const T* first,
                              i64 stride, int begin) {
    using Tile = decltype(tile_type);
    constexpr int step = threads / Tile::row_threads;
    if constexpr (Source == Keys::paged) {
      i64 places_of_rows[(KeyTile + step - 1) / step];
#pragma unroll
      for (int i = 0; i * step < KeyTile; ++i) {
        const int row = i * step + Tile::first_row();
        places_of_rows[i] = key_row<Source>(a, job, begin + (row < KeyTile ? row : 0));
      }
      Tile::template fill_whole<KeyTile, threads>(tile, [&, i = 0](int) mutable {
        return base + places_of_rows[i++] * stride;
      });
    } else {
      Tile::template fill_whole<KeyTile, threads>(
          tile, source_of_rows(base, first, stride, step, begin));
    }
  };
  const auto fill_keys = [&](int begin, auto is_whole) {
    if constexpr (is_whole.value) {
      if (!HasBlocks || begin < limit()) {
        fill_whole(TileK{}, tile_k, k_base, k_first, a.k[2], begin);
      }
    } else if (begin < limit()) {
      TileK::template fill<KeyTile, threads>(
          tile_k, end - begin, size, source_of_rows(k_base, k_first, a.k[2], k_step, begin));
    }
    commit_copies();
  };
  const auto fill_values = [&](int begin, auto is_whole) {
    if constexpr (is_whole.value) {
      fill_whole(TileV{}, tile_v, v_base, v_first, a.v[2], begin);
    } else {
      TileV::template fill<KeyTile, threads>(
          tile_v, end - begin, value_size, source_of_rows(v_base, v_first, a.v[2], v_step, begin));
    }
    commit_copies();
  };

  // The rows of this thread, for masks.
  AttentionRow rows[RowTiles][2];
  if (has_mask) {
#pragma unroll
    for (int t = 0; t < RowTiles; ++t) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int row = warp_row + t * 16 + r * 8 + lane / 4;
        rows[t][r] = row_of(a, job, row < job.rows ? row : job.rows - 1);
      }
    }
  }

  // The tiles that rows of the block see. The heads of a group count as heads of the block, also if
  // it has few rows.
  constexpr int word_keys = 32 * KeyTile;
  constexpr int table_keys = table_words * word_keys;
  const auto block_column = [&](int key) {
    return static_cast<unsigned>(key) / static_cast<unsigned>(a.block_columns) * a.blocks[3];
  };
  // A block that the compiler does not know: of the same one, it would keep the job in registers.
  const auto job_again = [&] {
    return attention_job<Source>(a, TileRows, places, __shfl_sync(whole_warp, blockIdx.x, 0));
  };
  const auto fill_table = [&](int begin) {
    const AttentionJob job = job_again();
    const i64 first_row = job.row / a.group / a.block_rows;
    const i64 last_row = (job.row + job.rows - 1) / a.group / a.block_rows;
    const i64 heads = a.blocks[1] == 0 ? 1 : a.group;
    const int table_end = (begin / table_keys + 1) * table_keys;
    const int limit = table_end < end ? table_end : end;
    if (threadIdx.x == 0) table->limit = limit;
    for (int word = begin / word_keys + static_cast<int>(threadIdx.x) / 32;
         word * word_keys < limit; word += Warps) {
      const int key = word * word_keys + lane * KeyTile;
      bool is_some = false;
      bool is_all = true;
      if (key < limit) {
        const bool* head = blocks + job.batch * a.blocks[0] + job.head * a.group * a.blocks[1] +
                           block_column(key);
        for (i64 h = 0; h < heads; ++h, head += a.blocks[1]) {
          for (i64 row = first_row; row <= last_row; ++row) {
            const bool is_visible = head[row * a.blocks[2]];
            is_some |= is_visible;
            is_all &= is_visible;
          }
        }
      }
      const unsigned some = __ballot_sync(whole_warp, is_some);
      const unsigned all = __ballot_sync(whole_warp, is_all);
      if (lane == 0) {
        table->some[word % table_words] = some;
        table->all[word % table_words] = all;
      }
    }
  };
  // The first tile from one on that a row of the block sees, or a key from the limit on. Registers
  // are scarce while tiles are multiplied, so it is looked up again.
  const auto visible_from = [&](int begin) {
    if constexpr (HasBlocks) {
      while (begin < limit()) {
        const unsigned some = table->some[begin / word_keys % table_words] >> begin / KeyTile % 32;
        if (some != 0) return begin + (__ffs(some) - 1) * KeyTile;
        begin = (begin / word_keys + 1) * word_keys;
      }
    }
    return begin;
  };
  // The same for a tile that is not in the table.
  const auto look_up_from = [&](int begin) {
    while (begin < end) {
      __syncthreads();  // the last table is still read
      fill_table(begin);
      __syncthreads();
      begin = visible_from(begin);
      if (begin < limit()) break;
    }
    return begin;
  };
  // The rows of this thread that see a tile, as bits.
  const auto visible_rows = [&](int begin) {
    unsigned result = 0;
    if constexpr (HasBlocks) {
      const bool* const column = blocks + block_column(begin);
#pragma unroll
      for (int t = 0; t < RowTiles; ++t) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          const bool is_visible = column[block_rows[warp_row + t * 16 + r * 8 + lane / 4]];
          result |= static_cast<unsigned>(is_visible) << (2 * t + r);
        }
      }
    }
    return result;
  };

  // Queries, and the keys that rows see. What all rows of the block see is a range, too.
  TileK::template fill<TileRows, threads>(tile_q, job.rows, size, [&](int row) {
    const AttentionRow own = row_of(a, job, row < job.rows ? row : job.rows - 1);
    return q + job.batch * a.q[0] + own.head * a.q[1] + (job.query + own.query) * a.q[2] +
           TileK::column() * 8;
  });
  int begin = static_cast<int>(job.begin);
  if constexpr (HasBlocks) {
    // Without keys no table is filled, and all threads have the same range of them.
    if (begin >= end) {
      if (threadIdx.x == 0) table->limit = end;
      __syncthreads();
    }
    begin = look_up_from(begin);
  }
  fill_keys(begin, Constant<false>{});
  for (int r = static_cast<int>(threadIdx.x); r < TileRows; r += threads) {
    const AttentionRow own = row_of(a, job, r < job.rows ? r : job.rows - 1);
    ranges[r] = {clamp_key(own.query + job.offset - a.left, job.keys),
                 clamp_key(own.query + job.offset + a.right, end - 1)};
    if constexpr (HasBlocks) {
      block_rows[r] = job.batch * a.blocks[0] + own.head * a.blocks[1] +
                      own.query / a.block_rows * a.blocks[2];
    }
  }
  // Tiles from low to high are seen by all rows, and the next one is all there.
  if (threadIdx.x == 0) {
    const i64 last_query = (job.row + job.rows - 1) / a.group;
    const int common_high = clamp_key(job.row / a.group + job.offset + a.right, end - 1);
    const int last_next = HasBlocks ? end : end - KeyTile;
    const int behind = common_high + 1 < last_next ? common_high + 1 : last_next;
    const bool is_simple = !has_mask && size == Size && value_size == Value;
    *whole_tiles = {clamp_key(last_query + job.offset - a.left, job.keys),
                    is_simple ? behind - KeyTile : -1};
  }
  float scale = scale_of(a);
  wait_for_copies();
  if (!has_mask && !(scale > 0.0f)) {
    // The largest product must be the largest score.
    const unsigned kept = scale == 0.0f ? 0 : 0xffffffffu;
    const unsigned flipped = scale < 0.0f ? 0x80008000u : 0;
    TileK::template for_chunks<TileRows, threads>([&](int, int offset) {
      auto* const pairs = reinterpret_cast<unsigned*>(memory + offset);
      for (int p = 0; p < 4; ++p) pairs[p] = (pairs[p] & kept) ^ flipped;
    });
    scale = scale == 0.0f ? 1.0f : -scale;
  }
  // All warps choose the form of the first tile by the ranges.
  __syncthreads();

  WarpRows<Multiply, RowTiles, KeyTile, Size, Value, T> warp;
  warp.clear();
  bool has_others = false;  // values that are NaN or infinite
  const unsigned warp_q = tile_q + warp_row * TileK::pitch;

  // A tile of keys: `is_whole` if all rows see it, and the next one is all there.
  const auto take_tile = [&](auto is_whole) {
    wait_for_copies();
    // Also the end of the products of the last values.
    __syncthreads();
    fill_values(begin, is_whole);
    // Whether a row of the warp may see a key.
    const bool is_seen = is_whole.value ||
                         (ranges[warp_row].low < begin + KeyTile &&
                          ranges[warp_row + warp_rows - 1].high >= begin &&
                          (!HasBlocks || any_lane(visible_rows(begin) != 0)));
    if (is_seen) warp.multiply_keys(warp_q, tile_k);
    const int next = visible_from(begin + KeyTile);
    wait_for_copies();
    if constexpr (!is_whole.value) {
      has_others |=
          TileV::template clear_others<KeyTile, threads>(memory + v_begin, infinity_bits<T>());
    }
    __syncthreads();
    fill_keys(next, is_whole);
    const int first = begin;
    begin = next;
    if (!is_seen) return;

    // Mask: its elements, the window and the blocks.
    if constexpr (!is_whole.value) {
      const unsigned own_rows = visible_rows(first);
#pragma unroll
      for (int t = 0; t < RowTiles; ++t) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          KeyRange range = ranges[warp_row + t * 16 + r * 8 + lane / 4];
          if (HasBlocks && (own_rows >> (2 * t + r) & 1) == 0) range.high = -1;
#pragma unroll
          for (int j = 0; j < KeyTile / 8; ++j) {
#pragma unroll
            for (int c = 0; c < 2; ++c) {
              float& score = warp.scores[t][j][2 * r + c];
              const int key = first + j * 8 + lane % 4 * 2 + c;
              const bool is_seen = key >= range.low && key <= range.high;
              if constexpr (has_mask) {
                if (is_seen) {
                  const i64 offset = mask_offset(a, job, rows[t][r], key);
                  score = masked<M>(score * scale, addend_of(mask[offset]));
                }
              }
              if (!is_seen) score = -INFINITY;
            }
          }
        }
      }
    }

    // Online softmax, and values.
    warp.template update_bases<has_mask>(scale);
    warp.template multiply_values<has_mask>(tile_v, scale);
  };
  // Whether all rows see a tile up to the high one, and the next one is all there or none.
  const auto is_open = [&] {
    if (begin > whole_tiles->high) return false;
    if constexpr (HasBlocks) {
      if (begin >= limit()) return false;
      const unsigned all = table->all[begin / word_keys % table_words] >> begin / KeyTile % 32;
      const int next = visible_from(begin + KeyTile);
      return (all & 1) != 0 && (next >= limit() || next <= limit() - KeyTile);
    }
    return true;
  };
  for (;;) {
    while (begin < limit()) {
      if (whole_tiles->low <= begin && is_open()) {
        do take_tile(Constant<true>{});
        while (is_open());
      } else {
        take_tile(Constant<false>{});
      }
    }
    if (!HasBlocks || begin >= end) break;
    begin = look_up_from(begin);
    fill_keys(begin, Constant<false>{});
  }

  // Store.
  const AttentionJob own = job_again();
#pragma unroll
  for (int t = 0; t < RowTiles; ++t) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float row_sum = warp_sum<4>(warp.row_sum[t][r]);
      const int own_row = warp_row + t * 16 + r * 8 + lane / 4;
      if (own_row >= own.rows) continue;
      const AttentionRow row = row_of(a, own, own_row);
      const float factor = row_sum == 0.0f ? 0.0f : 1.0f / row_sum;
      Out* const to = out_row(a, own, row, out);
#pragma unroll
      for (int i = 0; i < Value / 8; ++i) {
        const int column = i * 8 + lane % 4 * 2;
        const Out left = store<Out>(warp.result[t][i][2 * r] * factor);
        const Out right = store<Out>(warp.result[t][i][2 * r + 1] * factor);
        if (value_size % 2 == 0) {
          if (column < value_size) {
            *reinterpret_cast<ElementPair<Out>*>(to + column) = {left, right};
          }
        } else {
          if (column < value_size) to[column] = left;
          if (column + 1 < value_size) to[column + 1] = right;
        }
      }
      if (lane % 4 == 0) store_sum<has_mask>(a, own, row, warp.row_base[t][r], row_sum, sums);
    }
  }
  if (!__syncthreads_or(has_others)) return;
  add_others<Source>(a, own, v, mask, blocks, static_cast<int>(threadIdx.x), threads, out);
}

}  // namespace gridstride::tensor::attention
#endif
