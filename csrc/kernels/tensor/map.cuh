/*
 * map.cuh — one generated expression of every element of a space of up to eight dimensions.
 *
 * Problem: one pass over the operands, limited by memory. An operand has an element stride for each
 * dimension; 0 repeats it. The caller merges neighbouring dimensions wherever all operands allow,
 * so operands of one layout are one dimension.
 * Mapping: body(at, i) handles element i of a row, where at[k] is the offset of the row in operand
 * k. Threads: grid-stride, one element each. Block form: a block takes chunk consecutive elements,
 * row by row, and the loop over a row is vectorised. Where an operand runs along memory in another
 * dimension than the last, as a transposed one, map_tiles() takes tiles of both dimensions, which
 * use all of each cache line that they touch.
 * Bytes: the size of each operand once, if its strides are those of a dense array.
 */
#pragma once

#include "kernels/tensor/element.cuh"

namespace gridstride::tensor {

template <int Rank, int Operands>
struct Space {
  i64 size[Rank];
  i64 stride[Rank][Operands];

  // The offsets of the row that contains an element; the position in the row is returned.
  __device__ __forceinline__ i64 locate(i64 element, i64 (&at)[Operands]) const {
    for (int k = 0; k < Operands; ++k) at[k] = 0;
    if constexpr (Rank == 1) return element;
    i64 rest = element / size[Rank - 1];
    const i64 column = element - rest * size[Rank - 1];
    for (int d = Rank - 2; d >= 0; --d) {
      const i64 index = d == 0 ? rest : rest % size[d];
      if (d > 0) rest /= size[d];
      for (int k = 0; k < Operands; ++k) at[k] += index * stride[d][k];
    }
    return column;
  }
};

template <int Rank, int Operands, typename Body>
__device__ __forceinline__ void map(const Space<Rank, Operands>& space, i64 elements, i64 chunk,
                                    Body body) {
#if defined(GS_BLOCK_FORM)
  const i64 width = space.size[Rank - 1];
  i64 begin = static_cast<i64>(blockIdx.x) * chunk;
  const i64 end = begin + chunk < elements ? begin + chunk : elements;
  while (begin < end) {
    i64 at[Operands];
    const i64 column = space.locate(begin, at);
    const i64 rest = end - begin;
    const i64 stop = Rank == 1 || width - column > rest ? column + rest : width;
    GS_INDEPENDENT
    for (i64 i = column; i < stop; ++i) body(at, i);
    begin += stop - column;
  }
#else
  const i64 step = static_cast<i64>(gridDim.x) * blockDim.x;
  i64 element = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; element < elements; element += step) {
    i64 at[Operands];
    const i64 column = space.locate(element, at);
    body(at, column);
  }
#endif
}

[[maybe_unused]] constexpr int tile_size = 32;

// Neighbouring tiles lie along the dimension Cross. A block takes chunk tiles, and its CUDA threads
// are rows of a tile.
template <int Cross, int Rank, int Operands, typename Body>
__device__ __forceinline__ void map_tiles(const Space<Rank, Operands>& space, i64 tiles, i64 chunk,
                                          Body body) {
  const i64 height = space.size[Cross];
  const i64 width = space.size[Rank - 1];
  const i64 down = (height + tile_size - 1) / tile_size;
  const i64 across = (width + tile_size - 1) / tile_size;
  const i64 begin = static_cast<i64>(blockIdx.x) * chunk;
  const i64 end = begin + chunk < tiles ? begin + chunk : tiles;
  for (i64 tile = begin; tile < end; ++tile) {
    i64 rest = tile / down;
    const i64 top = (tile - rest * down) * tile_size;
    const i64 left = rest % across * tile_size;
    rest /= across;
    i64 origin[Operands] = {};
    for (int d = Rank - 2; d >= 0; --d) {
      if (d == Cross) continue;
      for (int k = 0; k < Operands; ++k) origin[k] += rest % space.size[d] * space.stride[d][k];
      rest /= space.size[d];
    }
    const i64 bottom = top + tile_size < height ? top + tile_size : height;
    const i64 right = left + tile_size < width ? left + tile_size : width;
    i64 at[Operands];
#if defined(GS_BLOCK_FORM)
    for (i64 row = top; row < bottom; ++row) {
      for (int k = 0; k < Operands; ++k) at[k] = origin[k] + row * space.stride[Cross][k];
      GS_INDEPENDENT
      for (i64 i = left; i < right; ++i) body(at, i);
    }
#else
    const i64 i = left + threadIdx.x % tile_size;
    for (i64 row = top + threadIdx.x / tile_size; row < bottom; row += blockDim.x / tile_size) {
      for (int k = 0; k < Operands; ++k) at[k] = origin[k] + row * space.stride[Cross][k];
      if (i < right) body(at, i);
    }
#endif
  }
}

}  // namespace gridstride::tensor
