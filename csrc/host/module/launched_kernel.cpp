// From what the API is given to a kernel.
#include "host/module/launched_kernel.h"

#include "host/module/kernel_table.h"
#include "host/module/module_library.h"

namespace gridstride::host {
namespace {

cudaError_t find_module_kernel(const void* handle, Device& device, LaunchedKernel& kernel) {
  const LoadedLibraries::Kernel found = LoadedLibraries::instance().find_kernel(handle);
  if (found.library == nullptr) return cudaErrorInvalidDeviceFunction;
  try {
    std::shared_ptr<LoadedModule> module = found.library->on(device);
    if (module == nullptr) return cudaErrorInvalidDeviceFunction;
    kernel.descriptor = &module->kernels()[found.index];
    kernel.owner = std::move(module);
    return cudaSuccess;
  } catch (const ImageError& error) {
    return error.code();
  }
}

}  // namespace

cudaError_t find_launched_kernel(const void* function, Device& device, LaunchedKernel& kernel) {
  if (LoadedLibraries::may_be_kernel(function)) {
    return find_module_kernel(function, device, kernel);
  }
  kernel.descriptor = function == nullptr ? nullptr : find_kernel(function);
  if (kernel.descriptor == nullptr) return cudaErrorInvalidDeviceFunction;
  // Compiled for another version of this runtime, as a GPU's code may be for another GPU.
  return kernel.descriptor->contract == kernel_contract ? cudaSuccess
                                                        : cudaErrorNoKernelImageForDevice;
}

}  // namespace gridstride::host
