/*
 * map.cuh — one generated expression of every element of a space of up to eight dimensions.
 *
 * Problem: one pass over the operands, limited by memory. An operand has an element stride for each
 * dimension; 0 repeats it. The caller merges neighbouring dimensions wherever all operands allow,
 * so operands of one layout are one dimension.
 * Mapping: map() calls body(offsets, i) for element i of a row, where offsets[k] is the beginning
 * of the row in operand k. map_expression() takes the body of a generated expression in three parts,
 * so the operands of many elements are read before the first result is written:
 *   read(inputs, offsets, i) loads the operands of N elements from i on,
 *   compute(inputs, j, i) is the result of element j of them, at position i,
 *   write(results, offsets, i) stores the results.
 * Where an operand runs along memory in another dimension than the last, as a transposed one,
 * map_tiles() takes tiles of both dimensions, which use all of each cache line that they touch.
 * Bytes: the size of each operand once, if its strides are those of a dense array.
 */
#pragma once

#include "kernels/tensor/element.cuh"
#include "kernels/tensor/packet.cuh"

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

  // Whether an operand has packets of N elements at each multiple of N in a row.
  template <int N, typename T>
  __device__ __forceinline__ bool is_aligned(const T* operand, int k) const {
    i64 bytes = reinterpret_cast<i64>(operand);
    for (int d = 0; d < Rank - 1; ++d) bytes |= stride[d][k] * static_cast<i64>(sizeof(T));
    return bytes % Packet<T, N>::word_bytes == 0;
  }
};

// The results of N elements, whose inputs are read.
template <int N, typename Body>
__device__ __forceinline__ void compute_packet(const Body& body,
                                               const typename Body::template Inputs<N>& inputs,
                                               const i64* offsets, i64 i) {
  Packet<typename Body::Result, N> results;
#pragma unroll
  for (int j = 0; j < N; ++j) results.element[j] = body.compute(inputs, j, i + j);
  body.write(results, offsets, i);
}

// A tile of Edge x Edge elements of the dimension Cross and the last one, cut at their ends.
template <int Operands>
struct TilePlace {
  i64 offsets[Operands];
  i64 top;
  i64 bottom;
  i64 left;
  i64 right;
};

// Neighbouring tiles lie along the dimension Cross. Index is a type for the number of tiles.
template <int Cross, int Edge, typename Index, int Rank, int Operands>
__device__ __forceinline__ TilePlace<Operands> locate_tile(const Space<Rank, Operands>& space,
                                                           Index tile) {
  const i64 height = space.size[Cross];
  const i64 width = space.size[Rank - 1];
  const Index down = static_cast<Index>((height + Edge - 1) / Edge);
  const Index across = static_cast<Index>((width + Edge - 1) / Edge);
  TilePlace<Operands> place{};
  Index rest = tile / down;
  place.top = static_cast<i64>(tile - rest * down) * Edge;
  place.left = static_cast<i64>(rest % across) * Edge;
  rest /= across;
  for (int d = Rank - 2; d >= 0; --d) {
    if (d == Cross) continue;
    const Index size = static_cast<Index>(space.size[d]);
    const i64 index = rest % size;
    for (int k = 0; k < Operands; ++k) place.offsets[k] += index * space.stride[d][k];
    rest /= size;
  }
  place.bottom = place.top + Edge < height ? place.top + Edge : height;
  place.right = place.left + Edge < width ? place.left + Edge : width;
  return place;
}

}  // namespace gridstride::tensor

#include "kernels/tensor/map_loops.cuh"
#include "kernels/tensor/map_threads.cuh"
