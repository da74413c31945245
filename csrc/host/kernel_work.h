// A kernel launch as work for the pool.
#ifndef GRIDSTRIDE_HOST_KERNEL_WORK_H
#define GRIDSTRIDE_HOST_KERNEL_WORK_H

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "faults.h"
#include "include/gridstride/kernel_descriptor.h"
#include "include/gridstride/vector_types.h"
#include "work.h"

namespace gridstride::host {

struct LaunchRequest {
  const KernelDescriptor* kernel;
  dim3 grid;
  dim3 block;
  size_t dynamic_shared_bytes;
  // Made by pack_arguments.
  std::vector<unsigned char> arguments;
  int device;
};

// Copies a launch's arguments out of the caller's variables, of which `arguments` holds one address
// per parameter: in order, each at the next multiple of its alignment.
std::vector<unsigned char> pack_arguments(const KernelDescriptor& kernel, void** arguments);

// The work of a launch. `completed` is called once, on a worker, with null or with the first fault.
// Throws std::invalid_argument for what no device can run: a dimension of 0, more than 1024 threads
// per block or 1 MiB of dynamic shared memory, arguments of another size than the kernel's, a
// kernel compiled against another version of these headers. A device's limits are the caller's.
std::shared_ptr<Work> make_kernel_work(LaunchRequest request,
                                       std::function<void(const LaunchFault*)> completed);

}  // namespace gridstride::host

#endif
