// A kernel launch as work for the pool: its blocks are claimed in chunks, in ascending order, by
// all workers. The order is a promise: a block may wait for one of a smaller index (as chained
// scans do), because that one has been claimed before.
#include "host/execution/kernel_work.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <system_error>
#include <utility>

#include "host/execution/block_runner.h"
#include "host/execution/block_times.h"
#include "host/execution/worker_pool.h"

namespace gridstride::host {
namespace {

using Clock = std::chrono::steady_clock;

// A piece this long costs little to claim, and lets other work wait for little.
constexpr auto shortest_piece = std::chrono::microseconds(50);
constexpr auto longest_piece = std::chrono::microseconds(200);
constexpr uint64_t largest_chunk = uint64_t{1} << 20;

// To wake a worker takes up to 30 microseconds of the one that does it, in a virtual machine whose
// other processor has nothing to do, and as long again until it comes. What takes less than this
// alone ends sooner alone.
constexpr uint64_t worth_waking_nanoseconds = 100000;

class KernelWork final : public Work {
 public:
  KernelWork(LaunchRequest request, std::function<void(const LaunchFault*)> completed)
      : arguments_(*request.kernel, request.arguments),
        launch_{request.kernel, arguments_.addresses(),       request.grid,
                request.block,  request.dynamic_shared_bytes, &cancelled_},
        owner_(std::move(request.owner)),
        block_count_(block_count(request.grid)),
        workers_(WorkerPool::instance().size()),
        completed_(std::move(completed)) {}

  bool run_piece(Worker& worker) override {
    if (cancelled_.load(std::memory_order_relaxed)) return false;
    const uint64_t chunk = next_chunk();
    // Checked first, so that asking again and again does not overflow the counter.
    if (next_block_.load(std::memory_order_relaxed) >= block_count_) return false;
    const uint64_t first = next_block_.fetch_add(chunk, std::memory_order_relaxed);
    if (first >= block_count_) return false;
    const auto start = Clock::now();
    const uint64_t count = std::min(chunk, block_count_ - first);
    run_blocks(worker.runner(), first, count);
    const auto elapsed = Clock::now() - start;
    adapt_chunk(chunk, elapsed);
    if (first == 0) first_worker_.store(&worker, std::memory_order_relaxed);
    if (first_worker_.load(std::memory_order_relaxed) == &worker) note_time(count, elapsed);
    return true;
  }

  // The fault, written by another worker perhaps, is visible: the pool's lock lies in between. The
  // code goes before whoever waits is told, who may be about to unload it.
  void completed() override {
    owner_ = nullptr;
    if (divisible() && !faulted_) BlockTimes::instance().note(launch_, first_nanoseconds());
    completed_(faulted_ ? &fault_ : nullptr);
  }

  bool divisible() const override { return block_count_ > 1; }

  // Asked before the first piece, and only now, when it is this launch's turn, is known how long
  // those took that were enqueued before it.
  bool wants_help() override {
    if (next_block_.load(std::memory_order_relaxed) == 0) {
      block_nanoseconds_.store(BlockTimes::instance().recall(launch_), std::memory_order_relaxed);
    }
    return !is_short(blocks_left());
  }

 private:
  bool is_short(uint64_t blocks) const {
    const uint64_t each = block_nanoseconds_.load(std::memory_order_relaxed);
    return each != BlockTimes::unknown && blocks <= worth_waking_nanoseconds / (each + 1);
  }

  uint64_t blocks_left() const {
    const uint64_t claimed = next_block_.load(std::memory_order_relaxed);
    return block_count_ > claimed ? block_count_ - claimed : 0;
  }

  uint64_t next_chunk() const {
    const uint64_t chunk = chunk_.load(std::memory_order_relaxed);
    // What one worker is to do alone is not divided among all. Its chunks grow from one block all
    // the same: they may turn out longer than the last time.
    if (is_short(block_count_)) return chunk;
    const uint64_t fair = blocks_left() / (2 * uint64_t{workers_});
    // Small enough, towards the end, that the workers end together.
    return std::max<uint64_t>(1, std::min(chunk, fair));
  }

  // Only full chunks say how long a full one takes; a lost update of another worker is harmless.
  void adapt_chunk(uint64_t ran, Clock::duration elapsed) {
    const uint64_t chunk = chunk_.load(std::memory_order_relaxed);
    if (elapsed > longest_piece) {
      chunk_.store(std::max<uint64_t>(1, ran / 2), std::memory_order_relaxed);
    } else if (elapsed < shortest_piece && ran == chunk) {
      // Four times a piece of less than 50 microseconds stays within the longest.
      chunk_.store(std::min(4 * chunk, largest_chunk), std::memory_order_relaxed);
    }
  }

  // Of the worker that began only: the others have come a long way, with nothing in their caches,
  // and a launch would look longer for having been helped.
  void note_time(uint64_t ran, Clock::duration elapsed) {
    first_ran_ += ran;
    first_spent_ += elapsed;
    // The first blocks take longer than others, but not that long.
    if (first_spent_ < shortest_piece) return;
    const uint64_t each = first_nanoseconds();
    if (each > block_nanoseconds_.load(std::memory_order_relaxed)) {
      block_nanoseconds_.store(static_cast<uint32_t>(each), std::memory_order_relaxed);
    }
  }

  uint64_t first_nanoseconds() const {
    const auto spent = std::chrono::duration_cast<std::chrono::nanoseconds>(first_spent_);
    return std::min<uint64_t>(static_cast<uint64_t>(spent.count()) / first_ran_,
                              BlockTimes::unknown - 1);
  }

  void run_blocks(BlockRunner& runner, uint64_t first, uint64_t count) {
    try {
      runner.prepare(launch_);
    } catch (const std::system_error& error) {
      record({cudaErrorMemoryAllocation, error.what()});
      return;
    }
    const dim3 grid = launch_.grid;
    uint3 index = block_index_of(grid, first);
    for (uint64_t i = 0; i < count; ++i) {
      if (cancelled_.load(std::memory_order_relaxed)) return;
      const BlockOutcome outcome = runner.run(index);
      if (outcome == BlockOutcome::faulted) record(runner.fault());
      if (outcome != BlockOutcome::finished) return;
      if (++index.x != grid.x) continue;
      index.x = 0;
      if (++index.y != grid.y) continue;
      index.y = 0;
      ++index.z;
    }
  }

  // The first fault is the launch's; it ends what has not begun and what waits.
  void record(LaunchFault fault) {
    if (cancelled_.exchange(true, std::memory_order_relaxed)) return;
    fault_ = std::move(fault);
    faulted_ = true;
  }

  ArgumentCopy arguments_;
  LaunchContext launch_;
  std::shared_ptr<const void> owner_;
  const uint64_t block_count_;
  unsigned workers_;
  std::function<void(const LaunchFault*)> completed_;
  std::atomic<bool> cancelled_{false};
  LaunchFault fault_{cudaSuccess, {}};
  bool faulted_ = false;
  std::atomic<uint32_t> block_nanoseconds_{BlockTimes::unknown};
  // Written by the worker that runs the first block, and read when all have left.
  std::atomic<const Worker*> first_worker_{nullptr};
  uint64_t first_ran_ = 0;
  Clock::duration first_spent_{0};
  // On lines of their own: every worker writes them.
  alignas(64) std::atomic<uint64_t> next_block_{0};
  std::atomic<uint64_t> chunk_{1};
};

}  // namespace

std::shared_ptr<Work> make_kernel_work(LaunchRequest request,
                                       std::function<void(const LaunchFault*)> completed) {
  check_request(request);
  return std::make_shared<KernelWork>(std::move(request), std::move(completed));
}

}  // namespace gridstride::host
