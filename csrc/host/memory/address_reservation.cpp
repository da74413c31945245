// Reserving, mapping and unmapping address space.
#include "host/memory/address_reservation.h"

#include <sys/mman.h>

#include <algorithm>

#include "host/memory/address_space.h"

namespace gridstride::host {
namespace {

constexpr std::size_t kibibyte = 1024;
constexpr std::size_t mebibyte = 1024 * kibibyte;
constexpr std::size_t gibibyte = 1024 * mebibyte;

// The gap is wider than a page, so that a loop that overruns by a stride hits it as well.
constexpr std::size_t gap_bytes = 64 * kibibyte;

// Every mapping and every gap is an entry of the kernel's map, of which a process has 65530 by
// default. Beyond this number of mappings the gap is left out: neighbours then share an entry.
constexpr int most_guarded_extents = 8192;
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
      live_extents.load(std::memory_order_relaxed) < most_guarded_extents ? gap_bytes : 0;
  // Aligned is the end: memory is laid out towards it, so that overrunning it meets the gap.
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

}  // namespace gridstride::host
