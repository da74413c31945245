// Runs blocks, one at a time, on the calling OS thread.
#include "host/execution/block_runner.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

#include "host/device/machine.h"
#include "host/execution/block_region.h"
#include "host/execution/fault_signals.h"
#include "host/execution/scheduler.h"

namespace gridstride::host {

namespace {

bool starts_reversed() {
  static const bool reversed = is_order_reversed();
  return reversed;
}

}  // namespace

BlockRunner::BlockRunner(uint32_t guarded_stacks) : block_(map_region(guarded_stacks)) {}

BlockRunner::~BlockRunner() { unmap_region(block_); }

void BlockRunner::prepare(const LaunchContext& launch) {
  launch.kernel->module_anchor();
  place_dynamic_shared(block_, launch.dynamic_shared_bytes);
  block_.kernel = launch.kernel;
  block_.arguments = launch.arguments;
  block_.cancelled = launch.cancelled;
  block_.cooperative_grid = launch.grid_barrier;
  block_.time_limit = launch.timer->limit();
  block_.deadline.store(launch.timer->deadline(), std::memory_order_relaxed);
  block_.block_dimension = launch.block;
  block_.grid_dimension = launch.grid;
  block_.thread_count = launch.block.x * launch.block.y * launch.block.z;
  block_.reversed = starts_reversed() && block_.thread_count >= 2 * warp_lanes;
  block_.one_dimensional = !block_.reversed && launch.block.y == 1 && launch.block.z == 1;
}

// A block costs what its threads do: beyond a switch there and back nothing here depends on their
// number, and what waiting threads need is set up when the first one waits.
BlockOutcome BlockRunner::run(uint3 block_index) {
  block_.block_index = block_index;
  block_.thread_index = {0, 0, 0};
  block_.spin_count = 0;
  block_.plain = true;
  block_.plain_remaining = block_.thread_count - 1;
  if (block_.reversed) {
    leave_plain(block_);
    set_current_thread(block_, 0);
    // What a barrier is missing for is read before it is written, and what nobody writes is read:
    // then it must not be what the last block has left there. As integers these are 0, -1 and a
    // large number.
    constexpr int fills[] = {0, 0xff, 0x3f};
    memset(block_.dynamic_shared, fills[block_index.x % 3], block_.dynamic_shared_bytes);
  }
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

// ---- threads for cooperative launches: making them, handing them out and keeping some -----------

namespace {

// What the threads that are kept may hold: a stack that was used takes some 12 KiB, and making it
// accessible and touching it again takes some 10 microseconds. A block of waiting threads uses one
// for each of them.
constexpr uint32_t max_idle_stacks = 16384;

// More blocks than any GPU holds at once.
constexpr uint32_t max_threads = 8192;

// Each takes two mappings, of which a process has 65530: the worker pool takes half of those.
constexpr uint32_t all_guarded_stacks = 8192;

}  // namespace

class BlockThreads::Thread {
 public:
  explicit Thread(uint32_t guarded) : runner(guarded), guarded_stacks(guarded) {}

  // Those that were ever used; they change only while it runs.
  uint32_t stacks() { return runner.block().prepared_stacks; }

  BlockRunner runner;
  const uint32_t guarded_stacks;
  // Guarded by the lock of BlockThreads.
  std::condition_variable called;
  std::shared_ptr<Crew> crew;
  uint32_t number = 0;
};

BlockThreads::BlockThreads() : guarded_stacks_left_(all_guarded_stacks) {}

BlockThreads& BlockThreads::instance() {
  static BlockThreads& only = *new BlockThreads;
  return only;
}

void BlockThreads::prepare(uint32_t count) {
  const std::lock_guard<std::mutex> lock(mutex_);
  make_idle(count);
}

void BlockThreads::start(std::shared_ptr<Crew> crew, uint32_t count) {
  const std::lock_guard<std::mutex> lock(mutex_);
  make_idle(count);
  crew->running_.store(count, std::memory_order_relaxed);
  for (uint32_t number = 0; number < count; ++number) {
    Thread* const thread = idle_.back();
    idle_.pop_back();
    idle_stacks_ -= thread->stacks();
    thread->crew = crew;
    thread->number = number;
    thread->called.notify_one();
  }
}

void BlockThreads::make_idle(uint32_t count) {
  if (idle_.size() >= count) return;
  install_fault_handlers();
  const BlockedSignals blocked;
  while (idle_.size() < count) add_thread();
}

// Each gets an eighth of the remaining room, which leaves some for the next.
void BlockThreads::add_thread() {
  if (thread_count_ == max_threads) {
    throw std::system_error(EAGAIN, std::generic_category(), "Cannot make one more thread");
  }
  const uint32_t guarded = std::min(max_block_threads, guarded_stacks_left_ / 8);
  auto thread = std::make_unique<Thread>(guarded);
  // Room for all there are: a thread that becomes idle cannot report that memory is exhausted.
  if (idle_.capacity() <= thread_count_) idle_.reserve(2 * size_t{thread_count_} + 1);
  std::thread([this, made = thread.get()] { serve(made); }).detach();
  put_idle(thread.release());
  guarded_stacks_left_ -= guarded;
  ++thread_count_;
}

void BlockThreads::put_idle(Thread* thread) {
  idle_.push_back(thread);
  idle_stacks_ += thread->stacks();
}

void BlockThreads::serve(Thread* thread) {
  adopt_calling_thread(thread->runner.block());
  bool is_kept = true;
  while (is_kept) {
    std::unique_lock<std::mutex> lock(mutex_);
    thread->called.wait(lock, [&] { return thread->crew != nullptr; });
    const std::shared_ptr<Crew> crew = std::move(thread->crew);
    thread->crew = nullptr;
    const uint32_t number = thread->number;
    lock.unlock();
    crew->run(thread->runner, number);
    lock.lock();
    // Idle before the crew is notified: its next launch finds the threads again.
    is_kept = idle_stacks_ + thread->stacks() <= max_idle_stacks;
    if (is_kept) put_idle(thread);
    lock.unlock();
    if (crew->running_.fetch_sub(1, std::memory_order_acq_rel) == 1) crew->all_ran();
  }
  release_calling_thread();
  const std::lock_guard<std::mutex> lock(mutex_);
  guarded_stacks_left_ += thread->guarded_stacks;
  --thread_count_;
  delete thread;
}

}  // namespace gridstride::host
