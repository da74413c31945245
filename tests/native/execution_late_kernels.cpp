// Kernels in a library of their own, as those compiled at run time are: linked to nothing, with
// more __shared__ memory than the loader keeps for thread-local storage of late libraries.
#include <gridstride/qualifiers.h>
//
#include <gridstride/collectives.h>
#include <gridstride/kernel_descriptor.h>
#include <gridstride/register_names.h>

namespace {

__global__ void reverse_in_shared(unsigned* out) {
  __shared__ unsigned words[12000];
  for (unsigned i = threadIdx.x; i < 12000; i += blockDim.x) words[i] = i + blockIdx.x;
  __syncthreads();
  unsigned sum = 0;
  for (unsigned i = threadIdx.x; i < 12000; i += blockDim.x) sum += words[11999 - i];
  for (unsigned offset = 16; offset != 0; offset /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, static_cast<int>(offset));
  }
  if (threadIdx.x % 32 == 0) __atomic_fetch_add(&out[blockIdx.x], sum, __ATOMIC_RELAXED);
}

}  // namespace

GS_HOST_API const gridstride::host::KernelDescriptor* late_kernel() {
  return gridstride::host::kernel_descriptor<reverse_in_shared>("reverse_in_shared");
}
