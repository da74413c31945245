/*
 * map_loops.cuh — map.cuh in the block form: one thread runs a block as loops.
 *
 * Problem: that of map.cuh.
 * Mapping: a block takes chunk consecutive elements row by row, or chunk tiles. The loop over a row
 * is vectorised by the compiler. A block of several threads, which built-in kernels may have, takes
 * a chunk for each.
 */
#pragma once

#include "kernels/tensor/map.cuh"

#if defined(GS_BLOCK_FORM)
namespace gridstride::tensor {

// The chunk with which the threads of any launch take all elements.
__device__ __forceinline__ i64 chunk_of_launch(i64 elements) {
  const i64 threads = static_cast<i64>(gridDim.x) * blockDim.x;
  return (elements + threads - 1) / threads;
}

template <int Rank, int Operands, typename Body>
__device__ __forceinline__ void map(const Space<Rank, Operands>& space, i64 elements, i64 chunk,
                                    Body body) {
  const i64 width = space.size[Rank - 1];
  i64 begin = (static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x) * chunk;
  const i64 end = begin + chunk < elements ? begin + chunk : elements;
  while (begin < end) {
    i64 offsets[Operands];
    const i64 column = space.locate(begin, offsets);
    const i64 rest = end - begin;
    const i64 stop = Rank == 1 || width - column > rest ? column + rest : width;
    GS_INDEPENDENT
    for (i64 i = column; i < stop; ++i) body(offsets, i);
    begin += stop - column;
  }
}

// Without a loop over the packet, which would keep the loop over elements from being vectorised.
template <typename Body>
__device__ __forceinline__ void map_one(const Body& body, const i64* offsets, i64 i) {
  typename Body::template Inputs<1> inputs;
  Packet<typename Body::Result, 1> results;
  body.read(inputs, offsets, i);
  results.element[0] = body.compute(inputs, 0, i);
  body.write(results, offsets, i);
}

// The numbers of threads and of packets are of the other form, also below.
template <int, int, int, int Rank, int Operands, typename Body>
__device__ __forceinline__ void map_expression(const Space<Rank, Operands>& space, i64 elements,
                                               i64 chunk, Body body) {
  map(space, elements, chunk, [=](const i64* offsets, i64 i) { map_one(body, offsets, i); });
}

template <int Cross, int Edge, int, int, int Rank, int Operands, typename Body>
__device__ __forceinline__ void map_tiles(const Space<Rank, Operands>& space, i64 tiles, i64 chunk,
                                          Body body) {
  const i64 begin = static_cast<i64>(blockIdx.x) * chunk;
  const i64 end = begin + chunk < tiles ? begin + chunk : tiles;
  for (i64 tile = begin; tile < end; ++tile) {
    const auto place = locate_tile<Cross, Edge, i64>(space, tile);
    i64 offsets[Operands];
    for (i64 row = place.top; row < place.bottom; ++row) {
      for (int k = 0; k < Operands; ++k) {
        offsets[k] = place.offsets[k] + row * space.stride[Cross][k];
      }
      GS_INDEPENDENT
      for (i64 i = place.left; i < place.right; ++i) map_one(body, offsets, i);
    }
  }
}

}  // namespace gridstride::tensor
#endif
