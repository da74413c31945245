/* The sums and extrema: see reduction.cuh. */
#include "kernels/reduction.cuh"

#include "shim/launch/kernel_registry.h"

namespace gridstride::tensor::reduce {

GS_NUMERIC_KERNELS("sum_row" GS_FORM_SUFFIX, sum_row_of);
GS_INTEGER_KERNELS("real_sum_row" GS_FORM_SUFFIX, real_sum_row_of);
GS_FLOATING_KERNELS("sum_final" GS_FORM_SUFFIX, sum_final_of);
GS_NUMERIC_KERNELS("min_row" GS_FORM_SUFFIX, min_row_of);
GS_NUMERIC_KERNELS("max_row" GS_FORM_SUFFIX, max_row_of);

}  // namespace gridstride::tensor::reduce
