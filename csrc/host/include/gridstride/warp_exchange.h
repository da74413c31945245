// How a kernel thread waits for others: the seam between kernels and the runtime's scheduler.
//
// A thread that must wait calls gs_host_*_arrive. The runtime either lets it go on at once, because
// it was the last one awaited, or names the context to run in its place, and the switch to it is
// inlined into the kernel (context_switch.h says why).
#pragma once

#include <stdint.h>

#include "context_switch.h"
#include "qualifiers.h"
#include "special_registers.h"

namespace gridstride::host {

// The place where one lane of a warp waits and exchanges: 32 bytes, so no lane straddles a cache
// line.
struct LaneSlot {
  void* context;
  // The lane's input to a collective, and its result.
  uint64_t value;
  uint64_t result;
  // The source lane of a shuffle.
  uint32_t source;
  // Not 0: nothing was exchanged, as lanes came to another operation that may decline.
  uint32_t declined;
};

// A warp collective. The last lane to arrive calls `complete` once for all participants, which are
// the lanes of the mask that have not exited. Operations are distinguished by their address.
struct CollectiveOperation {
  const char* name;
  void (*complete)(LaneSlot* lanes, uint32_t participants);
  // It stands for several others, which each lane performs itself when lanes of its mask do not
  // come to the same.
  bool may_decline = false;
};

struct Arrival {
  // The context to run in place of the caller; null when the caller goes on.
  void* next_context;
  LaneSlot* lane;
};

}  // namespace gridstride::host

GS_HOST_API gridstride::host::Arrival gs_host_barrier_arrive(uint32_t predicate);
// Arrives at so many barriers that the caller passes without doing anything between them. `lane` is
// null when it has not: others in the block wait so for another barrier.
GS_HOST_API gridstride::host::Arrival gs_host_barriers_arrive(uint32_t rounds);
GS_HOST_API gridstride::host::Arrival gs_host_collective_arrive(
    uint32_t mask, uint64_t value, uint32_t source,
    const gridstride::host::CollectiveOperation* operation);
GS_HOST_API void gs_host_yield(void);
GS_HOST_API uint64_t gs_host_clock(void);
GS_HOST_API __attribute__((noreturn)) void gs_host_trap(const char* what);

namespace gridstride::host {

// One collective of the calling lane with the lanes of `mask`. Values wider than 8 bytes travel as
// the address of a variable on the lane's stack, which stays valid until every lane has its result.
GS_HOST_INLINE uint64_t warp_collective(uint32_t mask, uint64_t value, uint32_t source,
                                        const CollectiveOperation& operation) {
  const Arrival arrival = gs_host_collective_arrive(mask, value, source, &operation);
  if (arrival.next_context) switch_context(&arrival.lane->context, arrival.next_context);
  return arrival.lane->result;
}

template <typename Action>
GS_HOST_INLINE void for_each_lane(uint32_t lanes, Action action) {
  for (; lanes != 0; lanes &= lanes - 1) action(static_cast<uint32_t>(__builtin_ctz(lanes)));
}

// Runs all other threads of the block that can run before the caller runs again. A kernel must call
// it, or something that does (__nanosleep, spin_hint), in every loop that waits for another thread:
// fibers do not take the processor from one another.
inline void yield_thread() { gs_host_yield(); }

inline constexpr uint32_t spin_limit = 256;

// Called by operations that can make up a waiting loop, such as atomics: every spin_limit-th call
// of a thread yields.
GS_HOST_INLINE void spin_hint() {
  BlockRegisters* registers = block_registers();
  if (__builtin_expect(++registers->spin_count >= spin_limit, 0)) gs_host_yield();
}

}  // namespace gridstride::host

// The lanes of the calling lane's warp that make this call in this place.
GS_HOST_API GS_HOST_STAYS_IN_PLACE uint32_t gs_host_converge(uint64_t place);

namespace gridstride::host {

// Convergence: the lanes of a warp that run together.
//
// On a GPU lanes that took the same way run in lockstep, and a kernel may query them. Here lanes
// run one after the other: a lane that queries steps aside until every other thread of the block
// has run as far as it can without waiting. The lanes that by then have queried in the same place
// run together.
//
// A place is a line of the source and, as a function may be called in several branches and be
// inlined into each, the call in the machine code. The round of a loop is unknown: a lane that
// passes by the place in one round is counted with the others in the next.

// A line of the source as a number: the upper 16 bits of an address of a program are all alike.
GS_HOST_INLINE uint64_t place(const char* file, int line) {
  return reinterpret_cast<uint64_t>(file) ^ static_cast<uint64_t>(line) << 48;
}

}  // namespace gridstride::host

// In a launch that is not cooperative this is a fault.
GS_HOST_API gridstride::host::Arrival gs_host_grid_arrive(void);

// Whether the calling thread's launch is cooperative.
GS_HOST_API bool gs_host_grid_is_cooperative(void);

namespace gridstride::host {

// The barrier of a whole grid, for which all its blocks must be running: those of a cooperative
// launch are, each on an OS thread of its own.

// Goes on when every thread of the grid that has not exited has arrived. A block never arrives
// after all of its threads have exited: waiting for it is a deadlock, and reported. All threads of
// a block that has not ended must call this, none of them __syncthreads in its place.
GS_HOST_INLINE void grid_barrier() {
  const Arrival arrival = gs_host_grid_arrive();
  if (arrival.next_context) switch_context(&arrival.lane->context, arrival.next_context);
}

GS_HOST_INLINE bool is_grid_cooperative() { return gs_host_grid_is_cooperative(); }

}  // namespace gridstride::host
