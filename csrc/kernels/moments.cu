/* The moments and their last steps: see moments.cuh. */
#include "kernels/moments.cuh"

#include "shim/launch/kernel_registry.h"

namespace gridstride::tensor::moments {

GS_NUMERIC_KERNELS("moments_partial", moments_partial);
GS_FLOATING_KERNELS("moments_final", moments_final);

}  // namespace gridstride::tensor::moments
