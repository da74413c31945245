// A kernel as a launch sees it, built in or of a module.
#ifndef GRIDSTRIDE_LAUNCHABLE_H
#define GRIDSTRIDE_LAUNCHABLE_H

#include "shim/launch/kernel_parameter.h"

namespace gridstride {

// The raw words of gs_kernel_launch have a bit for each.
constexpr int kernel_parameter_limit = 64;

struct Launchable {
  const void* function = nullptr;  // what cudaLaunchKernel takes for the kernel
  // Together they fill at most the argument slots of a command block.
  const Parameter* parameters = nullptr;
  int parameter_count = 0;
};

}  // namespace gridstride

#endif
