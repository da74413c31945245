/* The element-wise kernels, one per element type or, for fill, per width: see elementwise.cuh. */
#include "kernels/elementwise.cuh"

#include "shim/launch/kernel_registry.h"

namespace gridstride::device_code {

GS_KERNEL("fill_uint8", fill<unsigned char>);
GS_KERNEL("fill_int16", fill<short>);
GS_KERNEL("fill_uint32", fill<unsigned int>);
GS_KERNEL("fill_int64", fill<long long>);

GS_KERNEL("add_float64", add<double>);
GS_KERNEL("add_float32", add<float>);
GS_KERNEL("add_float16", add<__half>);
GS_KERNEL("add_bfloat16", add<__nv_bfloat16>);
GS_KERNEL("add_int64", add<long long>);
GS_KERNEL("add_int32", add<int>);
GS_KERNEL("add_uint32", add<unsigned int>);
GS_KERNEL("add_int16", add<short>);
GS_KERNEL("add_int8", add<signed char>);
GS_KERNEL("add_uint8", add<unsigned char>);

GS_KERNEL("multiply_float64", multiply<double>);
GS_KERNEL("multiply_float32", multiply<float>);
GS_KERNEL("multiply_float16", multiply<__half>);
GS_KERNEL("multiply_bfloat16", multiply<__nv_bfloat16>);
GS_KERNEL("multiply_int64", multiply<long long>);
GS_KERNEL("multiply_int32", multiply<int>);
GS_KERNEL("multiply_uint32", multiply<unsigned int>);
GS_KERNEL("multiply_int16", multiply<short>);
GS_KERNEL("multiply_int8", multiply<signed char>);
GS_KERNEL("multiply_uint8", multiply<unsigned char>);

GS_KERNEL("scale_float64", scale<double>);
GS_KERNEL("scale_float32", scale<float>);
GS_KERNEL("scale_float16", scale<__half>);
GS_KERNEL("scale_bfloat16", scale<__nv_bfloat16>);

GS_KERNEL("axpy_float64", axpy<double>);
GS_KERNEL("axpy_float32", axpy<float>);
GS_KERNEL("axpy_float16", axpy<__half>);
GS_KERNEL("axpy_bfloat16", axpy<__nv_bfloat16>);

}  // namespace gridstride::device_code
