// Kernels of modules by handle, and how calls that name a kernel find it, built in or not.
#ifndef GRIDSTRIDE_MODULE_KERNEL_H
#define GRIDSTRIDE_MODULE_KERNEL_H

#include "shim/device/device.h"
#include "shim/handle_table.h"
#include "shim/launch/kernel_registry.h"

namespace gridstride {

// For launches with certain parameters, which are the module's to keep.
struct ModuleKernel {
  int device = no_device;
  Launchable launchable;

  void end() const {}
};

extern HandleTable<ModuleKernel> module_kernels;

// Calls body with the kernel of this id, which lives until body returns. Ids of built-in kernels
// count from 1 and stay far below the least handle.
template <class Body>
void with_kernel(int32_t id, int device, const Body& body) {
  if (id < HandleTable<ModuleKernel>::least_handle) {
    body(kernel_of(id).launchable());
    return;
  }
  const HandleTable<ModuleKernel>::Use kernel = module_kernels.use(id);
  thread_state.device = device;
  require(kernel->device == device, GS_ERROR_FOREIGN);
  body(kernel->launchable);
}

}  // namespace gridstride

#endif
