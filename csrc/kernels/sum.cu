/* The sums and their last steps: see sum.cuh. */
#include "kernels/sum.cuh"

#include "shim/launch/kernel_registry.h"

namespace gridstride::device_code {

GS_KERNEL("sum_partial_float64", sum_partial<double>);
GS_KERNEL("sum_partial_float32", sum_partial<float>);
GS_KERNEL("sum_partial_float16", sum_partial<__half>);
GS_KERNEL("sum_partial_bfloat16", sum_partial<__nv_bfloat16>);
GS_KERNEL("sum_partial_int64", sum_partial<long long>);
GS_KERNEL("sum_partial_int32", sum_partial<int>);
GS_KERNEL("sum_partial_uint32", sum_partial<unsigned int>);
GS_KERNEL("sum_partial_int16", sum_partial<short>);
GS_KERNEL("sum_partial_int8", sum_partial<signed char>);
GS_KERNEL("sum_partial_uint8", sum_partial<unsigned char>);

GS_KERNEL("sum_final_float64", sum_final<double>);
GS_KERNEL("sum_final_float32", sum_final<float>);
GS_KERNEL("sum_final_float16", sum_final<__half>);
GS_KERNEL("sum_final_bfloat16", sum_final<__nv_bfloat16>);
GS_KERNEL("sum_final_int64", sum_final_exact<long long>);

GS_KERNEL("mean_final_float64", mean_final<double>);
GS_KERNEL("mean_final_float32", mean_final<float>);
GS_KERNEL("mean_final_float16", mean_final<__half>);
GS_KERNEL("mean_final_bfloat16", mean_final<__nv_bfloat16>);

}  // namespace gridstride::device_code
