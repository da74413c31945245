/*
 * tensor_core.cuh — what feeds tensor cores: copies to shared memory that go on while a warp
 * computes, and matrices of 8 x 8 elements of 16 bits that a warp reads from there.
 */
#pragma once

#include "kernels/tensor/element.cuh"

namespace gridstride::tensor {
#if !defined(GS_BLOCK_FORM)

// The address that instructions for shared memory take. Constants that are added to it become
// immediates of the instructions.
__device__ __forceinline__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Copies the first bytes of a chunk of 16, and zeros behind them.
__device__ __forceinline__ void copy_chunk(unsigned to, const void* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :: "r"(to), "l"(from), "r"(bytes) : "memory");
}
// Copies a whole chunk, in fewer instructions.
__device__ __forceinline__ void copy_chunk(unsigned to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(from) : "memory");
}
// Before compute capability 8.0, at once.
__device__ __forceinline__ void copy_chunk(uint4* to, const void* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  *to = *static_cast<const uint4*>(from);
#else
  copy_chunk(shared_address(to), from);
#endif
}
__device__ __forceinline__ void copy_chunk(void* to, const void* from, int bytes) {
  copy_chunk(shared_address(to), from, bytes);
}
__device__ __forceinline__ void commit_copies() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Waits for the copies of this thread, but for those of so many last commits.
template <int Pending = 0>
__device__ __forceinline__ void wait_for_copies() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" :: "n"(Pending) : "memory");
#endif
}

// Four matrices of 8 x 8 elements of 16 bits, of whose rows each lane names one.
__device__ __forceinline__ void read_matrices(unsigned row, unsigned (&to)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row));
}
__device__ __forceinline__ void read_matrices(const unsigned char* row, unsigned (&to)[4]) {
  read_matrices(shared_address(row), to);
}
__device__ __forceinline__ void read_transposed(unsigned row, unsigned (&to)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row));
}
__device__ __forceinline__ void read_transposed(const unsigned char* row, unsigned (&to)[4]) {
  read_transposed(shared_address(row), to);
}

#endif
}  // namespace gridstride::tensor
