/* The fills, one per width: see fill.cuh. */
#include "kernels/fill.cuh"

#include "shim/launch/kernel_registry.h"

namespace gridstride::device_code {

GS_KERNEL("fill_uint8", fill<unsigned char>);
GS_KERNEL("fill_int16", fill<short>);
GS_KERNEL("fill_uint32", fill<unsigned int>);
GS_KERNEL("fill_int64", fill<long long>);

}  // namespace gridstride::device_code
