// Kernels for launch_checks.cpp, which no product library holds: linked with the sources of one
// they show what each type of parameter receives.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "shim/launch/kernel_registry.h"

namespace {

// The bytes of the parameter: no conversion hides a difference.
template <class Type>
__global__ void store(Type value, Type* out) {
  if (blockIdx.x == 0 && threadIdx.x == 0) *out = value;
}

// An order of sizes in which every misplaced argument shows.
__global__ void mixed(signed char a, double b, short c, float d, bool e, unsigned long long f,
                      const int* g, double* out) {
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  out[0] = a;
  out[1] = b;
  out[2] = c;
  out[3] = d;
  out[4] = e;
  out[5] = static_cast<double>(f);
  out[6] = *g;
}

__global__ void no_parameters() {}

}  // namespace

GS_KERNEL("store_bool", store<bool>);
GS_KERNEL("store_int8", store<signed char>);
GS_KERNEL("store_uint8", store<unsigned char>);
GS_KERNEL("store_int16", store<short>);
GS_KERNEL("store_uint16", store<unsigned short>);
GS_KERNEL("store_int32", store<int>);
GS_KERNEL("store_uint32", store<unsigned int>);
GS_KERNEL("store_int64", store<long long>);
GS_KERNEL("store_uint64", store<unsigned long long>);
GS_KERNEL("store_float16", store<__half>);
GS_KERNEL("store_bfloat16", store<__nv_bfloat16>);
GS_KERNEL("store_float32", store<float>);
GS_KERNEL("store_float64", store<double>);
GS_KERNEL("mixed_arguments", mixed);
GS_KERNEL("no_parameters", no_parameters);
