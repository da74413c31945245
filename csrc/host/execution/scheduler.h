// Which thread of a block runs next.
//
// Order: ready lanes of the current warp, lowest first; then a thread that has not started; then
// the ready lanes of another warp; then those that yielded. When none of these exists while threads
// live, the block is deadlocked.
#pragma once

#include <cstdint>

#include "host/execution/block_region.h"

namespace gridstride::host {

// Records, for all threads at once, where each of them is: until now only their number was known.
// To be called, when block.plain holds, by whatever parks or ends a thread.
void leave_plain(BlockState& block);

// The context to run when the current warp has no ready lane; ends the block with a fault when
// there is none at all. `caller_parks` is false when the caller's thread has ended: a new thread
// may have its stack: null is returned then, with the new thread made current.
void* choose_elsewhere(BlockState& block, bool caller_parks);

// Lets the waiting threads of a barrier go on, after the last one awaited has arrived or exited.
void release_barrier(BlockState& block);

inline void set_current_thread(BlockState& block, uint32_t thread) {
  block.current_thread = thread;
  if (__builtin_expect(block.one_dimensional, 1)) {
    block.thread_index.x = thread;
    return;
  }
  const PackedIndex index = block.thread_indices[thread];
  block.thread_index.x = index.x;
  block.thread_index.y = index.y;
  block.thread_index.z = index.z;
}

// Makes the lowest ready lane of a warp current, and gives its context.
inline void* resume_lane(BlockState& block, uint32_t warp_number) {
  Warp& warp = block.warps[warp_number];
  const uint32_t lane = static_cast<uint32_t>(__builtin_ctz(warp.ready));
  warp.ready &= warp.ready - 1;
  if (warp.ready == 0) block.ready_warps &= ~(1u << warp_number);
  set_current_thread(block, warp_number * warp_lanes + lane);
  return warp.lanes[lane].context;
}

inline void make_ready(BlockState& block, uint32_t warp_number, uint32_t lanes) {
  if (lanes == 0) return;
  block.warps[warp_number].ready |= lanes;
  block.ready_warps |= 1u << warp_number;
}

// The context to run in place of the current thread, which has been put among the waiting ones.
inline void* choose_next(BlockState& block) {
  const uint32_t warp_number = warp_of(block.current_thread);
  if (__builtin_expect(block.warps[warp_number].ready != 0, 1)) {
    return resume_lane(block, warp_number);
  }
  return choose_elsewhere(block, true);
}

// The runtime's side of warp collectives (include/gridstride/collectives.h is the kernels').

// Completes what only waited for a lane that has just exited.
void complete_without_exited(BlockState& block, uint32_t warp_number);

// Ends the block, of which no thread can continue, with a fault that says where they wait.
[[noreturn]] void report_deadlock(BlockState& block);

}  // namespace gridstride::host
