/*
 * map_threads.cuh — map.cuh for CUDA threads.
 *
 * Problem: that of map.cuh.
 * Mapping: a thread takes Packets packets of N elements, which lie in one row and are aligned in
 * all operands. Packet p of thread t is number p * Threads + t of its block, so the accesses of a
 * warp are consecutive. Each thread loads all of its packets before it stores a result; the compiler
 * may not change this order by itself, because the result may be an operand. The last block, and
 * all blocks where packets are not aligned or rows no multiple of N, take as many elements one by
 * one, up to 8 loads of each operand at once. map() is grid-stride, one element of each thread.
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

template <int Cross, int Edge, int Rank, int Operands, typename Body>
__device__ __forceinline__ void map_tiles(const Space<Rank, Operands>& space, i64 tiles, i64 chunk,
                                          Body body) {
  const i64 begin = static_cast<i64>(blockIdx.x) * chunk;
  const i64 end = begin + chunk < tiles ? begin + chunk : tiles;
  for (i64 tile = begin; tile < end; ++tile) {
    const auto place = locate_tile<Cross, Edge>(space, tile);
    const i64 i = place.left + threadIdx.x % Edge;
    i64 offsets[Operands];
    for (i64 row = place.top + threadIdx.x / Edge; row < place.bottom; row += blockDim.x / Edge) {
      for (int k = 0; k < Operands; ++k) {
        offsets[k] = place.offsets[k] + row * space.stride[Cross][k];
      }
      if (i >= place.right) continue;
      typename Body::template Inputs<1> inputs;
      body.read(inputs, offsets, i);
      compute_packet<1>(body, inputs, offsets, i);
    }
  }
}

}  // namespace gridstride::tensor
#endif
