/* The element-wise kernels, one per element type or, for fill, per width: see elementwise.cuh. */
#include "kernels/elementwise.cuh"

#include "shim/launch/kernel_registry.h"

namespace gridstride::tensor::elementwise {

GS_KERNEL("fill_uint8", fill<unsigned char>);
GS_KERNEL("fill_uint16", fill<unsigned short>);
GS_KERNEL("fill_uint32", fill<unsigned int>);
GS_KERNEL("fill_uint64", fill<unsigned long long>);

GS_NUMERIC_KERNELS("add", add);
GS_NUMERIC_KERNELS("multiply", multiply);
GS_FLOATING_KERNELS("scale", scale);
GS_FLOATING_KERNELS("axpy", axpy);

}  // namespace gridstride::tensor::elementwise
