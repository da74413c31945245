/* The sums and their last steps: see sum.cuh. */
#include "kernels/sum.cuh"

#include "shim/launch/kernel_registry.h"

namespace gridstride::device_code {

GS_NUMERIC_KERNELS("sum_partial", sum_partial);
GS_FLOATING_KERNELS("sum_final", sum_final);
GS_KERNEL("sum_final_int64", sum_final_exact<long long>);

GS_FLOATING_KERNELS("mean_final", mean_final);

}  // namespace gridstride::device_code
