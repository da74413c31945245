/* The element-wise kernels in the block form, for the host device: see elementwise.cuh. */
#include "kernels/portable.cuh"

#if defined(__CUDASIM__)

#define GS_BLOCK_FORM 1
#include "kernels/elementwise.cuh"

#include "shim/launch/kernel_registry.h"

namespace gridstride::tensor::elementwise {

GS_KERNEL("fill_loops_uint8", fill<unsigned char>);
GS_KERNEL("fill_loops_uint16", fill<unsigned short>);
GS_KERNEL("fill_loops_uint32", fill<unsigned int>);
GS_KERNEL("fill_loops_uint64", fill<unsigned long long>);

GS_NUMERIC_KERNELS("add_loops", add);
GS_NUMERIC_KERNELS("multiply_loops", multiply);
GS_FLOATING_KERNELS("scale_loops", scale);
GS_FLOATING_KERNELS("axpy_loops", axpy);

}  // namespace gridstride::tensor::elementwise

#endif
