/*
 * map_threads.cuh — map.cuh for CUDA threads.
 *
 * Problem: that of map.cuh.
 * Mapping: a thread takes Packets packets of N elements, which lie in one row and are aligned in
 * all operands. Packet p of thread t is number p * Threads + t of its block, so the accesses of a
 * warp are consecutive. Each thread loads all of its packets before it stores a result; the compiler
 * may not change this order by itself, because the result may be an operand. The last block, and
 * all blocks where packets are not aligned or rows no multiple of N, take as many elements one by
 * one, up to 8 loads of each operand at once. map_tiles() has one tile for each block, whose
 * operands and results have packets alike. map() is grid-stride, one element of each thread.
 */
#pragma once

#include "kernels/tensor/map.cuh"

#if !defined(GS_BLOCK_FORM)
namespace gridstride::tensor {

template <int Rank, int Operands, typename Body>
__device__ __forceinline__ void map(const Space<Rank, Operands>& space, i64 elements, i64,
                                    Body body) {
  const i64 step = static_cast<i64>(gridDim.x) * blockDim.x;
  i64 element = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; element < elements; element += step) {
    i64 offsets[Operands];
    const i64 column = space.locate(element, offsets);
    body(offsets, column);
  }
}

// Packets of N elements that begin step elements apart, from element first on; without those that
// begin behind the end, if they are not Whole.
template <int N, int Packets, bool Whole, int Rank, int Operands, typename Body>
__device__ __forceinline__ void map_packets(const Space<Rank, Operands>& space, i64 first, int step,
                                            i64 elements, const Body& body) {
  typename Body::template Inputs<N> inputs[Packets];
  i64 offsets[Packets][Operands];
  i64 column[Packets];
#pragma unroll
  for (int p = 0; p < Packets; ++p) {
    const i64 element = first + p * step;
    if (Whole || element < elements) column[p] = space.locate(element, offsets[p]);
  }
#pragma unroll
  for (int p = 0; p < Packets; ++p) {
    if (Whole || first + p * step < elements) body.read(inputs[p], offsets[p], column[p]);
  }
#pragma unroll
  for (int p = 0; p < Packets; ++p) {
    if (Whole || first + p * step < elements) {
      compute_packet<N>(body, inputs[p], offsets[p], column[p]);
    }
  }
}

template <int Threads, int N, int Packets, int Rank, int Operands, typename Body>
__device__ __forceinline__ void map_expression(const Space<Rank, Operands>& space, i64 elements,
                                               i64, Body body) {
  constexpr int share = Threads * N * Packets;
  const i64 begin = static_cast<i64>(blockIdx.x) * share;
  const bool is_whole = begin + share <= elements &&
                        (Rank == 1 || space.size[Rank - 1] % N == 0) &&
                        body.template is_aligned<N>(space);
  const int thread = static_cast<int>(threadIdx.x);
  if (is_whole) {
    map_packets<N, Packets, true>(space, begin + thread * N, Threads * N, elements, body);
    return;
  }
  constexpr int batch = !Body::has_inputs ? 1 : N < 8 ? N : 8;
#pragma unroll 1
  for (int p = 0; p < N * Packets; p += batch) {
    map_packets<1, batch, false>(space, begin + p * Threads + thread, Threads, elements, body);
  }
}

// A tile of an operand that runs along memory in the dimension Cross, in shared memory: its lines
// are columns of the result. The pitch is an odd number of words, so that the elements of a row lie
// in different banks.
template <typename T, int Edge>
struct Tile {
  static constexpr int pitch = Edge + (sizeof(T) < 4 ? 4 / sizeof(T) : 1);

  T line[Edge][pitch];

  // Neighbouring elements of a row of the result.
  template <int N>
  __device__ __forceinline__ void read(Packet<T, N>& packet, int row, int column) const {
#pragma unroll
    for (int j = 0; j < N; ++j) packet.element[j] = line[column + j][row];
  }

  // Loads the tile, whose lines lie pitch_of_lines elements apart, and their elements step.
  template <int Threads>
  __device__ __forceinline__ void load(const T* source, i64 pitch_of_lines, i64 step, int height,
                                       int width) {
    constexpr int N = 16 / sizeof(T);
    constexpr int packets = Edge * Edge / N;
    constexpr int count = packets < Threads ? 1 : packets / Threads;
    const int thread = static_cast<int>(threadIdx.x);
    const i64 line_bytes = pitch_of_lines * static_cast<i64>(sizeof(T));
    const i64 bytes = reinterpret_cast<i64>(source) | line_bytes;
    if (height == Edge && width == Edge && step == 1 && bytes % 16 == 0) {
      if (packets < Threads && thread >= packets) return;
      Packet<T, N> loaded[count];
      const int row = thread % (Edge / N) * N;
      const int first = thread / (Edge / N);
      constexpr int lines = Threads / (Edge / N);
#pragma unroll
      for (int p = 0; p < count; ++p) {
        loaded[p].read(source + (first + p * lines) * pitch_of_lines + row);
      }
#pragma unroll
      for (int p = 0; p < count; ++p) {
#pragma unroll
        for (int j = 0; j < N; ++j) line[first + p * lines][row + j] = loaded[p].element[j];
      }
      return;
    }
    constexpr int elements = Edge * Edge / Threads;
    constexpr int batch = elements < 4 ? elements : 4;
#pragma unroll 1
    for (int e = 0; e < elements; e += batch) {
      T loaded[batch];
#pragma unroll
      for (int b = 0; b < batch; ++b) {
        const int element = (e + b) * Threads + thread;
        const int row = element % Edge;
        const int column = element / Edge;
        if (row < height && column < width) {
          loaded[b] = source[column * pitch_of_lines + row * step];
        }
      }
#pragma unroll
      for (int b = 0; b < batch; ++b) {
        const int element = (e + b) * Threads + thread;
        line[element / Edge][element % Edge] = loaded[b];
      }
    }
  }
};

// One tile of a block. Operands that cross go through shared memory: body.read_tiles() loads them
// along their memory, and body.take() reads packets of the result's rows.
template <int Cross, int Edge, int Threads, int N, int Rank, int Operands, typename Body>
__device__ __forceinline__ void map_tiles(const Space<Rank, Operands>& space, i64, i64, Body body) {
  __shared__ typename Body::Tiles tiles;
  const auto place = locate_tile<Cross, Edge, unsigned int>(space, blockIdx.x);
  const int height = static_cast<int>(place.bottom - place.top);
  const int width = static_cast<int>(place.right - place.left);
  const int thread = static_cast<int>(threadIdx.x);
  const auto offsets_of = [&](int row, i64(&offsets)[Operands]) {
    for (int k = 0; k < Operands; ++k) {
      offsets[k] = place.offsets[k] + (place.top + row) * space.stride[Cross][k];
    }
  };

  // The operands that do not cross, by packets.
  constexpr int packets = Edge * Edge / N;
  constexpr int count = packets < Threads ? 1 : packets / Threads;
  constexpr int rows = Threads / (Edge / N);
  const int first = thread / (Edge / N);
  const int column = thread % (Edge / N) * N;
  const bool is_whole = height == Edge && width == Edge && body.template is_aligned<N>(space);
  const bool has_packets = is_whole && (packets >= Threads || thread < packets);
  typename Body::template Inputs<N> inputs[count];
  if (has_packets) {
#pragma unroll
    for (int p = 0; p < count; ++p) {
      i64 offsets[Operands];
      offsets_of(first + p * rows, offsets);
      body.read(inputs[p], offsets, place.left + column);
    }
  }

  body.template read_tiles<Cross, Threads>(tiles, space, place, height, width);
  __syncthreads();

  // The results, by packets or one by one.
  if (has_packets) {
#pragma unroll
    for (int p = 0; p < count; ++p) {
      i64 offsets[Operands];
      offsets_of(first + p * rows, offsets);
      body.take(inputs[p], tiles, first + p * rows, column);
      compute_packet<N>(body, inputs[p], offsets, place.left + column);
    }
  }
  if (is_whole) return;
#pragma unroll 1
  for (int element = thread; element < Edge * Edge; element += Threads) {
    const int row = element / Edge;
    if (row >= height || element % Edge >= width) continue;
    const i64 i = place.left + element % Edge;
    typename Body::template Inputs<1> input;
    i64 offsets[Operands];
    offsets_of(row, offsets);
    body.read(input, offsets, i);
    body.take(input, tiles, row, element % Edge);
    compute_packet<1>(body, input, offsets, i);
  }
}

}  // namespace gridstride::tensor
#endif
