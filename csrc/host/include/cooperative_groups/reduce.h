// CUDA's name for reductions over the threads of a tile or a coalesced group.
#pragma once

#include "../cooperative_groups.h"


namespace gridstride::host {

template <class T, class Operation>
GS_HOST_INLINE T reduce_lanes(const LaneGroup& lanes, T value, Operation& operation) {
  const uint32_t rank = lanes.rank();
  const uint32_t count = lanes.count();
  for (uint32_t distance = 1; distance < count; distance *= 2) {
    const T other = lanes.value_of(value, rank + distance, shuffle_down);
    if (rank % (2 * distance) == 0 && rank + distance < count) value = operation(value, other);
  }
  return lanes.value_of(value, 0, shuffle_index);
}

}  // namespace gridstride::host

namespace cooperative_groups {

// Every thread gets the result. `operation` is associative; values are combined in the order of
// their ranks, within a warp neighbours first, whatever the size of the group.
template <class Group, class T, class Operation>
GS_HOST_INLINE T reduce(const Group& group, T value, Operation&& operation) {
  using namespace gridstride::host;
  if constexpr (Group::is_larger_than_warp) {
    value = reduce_lanes(group.warp(), value, operation);
    return group.fold(value, value, group.warp_count(), operation);
  } else {
    return reduce_lanes(LaneGroup(group.present()), value, operation);
  }
}

}  // namespace cooperative_groups
