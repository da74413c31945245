/* The axpy updates: see axpy.cuh. */
#include "kernels/axpy.cuh"

#include "shim/launch/kernel_registry.h"

namespace gridstride::device_code {

GS_KERNEL("axpy_float64", axpy<double>);
GS_KERNEL("axpy_float32", axpy<float>);
GS_KERNEL("axpy_float16", axpy<__half>);
GS_KERNEL("axpy_bfloat16", axpy<__nv_bfloat16>);

}  // namespace gridstride::device_code
