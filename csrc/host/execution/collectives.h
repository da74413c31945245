// The runtime's side of warp collectives (include/gridstride/collectives.h is the kernels').
#ifndef GRIDSTRIDE_HOST_COLLECTIVES_RUNTIME_H
#define GRIDSTRIDE_HOST_COLLECTIVES_RUNTIME_H

#include "host/execution/block_state.h"

namespace gridstride::host {

// Completes what only waited for a lane that has just exited.
void complete_without_exited(BlockState& block, uint32_t warp_number);

// Ends the block, of which no thread can continue, with a fault that says where they wait.
[[noreturn]] void report_deadlock(BlockState& block);

}  // namespace gridstride::host

#endif
