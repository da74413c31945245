// The address range of one device: reserved once, inaccessible but for the mappings inside it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "gridstride/runtime_types.h"
#include "host/device/live_handles.h"
#include "host/memory/address_space.h"

namespace gridstride::host {

// Part of a reservation: accessible from start to end, then an inaccessible gap to limit.
struct MappedExtent {
  std::uintptr_t start = 0;
  std::uintptr_t end = 0;
  std::uintptr_t limit = 0;
};

// Thread-safe. Reservations live as long as the process.
class AddressReservation {
 public:
  // Reserves address space worth several times capacity on the first call of map.
  explicit AddressReservation(std::uint64_t capacity) : capacity_(capacity) {}

  // At least `bytes` of fresh zeroed memory; an empty extent when there is no address space or the
  // system refuses. Pages take up memory when they are first written to.
  MappedExtent map(std::size_t bytes);

  // Makes the extent inaccessible and gives its memory back.
  void unmap(const MappedExtent& extent);

  bool contains(std::uintptr_t address) const {
    // In this order: a thread that sees the size finds its base.
    const std::uintptr_t size = size_.load(std::memory_order_acquire);
    return address - base_.load(std::memory_order_relaxed) < size;
  }

 private:
  bool reserve();

  const std::uint64_t capacity_;
  std::mutex mutex_;
  // size_ is written last and read first: 0 means not reserved yet.
  std::atomic<std::uintptr_t> base_{0};
  std::atomic<std::uintptr_t> size_{0};
  AddressCircle free_;
};

// Accessible memory of a device, shared by all operations that may still touch it.

// An allocation and every queued copy from or to it share one of these: memory that was freed
// while a copy of another device's stream is under way becomes inaccessible after that copy.
class MappedRange : private Counted<MappedRange> {
 public:
  using Counted<MappedRange>::live;

  // Null when the system has no address space or memory for it.
  static std::shared_ptr<MappedRange> map(AddressReservation& reservation, std::size_t bytes) {
    const MappedExtent extent = reservation.map(bytes);
    if (extent.end == 0) return nullptr;
    return std::make_shared<MappedRange>(reservation, extent);
  }

  MappedRange(AddressReservation& reservation, const MappedExtent& extent)
      : reservation_(reservation), extent_(extent) {}
  ~MappedRange() { reservation_.unmap(extent_); }

  std::uintptr_t start() const { return extent_.start; }
  std::uintptr_t end() const { return extent_.end; }

 private:
  AddressReservation& reservation_;
  const MappedExtent extent_;
};

// Small allocations in large numbers: slots of equal size cut from shared mappings.

class Slab;

struct Slot {
  std::uintptr_t address = 0;
  Slab* slab = nullptr;
};

// Not thread-safe: guarded by the DeviceMemory that owns it.
class SlotSlabs {
 public:
  // Slots of this size and more are not worth sharing a mapping.
  static constexpr std::size_t largest_slot = 64 * 1024;

  explicit SlotSlabs(AddressReservation& reservation) : reservation_(reservation) {}

  // slot_bytes is a multiple of the allocation granularity below largest_slot. The slot that has
  // been free for longest is taken. An empty slot when nothing can be mapped.
  Slot take(std::size_t slot_bytes);
  void give_back(const Slot& slot);

  static std::shared_ptr<MappedRange> range_of(const Slab& slab);

 private:
  Slab* open_slab(std::size_t slot_bytes);

  AddressReservation& reservation_;
  std::map<std::uintptr_t, std::unique_ptr<Slab>> slabs_;
  // By slot size, the slabs that have a free slot.
  std::map<std::size_t, std::set<Slab*>> open_;
};

class Slab {
 public:
  Slab(std::shared_ptr<MappedRange> range, std::size_t slot_bytes);

  std::uintptr_t take();
  void give_back(std::uintptr_t address) { free_.push_back(address); }

  bool is_full() const { return free_.empty(); }
  bool is_unused() const { return free_.size() == slots_; }
  std::size_t slot_bytes() const { return slot_bytes_; }
  const std::shared_ptr<MappedRange>& range() const { return range_; }

 private:
  const std::shared_ptr<MappedRange> range_;
  const std::size_t slot_bytes_;
  std::size_t slots_ = 0;
  std::deque<std::uintptr_t> free_;
};

// The memory of one device: its capacity, its allocations, and the check of every address that the
// API is given.

// Where an allocation ends an inaccessible gap begins: a kernel that runs past it faults. This
// holds for all but small allocations beyond the first thousands, which lie side by side in slabs,
// and stops short by the rounding to 512 bytes. Thread-safe.
class DeviceMemory {
 public:
  // What cudaMalloc aligns addresses to and rounds sizes up to.
  static constexpr std::size_t granularity = 512;

  explicit DeviceMemory(std::uint64_t capacity)
      : capacity_(capacity), reservation_(capacity), slabs_(reservation_) {}

  // Null when the capacity or the machine does not allow it. Pages are not committed: a fake device
  // may hold more than the machine as long as not all of it is written.
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
