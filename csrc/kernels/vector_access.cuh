/*
 * vector_access.cuh — how the threads of a grid walk over arrays in device memory.
 *
 * Problem: a kernel limited by memory bandwidth must keep enough bytes in flight to cover the
 * latency of memory (Little's law: about 64 KiB per multiprocessor on current parts), for every
 * element type, every length and every offset that a view may have.
 *
 * Mapping: a thread's unit is a packet of 16 bytes, the widest access of all supported hardware. A
 * block takes tiles of Packets * blockDim.x packets; in a tile, packet p of thread t is at
 * p * blockDim.x + t: each access of a warp covers 512 consecutive bytes and a thread has Packets
 * independent accesses in flight. Tiles are dealt out grid-stride, hence any grid will do, and all
 * indices are 64-bit. The last, incomplete tile belongs to one block, packet by packet.
 *
 * Alignment: the elements before the first 16-byte boundary and those after the last whole packet
 * (fewer than 32 altogether) are visited one by one. Where several arrays do not share their
 * offset from a boundary no packet is aligned in all of them: then the same walk is made with
 * single elements, still Packets of them at once. Addresses must be multiples of the element size.
 *
 * Blocks are one-dimensional, as are grids: only the x dimension is looked at.
 */
#pragma once

#include "kernels/arithmetic.cuh"
#include "kernels/tensor/packet.cuh"

// GS_KEEP_LOOP before a loop over tiles: its body has all the accesses in flight that it should
// have, and compilers that repeat it spill registers.
#if defined(__CUDACC__) || defined(__clang__)
#define GS_KEEP_LOOP _Pragma("unroll 1")
#else
#define GS_KEEP_LOOP _Pragma("GCC unroll 1")
#endif

namespace gridstride::tensor {

// Kernels that walk like this may be launched with every block size that is a multiple of the warp
// up to this one; as a launch bound it makes the compiler keep within 64 registers per thread.
constexpr unsigned int max_block_threads = 1024;

constexpr unsigned int packet_bytes = 16;

template <typename T>
constexpr int packet_width = packet_bytes / sizeof(T);

template <typename T, int Count>
struct Elements {
  T value[Count];
};

// Where one thread's Packets packets of Width elements lie.
template <int Width, int Packets>
struct Position {
  static constexpr int count = Width * Packets;

  unsigned long long first;  // index of the thread's first element
  unsigned int stride;       // elements from one of its packets to the next
};

template <typename T, int Width, int Packets>
__device__ __forceinline__ Elements<T, Width * Packets> load(const T* array,
                                                             Position<Width, Packets> position) {
  Elements<T, Width * Packets> elements;
  GS_UNROLL
  for (int packet = 0; packet < Packets; ++packet) {
    const T* source = array + position.first + packet * position.stride;
    if constexpr (Width == 1) {
      elements.value[packet] = *source;
    } else {
      const uint4 words = *reinterpret_cast<const uint4*>(source);
      memcpy(static_cast<void*>(&elements.value[packet * Width]), &words, sizeof(words));
    }
  }
  return elements;
}

template <typename T, int Width, int Packets>
__device__ __forceinline__ void store(T* array, Position<Width, Packets> position,
                                      const Elements<T, Width * Packets>& elements) {
  GS_UNROLL
  for (int packet = 0; packet < Packets; ++packet) {
    T* destination = array + position.first + packet * position.stride;
    if constexpr (Width == 1) {
      *destination = elements.value[packet];
    } else {
      uint4 words;
      memcpy(&words, &elements.value[packet * Width], sizeof(words));
      store_word(reinterpret_cast<uint4*>(destination), words);
    }
  }
}

__device__ __forceinline__ unsigned int boundary_offset(const void* array) {
  return static_cast<unsigned int>(reinterpret_cast<unsigned long long>(array) % packet_bytes);
}

// Calls visit(Position<Width, Packets or 1>) for the calling thread's share of packets packets
// that start at element first.
template <int Width, int Packets, typename Visit>
__device__ __forceinline__ void visit_packets(unsigned long long first, unsigned long long packets,
                                              Visit& visit) {
  const unsigned int tile = blockDim.x * Packets;
  const unsigned long long step = static_cast<unsigned long long>(gridDim.x) * tile;
  unsigned long long start = static_cast<unsigned long long>(blockIdx.x) * tile;
  GS_KEEP_LOOP
  for (; start + tile <= packets; start += step) {
    visit(Position<Width, Packets>{first + (start + threadIdx.x) * Width, blockDim.x * Width});
  }
  GS_KEEP_LOOP
  for (unsigned long long packet = start + threadIdx.x; packet < packets; packet += blockDim.x) {
    visit(Position<Width, 1>{first + packet * Width, 0});
  }
}

// Calls visit(position) until the grid has visited each of n elements once. The position's type
// says how many elements a call is about: whole tiles come first, single elements last.
template <typename T, int Packets, typename Visit, typename... Array>
__device__ __forceinline__ void for_each_position(unsigned long long n, Visit visit,
                                                  const T* array, const Array*... others) {
  constexpr int width = packet_width<T>;
  const unsigned int offset = boundary_offset(array);
  const bool aligned_alike = ((boundary_offset(others) == offset) && ... && true);
  if (!aligned_alike) {
    visit_packets<1, Packets>(0, n, visit);
    return;
  }
  const unsigned long long before = (packet_bytes - offset) % packet_bytes / sizeof(T);
  const unsigned long long head = before < n ? before : n;
  const unsigned long long packets = (n - head) / width;
  visit_packets<width, Packets>(head, packets, visit);

  const unsigned long long edges = n - packets * width;
  const unsigned long long threads = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  unsigned long long edge = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  GS_KEEP_LOOP
  for (; edge < edges; edge += threads) {
    visit(Position<1, 1>{edge < head ? edge : edge + packets * width, 0});
  }
}

}  // namespace gridstride::tensor
