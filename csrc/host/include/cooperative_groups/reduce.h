// CUDA's name for reductions over the threads of a tile or a coalesced group.
#pragma once

#include "../cooperative_groups.h"

namespace cooperative_groups {

// Every thread gets the result. `operation` is associative; values are combined in the order of
// their ranks, neighbours first, whatever the size of the group.
template <class Group, class T, class Operation>
GS_HOST_INLINE T reduce(const Group& group, T value, Operation&& operation) {
  using namespace gridstride::host;
  const LaneGroup lanes(group.present());
  const uint32_t rank = lanes.rank();
  const uint32_t count = lanes.count();
  for (uint32_t distance = 1; distance < count; distance *= 2) {
    const T other = lanes.value_of(value, rank + distance, shuffle_down);
    if (rank % (2 * distance) == 0 && rank + distance < count) value = operation(value, other);
  }
  return lanes.value_of(value, 0, shuffle_index);
}

}  // namespace cooperative_groups
