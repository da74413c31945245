// The differences between nvcc and the host device in device code. Kernels include this in place
// of the CUDA headers.
#ifndef GRIDSTRIDE_PORTABLE_CUH
#define GRIDSTRIDE_PORTABLE_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

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

// GS_UNROLL unrolls the following loop of a constant number of steps completely. g++ requires a
// number.
#if defined(__CUDACC__) || defined(__clang__)
#define GS_UNROLL _Pragma("unroll")
#else
#define GS_UNROLL _Pragma("GCC unroll 64")
#endif

#endif
