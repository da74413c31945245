// The barrier of a grid, on the side of the runtime.
#include "host/execution/cooperative_grid.h"

#include "gridstride/warp_exchange.h"
#include "host/device/machine.h"
#include "host/execution/block_region.h"
#include "host/execution/scheduler.h"
#include "host/execution/worker_pool.h"

namespace gridstride::host {
namespace {

// Waking a sleeping thread takes longer than blocks in step are apart.
constexpr int polls_before_sleep = 400;

}  // namespace

CooperativeGrid::CooperativeGrid(uint64_t blocks)
    : blocks_(blocks), has_processors_(blocks <= worker_count()) {}

void CooperativeGrid::poll(uint64_t passed) const {
  for (int i = 0; i < polls_before_sleep; ++i) {
    if (passed_.load(std::memory_order_relaxed) != passed) return;
    pause_processor();
  }
}

CooperativeGrid::Meeting CooperativeGrid::arrive() {
  std::unique_lock<std::mutex> lock(mutex_);
  const uint64_t passed = passed_.load(std::memory_order_relaxed);
  ++arrived_;
  if (arrived_ == blocks_) {
    arrived_ = 0;
    passed_.store(passed + 1, std::memory_order_relaxed);
    lock.unlock();
    changed_.notify_all();
    return {Result::passed, 0, 0};
  }
  if (is_deadlocked()) changed_.notify_all();
  if (has_processors_ && !is_deadlocked() && !cancelled_) {
    lock.unlock();
    poll(passed);
    lock.lock();
  }
  const auto has_passed = [&] { return passed_.load(std::memory_order_relaxed) != passed; };
  changed_.wait(lock, [&] { return has_passed() || cancelled_ || is_deadlocked(); });
  if (has_passed()) return meeting(Result::passed);
  return meeting(cancelled_ ? Result::cancelled : Result::deadlocked);
}

void CooperativeGrid::leave() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++ended_;
  if (is_deadlocked()) changed_.notify_all();
}

void CooperativeGrid::cancel() {
  const std::lock_guard<std::mutex> lock(mutex_);
  cancelled_ = true;
  changed_.notify_all();
}

void pass_grid_barrier(BlockState& block) {
  const uint32_t arrived = block.grid_barrier_arrived;
  block.grid_barrier_arrived = 0;
  if (arrived != block.barrier_arrived) {
    raise_fault(block, cudaErrorLaunchFailure,
                "%u threads of the block wait at the grid's barrier while %u wait at "
                "__syncthreads",
                arrived, block.barrier_arrived - arrived);
  }
  const CooperativeGrid::Meeting meeting = block.cooperative_grid->arrive();
  switch (meeting.result) {
    case CooperativeGrid::Result::passed: return;
    case CooperativeGrid::Result::cancelled:
      block.outcome = BlockOutcome::cancelled;
      resume_context(block.runner_context);
    case CooperativeGrid::Result::deadlocked:
      raise_fault(block, cudaErrorLaunchFailure,
                  "deadlock, %llu blocks of the grid wait at its barrier for %llu that have ended",
                  static_cast<unsigned long long>(meeting.waiting),
                  static_cast<unsigned long long>(meeting.ended));
  }
}

}  // namespace gridstride::host

GS_HOST_API gridstride::host::Arrival gs_host_grid_arrive() {
  gridstride::host::BlockState& block = gridstride::host::calling_block();
  if (block.cooperative_grid == nullptr) {
    gridstride::host::raise_fault(block, cudaErrorLaunchFailure,
                                  "the grid's barrier was called in a launch that is not "
                                  "cooperative: its blocks do not all run at once");
  }
  if (block.plain) gridstride::host::leave_plain(block);
  ++block.grid_barrier_arrived;
  return gs_host_barrier_arrive(0);
}

GS_HOST_API bool gs_host_grid_is_cooperative() {
  return gridstride::host::calling_block().cooperative_grid != nullptr;
}
