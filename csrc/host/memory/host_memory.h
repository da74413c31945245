// Host memory as the runtime sees it: registered ranges, and whether pages exist at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "gridstride/runtime_types.h"

namespace gridstride::host {

// The ranges of cudaHostRegister. Kernels and copies reach all host memory anyway; registering
// decides which copies may go on after the call that enqueued them. Thread-safe.
class RegisteredMemory {
 public:
  static RegisteredMemory& instance();

  cudaError_t add(void* address, std::size_t bytes, int device);
  cudaError_t remove(void* address);

  // True when [address, address + bytes) lies within one range; device is where it was registered.
  bool covers(const void* address, std::size_t bytes, int* device = nullptr) const;

  std::size_t count() const;

 private:
  struct Range {
    std::uintptr_t limit = 0;
    int device = 0;
  };

  mutable std::mutex mutex_;
  std::map<std::uintptr_t, Range> ranges_;  // by start, disjoint
};

// False when part of the range is certain not to be mapped into the process.
bool host_pages_exist(const void* address, std::size_t bytes);

}  // namespace gridstride::host
