// A launch as the engine takes it, and its arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "gridstride/kernel_descriptor.h"
#include "gridstride/vector_types.h"
#include "host/execution/faults.h"
#include "host/stream/work.h"

namespace gridstride::host {

struct LaunchRequest {
  const KernelDescriptor* kernel;
  dim3 grid;
  dim3 block;
  size_t dynamic_shared_bytes;
  // Made by pack_arguments.
  std::vector<unsigned char> arguments;
  int device;
  // Keeps the kernel's code loaded; null where nothing unloads it.
  std::shared_ptr<const void> owner = nullptr;
  // Nanoseconds from the first block on; 0 for no limit.
  int64_t time_limit = 0;
};

// Calls visit(parameter, offset) for every parameter, each at the next multiple of its alignment;
// gives the size of all.
template <typename Visit>
size_t for_each_parameter(const KernelDescriptor& kernel, Visit visit) {
  size_t offset = 0;
  for (uint32_t i = 0; i < kernel.parameter_count; ++i) {
    const size_t alignment = kernel.parameter_alignments[i];
    offset = (offset + alignment - 1) / alignment * alignment;
    visit(i, offset);
    offset += kernel.parameter_sizes[i];
  }
  return offset;
}

// Copies a launch's arguments out of the caller's variables, of which `arguments` holds one address
// per parameter.
std::vector<unsigned char> pack_arguments(const KernelDescriptor& kernel, void** arguments);

// A copy of packed arguments in which each one is aligned as its type demands, and their addresses.
// Throws std::invalid_argument when the packed ones have another size than the kernel's.
class ArgumentCopy {
 public:
  ArgumentCopy(const KernelDescriptor& kernel, const std::vector<unsigned char>& packed);
  void** addresses() { return addresses_.data(); }

 private:
  std::vector<unsigned char> storage_;
  std::vector<void*> addresses_;
};

// Throws std::invalid_argument for what no device can run: a dimension of 0, more than 1024 threads
// per block or 1 MiB of dynamic shared memory, a kernel compiled against another version of these
// headers. A device's limits are the caller's.
void check_request(const LaunchRequest& request);

// Below 2^63 for a request that was checked.
inline uint64_t block_count(const dim3& grid) { return uint64_t{grid.x} * grid.y * grid.z; }

// The index of the grid's block of this number, x fastest.
inline uint3 block_index_of(const dim3& grid, uint64_t number) {
  uint3 index;
  index.x = static_cast<unsigned>(number % grid.x);
  index.y = static_cast<unsigned>(number / grid.x % grid.y);
  index.z = static_cast<unsigned>(number / grid.x / grid.y);
  return index;
}

// A kernel launch as work for the pool.

// The work of a launch. `completed` is called once, on a worker, with null or with the first fault.
// Throws std::invalid_argument as check_request and ArgumentCopy do.
std::shared_ptr<Work> make_kernel_work(LaunchRequest request,
                                       std::function<void(const LaunchFault*)> completed);

// A cooperative launch as work for the pool.

// As make_kernel_work; `completed` is called on one of the launch's own threads, or on a worker
// when there were none to be had, which is a fault. The grid has less than 2^32 blocks.
std::shared_ptr<Work> make_cooperative_work(LaunchRequest request,
                                            std::function<void(const LaunchFault*)> completed);

}  // namespace gridstride::host
