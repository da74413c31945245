/*
 * index_threads.cuh — index.cuh for CUDA threads.
 *
 * Mapping: grid-stride; a run is one element, so neighbouring threads read neighbouring elements.
 */
#pragma once

#include "kernels/tensor/index.cuh"

#if !defined(GS_BLOCK_FORM)
namespace gridstride::tensor::index {

template <int Rank, int Operands, typename Run>
__device__ __forceinline__ void map_runs(const Space<Rank, Operands>& space, i64 elements, i64,
                                         Run run) {
  map(space, elements, 0,
      [=](const i64* offsets, i64 column) { run(offsets, column, column + 1); });
}

}  // namespace gridstride::tensor::index
#endif
