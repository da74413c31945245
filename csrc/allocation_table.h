// The device memory that gs_memory_allocate gave out and that is not yet freed.
//
// JavaScript names memory by address. The table makes a wrong address an error: only what is in it
// is freed, and a copy or set must stay inside one allocation, or inside memory that CUDA says
// another library has allocated.
#ifndef GRIDSTRIDE_ALLOCATION_TABLE_H
#define GRIDSTRIDE_ALLOCATION_TABLE_H

#include <map>
#include <shared_mutex>

#include "memory_range.h"

namespace gridstride {

class AllocationTable {
  struct Allocation {
    uint64_t bytes = 0;
    int device = no_device;
  };
  using Allocations = std::map<uint64_t, Allocation>;  // by address

 public:
  // A line of the table, in it or taken out of it.
  using Entry = Allocations::node_type;

  enum class Membership { inside, outside, astride };

  struct Totals {
    uint64_t allocations = 0;
    uint64_t bytes = 0;
  };

  // Made before the memory is: once the memory exists nothing may fail.
  static Entry prepare(uint64_t bytes, int device);

  void insert(Entry entry, uint64_t address) noexcept;

  // The allocation that begins at address on this device; throws cudaErrorInvalidValue when there
  // is none. Its memory is freed after it is taken out, so that no other thread that is given the
  // same address anew meets the old line.
  Entry take(uint64_t address, int device);

  // `astride`: it overlaps an allocation without lying inside one of this device.
  Membership find(const MemoryRange& range, int device) const;

  Totals totals() const;

 private:
  mutable std::shared_mutex mutex_;
  Allocations allocations_;
  uint64_t bytes_ = 0;
};

AllocationTable& allocations();

// Throws cudaErrorInvalidValue unless all of the range is memory of this device: an allocation of
// ours, or what CUDA knows as device or managed memory of another library. The device is current.
void require_device_memory(const MemoryRange& range, int device);

}  // namespace gridstride

#endif
