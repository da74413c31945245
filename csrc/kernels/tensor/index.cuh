/*
 * index.cuh — elements at positions that another tensor holds.
 *
 * Problem: out[o, j, i] = x[o, indices[j], i], and the sum of updates at such positions.
 * Mapping: as map.cuh: elements of a space of merged dimensions, whose operands are x without its
 * indexed axis, the indices and the result. map_runs() calls run(offsets, begin, end) for parts of
 * rows of the space. Rows says that the innermost dimension is a row of x, so one position serves a
 * whole part.
 * Checks: a position out of range is reported, reads nothing and gives 0, or adds nothing.
 * Numerics: updates of one position are added in their order, so results repeat bit by bit.
 */
#pragma once

#include "kernels/tensor/map.cuh"

namespace gridstride::tensor::index {

// The range of positions, and the report of those outside: an operation's number, then the value.
struct Positions {
  i64 extent;
  i64* faults;
  i64 operation;

  // The position counted from the begin; -1 if there is none.
  __device__ __forceinline__ i64 find(i64 index) const {
    const i64 position = index < 0 ? index + extent : index;
    if (position >= 0 && position < extent) return position;
    report(faults, operation, index);
    return -1;
  }
};

}  // namespace gridstride::tensor::index

#include "kernels/tensor/index_loops.cuh"
#include "kernels/tensor/index_threads.cuh"

namespace gridstride::tensor::index {

// out = x at indices. Operands of the space: x, the indices, out; its last strides count too.
template <bool Rows, int Rank, typename T, typename I>
__device__ __forceinline__ void gather(const Space<Rank, 3>& space, i64 elements, i64 chunk,
                                       const T* x, const I* indices, T* out, i64 stride,
                                       Positions positions) {
  const i64 step_x = space.stride[Rank - 1][0];
  const i64 step_index = space.stride[Rank - 1][1];
  const i64 step_out = space.stride[Rank - 1][2];
  map_runs(space, elements, chunk, [=](const i64* offsets, i64 begin, i64 end) {
    if constexpr (Rows) {
      const i64 position = positions.find(indices[offsets[1]]);
      const T* const from = x + offsets[0] + (position < 0 ? 0 : position) * stride;
      T* const to = out + offsets[2];
      GS_INDEPENDENT
      for (i64 i = begin; i < end; ++i) to[i] = position < 0 ? T{} : from[i];
    } else {
      for (i64 i = begin; i < end; ++i) {
        const i64 position = positions.find(indices[offsets[1] + i * step_index]);
        out[offsets[2] + i * step_out] =
            position < 0 ? T{} : x[offsets[0] + i * step_x + position * stride];
      }
    }
  });
}

// Adds updates to x, both [outer, …, inner] and dense. keys are the sorted positions of the
// updates, order their places. The first of the updates of an element of x adds them all.
template <typename Value, typename T>
__device__ __forceinline__ void scatter_add(i64 outer, i64 count, i64 inner, i64 chunk,
                                            const i64* keys, const i64* order, const T* updates,
                                            T* x, Positions positions) {
  map(Space<1, 1>{}, outer * count * inner, chunk, [=](const i64*, i64 element) {
    const i64 rest = element / inner;
    const i64 column = element - rest * inner;
    const i64 group = rest / count;
    const i64 first = rest - group * count;
    const i64 key = keys[first];
    if (first > 0 && keys[first - 1] == key) return;
    const i64 position = positions.find(key);
    if (position < 0) return;
    T* const target = x + (group * positions.extent + position) * inner + column;
    Value sum = static_cast<Value>(load(*target));
    for (i64 j = first; j < count && keys[j] == key; ++j) {
      sum += static_cast<Value>(load(updates[(group * count + order[j]) * inner + column]));
    }
    *target = store<T>(sum);
  });
}

}  // namespace gridstride::tensor::index
