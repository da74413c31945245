// The OS threads that run everything the host device does.
#include "host/execution/worker_pool.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "host/device/machine.h"
#include "host/execution/fault_signals.h"

namespace gridstride::host {
namespace {

// A sleeping thread takes tens of microseconds to wake; one that spins takes work at once. No
// longer than this, as on a machine without a processor to spare it keeps someone, perhaps the one
// about to submit work, from running. Yielding instead would be worse there: it gives away a whole
// time slice of milliseconds, where a thread that sleeps is scheduled as soon as it is woken.
constexpr auto spin_time = std::chrono::microseconds(20);

// In a row of launches, where work came while a worker span, it spins for longer: without it the
// other worker runs those alone that are not worth waking anybody.
constexpr auto row_spin_time = std::chrono::microseconds(100);

// The interval at which a worker looks for work without a wake-up, and for how long after the last.
constexpr auto watch_period = std::chrono::milliseconds(10);
constexpr unsigned idle_watch_periods = 50;

// Two mappings per guarded stack, of the 65530 that Linux allows a process; half is left to others.
uint32_t guarded_stacks_per_worker(unsigned workers) {
  constexpr unsigned mappings = 65530 / 2;
  return std::min(max_block_threads, mappings / (2 * workers));
}

// A completion that submits is about to look at the queue itself: no wake-up is needed.
thread_local bool in_completion = false;

}  // namespace

Work::~Work() = default;

WorkerPool& WorkerPool::instance() {
  static WorkerPool* const pool = new WorkerPool;
  return *pool;
}

unsigned WorkerPool::size() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return workers_.empty() ? worker_count() : static_cast<unsigned>(workers_.size());
}

void WorkerPool::submit(std::shared_ptr<Work> work) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (workers_.empty()) start();
  work->queued_ = true;
  queue_.push_back(std::move(work));
  if (in_completion && queue_.size() == 1) return;
  wake_one(lock);
}

void WorkerPool::start() {
  const unsigned count = worker_count();
  install_fault_handlers();
  const BlockedSignals blocked;
  for (unsigned i = 0; i < count; ++i) {
    try {
      auto worker = std::make_unique<Worker>(guarded_stacks_per_worker(count));
      workers_.reserve(i + 1);
      start_worker(*worker);
      workers_.push_back(std::move(worker));
    } catch (const std::system_error&) {
      // A pool of fewer workers is a slower one; a pool of none is a failure.
      if (workers_.empty()) throw;
      return;
    }
  }
}

void WorkerPool::start_worker(Worker& worker) {
  std::thread([this, &worker] {
    adopt_calling_thread(worker.runner().block());
    serve(worker);
  }).detach();
}

void WorkerPool::wake_one(std::unique_lock<std::mutex>& lock) {
  const bool wake = sleeping_ != 0 && !spinning_;
  lock.unlock();
  if (wake) work_available_.notify_one();
  // After the lock was released: the spinning worker takes it at once, and would otherwise have to
  // sleep for it and to be woken, which takes the caller far longer than all of the above.
  submissions_.fetch_add(1, std::memory_order_release);
}

void WorkerPool::serve(Worker& worker) {
  for (;;) {
    std::shared_ptr<Work> work;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      work = take(lock);
    }
    const bool ran = work->run_piece(worker);
    leave(work, ran);
  }
}

// Work that others may help with stays in the queue, behind all other. A worker that takes work
// while some is left wakes the next worker: as many wake as there is work for.
std::shared_ptr<Work> WorkerPool::take(std::unique_lock<std::mutex>& lock) {
  while (queue_.empty()) wait_for_work(lock);
  std::shared_ptr<Work> work = std::move(queue_.front());
  queue_.pop_front();
  const bool others_wait = !queue_.empty();
  ++taken_;
  ++work->workers_inside_;
  work->queued_ = work->divisible();
  if (work->queued_) queue_.push_back(work);
  const bool wants_help = work->queued_ && (work->wants_help(spinning_) || !watching_);
  if (wants_help || others_wait) wake_one(lock);
  return work;
}

void WorkerPool::wait_for_work(std::unique_lock<std::mutex>& lock) {
  if (!spinning_) {
    spinning_ = true;
    const uint64_t seen = submissions_.load(std::memory_order_relaxed);
    const auto longest = in_row_ ? row_spin_time : spin_time;
    lock.unlock();
    const bool came = spin_until_submission(seen, longest);
    lock.lock();
    spinning_ = false;
    in_row_ = came;
    // Others may have been faster: in a row it spins again.
    if (came || !queue_.empty()) return;
  }
  ++sleeping_;
  if (watching_) {
    work_available_.wait(lock);
  } else {
    watch(lock);
  }
  --sleeping_;
}

// A worker may not return from work that seemed too short for a wake-up: a block may take longer
// than the last time, or wait for another that has not begun. So as long as work is taken at all
// one of the sleepers looks whether some is left.
void WorkerPool::watch(std::unique_lock<std::mutex>& lock) {
  watching_ = true;
  uint64_t seen = taken_;
  for (unsigned idle = 0; queue_.empty() && idle < idle_watch_periods; ++idle) {
    work_available_.wait_for(lock, watch_period);
    if (taken_ != seen) idle = 0;
    seen = taken_;
  }
  watching_ = false;
  if (queue_.empty()) work_available_.wait(lock);
}

bool WorkerPool::spin_until_submission(uint64_t seen, std::chrono::microseconds longest) const {
  const auto end = std::chrono::steady_clock::now() + longest;
  do {
    for (int i = 0; i < 32; ++i) {
      if (submissions_.load(std::memory_order_relaxed) != seen) return true;
      pause_processor();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

void WorkerPool::leave(const std::shared_ptr<Work>& work, bool ran) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    --work->workers_inside_;
    if (!ran && !work->exhausted_) {
      work->exhausted_ = true;
      if (work->queued_) queue_.erase(std::find(queue_.begin(), queue_.end(), work));
      work->queued_ = false;
    } else if (!work->exhausted_ && !work->queued_) {
      work->queued_ = true;
      queue_.push_back(work);
    }
    // No worker enters exhausted work: this is true once.
    if (!work->exhausted_ || work->workers_inside_ != 0) return;
  }
  in_completion = true;
  work->completed();
  in_completion = false;
}

}  // namespace gridstride::host
