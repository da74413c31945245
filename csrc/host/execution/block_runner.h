// Runs blocks, one at a time, on the calling OS thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "host/execution/block_region.h"
#include "host/execution/cooperative_grid.h"
#include "host/execution/faults.h"
#include "host/execution/watchdog.h"

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
  LaunchTimer* timer;
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

// OS threads with a region for a block each, for launches with blocks that must all run at once.

// What some threads do together.
class Crew {
 public:
  virtual ~Crew() = default;

  // Called once for each number from 0, each on a thread of its own, at the same time.
  virtual void run(BlockRunner& runner, uint32_t number) = 0;

  // Called once, by one of the threads, when all have run and may be had again.
  virtual void all_ran() = 0;

 private:
  friend class BlockThreads;
  std::atomic<uint32_t> running_{0};
};

// The threads, beside those of the worker pool: they wait for one another, which workers never may.
// Some are kept when they have nothing to do. Never destroyed, as the pool is not.
class BlockThreads {
 public:
  static BlockThreads& instance();

  // Makes so many threads idle ones, unless others take them first: a launch learns here that the
  // system has too few, and not by a fault. Throws std::system_error.
  void prepare(uint32_t count);

  // Throws std::system_error when there are not that many threads to be had; then nothing runs.
  void start(std::shared_ptr<Crew> crew, uint32_t count);

 private:
  class Thread;

  void make_idle(uint32_t count);
  void add_thread();
  void put_idle(Thread* thread);
  void serve(Thread* thread);

  std::mutex mutex_;
  std::vector<Thread*> idle_;
  uint32_t idle_stacks_ = 0;
  uint32_t thread_count_ = 0;
  // Stacks with an inaccessible page that threads to come may have.
  uint32_t guarded_stacks_left_;

  BlockThreads();
};

}  // namespace gridstride::host
