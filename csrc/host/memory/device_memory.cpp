// Allocation: a mapping of its own for few or large allocations, a slot in a slab for the rest.
#include "host/memory/device_memory.h"

namespace gridstride::host {
namespace {

// While there are fewer mappings than this, small allocations too get one, and thereby a gap, of
// their own. Each takes two entries of the system's map of the process (see AddressReservation).
constexpr std::size_t most_small_ranges = 4096;

}  // namespace

bool DeviceMemory::map_own_range(std::size_t charged, std::uintptr_t& address,
                                 Allocation& allocation) {
  allocation.range = MappedRange::map(reservation_, charged);
  if (allocation.range == nullptr) return false;
  address = allocation.range->end() - charged;
  ++own_ranges_;
  return true;
}

bool DeviceMemory::take_slot(std::size_t charged, std::uintptr_t& address,
                             Allocation& allocation) {
  const Slot slot = slabs_.take(charged);
  if (slot.slab == nullptr) return false;
  address = slot.address;
  allocation.slab = slot.slab;
  allocation.range = SlotSlabs::range_of(*slot.slab);
  return true;
}

void* DeviceMemory::allocate(std::size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::uint64_t available = capacity_ - charged_;
  if (bytes > available) return nullptr;
  Allocation allocation;
  allocation.bytes = bytes;
  allocation.charged = (bytes + granularity - 1) / granularity * granularity;
  if (allocation.charged > available) return nullptr;
  const bool shares = allocation.charged < SlotSlabs::largest_slot &&
                      own_ranges_ >= most_small_ranges;
  std::uintptr_t address = 0;
  const bool placed = shares ? take_slot(allocation.charged, address, allocation)
                             : map_own_range(allocation.charged, address, allocation);
  if (!placed) return nullptr;
  const std::size_t charged = allocation.charged;
  allocations_.emplace(address, std::move(allocation));
  charged_ += charged;
  return reinterpret_cast<void*>(address);
}

bool DeviceMemory::release(const void* address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto entry = allocations_.find(reinterpret_cast<std::uintptr_t>(address));
  if (entry == allocations_.end()) return false;
  const Allocation& allocation = entry->second;
  charged_ -= allocation.charged;
  if (allocation.slab != nullptr) {
    slabs_.give_back({entry->first, allocation.slab});
  } else {
    --own_ranges_;
  }
  allocations_.erase(entry);
  return true;
}

bool DeviceMemory::begins_at(const void* address) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return allocations_.count(reinterpret_cast<std::uintptr_t>(address)) != 0;
}

std::shared_ptr<MappedRange> DeviceMemory::hold(const void* address, std::size_t bytes) const {
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  const std::lock_guard<std::mutex> lock(mutex_);
  auto entry = allocations_.upper_bound(first);
  if (entry == allocations_.begin()) return nullptr;
  --entry;
  const std::size_t offset = first - entry->first;
  const Allocation& allocation = entry->second;
  // One past the end belongs to the allocation only for an empty range.
  if (offset > allocation.bytes || bytes > allocation.bytes - offset) return nullptr;
  return allocation.range;
}

bool DeviceMemory::charge(std::uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (bytes > capacity_ - charged_) return false;
  charged_ += bytes;
  return true;
}

void DeviceMemory::discharge(std::uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  charged_ -= bytes;
}

std::uint64_t DeviceMemory::free_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return capacity_ - charged_;
}

std::size_t DeviceMemory::allocation_count() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return allocations_.size();
}

}  // namespace gridstride::host
