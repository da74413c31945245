// The barrier of a whole grid, for which all its blocks must be running: those of a cooperative
// launch are, each on an OS thread of its own.
#ifndef GRIDSTRIDE_HOST_GRID_BARRIER_H
#define GRIDSTRIDE_HOST_GRID_BARRIER_H

#include "warp_exchange.h"

// In a launch that is not cooperative this is a fault.
GS_HOST_API gridstride::host::Arrival gs_host_grid_arrive(void);

// Whether the calling thread's launch is cooperative.
GS_HOST_API bool gs_host_grid_is_cooperative(void);

namespace gridstride::host {

// Goes on when every thread of the grid that has not exited has arrived. A block all of whose
// threads have exited never arrives: waiting for it is a deadlock, and reported. All threads of a
// block that has not ended must call this, none of them __syncthreads in its place.
GS_HOST_INLINE void grid_barrier() {
  const Arrival arrival = gs_host_grid_arrive();
  if (arrival.next_context) switch_context(&arrival.lane->context, arrival.next_context);
}

GS_HOST_INLINE bool is_grid_cooperative() { return gs_host_grid_is_cooperative(); }

}  // namespace gridstride::host

#endif
