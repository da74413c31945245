// Reserving arenas, and ranges within them.
#include "host/memory/virtual_addresses.h"

#include <algorithm>
#include <iterator>

#include "host/memory/address_space.h"

namespace gridstride::host {
namespace {

// Room for stale addresses. Address space costs nothing until something is put behind it.
constexpr std::size_t ordinary_arena_bytes = std::size_t{1} << 40;

std::size_t rounded(std::size_t bytes) { return round_up(bytes, virtual_granularity); }

}  // namespace

bool VirtualAddresses::add_arena(std::size_t bytes) {
  const std::size_t count = arena_count_.load(std::memory_order_relaxed);
  if (count == arenas_.size()) return false;
  std::size_t arena_bytes = 0;
  const std::size_t wanted = std::max(bytes, ordinary_arena_bytes);
  const std::uintptr_t start = reserve_addresses(wanted, bytes, arena_bytes);
  if (start == 0) return false;
  free_.give_back(start, arena_bytes);
  arenas_[count] = {start, start + arena_bytes};
  arena_count_.store(count + 1, std::memory_order_release);
  return true;
}

// What follows a range is left free, so that overrunning it faults; a hint may name it nonetheless.
std::uintptr_t VirtualAddresses::take(std::size_t bytes, std::size_t alignment) {
  const std::uintptr_t start = free_.take(bytes + virtual_granularity, alignment);
  if (start != 0) free_.give_back(start + bytes, virtual_granularity);
  return start;
}

std::uintptr_t VirtualAddresses::reserve(std::size_t bytes, std::size_t alignment,
                                         std::uintptr_t hint) {
  // Then no sum below overflows.
  if (bytes > address_limit || alignment > address_limit) return 0;
  const std::size_t taken = rounded(bytes);
  std::uintptr_t start = 0;
  if (hint != 0 && hint % alignment == 0 && free_.take_at(hint, taken)) {
    start = hint;
  } else {
    start = take(taken, alignment);
    // Wherever the arena begins, it has an aligned address with enough behind it.
    if (start == 0 && add_arena(taken + virtual_granularity + alignment)) {
      start = take(taken, alignment);
    }
  }
  if (start != 0) reserved_.emplace(start, bytes);
  return start;
}

bool VirtualAddresses::is_reserved(std::uintptr_t start, std::size_t bytes) const {
  const auto range = reserved_.find(start);
  return range != reserved_.end() && range->second == bytes;
}

void VirtualAddresses::release(std::uintptr_t start) {
  const auto range = reserved_.find(start);
  free_.give_back(start, rounded(range->second));
  reserved_.erase(range);
}

bool VirtualAddresses::is_within_one(std::uintptr_t start, std::size_t bytes) const {
  auto range = reserved_.upper_bound(start);
  if (range == reserved_.begin()) return false;
  --range;
  const std::size_t offset = start - range->first;
  return offset <= range->second && bytes <= range->second - offset;
}

bool VirtualAddresses::contains(std::uintptr_t start, std::size_t bytes) const {
  const std::size_t count = arena_count_.load(std::memory_order_acquire);
  return std::any_of(arenas_.begin(), arenas_.begin() + count, [&](const Arena& arena) {
    return start < arena.limit && (start >= arena.start || bytes > arena.start - start);
  });
}

}  // namespace gridstride::host
