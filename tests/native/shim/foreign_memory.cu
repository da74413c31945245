// Stands for another library in the process that allocates device memory of its own; linked into
// the library under test like argument_kernels.cu.
#include <cuda_runtime.h>

#include <cstdint>

#include "gridstride.h"

// The address, or 0.
extern "C" GS_API double gs_test_foreign_allocate(int device, double bytes) {
  void* address = nullptr;
  if (cudaSetDevice(device) != cudaSuccess) return 0;
  if (cudaMalloc(&address, static_cast<size_t>(bytes)) != cudaSuccess) return 0;
  return static_cast<double>(reinterpret_cast<uintptr_t>(address));
}

extern "C" GS_API int gs_test_foreign_free(double address) {
  return cudaFree(reinterpret_cast<void*>(static_cast<uintptr_t>(address)));
}
