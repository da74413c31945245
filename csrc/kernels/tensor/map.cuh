/*
 * map.cuh — one generated expression of every element of a space of up to eight dimensions.
 *
 * Problem: one pass over the operands, limited by memory. An operand has an element stride for each
 * dimension; 0 repeats it. The caller merges neighbouring dimensions wherever all operands allow,
 * so operands of one layout are one dimension.
 * Mapping: body(offsets, i) handles element i of a row, where offsets[k] is the beginning of the row
 * in operand k. map() takes the elements in their order. Where an operand runs along memory in
 * another dimension than the last, as a transposed one, map_tiles() takes tiles of both dimensions,
 * which use all of each cache line that they touch.
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
  __device__ __forceinline__ i64 locate(i64 element, i64 (&offsets)[Operands]) const {
    for (int k = 0; k < Operands; ++k) offsets[k] = 0;
    if constexpr (Rank == 1) return element;
    i64 rest = element / size[Rank - 1];
    const i64 column = element - rest * size[Rank - 1];
    for (int d = Rank - 2; d >= 0; --d) {
      const i64 index = d == 0 ? rest : rest % size[d];
      if (d > 0) rest /= size[d];
      for (int k = 0; k < Operands; ++k) offsets[k] += index * stride[d][k];
    }
    return column;
  }
};

// A tile of Edge x Edge elements of the dimension Cross and the last one, cut at their ends.
template <int Operands>
struct TilePlace {
  i64 offsets[Operands];
  i64 top;
  i64 bottom;
  i64 left;
  i64 right;
};

// Neighbouring tiles lie along the dimension Cross.
template <int Cross, int Edge, int Rank, int Operands>
__device__ __forceinline__ TilePlace<Operands> locate_tile(const Space<Rank, Operands>& space,
                                                           i64 tile) {
  const i64 height = space.size[Cross];
  const i64 width = space.size[Rank - 1];
  const i64 down = (height + Edge - 1) / Edge;
  const i64 across = (width + Edge - 1) / Edge;
  TilePlace<Operands> place{};
  i64 rest = tile / down;
  place.top = (tile - rest * down) * Edge;
  place.left = rest % across * Edge;
  rest /= across;
  for (int d = Rank - 2; d >= 0; --d) {
    if (d == Cross) continue;
    for (int k = 0; k < Operands; ++k) place.offsets[k] += rest % space.size[d] * space.stride[d][k];
    rest /= space.size[d];
  }
  place.bottom = place.top + Edge < height ? place.top + Edge : height;
  place.right = place.left + Edge < width ? place.left + Edge : width;
  return place;
}

}  // namespace gridstride::tensor

#include "kernels/tensor/map_loops.cuh"
#include "kernels/tensor/map_threads.cuh"
