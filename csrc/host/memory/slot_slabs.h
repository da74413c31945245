// Small allocations in large numbers: slots of equal size cut from shared mappings.
#ifndef GRIDSTRIDE_HOST_SLOT_SLABS_H
#define GRIDSTRIDE_HOST_SLOT_SLABS_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "host/memory/mapped_range.h"

namespace gridstride::host {

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

}  // namespace gridstride::host

#endif
