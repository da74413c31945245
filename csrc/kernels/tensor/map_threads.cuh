/*
 * map_threads.cuh — map.cuh for CUDA threads.
 *
 * Problem: that of map.cuh.
 * Mapping: grid-stride, one element of each thread; or chunk tiles of a block, whose threads are
 * rows of a tile.
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
      if (i < place.right) body(offsets, i);
    }
  }
}

}  // namespace gridstride::tensor
#endif
