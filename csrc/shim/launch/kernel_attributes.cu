// What a kernel needs of its device, and what it is allowed.
#include "shim/module/module_kernel.h"

#include "shim/checked_integer.h"

using namespace gridstride;

int32_t gs_kernel_attributes(int32_t device, int32_t kernel, double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    with_kernel(kernel, device, [&](const Launchable& asked) {
      make_current(device);
      cudaFuncAttributes attributes = {};
      GS_CALL(cudaFuncGetAttributes, &attributes, asked.function);
      result[0] = attributes.maxThreadsPerBlock;
      result[1] = attributes.numRegs;
      result[2] = static_cast<double>(attributes.sharedSizeBytes);
      result[3] = static_cast<double>(attributes.constSizeBytes);
      result[4] = static_cast<double>(attributes.localSizeBytes);
      result[5] = attributes.maxDynamicSharedSizeBytes;
      result[6] = attributes.binaryVersion;
      result[7] = attributes.ptxVersion;
    });
  });
}

int32_t gs_kernel_reserve(int32_t device, int32_t kernel, double bytes) {
  return guarded([&] {
    const int shared_bytes = static_cast<int>(checked_integer(bytes, INT32_MAX));
    with_kernel(kernel, device, [&](const Launchable& reserved) {
      make_current(device);
      GS_CALL(cudaFuncSetAttribute, reserved.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
              shared_bytes);
    });
  });
}

int32_t gs_kernel_residency(int32_t device, int32_t kernel, int32_t threads, double shared_bytes,
                            double* result) {
  return guarded([&] {
    require(result != nullptr && threads > 0, GS_ERROR_ARGUMENT);
    const size_t dynamic_bytes = checked_integer(shared_bytes, largest_uint32);
    with_kernel(kernel, device, [&](const Launchable& asked) {
      make_current(device);
      int blocks = 0;
      GS_CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, asked.function, threads,
              dynamic_bytes);
      result[0] = blocks;
    });
  });
}
