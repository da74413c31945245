/* The kernel that takes a given time (see spin.cuh), and one that takes none. */
#include "kernels/spin.cuh"

#include "shim/launch/kernel_registry.h"

namespace gridstride::diagnostics {

// No work at all: it measures the launch.
__global__ void empty() {}

GS_KERNEL("spin_float32", spin<float>);
GS_KERNEL("empty", empty);

}  // namespace gridstride::diagnostics
