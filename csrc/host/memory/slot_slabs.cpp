// Slabs are opened when a size has no free slot left and unmapped when their last slot returns.
#include "host/memory/slot_slabs.h"

namespace gridstride::host {
namespace {

constexpr std::size_t slab_bytes = std::size_t{2} << 20;

}  // namespace

Slab::Slab(std::shared_ptr<MappedRange> range, std::size_t slot_bytes)
    : range_(std::move(range)), slot_bytes_(slot_bytes) {
  // Slots are laid out from the end, so that overrunning the last one meets the gap.
  for (std::uintptr_t address = range_->end() - slot_bytes; address >= range_->start();
       address -= slot_bytes) {
    free_.push_back(address);
  }
  slots_ = free_.size();
}

std::uintptr_t Slab::take() {
  const std::uintptr_t address = free_.front();
  free_.pop_front();
  return address;
}

std::shared_ptr<MappedRange> SlotSlabs::range_of(const Slab& slab) { return slab.range(); }

Slab* SlotSlabs::open_slab(std::size_t slot_bytes) {
  std::set<Slab*>& open = open_[slot_bytes];
  if (!open.empty()) return *open.begin();
  std::shared_ptr<MappedRange> range = MappedRange::map(reservation_, slab_bytes);
  if (range == nullptr) return nullptr;
  const std::uintptr_t start = range->start();
  auto slab = std::make_unique<Slab>(std::move(range), slot_bytes);
  Slab* const opened = slab.get();
  slabs_.emplace(start, std::move(slab));
  open.insert(opened);
  return opened;
}

Slot SlotSlabs::take(std::size_t slot_bytes) {
  Slab* const slab = open_slab(slot_bytes);
  if (slab == nullptr) return {};
  const Slot slot = {slab->take(), slab};
  if (slab->is_full()) open_[slot_bytes].erase(slab);
  return slot;
}

void SlotSlabs::give_back(const Slot& slot) {
  Slab* const slab = slot.slab;
  std::set<Slab*>& open = open_[slab->slot_bytes()];
  if (slab->is_full()) open.insert(slab);
  slab->give_back(slot.address);
  if (!slab->is_unused()) return;
  open.erase(slab);
  slabs_.erase(slab->range()->start());
}

}  // namespace gridstride::host
