// The OS threads that run everything the host device does.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "host/execution/block_runner.h"
#include "host/stream/work.h"

namespace gridstride::host {

// One OS thread of the pool, with its block runner.
class Worker {
 public:
  explicit Worker(uint32_t guarded_stacks) : runner_(guarded_stacks) {}
  BlockRunner& runner() { return runner_; }

 private:
  BlockRunner runner_;
};

// Works are served in the order of submission, a piece each, round and round. The pool and its
// threads are never destroyed: the process may end while kernels run.
class WorkerPool {
 public:
  static WorkerPool& instance();

  // Starts the threads when it is called first. Throws std::system_error when there is no memory
  // or no thread to be had, and std::invalid_argument when GRIDSTRIDE_HOST_THREADS is no number of
  // threads; then the work was not taken.
  void submit(std::shared_ptr<Work> work);

  // The number of workers, started or to be started. Throws as submit does.
  unsigned size();

 private:
  WorkerPool() = default;

  void start();
  void start_worker(Worker& worker);
  void serve(Worker& worker);
  std::shared_ptr<Work> take(std::unique_lock<std::mutex>& lock);
  void wait_for_work(std::unique_lock<std::mutex>& lock);
  void watch(std::unique_lock<std::mutex>& lock);
  bool spin_until_submission(uint64_t seen, std::chrono::microseconds longest) const;
  void leave(const std::shared_ptr<Work>& work, bool ran);
  void wake_one(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable work_available_;
  std::deque<std::shared_ptr<Work>> queue_;
  unsigned sleeping_ = 0;
  // At most one idle worker spins; it needs no waking, and the others leave it the processor.
  bool spinning_ = false;
  // Whether work came while the last worker span.
  bool in_row_ = false;
  // One sleeper looks at the queue from time to time; see WorkerPool::watch.
  bool watching_ = false;
  uint64_t taken_ = 0;
  std::atomic<uint64_t> submissions_{0};
  std::vector<std::unique_ptr<Worker>> workers_;
};

// Polling.

// Signals to the other hardware thread of the core that this one polls.
inline void pause_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace gridstride::host
