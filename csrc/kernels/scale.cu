/* The affine maps: see scale.cuh. */
#include "kernels/scale.cuh"

#include "shim/launch/kernel_registry.h"

namespace gridstride::device_code {

GS_KERNEL("scale_float64", scale<double>);
GS_KERNEL("scale_float32", scale<float>);
GS_KERNEL("scale_float16", scale<__half>);
GS_KERNEL("scale_bfloat16", scale<__nv_bfloat16>);

}  // namespace gridstride::device_code
