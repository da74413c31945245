// Runs blocks, one at a time, on the calling OS thread.
#include "host/execution/block_runner.h"

#include "host/execution/block_region.h"
#include "host/execution/scheduler.h"

namespace gridstride::host {

BlockRunner::BlockRunner(uint32_t guarded_stacks) : block_(map_region(guarded_stacks)) {}

BlockRunner::~BlockRunner() { unmap_region(block_); }

void BlockRunner::prepare(const LaunchContext& launch) {
  launch.kernel->module_anchor();
  place_dynamic_shared(block_, launch.dynamic_shared_bytes);
  block_.kernel = launch.kernel;
  block_.arguments = launch.arguments;
  block_.cancelled = launch.cancelled;
  block_.cooperative_grid = launch.grid_barrier;
  block_.block_dimension = launch.block;
  block_.grid_dimension = launch.grid;
  block_.thread_count = launch.block.x * launch.block.y * launch.block.z;
  block_.one_dimensional = launch.block.y == 1 && launch.block.z == 1;
}

// A block costs what its threads do: beyond a switch there and back nothing here depends on their
// number, and what waiting threads need is set up when the first one waits.
BlockOutcome BlockRunner::run(uint3 block_index) {
  block_.block_index = block_index;
  block_.thread_index = {0, 0, 0};
  block_.spin_count = 0;
  block_.plain = true;
  block_.plain_remaining = block_.thread_count - 1;
  void* fiber = new_fiber(block_);
  block_.inside_kernel = true;
  switch_context(&block_.runner_context, fiber);
  block_.inside_kernel = false;
  if (__builtin_expect(block_.outcome != BlockOutcome::finished, 0)) {
    free_all_stacks(block_);
    if (block_.machine_fault.signal != 0) explain_machine_fault(block_);
  }
  return block_.outcome;
}

}  // namespace gridstride::host
