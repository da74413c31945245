// Reserving, mapping and unmapping address space.
#include "address_reservation.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace gridstride::host {
namespace {

constexpr std::size_t kibibyte = 1024;
constexpr std::size_t mebibyte = 1024 * kibibyte;
constexpr std::size_t gibibyte = 1024 * mebibyte;

// Kernels dereference device addresses, JavaScript holds them in doubles, and some code packs them
// into 48 bits with a sign: CUDA's own stay below 2^47.
constexpr std::uintptr_t address_limit = std::uintptr_t{1} << 47;

// The gap is wider than a page, so that a loop that overruns by a stride hits it as well.
constexpr std::size_t gap_bytes = 64 * kibibyte;

// Every mapping and every gap is an entry of the kernel's map, of which a process has 65530 by
// default. Beyond this number of mappings the gap is left out: neighbours then share an entry.
constexpr int most_guarded_extents = 8192;
std::atomic<int> live_extents{0};

// From here on memory is worth huge pages, which need a boundary that is aligned to them.
constexpr std::size_t huge_page_bytes = 2 * mebibyte;
constexpr std::size_t huge_page_threshold = 2 * huge_page_bytes;

std::size_t page_bytes() {
  static const std::size_t bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::uintptr_t round_up(std::uintptr_t value, std::size_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

void* map_pages(void* address, std::size_t bytes, int protection, int more_flags) {
  return mmap(address, bytes, protection,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | more_flags, -1, 0);
}

// Systems with more than 47 address bits choose high addresses unless asked for low ones.
void* reserve_below_limit(std::size_t bytes) {
  constexpr std::uintptr_t hint_stride = std::uintptr_t{1} << 42;
  for (std::uintptr_t hint = 0; hint + bytes <= address_limit; hint += hint_stride) {
    void* const base = map_pages(reinterpret_cast<void*>(hint), bytes, PROT_NONE, 0);
    if (base == MAP_FAILED) return nullptr;
    if (reinterpret_cast<std::uintptr_t>(base) + bytes <= address_limit) return base;
    munmap(base, bytes);
  }
  return nullptr;
}

}  // namespace

bool AddressReservation::reserve() {
  if (size_.load(std::memory_order_relaxed) != 0) return true;
  // Room for stale addresses; where address space is limited (ulimit -v), less of it.
  const std::size_t least = round_up(2 * capacity_ + mebibyte, huge_page_bytes);
  std::size_t size = std::max(2 * least, 64 * gibibyte);
  void* base = reserve_below_limit(size);
  while (base == nullptr && size / 2 >= least) {
    size = round_up(size / 2, page_bytes());
    base = reserve_below_limit(size);
  }
  if (base == nullptr) return false;
  const auto start = reinterpret_cast<std::uintptr_t>(base);
  free_.emplace(start, start + size);
  position_ = start;
  base_.store(start, std::memory_order_relaxed);
  size_.store(size, std::memory_order_release);
  return true;
}

// The first free range at or behind the position, of which the part before it does not count.
MappedExtent AddressReservation::place_from(std::uintptr_t position, std::size_t bytes,
                                            std::size_t gap, std::size_t end_alignment) {
  auto range = free_.upper_bound(position);
  if (range != free_.begin()) --range;
  for (; range != free_.end(); ++range) {
    const std::uintptr_t first = std::max(range->first, position);
    const std::uintptr_t end = round_up(first + bytes, end_alignment);
    const std::uintptr_t limit = end + gap;
    if (limit > range->second) continue;
    const MappedExtent extent = {end - bytes, end, limit};
    const auto [free_start, free_limit] = *range;
    range = free_.erase(range);
    if (limit < free_limit) range = free_.emplace_hint(range, limit, free_limit);
    if (free_start < extent.start) free_.emplace_hint(range, free_start, extent.start);
    position_ = limit;
    return extent;
  }
  return {};
}

MappedExtent AddressReservation::place(std::size_t bytes, std::size_t gap,
                                       std::size_t end_alignment) {
  const MappedExtent extent = place_from(position_, bytes, gap, end_alignment);
  if (extent.end != 0) return extent;
  return place_from(base_.load(std::memory_order_relaxed), bytes, gap, end_alignment);
}

void AddressReservation::give_back(std::uintptr_t start, std::uintptr_t limit) {
  auto next = free_.lower_bound(start);
  if (next != free_.end() && next->first == limit) {
    limit = next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    if (previous->second == start) {
      previous->second = limit;
      return;
    }
  }
  free_.emplace_hint(next, start, limit);
}

MappedExtent AddressReservation::map(std::size_t bytes) {
  const std::size_t rounded = round_up(bytes, page_bytes());
  const bool huge = rounded >= huge_page_threshold;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!reserve()) return {};
  const std::size_t gap =
      live_extents.load(std::memory_order_relaxed) < most_guarded_extents ? gap_bytes : 0;
  const MappedExtent extent = place(rounded, gap, huge ? huge_page_bytes : page_bytes());
  if (extent.end == 0) return {};
  void* const address = reinterpret_cast<void*>(extent.start);
  if (map_pages(address, rounded, PROT_READ | PROT_WRITE, MAP_FIXED) == MAP_FAILED) {
    give_back(extent.start, extent.limit);
    return {};
  }
#ifdef MADV_HUGEPAGE
  // Advice: where it is refused, small pages serve as well.
  if (huge) (void)madvise(address, rounded, MADV_HUGEPAGE);
#endif
  live_extents.fetch_add(1, std::memory_order_relaxed);
  return extent;
}

void AddressReservation::unmap(const MappedExtent& extent) {
  void* const address = reinterpret_cast<void*>(extent.start);
  const std::size_t bytes = extent.end - extent.start;
  const std::lock_guard<std::mutex> lock(mutex_);
  // Splitting an entry of a full map fails: then the memory goes back and the range stays open.
  if (map_pages(address, bytes, PROT_NONE, MAP_FIXED) == MAP_FAILED) {
    (void)madvise(address, bytes, MADV_DONTNEED);
  }
  live_extents.fetch_sub(1, std::memory_order_relaxed);
  give_back(extent.start, extent.limit);
}

}  // namespace gridstride::host
