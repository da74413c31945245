// Which addresses are kernels.
#ifndef GRIDSTRIDE_HOST_KERNEL_TABLE_H
#define GRIDSTRIDE_HOST_KERNEL_TABLE_H

#include "gridstride/kernel_descriptor.h"

namespace gridstride::host {

// The descriptor at this address, null when no kernel was registered there. The address may be
// anything: it is compared, not read.
const KernelDescriptor* find_kernel(const void* address);

}  // namespace gridstride::host

#endif
