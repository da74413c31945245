// A module with two kernels of one name.
#include <cuda_runtime.h>
#include <gridstride/module_table.h>

__global__ void one() {}
__global__ void other() {}

GS_MODULE_BEGIN
GS_MODULE_KERNEL("twin", one)
GS_MODULE_KERNEL("twin", other)
GS_MODULE_END
