// CUDA's name for prefix sums over the threads of a tile or a coalesced group.
#pragma once

#include "../cooperative_groups.h"

namespace gridstride::host {

template <class T, class Operation>
GS_HOST_INLINE T scan_lanes(const LaneGroup& lanes, T value, Operation& operation) {
  const uint32_t rank = lanes.rank();
  const uint32_t count = lanes.count();
  for (uint32_t distance = 1; distance < count; distance *= 2) {
    const T before = lanes.value_of(value, rank - distance, shuffle_up);
    if (rank >= distance) value = operation(before, value);
  }
  return value;
}

}  // namespace gridstride::host

namespace cooperative_groups {

// The values of all threads up to the calling one, combined in the order of their ranks.
template <class Group, class T, class Operation>
GS_HOST_INLINE T inclusive_scan(const Group& group, T value, Operation&& operation) {
  using namespace gridstride::host;
  if constexpr (Group::is_larger_than_warp) {
    const LaneGroup warp = group.warp();
    value = scan_lanes(warp, value, operation);
    const T total = warp.value_of(value, warp.count() - 1, shuffle_index);
    const T before = group.fold(total, total, group.warp_rank(), operation);
    return group.warp_rank() == 0 ? value : static_cast<T>(operation(before, value));
  } else {
    return scan_lanes(LaneGroup(group.present()), value, operation);
  }
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
  if constexpr (Group::is_larger_than_warp) {
    // The first lane of a warp takes the last result of the warp before.
    const LaneGroup warp = group.warp();
    const T last = warp.value_of(through, warp.count() - 1, shuffle_index);
    const T before = group.fold(
        last, last, group.warp_rank(), [](const T&, const T& next) { return next; });
    const T within = warp.value_of(through, warp.rank() - 1, shuffle_up);
    if (group.thread_rank() == 0) return T();
    return warp.rank() == 0 ? before : within;
  } else {
    const LaneGroup lanes(group.present());
    const uint32_t rank = lanes.rank();
    const T before = lanes.value_of(through, rank - 1, shuffle_up);
    return rank == 0 ? T() : before;
  }
}

template <class Group, class T>
GS_HOST_INLINE T exclusive_scan(const Group& group, T value) {
  return exclusive_scan(group, value, plus<T>());
}

}  // namespace cooperative_groups
