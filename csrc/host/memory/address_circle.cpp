// Searching, cutting and joining free ranges.
#include "host/memory/address_circle.h"

#include <algorithm>
#include <iterator>

#include "host/memory/address_space.h"

namespace gridstride::host {

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
