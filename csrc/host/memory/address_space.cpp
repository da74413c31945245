// Anonymous mappings at chosen addresses.
#include "host/memory/address_space.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace gridstride::host {
namespace {

void* map_pages(std::uintptr_t address, std::size_t bytes, int protection, int more_flags) {
  return mmap(reinterpret_cast<void*>(address), bytes, protection,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | more_flags, -1, 0);
}

// Systems with more than 47 address bits choose high addresses unless the caller requests low ones.
std::uintptr_t reserve_below_limit(std::size_t bytes) {
  constexpr std::uintptr_t hint_stride = std::uintptr_t{1} << 42;
  if (bytes > address_limit) return 0;
  for (std::uintptr_t hint = 0; hint <= address_limit - bytes; hint += hint_stride) {
    void* const base = map_pages(hint, bytes, PROT_NONE, 0);
    if (base == MAP_FAILED) return 0;
    const auto start = reinterpret_cast<std::uintptr_t>(base);
    if (start <= address_limit - bytes) return start;
    munmap(base, bytes);
  }
  return 0;
}

}  // namespace

std::size_t page_bytes() {
  static const std::size_t bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::uintptr_t reserve_addresses(std::size_t wanted, std::size_t least, std::size_t& bytes) {
  bytes = wanted;
  std::uintptr_t start = reserve_below_limit(bytes);
  while (start == 0 && bytes / 2 >= least) {
    bytes = round_up(bytes / 2, page_bytes());
    start = reserve_below_limit(bytes);
  }
  return start;
}

bool map_private_memory(std::uintptr_t address, std::size_t bytes) {
  return map_pages(address, bytes, PROT_READ | PROT_WRITE, MAP_FIXED) != MAP_FAILED;
}

bool make_inaccessible(std::uintptr_t address, std::size_t bytes) {
  return map_pages(address, bytes, PROT_NONE, MAP_FIXED) != MAP_FAILED;
}

// ---- searching, cutting and joining free ranges -------------------------------------------------

void AddressCircle::cut(Ranges::iterator range, std::uintptr_t start, std::uintptr_t limit) {
  const auto [free_start, free_limit] = *range;
  range = free_.erase(range);
  if (limit < free_limit) range = free_.emplace_hint(range, limit, free_limit);
  if (free_start < start) free_.emplace_hint(range, free_start, start);
  position_ = limit;
}

// The first fitting range at or behind the position, of which the part before it does not count.
std::uintptr_t AddressCircle::take_from(std::uintptr_t position, std::size_t bytes,
                                        std::size_t alignment, std::size_t anchor) {
  auto range = free_.upper_bound(position);
  if (range != free_.begin()) --range;
  for (; range != free_.end(); ++range) {
    const std::uintptr_t first = std::max(range->first, position);
    const std::uintptr_t limit = range->second;
    if (first >= limit || bytes > limit - first) continue;
    const std::uintptr_t start = round_up(first + anchor, alignment) - anchor;
    if (start > limit - bytes) continue;
    cut(range, start, start + bytes);
    return start;
  }
  return 0;
}

std::uintptr_t AddressCircle::take(std::size_t bytes, std::size_t alignment, std::size_t anchor) {
  const std::uintptr_t start = take_from(position_, bytes, alignment, anchor);
  return start != 0 ? start : take_from(0, bytes, alignment, anchor);
}

bool AddressCircle::take_at(std::uintptr_t start, std::size_t bytes) {
  auto range = free_.upper_bound(start);
  if (range == free_.begin()) return false;
  --range;
  if (start >= range->second || bytes > range->second - start) return false;
  cut(range, start, start + bytes);
  return true;
}

void AddressCircle::give_back(std::uintptr_t start, std::size_t bytes) {
  std::uintptr_t limit = start + bytes;
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

}  // namespace gridstride::host
