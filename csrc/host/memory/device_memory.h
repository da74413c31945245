// The memory of one device: its capacity, its allocations, and the check of every address that the
// API is given.
#ifndef GRIDSTRIDE_HOST_DEVICE_MEMORY_H
#define GRIDSTRIDE_HOST_DEVICE_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "host/memory/address_reservation.h"
#include "gridstride/runtime_types.h"
#include "host/memory/mapped_range.h"
#include "host/memory/slot_slabs.h"

namespace gridstride::host {

// Where an allocation ends an inaccessible gap begins: a kernel that runs past it faults. This
// holds for all but small allocations beyond the first thousands, which lie side by side in slabs,
// and stops short by the rounding to 512 bytes. Thread-safe.
class DeviceMemory {
 public:
  // What cudaMalloc aligns addresses to and rounds sizes up to.
  static constexpr std::size_t granularity = 512;

  explicit DeviceMemory(std::uint64_t capacity)
      : capacity_(capacity), reservation_(capacity), slabs_(reservation_) {}

  // Null when the capacity or the machine does not allow it. Pages are not committed: a fake
  // device may hold more than the machine as long as nobody writes to all of it.
  void* allocate(std::size_t bytes);

  // False when nothing begins at this address.
  bool release(const void* address);

  // True when an allocation begins at this address.
  bool begins_at(const void* address) const;

  // True for every address of the device's reservation, allocated or not.
  bool reserves(const void* address) const {
    return reservation_.contains(reinterpret_cast<std::uintptr_t>(address));
  }

  // Keeps [address, address + bytes) accessible; null unless it lies within one allocation.
  std::shared_ptr<MappedRange> hold(const void* address, std::size_t bytes) const;

  // Counts memory that lies elsewhere against the capacity; false when there is too little left.
  bool charge(std::uint64_t bytes);
  // Takes back what charge counted.
  void discharge(std::uint64_t bytes);

  std::uint64_t capacity() const { return capacity_; }
  std::uint64_t free_bytes() const;
  std::size_t allocation_count() const;

 private:
  struct Allocation {
    std::size_t bytes = 0;
    std::size_t charged = 0;
    std::shared_ptr<MappedRange> range;
    Slab* slab = nullptr;  // null when the range is the allocation's own
  };

  bool map_own_range(std::size_t charged, std::uintptr_t& address, Allocation& allocation);
  bool take_slot(std::size_t charged, std::uintptr_t& address, Allocation& allocation);

  const std::uint64_t capacity_;
  AddressReservation reservation_;
  mutable std::mutex mutex_;
  SlotSlabs slabs_;
  std::map<std::uintptr_t, Allocation> allocations_;
  std::uint64_t charged_ = 0;
  std::size_t own_ranges_ = 0;
};

}  // namespace gridstride::host

#endif
