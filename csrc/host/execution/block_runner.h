// Runs blocks, one at a time, on the calling OS thread.
#ifndef GRIDSTRIDE_HOST_BLOCK_RUNNER_H
#define GRIDSTRIDE_HOST_BLOCK_RUNNER_H

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "host/execution/block_state.h"
#include "host/execution/cooperative_grid.h"
#include "host/execution/faults.h"

namespace gridstride::host {

// What all blocks of a launch share. It must outlive the blocks that run.
struct LaunchContext {
  const KernelDescriptor* kernel;
  void** arguments;
  dim3 grid;
  dim3 block;
  size_t dynamic_shared_bytes;
  // Becomes true when the launch is to end; blocks that wait for something look at it.
  const std::atomic<bool>* cancelled;
  // Where the blocks of a cooperative launch meet; null for any other.
  CooperativeGrid* grid_barrier = nullptr;
};

class BlockRunner {
 public:
  explicit BlockRunner(uint32_t guarded_stacks);
  ~BlockRunner();
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;

  // Says which launch the blocks to come belong to. Throws std::system_error.
  void prepare(const LaunchContext& launch);

  // Runs one block of it to its end, whichever that is.
  BlockOutcome run(uint3 block_index);

  // Why the last block has faulted.
  LaunchFault fault() const { return describe_fault(block_); }

  BlockState& block() { return block_; }

 private:
  BlockState& block_;
};

}  // namespace gridstride::host

#endif
