// A module with one variable of 16 MiB.
#include <cuda_runtime.h>
#include <gridstride/module_table.h>

__device__ char table[16 << 20];

GS_MODULE_BEGIN
GS_MODULE_VARIABLE("table", table)
GS_MODULE_END
