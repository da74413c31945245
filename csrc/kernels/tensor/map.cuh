/*
 * map.cuh — one generated expression of every element of a space of up to eight dimensions.
 *
 * Problem: one pass over the operands, limited by memory. An operand has an element stride for each
 * dimension; 0 repeats it. The caller merges neighbouring dimensions wherever all operands allow,
 * so operands of one layout are one dimension.
 * Mapping: body(at, i) handles element i of a row, where at[k] is the offset of the row in operand
 * k. Threads: grid-stride, one element each. Block form: a block takes chunk consecutive elements,
 * row by row, and the loop over a row is vectorised.
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

}  // namespace gridstride::tensor
