/* The moments and their last steps: see moments.cuh. */
#include "kernels/moments.cuh"

#include "shim/launch/kernel_registry.h"

namespace gridstride::device_code {

GS_KERNEL("moments_partial_float64", moments_partial<double>);
GS_KERNEL("moments_partial_float32", moments_partial<float>);
GS_KERNEL("moments_partial_float16", moments_partial<__half>);
GS_KERNEL("moments_partial_bfloat16", moments_partial<__nv_bfloat16>);
GS_KERNEL("moments_partial_int64", moments_partial<long long>);
GS_KERNEL("moments_partial_int32", moments_partial<int>);
GS_KERNEL("moments_partial_uint32", moments_partial<unsigned int>);
GS_KERNEL("moments_partial_int16", moments_partial<short>);
GS_KERNEL("moments_partial_int8", moments_partial<signed char>);
GS_KERNEL("moments_partial_uint8", moments_partial<unsigned char>);

GS_KERNEL("moments_final_float64", moments_final<double>);
GS_KERNEL("moments_final_float32", moments_final<float>);
GS_KERNEL("moments_final_float16", moments_final<__half>);
GS_KERNEL("moments_final_bfloat16", moments_final<__nv_bfloat16>);

}  // namespace gridstride::device_code
