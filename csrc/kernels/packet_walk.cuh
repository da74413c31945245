/*
 * packet_walk.cuh — how the threads of any grid walk over dense arrays.
 *
 * Problem: generated kernels are launched as planned. Built-in ones are right with any grid and any
 * block, and fast with views of any offset.
 * Mapping: a block takes tiles of Packets * blockDim.x packets of 16 bytes (packet.cuh); in a tile,
 * packet p of thread t is at p * blockDim.x + t. So each access of a warp covers 512 consecutive
 * bytes, and a thread has Packets accesses of each array in flight. Tiles are dealt out
 * grid-stride. The last, incomplete tile belongs to one block, packet by packet.
 * Alignment: the elements before the first 128-byte boundary, where a line of the cache begins, and
 * those after the last whole packet (fewer than 144 bytes altogether) are visited one by one. Where
 * several arrays do not share their offset from a packet, no packet is aligned in all of them: then
 * the same walk is made with single elements, four at once. Addresses must be multiples of the
 * element size.
 *
 * Blocks are one-dimensional, as are grids: only the x dimension is looked at.
 */
#pragma once

#include "kernels/built_in.cuh"
#include "kernels/tensor/packet.cuh"

namespace gridstride::tensor {

// With a sign, indices take registers that other packets need.
using u64 = unsigned long long;

// Where the packets of N elements lie that a thread takes at once.
template <int N, int Packets>
struct Position {
  static constexpr int size = N;
  static constexpr int packets = Packets;
  static constexpr int count = N * Packets;

  u64 first;          // index of the thread's first element
  unsigned int step;  // elements from one of its packets to the next

  __device__ __forceinline__ u64 index(unsigned int i) const {
    return first + i / N * step + i % N;
  }
};

template <typename T, int N, int Packets>
struct Elements {
  Packet<T, N> packet[Packets];

  __device__ __forceinline__ const T& operator[](int i) const {
    return packet[i / N].element[i % N];
  }
};

template <typename T, int N, int Packets>
__device__ __forceinline__ Elements<T, N, Packets> load(const T* array,
                                                        Position<N, Packets> position) {
  Elements<T, N, Packets> elements;
  GS_UNROLL
  for (int p = 0; p < Packets; ++p) {
    elements.packet[p].read(array + position.first + p * position.step);
  }
  return elements;
}

// Calls visit(Position<N, Packets or 1>) for the calling thread's share of packets packets that
// start at element first. The loops are not unrolled: their bodies have all the accesses in flight
// that they should have.
template <int N, int Packets, typename Visit>
__device__ __forceinline__ void visit_packets(u64 first, u64 packets, Visit& visit) {
  const unsigned int threads = blockDim.x;
  const unsigned int tile = threads * Packets;
  const u64 stride = static_cast<u64>(gridDim.x) * tile;
  u64 start = static_cast<u64>(blockIdx.x) * tile;
#pragma unroll 1
  for (; start + tile <= packets; start += stride) {
    visit(Position<N, Packets>{first + (start + threadIdx.x) * N, threads * N});
  }
#pragma unroll 1
  for (u64 packet = start + threadIdx.x; packet < packets; packet += threads) {
    visit(Position<N, 1>{first + packet * N, 0});
  }
}

template <unsigned int Bytes>
__device__ __forceinline__ unsigned int boundary_offset(const void* array) {
  return static_cast<unsigned int>(reinterpret_cast<u64>(array) % Bytes);
}

// Calls visit(position) until the grid has visited each of n elements of the arrays once. The
// position's type says how many elements a call is about: whole tiles come first, single elements
// last.
template <int Packets, typename Visit, typename T, typename... Array>
__device__ __forceinline__ void for_each_position(u64 n, Visit visit, const T* array,
                                                  const Array*... others) {
  constexpr unsigned int line = 128;
  constexpr unsigned int bytes = 16;
  constexpr int size = bytes / sizeof(T);
  const bool aligned_alike =
      ((boundary_offset<bytes>(others) == boundary_offset<bytes>(array)) && ... && true);
  if (!aligned_alike) {
    // More would take registers that the threads of aligned arrays need.
    constexpr int singles = 4;
    visit_packets<1, singles>(0, n, visit);
    return;
  }
  const u64 before = (line - boundary_offset<line>(array)) % line / sizeof(T);
  const u64 head = before < n ? before : n;
  const u64 packets = (n - head) / size;
  visit_packets<size, Packets>(head, packets, visit);

  const u64 edges = n - packets * size;
  const u64 threads = static_cast<u64>(gridDim.x) * blockDim.x;
#pragma unroll 1
  for (u64 edge = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x; edge < edges;
       edge += threads) {
    visit(Position<1, 1>{edge < head ? edge : edge + packets * size, 0});
  }
}

}  // namespace gridstride::tensor
