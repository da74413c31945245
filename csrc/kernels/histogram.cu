/* The histograms: see histogram.cuh. */
#include "kernels/histogram.cuh"

#include "shim/launch/kernel_registry.h"

namespace gridstride::device_code {

GS_KERNEL("histogram_shared_float64", histogram_shared<double>);
GS_KERNEL("histogram_shared_float32", histogram_shared<float>);
GS_KERNEL("histogram_shared_float16", histogram_shared<__half>);
GS_KERNEL("histogram_shared_bfloat16", histogram_shared<__nv_bfloat16>);
GS_KERNEL("histogram_shared_int64", histogram_shared<long long>);
GS_KERNEL("histogram_shared_int32", histogram_shared<int>);
GS_KERNEL("histogram_shared_uint32", histogram_shared<unsigned int>);
GS_KERNEL("histogram_shared_int16", histogram_shared<short>);
GS_KERNEL("histogram_shared_int8", histogram_shared<signed char>);
GS_KERNEL("histogram_shared_uint8", histogram_shared<unsigned char>);

GS_KERNEL("histogram_global_float64", histogram_global<double>);
GS_KERNEL("histogram_global_float32", histogram_global<float>);
GS_KERNEL("histogram_global_float16", histogram_global<__half>);
GS_KERNEL("histogram_global_bfloat16", histogram_global<__nv_bfloat16>);
GS_KERNEL("histogram_global_int64", histogram_global<long long>);
GS_KERNEL("histogram_global_int32", histogram_global<int>);
GS_KERNEL("histogram_global_uint32", histogram_global<unsigned int>);
GS_KERNEL("histogram_global_int16", histogram_global<short>);
GS_KERNEL("histogram_global_int8", histogram_global<signed char>);
GS_KERNEL("histogram_global_uint8", histogram_global<unsigned char>);

}  // namespace gridstride::device_code
