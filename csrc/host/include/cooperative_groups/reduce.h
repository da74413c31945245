// CUDA's name for reductions over the threads of a tile or a coalesced group.
#pragma once

#include "../cooperative_groups.h"

namespace gridstride::host {

// A reduction is one collective: a lane waits once, not once for each step. Lanes pass the address
// of their share, where the last lane to arrive combines the values of all.
template <class T, class Operation>
struct LaneReduction {
  struct Share {
    T value;
    Operation* operation;
  };

  static void complete(LaneSlot* lanes, uint32_t participants) {
    Share* shares[32];
    uint32_t count = 0;
    for_each_lane(participants, [&](uint32_t lane) {
      shares[count++] = reinterpret_cast<Share*>(lanes[lane].value);
    });
    for (uint32_t distance = 1; distance < count; distance *= 2) {
      for (uint32_t rank = 0; rank + distance < count; rank += 2 * distance) {
        T& left = shares[rank]->value;
        left = (*shares[0]->operation)(left, shares[rank + distance]->value);
      }
    }
    for (uint32_t rank = 1; rank < count; ++rank) shares[rank]->value = shares[0]->value;
  }

  static constexpr CollectiveOperation collective{"cooperative_groups::reduce", complete};
};

template <class T, class Operation>
GS_HOST_INLINE T reduce_lanes(const LaneGroup& lanes, T value, Operation& operation) {
  using Reduction = LaneReduction<T, Operation>;
  typename Reduction::Share share{value, &operation};
  warp_collective(lanes.mask(), reinterpret_cast<uint64_t>(&share), 0, Reduction::collective);
  return share.value;
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
