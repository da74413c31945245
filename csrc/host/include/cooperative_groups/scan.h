// CUDA's name for prefix sums over the threads of a tile or a coalesced group.
#pragma once

#include "../cooperative_groups.h"

namespace cooperative_groups {

// The values of all threads up to the calling one, combined in the order of their ranks.
template <class Group, class T, class Operation>
GS_HOST_INLINE T inclusive_scan(const Group& group, T value, Operation&& operation) {
  using namespace gridstride::host;
  const LaneGroup lanes(group.present());
  const uint32_t rank = lanes.rank();
  const uint32_t count = lanes.count();
  for (uint32_t distance = 1; distance < count; distance *= 2) {
    const T before = lanes.value_of(value, rank - distance, shuffle_up);
    if (rank >= distance) value = operation(before, value);
  }
  return value;
}

template <class Group, class T>
GS_HOST_INLINE T inclusive_scan(const Group& group, T value) {
  return inclusive_scan(group, value, plus<T>());
}

// The same without the calling thread's own; T() for the first one.
template <class Group, class T, class Operation>
GS_HOST_INLINE T exclusive_scan(const Group& group, T value, Operation&& operation) {
  using namespace gridstride::host;
  const T through = inclusive_scan(group, value, operation);
  const LaneGroup lanes(group.present());
  const uint32_t rank = lanes.rank();
  const T before = lanes.value_of(through, rank - 1, shuffle_up);
  return rank == 0 ? T() : before;
}

template <class Group, class T>
GS_HOST_INLINE T exclusive_scan(const Group& group, T value) {
  return exclusive_scan(group, value, plus<T>());
}

}  // namespace cooperative_groups
