/*
 * reduce_threads.cuh — reductions by CUDA threads.
 *
 * Mapping, rows: a row belongs to a warp or to a block. Its threads take it in steps: each loads
 * packets of 16 bytes, all of them before it uses the first, because memory is as fast as the bytes
 * in flight allow. If the length is no multiple of a packet, a packet is one element. Packets that
 * are not aligned, or whose elements are apart, are read one element after another.
 * A row that fits into one step may be held in registers: it is read once, however many passes a
 * program makes.
 * Mapping, columns: a thread takes a packet of columns in some rows, of which it loads several
 * before it uses the first. Groups of a block's threads take rows alternately, and their results
 * are merged in shared memory.
 */
#pragma once

#if !defined(GS_BLOCK_FORM)
#include "kernels/tensor/packet.cuh"
#include "kernels/tensor/reduce.cuh"
#include "kernels/tensor/warp.cuh"

namespace gridstride::tensor::reduce {

// The packets of one step of a row that a thread takes: those of neighbouring threads are
// neighbours.
template <int Threads, int Size, int Packets>
struct Share {
  static constexpr int threads = Threads;
  static constexpr int size = Size;
  static constexpr int packets = Packets;
  static constexpr int step = Threads * Size * Packets;

  i64 begin;  // of the step
  int first;  // position of the thread's first element in the step
  int left;   // elements of the row in the step from that one on

  __device__ __forceinline__ Share(i64 begin, i64 n)
      : begin(begin),
        first(static_cast<int>(threadIdx.x % Threads) * Size),
        left((n - begin < step ? static_cast<int>(n - begin) : step) - first) {}

  __device__ __forceinline__ bool has(int packet) const { return packet * (Threads * Size) < left; }

  // The position in the row; that of the step's first packet in place of one behind the row.
  __device__ __forceinline__ i64 index(int packet) const {
    return begin + (has(packet) ? first + packet * (Threads * Size) : 0);
  }
};

// The elements of the operands in a row of n, as passes over it see them. read(to, i) reads the
// packets of the operands at a position. There are as many packets as the row has whole ones.
template <typename Own, bool IsHeld, typename Elements, typename Read>
struct Row {
  using Share = Own;

  i64 n;
  Read read;
  Elements held[IsHeld ? Own::packets : 1];

  __device__ __forceinline__ Row(i64 n, Read read) : n(n), read(read) {
    if constexpr (IsHeld) {
      if (n > 0) load(Own(0, n), held);
    }
  }

  __device__ __forceinline__ void load(const Own& share, Elements* to) const {
#pragma unroll
    for (int packet = 0; packet < Own::packets; ++packet) read(to[packet], share.index(packet));
  }

  // Calls use(share, elements of the packets) for each step.
  template <typename Use>
  __device__ __forceinline__ void each_step(Use use) const {
    if constexpr (IsHeld) {
      if (n > 0) use(Own(0, n), held);
    } else {
#pragma unroll 1
      for (i64 begin = 0; begin < n; begin += Own::step) {
        const Own share(begin, n);
        Elements elements[Own::packets];
        load(share, elements);
        use(share, elements);
      }
    }
  }
};

template <typename V>
__device__ __forceinline__ Place<V> exchange(Place<V> place, int distance) {
  return {tensor::exchange(place.value, distance), tensor::exchange(place.index, distance)};
}

template <typename R, int Width = 32>
__device__ __forceinline__ typename R::Value warp_merge(typename R::Value value) {
  using V = typename R::Value;
  return warp_reduce<Width>(value, [](V x, V y) { return R::merge(x, y); });
}

// Merges the values of the threads of a row.
template <typename R, int Threads>
__device__ __forceinline__ typename R::Value merge_threads(typename R::Value value) {
  value = warp_merge<R>(value);
  if constexpr (Threads == 32) return value;
  constexpr int count = Threads / 32;
  __shared__ typename R::Value warps[count];
  __syncthreads();  // the warps may still read the values of an earlier reduction
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  return warp_merge<R, count>(warps[threadIdx.x % count]);
}

// A thread has so many values under way, because each merge waits for the one before.
constexpr int accumulators = 4;

template <typename R>
__device__ __forceinline__ typename R::Value merge_accumulators(
    const typename R::Value (&values)[accumulators]) {
  return R::merge(R::merge(values[0], values[1]), R::merge(values[2], values[3]));
}

// Whether to merge an element twice changes the result.
template <typename R>
constexpr bool counts_repeats = false;
template <typename V>
constexpr bool counts_repeats<Product<V>> = true;

// Merges f(elements, packet, j, i) over a row: of the elements of a packet, its number, an element
// of it, and the position of that in the row. All threads of the row get the result. Maximum and
// its like have no neutral element: a thread begins with an element of the row instead, and takes
// the step's first packet again in place of one behind the row.
template <typename R, typename Row, typename F>
__device__ __forceinline__ typename R::Value reduce_row(const Row& row, F f) {
  using V = typename R::Value;
  using Own = typename Row::Share;
  V values[accumulators];
#pragma unroll
  for (V& value : values) {
    if constexpr (counts_repeats<R>) value = 1;
    else value = V{};
  }
  row.each_step([&](const Own& share, const auto* elements) {
    if (!counts_repeats<R> && share.begin == 0) {
      const V first = f(elements[0], 0, 0, share.index(0));
#pragma unroll
      for (V& value : values) value = first;
    }
#pragma unroll
    for (int packet = 0; packet < Own::packets; ++packet) {
#pragma unroll
      for (int j = 0; j < Own::size; ++j) {
        V& value = values[(packet * Own::size + j) % accumulators];
        const V merged = R::merge(value, f(elements[packet], packet, j, share.index(packet) + j));
        value = share.has(packet) || !counts_repeats<R> ? merged : value;
      }
    }
  });
  return merge_threads<R, Own::threads>(merge_accumulators<R>(values));
}

// Adds up f(elements, packet, j, i) over a row. All threads of the row get the result.
template <typename V, typename Row, typename F>
__device__ __forceinline__ Total<V> sum_row(const Row& row, F f) {
  using Own = typename Row::Share;
  Total<V> total = 0;
  row.each_step([&](const Own& share, const auto* elements) {
    V part[accumulators] = {};
#pragma unroll
    for (int packet = 0; packet < Own::packets; ++packet) {
      // The branch also keeps ptxas from working on all elements at once, in too many registers.
      if (share.has(packet)) {
#pragma unroll
        for (int j = 0; j < Own::size; ++j) {
          part[(packet * Own::size + j) % accumulators] +=
              f(elements[packet], packet, j, share.index(packet) + j);
        }
      }
      if ((packet + 1) * Own::size % batch == 0 || packet == Own::packets - 1) {
        total += merge_accumulators<Sum<V>>(part);
#pragma unroll
        for (V& sum : part) sum = 0;
      }
    }
  });
  return merge_threads<Sum<Total<V>>, Own::threads>(total);
}

// Adds up the squares of f(elements, packet, j, i) over a row.
template <typename V, typename Row, typename F>
__device__ __forceinline__ Total<V> sum_squares_row(const Row& row, F f) {
  const Total<V> sum = sum_row<V>(row, [&](const auto& elements, int packet, int j, i64 i) {
    return squared<V>(f(elements, packet, j, i));
  });
  if (are_squares_exact<V>(sum, row.n)) return sum;
  return sum_row<Total<V>>(row, [&](const auto& elements, int packet, int j, i64 i) {
    return squared<Total<V>>(f(elements, packet, j, i));
  });
}

// Calls f(elements, packet, i) for the packets of a row that a thread has.
template <typename Row, typename F>
__device__ __forceinline__ void map_row(const Row& row, F f) {
  using Own = typename Row::Share;
  row.each_step([&](const Own& share, const auto* elements) {
#pragma unroll
    for (int packet = 0; packet < Own::packets; ++packet) {
      if (share.has(packet)) f(elements[packet], packet, share.index(packet));
    }
  });
}

// Whether the thread stores the results of its row.
template <int Threads>
__device__ __forceinline__ bool is_first_of_row() {
  return threadIdx.x % Threads == 0;
}

// Calls f(row) for the rows of a block; per_block counts in the block form.
template <int Threads, typename F>
__device__ __forceinline__ void for_each_row(i64 rows, i64 /*per_block*/, F f) {
  const i64 teams = Threads == 32 ? blockDim.x / 32 : 1;
  const i64 team = Threads == 32 ? threadIdx.x / 32 : 0;
  for (i64 row = blockIdx.x * teams + team; row < rows; row += gridDim.x * teams) f(row);
}

// The columns that a thread of a block takes, Size neighbours, in the rows from begin to end.
// Threads side by side have columns side by side; groups of them take rows alternately.
template <int Size>
struct ColumnShare {
  i64 tile;    // the first column of the block
  i64 column;  // the first column of the thread
  int lanes;   // threads of a group
  int group;
  int groups;
  i64 begin;
  i64 end;

  __device__ __forceinline__ ColumnShare(i64 number, int lanes, i64 begin, i64 end)
      : tile(number * lanes * Size),
        column(tile + static_cast<int>(threadIdx.x) % lanes * Size),
        lanes(lanes),
        group(static_cast<int>(threadIdx.x) / lanes),
        groups(static_cast<int>(blockDim.x) / lanes),
        begin(begin),
        end(end) {}
};

// Calls use(elements, row, has) for the rows of a thread, Rows at a time, where elements[u] belong
// to row + u * groups if has(u), and else to the first of these rows. All are read before the first
// is used.
template <int Rows, typename Elements, int Size, typename Read, typename Use>
__device__ __forceinline__ void each_rows(const ColumnShare<Size>& share, Read read, Use use) {
#pragma unroll 1
  for (i64 row = share.begin + share.group; row < share.end; row += Rows * share.groups) {
    const auto has = [&](int u) { return row + u * share.groups < share.end; };
    Elements elements[Rows];
#pragma unroll
    for (int u = 0; u < Rows; ++u) {
      read(elements[u], has(u) ? row + u * share.groups : row, share.column);
    }
    use(elements, row, has);
  }
}

// Merges the values of the groups, in their order, and calls finish(column, value) for the columns
// of the block.
template <typename R, int Size, typename Finish>
__device__ __forceinline__ void finish_columns(const ColumnShare<Size>& share, i64 columns,
                                               const typename R::Value (&values)[Size],
                                               Finish finish) {
  __shared__ typename R::Value parts[256 * Size];
  const int width = share.lanes * Size;
#pragma unroll
  for (int j = 0; j < Size; ++j) {
    parts[share.group * width + static_cast<int>(share.column - share.tile) + j] = values[j];
  }
  __syncthreads();
  const i64 rows = share.end - share.begin;
  const int groups = rows < share.groups ? static_cast<int>(rows) : share.groups;
  for (int at = threadIdx.x; at < width && share.tile + at < columns; at += blockDim.x) {
    typename R::Value value = parts[at];
    for (int group = 1; group < groups; ++group) {
      value = R::merge(value, parts[group * width + at]);
    }
    finish(share.tile + at, value);
  }
}

// Calls finish(column, merge of f(elements, j) over the rows) for the columns of a block, where
// elements are those of a row, and j is a column of the thread.
template <typename R, int Rows, typename Elements, int Size, typename Read, typename F,
          typename Finish>
__device__ __forceinline__ void reduce_columns(const ColumnShare<Size>& share, i64 columns,
                                               Read read, F f, Finish finish) {
  using V = typename R::Value;
  V values[Size];
#pragma unroll
  for (V& value : values) {
    if constexpr (counts_repeats<R>) value = 1;
    else value = V{};
  }
  if (share.column < columns) {
    each_rows<Rows, Elements>(share, read, [&](const Elements* elements, i64 row, auto has) {
      const bool is_first = row == share.begin + share.group;
#pragma unroll
      for (int j = 0; j < Size; ++j) {
        if (!counts_repeats<R> && is_first) values[j] = f(elements[0], j);
#pragma unroll
        for (int u = 0; u < Rows; ++u) {
          const V merged = R::merge(values[j], f(elements[u], j));
          values[j] = has(u) || !counts_repeats<R> ? merged : values[j];
        }
      }
    });
  }
  finish_columns<R>(share, columns, values, finish);
}

// The sums of f(elements, j) over the rows of a thread.
template <typename V, int Rows, typename Elements, int Size, typename Read, typename F>
__device__ __forceinline__ void add_rows(const ColumnShare<Size>& share, Read read, F f,
                                         Total<V> (&total)[Size]) {
  static_assert(Rows <= batch, "the rows of a step are added up in their own type");
#pragma unroll
  for (Total<V>& sum : total) sum = 0;
  each_rows<Rows, Elements>(share, read, [&](const Elements* elements, i64, auto has) {
    V part[Size] = {};
#pragma unroll
    for (int u = 0; u < Rows; ++u) {
      if (has(u)) {
#pragma unroll
        for (int j = 0; j < Size; ++j) part[j] += f(elements[u], j);
      }
    }
#pragma unroll
    for (int j = 0; j < Size; ++j) total[j] += part[j];
  });
}

// Calls finish(column, sum) for the columns of a block, with the sums of f or of its squares.
template <typename V, bool IsSquared, int Rows, typename Elements, int Size, typename Read,
          typename F, typename Finish>
__device__ __forceinline__ void sum_columns(const ColumnShare<Size>& share, i64 columns, Read read,
                                            F f, Finish finish) {
  Total<V> total[Size] = {};
  if (share.column < columns) {
    if constexpr (IsSquared) {
      add_rows<V, Rows, Elements>(
          share, read, [&](const Elements& own, int j) { return squared<V>(f(own, j)); }, total);
      const i64 rows = (share.end - share.begin - share.group + share.groups - 1) / share.groups;
      bool is_exact = true;
#pragma unroll
      for (int j = 0; j < Size; ++j) is_exact &= are_squares_exact<V>(total[j], rows);
      if (!is_exact) {
        add_rows<Total<V>, Rows, Elements>(
            share, read, [&](const Elements& own, int j) { return squared<Total<V>>(f(own, j)); },
            total);
      }
    } else {
      add_rows<V, Rows, Elements>(share, read, f, total);
    }
  }
  finish_columns<Sum<Total<V>>>(share, columns, total, finish);
}

}  // namespace gridstride::tensor::reduce
#endif
