// Lanes that ask which lanes run together.
#include "gridstride/convergence.h"

#include "host/execution/scheduler.h"

using gridstride::host::BlockState;
using gridstride::host::LaneSlot;
using gridstride::host::Warp;

// A lane that has asked is between collectives, so that its slot is free to say where it asks: the
// line, and until there is a result in its stead the call. The first lane to run again answers for
// all that asked where it did.
GS_HOST_API uint32_t gs_host_converge(uint64_t place) {
  BlockState& block = gridstride::host::calling_block();
  if (block.plain) gridstride::host::leave_plain(block);
  const uint32_t lane = gridstride::host::lane_of(block.current_thread);
  Warp& warp = block.warps[gridstride::host::warp_of(block.current_thread)];
  LaneSlot& own = warp.lanes[lane];
  const auto call = reinterpret_cast<uint64_t>(__builtin_return_address(0));
  own.value = place;
  own.result = call;
  warp.converging |= 1u << lane;
  gs_host_yield();
  if ((warp.converging >> lane & 1) == 0) return static_cast<uint32_t>(own.result);
  uint32_t together = 0;
  gridstride::host::for_each_lane(warp.converging, [&](uint32_t other) {
    const LaneSlot& asked = warp.lanes[other];
    if (asked.value == place && asked.result == call) together |= 1u << other;
  });
  gridstride::host::for_each_lane(together,
                                  [&](uint32_t other) { warp.lanes[other].result = together; });
  warp.converging &= ~together;
  return together;
}
