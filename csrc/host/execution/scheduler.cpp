// Which thread of a block runs next: everything but the common case.
#include "host/execution/scheduler.h"

#include <sched.h>

#include "host/execution/block_region.h"
#include "host/execution/cooperative_grid.h"
#include "host/execution/fault_signals.h"
#include "host/execution/faults.h"

namespace gridstride::host {
namespace {

// When the thread of an index starts. Lanes keep their places: only whole warps change theirs.
uint32_t place_of_thread(const BlockState& block, uint32_t thread) {
  const uint32_t whole_warps = block.thread_count / warp_lanes;
  const uint32_t warp_number = warp_of(thread);
  if (!block.reversed || warp_number >= whole_warps) return thread;
  return (whole_warps - 1 - warp_number) * warp_lanes + lane_of(thread);
}

void index_threads(BlockState& block) {
  const dim3 dimension = block.block_dimension;
  dim3& indexed = block.indexed_dimension;
  if (indexed.x == dimension.x && indexed.y == dimension.y && indexed.z == dimension.z &&
      block.indexed_reversed == block.reversed) {
    return;
  }
  uint32_t thread = 0;
  for (unsigned z = 0; z < dimension.z; ++z) {
    for (unsigned y = 0; y < dimension.y; ++y) {
      for (unsigned x = 0; x < dimension.x; ++x) {
        block.thread_indices[place_of_thread(block, thread++)] = {
            static_cast<uint16_t>(x), static_cast<uint16_t>(y), static_cast<uint16_t>(z)};
      }
    }
  }
  indexed = dimension;
  block.indexed_reversed = block.reversed;
}

// The lanes of a warp that threads first..count-1 of the block are.
uint32_t lanes_from(uint32_t warp_number, uint32_t first, uint32_t count) {
  const uint32_t base = warp_number * warp_lanes;
  if (count <= base || first >= base + warp_lanes) return 0;
  const uint32_t low = first > base ? first - base : 0;
  const uint32_t high = count - base < warp_lanes ? count - base : warp_lanes;
  const uint64_t below_high = (uint64_t{1} << high) - 1;
  const uint64_t below_low = (uint64_t{1} << low) - 1;
  return static_cast<uint32_t>(below_high & ~below_low);
}

// All threads that can run have yielded: start them all over, in a round of their own. Threads that
// wait for something outside of the block must not keep the processor from its provider, nor
// outlive the launch.
void* begin_yielded_round(BlockState& block) {
  if (block.cancelled->load(std::memory_order_relaxed)) {
    block.outcome = BlockOutcome::cancelled;
    resume_context(block.runner_context);
  }
  if (++block.yield_rounds % 16 == 0) {
    sched_yield();
    // The watchdog's signal would hardly ever find the kernel's own code.
    if (is_overdue(block)) {
      raise_fault(block, cudaErrorLaunchTimeout,
                  "the launch has run for longer than its time limit of %.10g s, and all threads "
                  "of the block wait",
                  static_cast<double>(block.time_limit) / 1e9);
    }
  }
  for (uint32_t warps = block.yielded_warps; warps != 0; warps &= warps - 1) {
    const uint32_t warp_number = static_cast<uint32_t>(__builtin_ctz(warps));
    Warp& warp = block.warps[warp_number];
    make_ready(block, warp_number, warp.yielded);
    warp.yielded = 0;
  }
  block.yielded_warps = 0;
  return resume_lane(block, static_cast<uint32_t>(__builtin_ctz(block.ready_warps)));
}

}  // namespace

void leave_plain(BlockState& block) {
  block.plain = false;
  const uint32_t current = block.thread_count - 1 - block.plain_remaining;
  block.plain_remaining = 0;
  block.current_thread = current;
  block.next_unstarted = current + 1;
  block.alive_count = block.thread_count - current;
  block.barrier_arrived = 0;
  block.barrier_true_arrived = 0;
  block.standing_count = 0;
  block.barriers_passed = 0;
  block.grid_barrier_arrived = 0;
  block.ready_warps = 0;
  block.yielded_warps = 0;
  const uint32_t warps = (block.thread_count + warp_lanes - 1) / warp_lanes;
  for (uint32_t number = 0; number < warps; ++number) {
    Warp& warp = block.warps[number];
    warp.alive = lanes_from(number, current, block.thread_count);
    warp.ready = 0;
    warp.at_barrier = 0;
    warp.standing = 0;
    warp.yielded = 0;
    warp.converging = 0;
    warp.rendezvous_count = 0;
  }
  if (!block.one_dimensional) index_threads(block);
}

void* choose_elsewhere(BlockState& block, bool caller_parks) {
  if (block.next_unstarted < block.thread_count) {
    void* context = caller_parks ? new_fiber(block) : nullptr;
    set_current_thread(block, block.next_unstarted++);
    block.spin_count = 0;
    return context;
  }
  if (block.ready_warps != 0) {
    return resume_lane(block, static_cast<uint32_t>(__builtin_ctz(block.ready_warps)));
  }
  if (block.yielded_warps != 0) return begin_yielded_round(block);
  report_deadlock(block);
}

void release_barrier(BlockState& block) {
  if (__builtin_expect(block.grid_barrier_arrived != 0, 0)) pass_grid_barrier(block);
  const uint32_t warps = (block.thread_count + warp_lanes - 1) / warp_lanes;
  // Again while all that live stand: nobody is left to arrive at the barriers they wait for.
  do {
    const bool all = ++block.barriers_passed == block.standing_until && block.standing_count != 0;
    for (uint32_t number = 0; number < warps; ++number) {
      Warp& warp = block.warps[number];
      make_ready(block, number, warp.at_barrier | (all ? warp.standing : 0));
      warp.at_barrier = 0;
      if (all) warp.standing = 0;
    }
    if (all) block.standing_count = 0;
    block.barrier_arrivals = block.barrier_arrived;
    block.barrier_true_arrivals = block.barrier_true_arrived;
    block.barrier_arrived = block.standing_count;
    block.barrier_true_arrived = 0;
  } while (block.standing_count != 0 && block.standing_count == block.alive_count);
}

}  // namespace gridstride::host

using gridstride::host::BlockOutcome;
using gridstride::host::BlockState;
using gridstride::host::Warp;

GS_HOST_API void gs_host_finish_thread() {
  BlockState& block = gridstride::host::calling_block();
  if (block.plain) {
    // The last thread of a block in which none has parked.
    gridstride::host::free_calling_stack(block);
    block.outcome = BlockOutcome::finished;
    gridstride::host::resume_context(block.runner_context);
  }
  const uint32_t warp_number = gridstride::host::warp_of(block.current_thread);
  Warp& warp = block.warps[warp_number];
  warp.alive &= ~(1u << gridstride::host::lane_of(block.current_thread));
  --block.alive_count;
  if (warp.rendezvous_count != 0) gridstride::host::complete_without_exited(block, warp_number);
  if (block.barrier_arrived != 0 && block.barrier_arrived == block.alive_count) {
    gridstride::host::release_barrier(block);
  }
  void* next;
  if (block.alive_count == 0) {
    block.outcome = BlockOutcome::finished;
    next = block.runner_context;
  } else if (warp.ready != 0) {
    next = gridstride::host::resume_lane(block, warp_number);
  } else {
    next = gridstride::host::choose_elsewhere(block, false);
    if (next == nullptr) return;
  }
  gridstride::host::free_calling_stack(block);
  gridstride::host::resume_context(next);
}

GS_HOST_API void gs_host_yield() {
  BlockState& block = gridstride::host::calling_block();
  if (block.plain) gridstride::host::leave_plain(block);
  block.spin_count = 0;
  const uint32_t thread = block.current_thread;
  const uint32_t warp_number = gridstride::host::warp_of(thread);
  const uint32_t lane = gridstride::host::lane_of(thread);
  block.warps[warp_number].yielded |= 1u << lane;
  block.yielded_warps |= 1u << warp_number;
  void* next = gridstride::host::choose_next(block);
  if (block.current_thread == thread) return;
  gridstride::host::switch_context(&block.warps[warp_number].lanes[lane].context, next);
}
