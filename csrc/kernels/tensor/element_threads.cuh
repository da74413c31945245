/*
 * element_threads.cuh — functions of elements on CUDA threads.
 */
#pragma once

#include "kernels/tensor/element.cuh"

#if !defined(GS_BLOCK_FORM)

#define GS_INDEPENDENT

namespace gridstride::tensor {

__device__ __forceinline__ float exponential(float x) { return expf(x); }
__device__ __forceinline__ float hyperbolic_tangent(float x) { return tanhf(x); }

}  // namespace gridstride::tensor
#endif
