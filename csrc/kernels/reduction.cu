/* The sums and extrema by CUDA threads: see reduction.cuh. */
#include "kernels/reduction.cuh"

#include "shim/launch/kernel_registry.h"

namespace gridstride::tensor::reduce {

GS_NUMERIC_KERNELS("sum_row", sum_row_of);
GS_INTEGER_KERNELS("real_sum_row", real_sum_row_of);
GS_FLOATING_KERNELS("sum_final", sum_final_of);
GS_NUMERIC_KERNELS("min_row", min_row_of);
GS_NUMERIC_KERNELS("max_row", max_row_of);

}  // namespace gridstride::tensor::reduce
