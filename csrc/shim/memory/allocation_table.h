// The device memory that gs_memory_allocate gave out and that is not yet freed.
//
// JavaScript names memory by address. The table makes a wrong address an error: only what is in it
// is freed.
#ifndef GRIDSTRIDE_ALLOCATION_TABLE_H
#define GRIDSTRIDE_ALLOCATION_TABLE_H

#include <atomic>
#include <map>
#include <shared_mutex>

#include "shim/memory/declared_blocks.h"
#include "shim/memory/membership.h"

namespace gridstride {

class AllocationTable {
  struct Allocation {
    uint64_t bytes = 0;
    int device = no_device;
    DeclaredBlocks blocks;
  };
  using Allocations = std::map<uint64_t, Allocation>;  // by address
  using Line = Allocations::value_type;

 public:
  // A line of the table, in it or taken out of it.
  using Entry = Allocations::node_type;

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

  // Where the range lies, seen from device's allocations.
  Membership find(const MemoryRange& range, int device) const;

  // Declares the block live or ended where it lies inside an allocation of the device; returns
  // where it lies.
  Membership declare(const MemoryRange& block, int device, bool is_live);

  // The live block, if that is the answer, goes to block.
  BlockAt find_block(uint64_t address, MemoryRange& block) const;

  Totals totals() const;

 private:
  static MemoryRange extent_of(const Line& line) {
    return MemoryRange{line.first, line.second.bytes};
  }

  // Null when none does. The caller holds the lock.
  Line* last_overlapping(const MemoryRange& range);
  const Line* last_overlapping(const MemoryRange& range) const {
    return const_cast<AllocationTable*>(this)->last_overlapping(range);
  }

  mutable std::shared_mutex mutex_;
  Allocations allocations_;
  uint64_t bytes_ = 0;
  // So that memory checks of a process whose memory is all mapped take no lock here.
  std::atomic<uint64_t> count_{0};
};

AllocationTable& allocations();

}  // namespace gridstride

#endif
