/*
 * index_loops.cuh — index.cuh in the block form: one thread runs a block as loops.
 *
 * Mapping: a block takes chunk consecutive elements. A run is a row, or the part in the chunk.
 */
#pragma once

#include "kernels/tensor/index.cuh"

#if defined(GS_BLOCK_FORM)
namespace gridstride::tensor::index {

template <int Rank, int Operands, typename Run>
__device__ __forceinline__ void map_runs(const Space<Rank, Operands>& space, i64 elements,
                                         i64 chunk, Run run) {
  i64 offsets[Operands];
  const i64 width = Rank == 1 ? elements : space.size[Rank - 1];
  i64 begin = static_cast<i64>(blockIdx.x) * chunk;
  const i64 end = begin + chunk < elements ? begin + chunk : elements;
  while (begin < end) {
    const i64 column = space.locate(begin, offsets);
    const i64 stop = width - column > end - begin ? column + (end - begin) : width;
    run(offsets, column, stop);
    begin += stop - column;
  }
}

}  // namespace gridstride::tensor::index
#endif
