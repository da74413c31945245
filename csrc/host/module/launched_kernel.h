// The kernel that a launch names, on the device that it is launched on.
#ifndef GRIDSTRIDE_HOST_LAUNCHED_KERNEL_H
#define GRIDSTRIDE_HOST_LAUNCHED_KERNEL_H

#include <memory>

#include "host/device/device.h"
#include "gridstride/kernel_descriptor.h"

namespace gridstride::host {

struct LaunchedKernel {
  const KernelDescriptor* descriptor = nullptr;
  // Keeps a module's code loaded; null for a kernel that nothing unloads.
  std::shared_ptr<const void> owner;
};

// function is what the API takes for one: a descriptor's address, or a module's kernel handle.
// Anything else is cudaErrorInvalidDeviceFunction. Loads the module where this device asks first.
cudaError_t find_launched_kernel(const void* function, Device& device, LaunchedKernel& kernel);

}  // namespace gridstride::host

#endif
