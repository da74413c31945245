// A module that calls an undefined function.
#include <cuda_runtime.h>
#include <gridstride/module_table.h>

__device__ int defined_elsewhere(int value);

__global__ void call_it(int* out) { *out = defined_elsewhere(*out); }

GS_MODULE_BEGIN
GS_MODULE_KERNEL("call_it", call_it)
GS_MODULE_END
