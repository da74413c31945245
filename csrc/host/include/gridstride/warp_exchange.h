// How a kernel thread waits for others: the seam between kernels and the runtime's scheduler.
//
// A thread that must wait calls gs_host_*_arrive. The runtime either lets it go on at once, because
// it was the last one awaited, or names the context to run in its place, and the switch to it is
// inlined into the kernel (context_switch.h says why).
#ifndef GRIDSTRIDE_HOST_WARP_EXCHANGE_H
#define GRIDSTRIDE_HOST_WARP_EXCHANGE_H

#include <stdint.h>

#include "context_switch.h"
#include "qualifiers.h"
#include "special_registers.h"

namespace gridstride::host {

// Where one lane of a warp waits and exchanges: 32 bytes, so that no lane straddles a cache line.
struct LaneSlot {
  void* context;
  // What the lane brings to a collective, and what it takes from it.
  uint64_t value;
  uint64_t result;
  // The lane whose value it asks for, where the collective is a shuffle.
  uint32_t source;
  uint32_t unused;
};

// A warp collective. The last lane to arrive calls `complete` once for all participants, which are
// the lanes of the mask that have not exited. Operations are told apart by their address.
struct CollectiveOperation {
  const char* name;
  void (*complete)(LaneSlot* lanes, uint32_t participants);
};

struct Arrival {
  // What to run in place of the caller; null when the caller goes on.
  void* next_context;
  LaneSlot* lane;
};

}  // namespace gridstride::host

GS_HOST_API gridstride::host::Arrival gs_host_barrier_arrive(uint32_t predicate);
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

#endif
