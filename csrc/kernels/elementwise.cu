/* The element-wise kernels, one per element type or, for fill, per width: see elementwise.cuh. */
#include "kernels/elementwise.cuh"

#include "shim/launch/kernel_registry.h"

namespace gridstride::tensor::elementwise {

GS_KERNEL("fill" GS_FORM_SUFFIX "_uint8", fill<unsigned char>);
GS_KERNEL("fill" GS_FORM_SUFFIX "_uint16", fill<unsigned short>);
GS_KERNEL("fill" GS_FORM_SUFFIX "_uint32", fill<unsigned int>);
GS_KERNEL("fill" GS_FORM_SUFFIX "_uint64", fill<unsigned long long>);

GS_NUMERIC_KERNELS("add" GS_FORM_SUFFIX, add);
GS_NUMERIC_KERNELS("multiply" GS_FORM_SUFFIX, multiply);
GS_FLOATING_KERNELS("scale" GS_FORM_SUFFIX, scale);
GS_FLOATING_KERNELS("axpy" GS_FORM_SUFFIX, axpy);

}  // namespace gridstride::tensor::elementwise
