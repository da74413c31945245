/* The minima and maxima: see extremum.cuh. */
#include "kernels/extremum.cuh"

#include "shim/launch/kernel_registry.h"

namespace gridstride::device_code {

GS_KERNEL("min_partial_float64", min_partial<double>);
GS_KERNEL("min_partial_float32", min_partial<float>);
GS_KERNEL("min_partial_float16", min_partial<__half>);
GS_KERNEL("min_partial_bfloat16", min_partial<__nv_bfloat16>);
GS_KERNEL("min_partial_int64", min_partial<long long>);
GS_KERNEL("min_partial_int32", min_partial<int>);
GS_KERNEL("min_partial_uint32", min_partial<unsigned int>);
GS_KERNEL("min_partial_int16", min_partial<short>);
GS_KERNEL("min_partial_int8", min_partial<signed char>);
GS_KERNEL("min_partial_uint8", min_partial<unsigned char>);

GS_KERNEL("max_partial_float64", max_partial<double>);
GS_KERNEL("max_partial_float32", max_partial<float>);
GS_KERNEL("max_partial_float16", max_partial<__half>);
GS_KERNEL("max_partial_bfloat16", max_partial<__nv_bfloat16>);
GS_KERNEL("max_partial_int64", max_partial<long long>);
GS_KERNEL("max_partial_int32", max_partial<int>);
GS_KERNEL("max_partial_uint32", max_partial<unsigned int>);
GS_KERNEL("max_partial_int16", max_partial<short>);
GS_KERNEL("max_partial_int8", max_partial<signed char>);
GS_KERNEL("max_partial_uint8", max_partial<unsigned char>);

}  // namespace gridstride::device_code
