/*
 * built_in.cuh — what kernels in the libraries include first: CUDA's headers, and element.cuh for
 * all element types.
 *
 * The host library has both forms of the kernels in files that end in _loops.cu. Those of the block
 * form have names with a suffix, and lie in a namespace of their own.
 */
#pragma once

#include <cuda_runtime.h>
#include <math.h>
#include <string.h>

#include <type_traits>

#define GS_CONTRACTS 1
#define GS_USES_FLOAT16 1
#define GS_USES_BFLOAT16 1
#include "kernels/tensor/element.cuh"

#if defined(GS_BLOCK_FORM)
#define GS_FORM loops
#define GS_FORM_SUFFIX "_loops"
#else
#define GS_FORM threads
#define GS_FORM_SUFFIX ""
#endif

// GS_UNROLL unrolls the following loop of a constant number of steps completely. g++ requires a
// number.
#if defined(__CUDACC__) || defined(__clang__)
#define GS_UNROLL _Pragma("unroll")
#else
#define GS_UNROLL _Pragma("GCC unroll 64")
#endif

// GS_DYNAMIC_SHARED(type, name); declares `type* name`, the block's dynamic shared memory. All
// kernels of a source file share it, so nvcc must see one declaration of one type for all of
// them.
#if defined(__CUDASIM__)
#define GS_DYNAMIC_SHARED(type, name) \
  type* const name = static_cast<type*>(::gridstride::host::dynamic_shared_memory())
#else
#define GS_DYNAMIC_SHARED(type, name)                                        \
  extern __shared__ __align__(16) unsigned char gridstride_dynamic_shared[]; \
  type* const name = reinterpret_cast<type*>(gridstride_dynamic_shared)
#endif

namespace gridstride::tensor {

// Kernels for any block size that is a multiple of the warp, up to this one. As a launch bound, it
// makes the compiler keep within 64 registers per thread.
constexpr unsigned int max_block_threads = 1024;

}  // namespace gridstride::tensor
