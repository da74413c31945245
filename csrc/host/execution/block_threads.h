// OS threads with a region for a block each, for launches whose blocks must all run at once.
#ifndef GRIDSTRIDE_HOST_BLOCK_THREADS_H
#define GRIDSTRIDE_HOST_BLOCK_THREADS_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "host/execution/block_runner.h"

namespace gridstride::host {

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

  // Makes so many threads idle ones, unless others take them first: whoever launches learns here
  // that the system has too few, and not by a fault. Throws std::system_error.
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

#endif
