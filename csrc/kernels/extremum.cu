/* The minima and maxima: see extremum.cuh. */
#include "kernels/extremum.cuh"

#include "shim/launch/kernel_registry.h"

namespace gridstride::device_code {

GS_NUMERIC_KERNELS("min_partial", min_partial);
GS_NUMERIC_KERNELS("max_partial", max_partial);

}  // namespace gridstride::device_code
