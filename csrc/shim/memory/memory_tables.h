// Tables of the device memory that this library allocated or mapped.
//
// JavaScript names memory by address. The tables turn a wrong address into an error: a call frees
// and touches only memory that is in a table.
#pragma once

#include <driver_types.h>

#include <atomic>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "shim/memory/memory.h"

namespace gridstride {

// The blocks into which the owner of some memory, such as a pool, divides it. From the first
// declaration on, only live blocks may be touched. Guarded by the lock of the table.
class DeclaredBlocks {
 public:
  // Throws cudaErrorInvalidValue when a live block overlaps a new one, and when the block to end is
  // not exactly a live one.
  void declare(const MemoryRange& block, bool is_live);

  // Forgets every block that reaches into the range, because its memory is gone.
  void forget(const MemoryRange& range) noexcept;

  // Ends the division: the next owner of the memory declares its own blocks.
  void reset() noexcept;

  // Whether declarations let a call touch all of the range.
  bool allow(const MemoryRange& range) const;

  // Sets `block` if the answer is `live`.
  BlockAt find(uint64_t address, MemoryRange& block) const;

 private:
  bool is_divided_ = false;
  std::map<uint64_t, uint64_t> live_;  // address and bytes; they do not overlap
};

// Ranges of memory by address. They do not overlap. A Holding has bytes, device, blocks,
// `bool is_removable() const` and `bool has_memory(offset, bytes) const`.
template <class Holding>
class RangeTable {
 protected:
  using Holdings = std::map<uint64_t, Holding>;
  using Line = typename Holdings::value_type;

 public:
  // A line of the table. It is made before the memory is: nothing may fail once the memory exists.
  using Entry = typename Holdings::node_type;

  void insert(Entry entry, uint64_t address) noexcept {
    entry.key() = address;
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    bytes_ += entry.mapped().bytes;
    holdings_.insert(std::move(entry));
    count_.store(holdings_.size(), std::memory_order_relaxed);
  }

  // Removes the range that begins at address on this device; throws cudaErrorInvalidValue when
  // there is none. The caller frees the memory afterwards: another thread that receives the same
  // address does not meet the old line.
  Entry take(uint64_t address, int device) {
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    const auto found = holdings_.find(address);
    require(found != holdings_.end() && found->second.device == device &&
                found->second.is_removable(),
            cudaErrorInvalidValue);
    bytes_ -= found->second.bytes;
    Entry taken = holdings_.extract(found);
    count_.store(holdings_.size(), std::memory_order_relaxed);
    return taken;
  }

  Membership find(const MemoryRange& range, int device) const {
    if (count_.load(std::memory_order_relaxed) == 0) return Membership::outside;
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    const Line* line = last_overlapping(range);
    if (line == nullptr) return Membership::outside;
    const bool inside = holds(*line, range, device) && line->second.blocks.allow(range);
    return inside ? Membership::inside : Membership::astride;
  }

  // The ranges that an isolate allocated or reserved, and their devices.
  std::vector<std::pair<MemoryRange, int>> owned_by(int32_t isolate) const {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    std::vector<std::pair<MemoryRange, int>> found;
    for (const Line& line : holdings_) {
      if (line.second.isolate == isolate) found.emplace_back(extent_of(line), line.second.device);
    }
    return found;
  }

  // Declares the block live or ended if it lies in one range of the device.
  Membership declare(const MemoryRange& block, int device, bool is_live) {
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    Line* line = last_overlapping(block);
    if (line == nullptr) return Membership::outside;
    if (!holds(*line, block, device)) return Membership::astride;
    line->second.blocks.declare(block, is_live);
    return Membership::inside;
  }

  // Sets `block` if the answer is `live`.
  BlockAt find_block(uint64_t address, MemoryRange& block) const {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    const Line* line = last_overlapping(MemoryRange{address, 1});
    if (line == nullptr || !line->second.has_memory(address - line->first, 1)) {
      return BlockAt::unknown;
    }
    return line->second.blocks.find(address, block);
  }

 protected:
  static MemoryRange extent_of(const Line& line) {
    return MemoryRange{line.first, line.second.bytes};
  }

  // Null when no range overlaps. The caller holds the lock. Only the last range that begins before
  // the end can overlap.
  Line* last_overlapping(const MemoryRange& range) {
    const auto after = holdings_.lower_bound(range.end());
    if (after == holdings_.begin()) return nullptr;
    Line& last = *std::prev(after);
    return extent_of(last).overlaps(range) ? &last : nullptr;
  }
  const Line* last_overlapping(const MemoryRange& range) const {
    return const_cast<RangeTable*>(this)->last_overlapping(range);
  }

  mutable std::shared_mutex mutex_;
  Holdings holdings_;
  uint64_t bytes_ = 0;
  std::atomic<uint64_t> count_{0};  // lets find() skip the lock of an empty table

 private:
  static bool holds(const Line& line, const MemoryRange& range, int device) {
    return line.second.device == device && extent_of(line).contains(range) &&
           line.second.has_memory(range.address - line.first, range.bytes);
  }
};

struct Allocation {
  uint64_t bytes = 0;
  int device = no_device;
  DeclaredBlocks blocks = {};
  int32_t isolate = thread_state.isolate;

  bool is_removable() const { return true; }
  bool has_memory(uint64_t, uint64_t) const { return true; }
};

// The memory that gs_memory_allocate returned and that is not yet freed.
class AllocationTable : public RangeTable<Allocation> {
 public:
  struct Totals {
    uint64_t allocations = 0;
    uint64_t bytes = 0;
  };

  static Entry prepare(uint64_t bytes, int device);

  Totals totals() const;
};

AllocationTable& allocations();

// A reservation keeps a byte for each page. Memory is mapped in pieces and unmapped in whole
// pieces, whichever calls mapped them.
struct AddressReservation {
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

  uint64_t bytes = 0;
  uint64_t page_bytes = 0;
  int device = no_device;
  std::unique_ptr<uint8_t[], Free> pages;
  uint64_t pages_in_use = 0;
  DeclaredBlocks blocks;
  int32_t isolate = thread_state.isolate;

  bool is_removable() const { return pages_in_use == 0; }
  bool has_memory(uint64_t offset, uint64_t bytes) const;
};

// The ranges of addresses that gs_virtual_reserve returned, and their mapped pages.
//
// While CUDA maps or unmaps, the pages belong to the calling thread: it claims them first and
// settles them afterwards. To all other threads claimed pages neither hold memory nor have room.
class MappingTable : public RangeTable<AddressReservation> {
 public:
  struct Totals {
    uint64_t reservations = 0;
    uint64_t mapped_bytes = 0;
  };

  static Entry prepare(uint64_t bytes, uint64_t page_bytes, int device);

  // Claims pages without memory, for pieces of piece_bytes of which the last may be shorter. Throws
  // cudaErrorInvalidValue if the range is not inside one reservation of the device or has memory,
  // GS_ERROR_ALIGNMENT if it or the pieces are not whole pages.
  void claim_empty(const MemoryRange& range, uint64_t piece_bytes, int device);

  // The first mapped_bytes of a range from claim_empty, whole pieces, now have memory.
  void settle_mapped(const MemoryRange& range, uint64_t mapped_bytes) noexcept;

  // Claims whole pieces; throws cudaErrorInvalidValue for any other range.
  void claim_pieces(const MemoryRange& range, int device);

  // Only the first kept_bytes of a range from claim_pieces, whole pieces, still have memory.
  void settle_unmapped(const MemoryRange& range, uint64_t kept_bytes) noexcept;

  // The last piece of a claimed range.
  MemoryRange last_piece(const MemoryRange& range) const noexcept;

  // Throws cudaErrorInvalidValue unless the range is whole pieces.
  void require_pieces(const MemoryRange& range, int device) const;

  // The parts of an isolate's reservations that have memory, and their devices.
  std::vector<std::pair<MemoryRange, int>> mapped_by(int32_t isolate) const;

  Totals totals() const;

 private:
  // The reservation of the device that contains the range. The caller holds the lock.
  Line& holder(const MemoryRange& range, int device);
  const Line& holder(const MemoryRange& range, int device) const {
    return const_cast<MappingTable*>(this)->holder(range, device);
  }

  uint64_t mapped_bytes_ = 0;
};

MappingTable& mappings();

}  // namespace gridstride
