// Reserving, mapping and unmapping address space.
#include "host/memory/device_memory.h"

#include <sys/mman.h>

#include <algorithm>

#include "host/memory/address_space.h"

namespace gridstride::host {
namespace {

constexpr std::size_t kibibyte = 1024;
constexpr std::size_t mebibyte = 1024 * kibibyte;
constexpr std::size_t gibibyte = 1024 * mebibyte;

// The gap is wider than a page: a loop that overruns by a stride hits it as well.
constexpr std::size_t gap_bytes = 64 * kibibyte;

// Every mapping and every gap is an entry of the kernel's map, of which a process has 65530 by
// default. Beyond this number of mappings the gap is left out: neighbours then share an entry.
constexpr int max_guarded_extents = 8192;
std::atomic<int> live_extents{0};

// From here on memory is worth huge pages, which need a boundary that is aligned to them.
constexpr std::size_t huge_page_bytes = 2 * mebibyte;
constexpr std::size_t huge_page_threshold = 2 * huge_page_bytes;

}  // namespace

bool AddressReservation::reserve() {
  if (size_.load(std::memory_order_relaxed) != 0) return true;
  // Room for stale addresses; where address space is limited (ulimit -v), less of it.
  const std::size_t least = round_up(2 * capacity_ + mebibyte, huge_page_bytes);
  std::size_t size = 0;
  const std::uintptr_t start = reserve_addresses(std::max(2 * least, 64 * gibibyte), least, size);
  if (start == 0) return false;
  free_.give_back(start, size);
  base_.store(start, std::memory_order_relaxed);
  size_.store(size, std::memory_order_release);
  return true;
}

MappedExtent AddressReservation::map(std::size_t bytes) {
  const std::size_t rounded = round_up(bytes, page_bytes());
  const bool huge = rounded >= huge_page_threshold;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!reserve()) return {};
  const std::size_t gap =
      live_extents.load(std::memory_order_relaxed) < max_guarded_extents ? gap_bytes : 0;
  // The end is aligned: memory is laid out towards it, and overrunning it meets the gap.
  const std::uintptr_t start =
      free_.take(rounded + gap, huge ? huge_page_bytes : page_bytes(), rounded);
  if (start == 0) return {};
  const MappedExtent extent = {start, start + rounded, start + rounded + gap};
  if (!map_private_memory(start, rounded)) {
    free_.give_back(start, rounded + gap);
    return {};
  }
#ifdef MADV_HUGEPAGE
  // Advice: where it is refused, small pages serve as well.
  if (huge) (void)madvise(reinterpret_cast<void*>(start), rounded, MADV_HUGEPAGE);
#endif
  live_extents.fetch_add(1, std::memory_order_relaxed);
  return extent;
}

void AddressReservation::unmap(const MappedExtent& extent) {
  const std::size_t bytes = extent.end - extent.start;
  const std::lock_guard<std::mutex> lock(mutex_);
  // Splitting an entry of a full map fails: then the memory goes back and the range stays open.
  if (!make_inaccessible(extent.start, bytes)) {
    (void)madvise(reinterpret_cast<void*>(extent.start), bytes, MADV_DONTNEED);
  }
  live_extents.fetch_sub(1, std::memory_order_relaxed);
  free_.give_back(extent.start, extent.limit - extent.start);
}

// ---- slabs, mapped when a size has no free slot and unmapped with their last slot ---------------

namespace {

constexpr std::size_t slab_bytes = std::size_t{2} << 20;

}  // namespace

Slab::Slab(std::shared_ptr<MappedRange> range, std::size_t slot_bytes)
    : range_(std::move(range)), slot_bytes_(slot_bytes) {
  // Slots are laid out from the end: overrunning the last one meets the gap.
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

// ---- allocations --------------------------------------------------------------------------------

namespace {

// While there are fewer mappings than this, small allocations too get one, and thereby a gap, of
// their own. Each takes two entries of the system's map of the process (see AddressReservation).
constexpr std::size_t max_small_ranges = 4096;

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
                      own_ranges_ >= max_small_ranges;
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
