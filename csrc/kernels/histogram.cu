/* The histograms: see histogram.cuh. */
#include "kernels/histogram.cuh"

#include "shim/launch/kernel_registry.h"

namespace gridstride::tensor::histogram {

GS_NUMERIC_KERNELS("histogram_shared", histogram_shared);
GS_NUMERIC_KERNELS("histogram_global", histogram_global);

}  // namespace gridstride::tensor::histogram
