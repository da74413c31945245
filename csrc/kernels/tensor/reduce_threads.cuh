/*
 * reduce_threads.cuh — reductions by CUDA threads.
 *
 * Mapping, rows: a row belongs to some lanes of a warp, to a warp or to a block. Its threads take
 * it in steps: each loads packets of 16 bytes, all of them before it uses the first, because
 * memory is as fast as the bytes in flight allow. If the length is no multiple of a packet, a
 * packet is one element. Packets that are not aligned, or whose elements are apart, are read one
 * element after another. Lanes share short rows, because each row costs its exchanges and the end
 * of its sums, which a warp works out for several rows at once.
 * A row that fits into one step may be held in registers: it is read once, however many passes a
 * program makes. A longer one has up to 8 parts of one step. The blocks of a cluster hold a part
 * each and exchange the results of parts; without clusters, a block reads the parts one after
 * another, and merges them in the same order.
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
  int left;   // elements before the end in the step from that one on
  bool is_whole;

  __device__ __forceinline__ Share(i64 begin, i64 end)
      : begin(begin),
        first(static_cast<int>(threadIdx.x % Threads) * Size),
        left((end - begin < step ? static_cast<int>(end - begin) : step) - first),
        is_whole(end - begin >= step) {}

  __device__ __forceinline__ bool has(int packet) const { return packet * (Threads * Size) < left; }

  // The position in the row. The step's first packet is in place of a thread's first packet that it
  // does not have, so that all threads have an element.
  __device__ __forceinline__ i64 index(int packet) const {
    return begin + (packet > 0 || has(0) ? first + packet * (Threads * Size) : 0);
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

// In place of the threads of a row: those of a block of any number of whole warps, which merge
// values of a type once in a kernel.
constexpr int any_block = 1024;

// Merges the values of the threads of a row.
template <typename R, int Threads>
__device__ __forceinline__ typename R::Value merge_threads(typename R::Value value) {
  if constexpr (Threads <= 32) {
    return warp_merge<R, Threads>(value);
  } else {
    value = warp_merge<R>(value);
    constexpr int count = Threads / 32;
    __shared__ typename R::Value warps[count];
    // The warps may still read the values of an earlier reduction.
    if constexpr (Threads != any_block) __syncthreads();
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    if constexpr (Threads != any_block) return warp_merge<R, count>(warps[threadIdx.x % count]);
    value = warps[0];
    for (int warp = 1; warp < static_cast<int>(blockDim.x / 32); ++warp) {
      value = R::merge(value, warps[warp]);
    }
    return value;
  }
}

#if !defined(__CUDASIM__) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define GS_HAS_CLUSTERS 1
#endif

// Tells the blocks of the cluster that this one has come here, after all that it stored.
__device__ __forceinline__ void arrive_in_cluster() {
#if defined(GS_HAS_CLUSTERS)
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}

// The same at the beginning, where a block has stored nothing: no fence.
__device__ __forceinline__ void start_in_cluster() {
#if defined(GS_HAS_CLUSTERS)
  asm volatile("barrier.cluster.arrive.relaxed.aligned;");
#endif
}

// Waits until all blocks of the cluster have come to where this one arrived last.
__device__ __forceinline__ void wait_for_cluster() {
#if defined(GS_HAS_CLUSTERS)
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// Stores a value where block `rank` of the cluster has what `target` is in this one.
template <typename V>
__device__ __forceinline__ void store_in_cluster([[maybe_unused]] V* target,
                                                 [[maybe_unused]] V value,
                                                 [[maybe_unused]] unsigned int rank) {
#if defined(GS_HAS_CLUSTERS)
  constexpr int words = sizeof(V) / 4;
  static_assert(sizeof(V) % 4 == 0, "values are stored by words");
  unsigned int word[words];
  memcpy(word, &value, sizeof(V));
  const unsigned int own = static_cast<unsigned int>(__cvta_generic_to_shared(target));
  unsigned int remote;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(own), "r"(rank));
#pragma unroll
  for (int k = 0; k < words; ++k) {
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(remote + 4 * k), "r"(word[k]) : "memory");
  }
#endif
}

// Merges the values of the blocks of a cluster, in their order. A block may be one exchange ahead
// of another, which still reads, so exchanges alternate between two places.
template <typename R, int Blocks>
__device__ __forceinline__ typename R::Value merge_cluster(typename R::Value value, int turn) {
  __shared__ typename R::Value blocks[2][Blocks];
  auto* const own = blocks[turn % 2];
  // Blocks have shared memory from their start on.
  if (turn == 0) wait_for_cluster();
  if (threadIdx.x < Blocks) store_in_cluster(own + blockIdx.x % Blocks, value, threadIdx.x);
  arrive_in_cluster();
  wait_for_cluster();
  typename R::Value merged = own[0];
#pragma unroll
  for (int block = 1; block < Blocks; ++block) merged = R::merge(merged, own[block]);
  return merged;
}

// The elements of the operands in a row of n, as passes over it see them. read(to, i) reads the
// packets of the operands at a position. There are as many packets as the row has whole ones. The
// row has Parts of at most `length` elements, of which a block of a cluster has one.
template <typename Own, bool IsHeld, typename Elements, typename Read, int Parts = 1,
          bool IsCluster = false>
struct Row {
  using Share = Own;

  i64 n;
  Read read;
  i64 length;
  i64 begin = 0;  // what map_row() takes
  i64 end;
  mutable int turn = 0;  // of the exchanges in a cluster
  Elements held[IsHeld ? Own::packets : 1];

  __device__ __forceinline__ Row(i64 n, Read read, i64 length = 0)
      : n(n), read(read), length(length), end(n) {
    if constexpr (IsCluster) {
      begin = blockIdx.x % Parts * length;
      end = part_end(begin);
    }
    if constexpr (IsHeld) {
      if (n > 0) load(Own(begin, end), held);
    }
  }

  __device__ __forceinline__ i64 part_end(i64 begin) const {
    return n - begin < length ? n : begin + length;
  }

  __device__ __forceinline__ void load(const Own& share, Elements* to) const {
    // Loads in a branch of their own are not delayed for predicates, of which there are seven.
    if (share.is_whole) {
#pragma unroll
      for (int packet = 0; packet < Own::packets; ++packet) {
        read(to[packet], share.begin + share.first + packet * (Own::threads * Own::size));
      }
    } else {
      read(to[0], share.index(0));
#pragma unroll
      for (int packet = 1; packet < Own::packets; ++packet) {
        if (share.has(packet)) read(to[packet], share.index(packet));
#if defined(__CUDASIM__)
        // g++ does not see that only packets that are there are used.
        else to[packet] = Elements{};
#endif
      }
    }
  }

  // Calls use(share, elements of the packets) for each step from begin to end.
  template <typename Use>
  __device__ __forceinline__ void each_step(i64 begin, i64 end, Use use) const {
    if constexpr (IsHeld) {
      if (n > 0) use(Own(begin, end), held);
    } else {
#pragma unroll 1
      for (i64 at = begin; at < end; at += Own::step) {
        const Own share(at, end);
        Elements elements[Own::packets];
        load(share, elements);
        use(share, elements);
      }
    }
  }

  // Merges the values of_part(begin, end) that the threads have of the parts.
  template <typename R, typename OfPart>
  __device__ __forceinline__ typename R::Value merge(OfPart of_part) const {
    using V = typename R::Value;
    constexpr int threads = Own::threads;
    if constexpr (IsCluster) {
      const V own = merge_threads<R, threads>(of_part(begin, end));
      const V merged = merge_cluster<R, Parts>(own, turn);
      ++turn;
      return merged;
    } else if constexpr (Parts == 1) {
      return merge_threads<R, threads>(of_part(0, n));
    } else {
      V merged{};
#pragma unroll 1
      for (i64 at = 0; at < n; at += length) {
        const V own = merge_threads<R, threads>(of_part(at, part_end(at)));
        merged = at == 0 ? own : R::merge(merged, own);
      }
      return merged;
    }
  }
};

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
// its like have no neutral element: a thread begins with an element of the row instead.
template <typename R, typename Row, typename F>
__device__ __forceinline__ typename R::Value reduce_row(const Row& row, F f) {
  using V = typename R::Value;
  using Own = typename Row::Share;
  return row.template merge<R>([&](i64 begin, i64 end) {
    V values[accumulators];
#pragma unroll
    for (V& value : values) {
      if constexpr (counts_repeats<R>) value = 1;
      else value = V{};
    }
    row.each_step(begin, end, [&](const Own& share, const auto* elements) {
      if (!counts_repeats<R> && share.begin == begin) {
        const V first = f(elements[0], 0, 0, share.index(0));
#pragma unroll
        for (V& value : values) value = first;
      }
#pragma unroll
      for (int packet = 0; packet < Own::packets; ++packet) {
        if (share.has(packet)) {
#pragma unroll
          for (int j = 0; j < Own::size; ++j) {
            V& value = values[(packet * Own::size + j) % accumulators];
            value = R::merge(value, f(elements[packet], packet, j, share.index(packet) + j));
          }
        }
      }
    });
    return merge_accumulators<R>(values);
  });
}

// Adds up f(elements, packet, j, i) over a row. All threads of the row get the result.
template <typename V, typename Row, typename F>
__device__ __forceinline__ Total<V> sum_row(const Row& row, F f) {
  using Own = typename Row::Share;
  return row.template merge<Sum<Total<V>>>([&](i64 begin, i64 end) {
    Total<V> total = 0;
    row.each_step(begin, end, [&](const Own& share, const auto* elements) {
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
    return total;
  });
}

// Adds up the squares of f(elements, packet, j, i) over a row.
template <typename V, typename Row, typename F>
__device__ __forceinline__ Total<V> sum_squares_row(const Row& row, F f) {
  const Total<V> sum = sum_row<V>(row, [&](const auto& elements, int packet, int j, i64 i) {
    return squared<V>(f(elements, packet, j, i));
  });
  if constexpr (sizeof(V) == sizeof(Total<V>)) return sum;
  const bool is_exact = are_squares_exact<V>(sum, row.n);
  // The lanes of a warp stay together, also if they have several rows.
  if (!any_lane(!is_exact)) return sum;
  const Total<V> wide = sum_row<Total<V>>(row, [&](const auto& elements, int packet, int j, i64 i) {
    return squared<Total<V>>(f(elements, packet, j, i));
  });
  return is_exact ? sum : wide;
}

// Calls f(elements, packet, i) for the packets of a row that a thread has.
template <typename Row, typename F>
__device__ __forceinline__ void map_row(const Row& row, F f) {
  using Own = typename Row::Share;
  row.each_step(row.begin, row.end, [&](const Own& share, const auto* elements) {
#pragma unroll
    for (int packet = 0; packet < Own::packets; ++packet) {
      if (share.has(packet)) f(elements[packet], packet, share.index(packet));
    }
  });
}

// Whether the thread stores the results of its row, which has the threads of so many blocks.
template <int Threads, int Blocks>
__device__ __forceinline__ bool is_first_of_row() {
  return threadIdx.x % Threads == 0 && blockIdx.x % Blocks == 0;
}

// Calls f(row) for the rows of a block, or for the row of a cluster; per_block counts in the block
// form. The lanes of a warp stay together: those without a row repeat the last one.
template <int Threads, int Blocks, typename F>
__device__ __forceinline__ void for_each_row(i64 rows, i64 /*per_block*/, F f) {
  if constexpr (Blocks > 1) {
    start_in_cluster();
    f(static_cast<i64>(blockIdx.x / Blocks));
  } else if constexpr (Threads <= 32) {
    constexpr int teams = 32 / Threads;
    const i64 step = blockDim.x / Threads;
    const int lane_team = threadIdx.x % 32 / Threads;
    for (i64 first = blockIdx.x * step + threadIdx.x / 32 * teams; first < rows;
         first += gridDim.x * step) {
      const i64 row = first + lane_team;
      f(teams == 1 || row < rows ? row : rows - 1);
    }
  } else {
    for (i64 row = blockIdx.x; row < rows; row += gridDim.x) f(row);
  }
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
