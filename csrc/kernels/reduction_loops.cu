/* The sums and extrema in the block form, for the host device: see reduction.cuh. */
#include "kernels/portable.cuh"

#if defined(__CUDASIM__)

#define GS_BLOCK_FORM 1
#include "kernels/reduction.cuh"

#include "shim/launch/kernel_registry.h"

namespace gridstride::tensor::reduce {

GS_NUMERIC_KERNELS("sum_row_loops", sum_row_of);
GS_INTEGER_KERNELS("real_sum_row_loops", real_sum_row_of);
GS_FLOATING_KERNELS("sum_final_loops", sum_final_of);
GS_NUMERIC_KERNELS("min_row_loops", min_row_of);
GS_NUMERIC_KERNELS("max_row_loops", max_row_of);

}  // namespace gridstride::tensor::reduce

#endif
