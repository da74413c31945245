// The table of registered ranges, and queries of the system's pages.
#include "host/memory/host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace gridstride::host {

RegisteredMemory& RegisteredMemory::instance() {
  static RegisteredMemory& memory = *new RegisteredMemory;
  return memory;
}

cudaError_t RegisteredMemory::add(void* address, std::size_t bytes, int device) {
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t limit = start + bytes;
  if (start == 0 || bytes == 0 || limit < start) return cudaErrorInvalidValue;
  if (!host_pages_exist(address, bytes)) return cudaErrorInvalidValue;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto next = ranges_.lower_bound(start);
  if (next != ranges_.end() && next->first < limit) return cudaErrorHostMemoryAlreadyRegistered;
  if (next != ranges_.begin() && std::prev(next)->second.limit > start) {
    return cudaErrorHostMemoryAlreadyRegistered;
  }
  ranges_.emplace_hint(next, start, Range{limit, device});
  return cudaSuccess;
}

cudaError_t RegisteredMemory::remove(void* address) {
  if (address == nullptr) return cudaErrorInvalidValue;
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool removed = ranges_.erase(reinterpret_cast<std::uintptr_t>(address)) != 0;
  return removed ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
}

bool RegisteredMemory::covers(const void* address, std::size_t bytes, int* device) const {
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  const std::lock_guard<std::mutex> lock(mutex_);
  auto range = ranges_.upper_bound(start);
  if (range == ranges_.begin()) return false;
  --range;
  if (start >= range->second.limit || bytes > range->second.limit - start) return false;
  if (device != nullptr) *device = range->second.device;
  return true;
}

std::size_t RegisteredMemory::count() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return ranges_.size();
}

bool host_pages_exist(const void* address, std::size_t bytes) {
#if defined(__linux__)
  // mincore says for each page whether it is resident, and fails where one is not mapped.
  constexpr std::size_t pages_per_call = 4096;
  unsigned char residency[pages_per_call];
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  if (first + bytes < first) return false;
  const std::uintptr_t limit = first + bytes;
  for (std::uintptr_t page = first / page_bytes * page_bytes; page < limit;) {
    const std::size_t length = std::min(limit - page, pages_per_call * page_bytes);
    if (mincore(reinterpret_cast<void*>(page), length, residency) != 0 && errno == ENOMEM) {
      return false;
    }
    page += length;
  }
#else
  (void)address;
  (void)bytes;
#endif
  return true;
}

}  // namespace gridstride::host
