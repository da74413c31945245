// The table of allocations.
#include "shim/memory/allocation_table.h"

#include <driver_types.h>

#include <iterator>
#include <mutex>

namespace gridstride {

AllocationTable::Entry AllocationTable::prepare(uint64_t bytes, int device) {
  Allocations one;
  one.emplace(0, Allocation{bytes, device, {}});
  return one.extract(one.begin());
}

void AllocationTable::insert(Entry entry, uint64_t address) noexcept {
  entry.key() = address;
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  bytes_ += entry.mapped().bytes;
  allocations_.insert(std::move(entry));
  count_.store(allocations_.size(), std::memory_order_relaxed);
}

AllocationTable::Entry AllocationTable::take(uint64_t address, int device) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  const auto found = allocations_.find(address);
  require(found != allocations_.end() && found->second.device == device, cudaErrorInvalidValue);
  bytes_ -= found->second.bytes;
  Entry taken = allocations_.extract(found);
  count_.store(allocations_.size(), std::memory_order_relaxed);
  return taken;
}

AllocationTable::Line* AllocationTable::last_overlapping(const MemoryRange& range) {
  // Allocations do not overlap, so only the last one that begins before the range ends matters.
  const auto after = allocations_.lower_bound(range.end());
  if (after == allocations_.begin()) return nullptr;
  Line& last = *std::prev(after);
  return extent_of(last).overlaps(range) ? &last : nullptr;
}

Membership AllocationTable::find(const MemoryRange& range, int device) const {
  if (count_.load(std::memory_order_relaxed) == 0) return Membership::outside;
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  const Line* line = last_overlapping(range);
  if (line == nullptr) return Membership::outside;
  const Allocation& allocation = line->second;
  const bool inside = allocation.device == device && extent_of(*line).contains(range) &&
                      allocation.blocks.allow(range);
  return inside ? Membership::inside : Membership::astride;
}

Membership AllocationTable::declare(const MemoryRange& block, int device, bool is_live) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  Line* line = last_overlapping(block);
  if (line == nullptr) return Membership::outside;
  Allocation& allocation = line->second;
  if (allocation.device != device || !extent_of(*line).contains(block)) return Membership::astride;
  allocation.blocks.declare(block, is_live);
  return Membership::inside;
}

BlockAt AllocationTable::find_block(uint64_t address, MemoryRange& block) const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  const Line* line = last_overlapping(MemoryRange{address, 1});
  return line == nullptr ? BlockAt::unknown : line->second.blocks.find(address, block);
}

AllocationTable::Totals AllocationTable::totals() const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  return Totals{allocations_.size(), bytes_};
}

AllocationTable& allocations() {
  // Never destroyed: calls may still be running when the process exits.
  static AllocationTable& table = *new AllocationTable;
  return table;
}

}  // namespace gridstride
