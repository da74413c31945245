// The table of allocations, and what counts as a device's memory.
#include "allocation_table.h"

#include <mutex>

#include "call.h"

namespace gridstride {

AllocationTable::Entry AllocationTable::prepare(uint64_t bytes, int device) {
  Allocations one;
  one.emplace(0, Allocation{bytes, device});
  return one.extract(one.begin());
}

void AllocationTable::insert(Entry entry, uint64_t address) noexcept {
  entry.key() = address;
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  bytes_ += entry.mapped().bytes;
  allocations_.insert(std::move(entry));
}

AllocationTable::Entry AllocationTable::take(uint64_t address, int device) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  const auto found = allocations_.find(address);
  require(found != allocations_.end() && found->second.device == device, cudaErrorInvalidValue);
  bytes_ -= found->second.bytes;
  return allocations_.extract(found);
}

AllocationTable::Membership AllocationTable::find(const MemoryRange& range, int device) const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  // Allocations do not overlap, so only the last one that begins before the range ends matters.
  auto found = allocations_.lower_bound(range.end());
  if (found == allocations_.begin()) return Membership::outside;
  --found;
  const MemoryRange allocation{found->first, found->second.bytes};
  if (!allocation.overlaps(range)) return Membership::outside;
  const bool inside = allocation.contains(range) && found->second.device == device;
  return inside ? Membership::inside : Membership::astride;
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

namespace {

void require_foreign_memory(uint64_t address, int device) {
  cudaPointerAttributes attributes = {};
  GS_CALL(cudaPointerGetAttributes, &attributes,
          reinterpret_cast<const void*>(static_cast<uintptr_t>(address)));
  const bool on_device = attributes.type == cudaMemoryTypeDevice && attributes.device == device;
  require(on_device || attributes.type == cudaMemoryTypeManaged, cudaErrorInvalidValue);
}

}  // namespace

void require_device_memory(const MemoryRange& range, int device) {
  const AllocationTable::Membership membership = allocations().find(range, device);
  if (__builtin_expect(membership == AllocationTable::Membership::inside, 1)) return;
  require(membership == AllocationTable::Membership::outside, cudaErrorInvalidValue);
  // The first and the last byte; CUDA's own check sees what lies between.
  require_foreign_memory(range.address, device);
  require_foreign_memory(range.end() - 1, device);
}

}  // namespace gridstride
