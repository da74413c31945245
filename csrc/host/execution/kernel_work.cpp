// Launches as work for the pool: checking them, running their blocks, cooperative launches.
#include "host/execution/kernel_work.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "host/execution/block_region.h"
#include "host/execution/block_runner.h"
#include "host/execution/cooperative_grid.h"
#include "host/execution/worker_pool.h"

namespace gridstride::host {
namespace {

[[noreturn]] void refuse(const KernelDescriptor& kernel, const std::string& reason) {
  throw std::invalid_argument("Cannot launch " + std::string(kernel.name) + " as " + reason);
}

std::string to_text(dim3 dimension) {
  return "(" + std::to_string(dimension.x) + "," + std::to_string(dimension.y) + "," +
         std::to_string(dimension.z) + ")";
}

}  // namespace

void check_request(const LaunchRequest& request) {
  const KernelDescriptor& kernel = *request.kernel;
  if (kernel.contract != kernel_contract) {
    refuse(kernel, "it must be compiled against version " + std::to_string(kernel_contract) +
                       " of the host device's headers: it is of version " +
                       std::to_string(kernel.contract));
  }
  const dim3 grid = request.grid;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) {
    refuse(kernel, "the dimensions of the grid must be positive: they are " + to_text(grid));
  }
  uint64_t blocks = uint64_t{grid.x} * grid.y;
  if (__builtin_mul_overflow(blocks, grid.z, &blocks) || blocks >= uint64_t{1} << 63) {
    refuse(kernel, "a grid must have less than 2^63 blocks: its dimensions are " + to_text(grid));
  }
  const dim3 block = request.block;
  const uint64_t face = uint64_t{block.x} * block.y;
  // The product of three 32-bit numbers may overflow; of two it does not.
  if (face == 0 || block.z == 0 || face > max_block_threads || face * block.z > max_block_threads) {
    refuse(kernel, "a block must have 1 to 1024 threads: its dimensions are " + to_text(block));
  }
  if (request.dynamic_shared_bytes > max_dynamic_shared_bytes) {
    refuse(kernel, "dynamic shared memory must be at most " +
                       std::to_string(max_dynamic_shared_bytes) + " bytes: it is " +
                       std::to_string(request.dynamic_shared_bytes));
  }
}

std::vector<unsigned char> pack_arguments(const KernelDescriptor& kernel, void** arguments) {
  std::vector<unsigned char> packed(for_each_parameter(kernel, [](uint32_t, size_t) {}));
  for_each_parameter(kernel, [&](uint32_t i, size_t offset) {
    const auto* source = static_cast<const unsigned char*>(arguments[i]);
    std::copy(source, source + kernel.parameter_sizes[i], packed.data() + offset);
  });
  return packed;
}

ArgumentCopy::ArgumentCopy(const KernelDescriptor& kernel,
                           const std::vector<unsigned char>& packed) {
  size_t alignment = 1;
  const size_t bytes = for_each_parameter(kernel, [&](uint32_t i, size_t) {
    alignment = std::max<size_t>(alignment, kernel.parameter_alignments[i]);
  });
  if (packed.size() != bytes) {
    refuse(kernel, "its arguments must take " + std::to_string(bytes) + " bytes: they take " +
                       std::to_string(packed.size()));
  }
  storage_.resize(bytes + alignment);
  const auto address = reinterpret_cast<uintptr_t>(storage_.data());
  unsigned char* start = storage_.data() + (alignment - address % alignment) % alignment;
  std::copy(packed.begin(), packed.end(), start);
  addresses_.resize(kernel.parameter_count + 1);
  for_each_parameter(kernel, [&](uint32_t i, size_t offset) { addresses_[i] = start + offset; });
}

// ---- the time of a block, learnt from earlier launches ------------------------------------------
//
// A table without locks, by kernel, grid and block shape. Only a hint: arguments may change the
// work of a block, and other launches may have overwritten the entry.

namespace {

constexpr uint32_t unknown_time = UINT32_MAX;

// The lower half of a launch's hash is its place, the upper half is kept beside the time.
constexpr uint32_t time_entries = 4096;
std::atomic<uint64_t> times[time_entries];

uint64_t mix(uint64_t hash, uint64_t value) {
  // The finaliser of SplitMix64 (Steele, Lea and Flood 2014).
  uint64_t x = (hash ^ value) + 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t hash_of(const LaunchContext& launch) {
  uint64_t hash = reinterpret_cast<uintptr_t>(launch.kernel);
  hash = mix(hash, uint64_t{launch.grid.x} << 32 | launch.grid.y);
  hash = mix(hash, uint64_t{launch.grid.z} << 32 | launch.block.x);
  return mix(hash, uint64_t{launch.block.y} << 32 | launch.block.z);
}

// Nanoseconds. An entry of zero is an empty one: times are stored plus one.
uint32_t recall_block_time(const LaunchContext& launch) {
  const uint64_t hash = hash_of(launch);
  const uint64_t entry = times[hash % time_entries].load(std::memory_order_relaxed);
  const bool is_of_launch = static_cast<uint32_t>(entry) != 0 && entry >> 32 == hash >> 32;
  return is_of_launch ? static_cast<uint32_t>(entry) - 1 : unknown_time;
}

// A longer time is believed at once and a shorter one by half: mistaking a long launch for a short
// one costs the help of other workers, the opposite costs a needless wake-up.
void note_block_time(const LaunchContext& launch, uint64_t nanoseconds) {
  const uint64_t hash = hash_of(launch);
  const uint32_t known = recall_block_time(launch);
  const uint64_t halfway = known == unknown_time ? 0 : (known + nanoseconds) / 2;
  const uint64_t time = std::min<uint64_t>(std::max(nanoseconds, halfway), unknown_time - 2);
  times[hash % time_entries].store(hash >> 32 << 32 | (time + 1), std::memory_order_relaxed);
}

// ---- kernel launches ---------------------------------------------------------------------------
//
// All workers claim the blocks of a launch in chunks, in ascending order. The order is a promise: a
// block may wait for one of a smaller index (as chained scans do), because that one was claimed
// before.

using Clock = std::chrono::steady_clock;

// A piece this long costs little to claim, and lets other work wait for little.
constexpr auto min_piece_time = std::chrono::microseconds(50);
constexpr auto max_piece_time = std::chrono::microseconds(200);
constexpr uint64_t largest_chunk = uint64_t{1} << 20;

// Waking a worker costs the waking thread up to 30 microseconds in a virtual machine when its other
// processor has nothing to do, and as long again until it comes. In a row of launches the woken
// worker stays for the next ones, so less is worth it than the first launch gains: with 40 instead
// of 100 microseconds, additions of 2^18 floats take 0.7 of the time, and shorter work as long.
constexpr uint64_t worth_waking_nanoseconds = 40000;

// A worker that spins has begun within a microsecond.
constexpr uint64_t worth_sharing_nanoseconds = 5000;

class KernelWork final : public Work {
 public:
  KernelWork(LaunchRequest request, std::function<void(const LaunchFault*)> completed)
      : arguments_(*request.kernel, request.arguments),
        timer_(request.time_limit),
        launch_{request.kernel, arguments_.addresses(),       request.grid,
                request.block,  request.dynamic_shared_bytes, &cancelled_,
                &timer_},
        owner_(std::move(request.owner)),
        block_count_(block_count(request.grid)),
        workers_(WorkerPool::instance().size()),
        completed_(std::move(completed)) {}

  bool run_piece(Worker& worker) override {
    if (cancelled_.load(std::memory_order_relaxed)) return false;
    const uint64_t chunk = next_chunk();
    // Checked first: repeated calls do not overflow the counter.
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
  // code goes before waiting threads are notified, because they may be about to unload it.
  void completed() override {
    owner_ = nullptr;
    if (divisible() && !faulted_) note_block_time(launch_, first_nanoseconds());
    completed_(faulted_ ? &fault_ : nullptr);
  }

  bool divisible() const override { return block_count_ > 1; }

  // Called before the first piece: only now, when it is this launch's turn, is it known how long
  // those took that were enqueued before it.
  bool wants_help(bool is_awake) override {
    if (next_block_.load(std::memory_order_relaxed) == 0) {
      block_nanoseconds_.store(recall_block_time(launch_), std::memory_order_relaxed);
    }
    const uint64_t worth = is_awake ? worth_sharing_nanoseconds : worth_waking_nanoseconds;
    const uint64_t each = block_nanoseconds_.load(std::memory_order_relaxed);
    const bool wants = each == unknown_time || blocks_left() > worth / (each + 1);
    if (wants) shared_.store(true, std::memory_order_relaxed);
    return wants;
  }

 private:
  uint64_t blocks_left() const {
    const uint64_t claimed = next_block_.load(std::memory_order_relaxed);
    return block_count_ > claimed ? block_count_ - claimed : 0;
  }

  uint64_t next_chunk() const {
    const uint64_t chunk = chunk_.load(std::memory_order_relaxed);
    // What one worker is to do alone is not divided among all. Its chunks grow from one block all
    // the same: they may turn out longer than the last time.
    if (!shared_.load(std::memory_order_relaxed)) return chunk;
    const uint64_t fair = blocks_left() / (2 * uint64_t{workers_});
    // Small enough, towards the end, that the workers end together.
    return std::max<uint64_t>(1, std::min(chunk, fair));
  }

  // Only full chunks say how long a full one takes; a lost update of another worker is harmless.
  void adapt_chunk(uint64_t ran, Clock::duration elapsed) {
    const uint64_t chunk = chunk_.load(std::memory_order_relaxed);
    if (elapsed > max_piece_time) {
      chunk_.store(std::max<uint64_t>(1, ran / 2), std::memory_order_relaxed);
    } else if (elapsed < min_piece_time && ran == chunk) {
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
    if (first_spent_ < min_piece_time) return;
    const uint64_t each = first_nanoseconds();
    if (each > block_nanoseconds_.load(std::memory_order_relaxed)) {
      block_nanoseconds_.store(static_cast<uint32_t>(each), std::memory_order_relaxed);
    }
  }

  uint64_t first_nanoseconds() const {
    const auto spent = std::chrono::duration_cast<std::chrono::nanoseconds>(first_spent_);
    return std::min<uint64_t>(static_cast<uint64_t>(spent.count()) / first_ran_,
                              unknown_time - 1);
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

  // The first fault is the launch's; it ends blocks that have not begun and blocks that wait.
  void record(LaunchFault fault) {
    if (cancelled_.exchange(true, std::memory_order_relaxed)) return;
    fault_ = std::move(fault);
    faulted_ = true;
  }

  ArgumentCopy arguments_;
  LaunchTimer timer_;
  LaunchContext launch_;
  std::shared_ptr<const void> owner_;
  const uint64_t block_count_;
  unsigned workers_;
  std::function<void(const LaunchFault*)> completed_;
  std::atomic<bool> cancelled_{false};
  LaunchFault fault_{cudaSuccess, {}};
  bool faulted_ = false;
  std::atomic<uint32_t> block_nanoseconds_{unknown_time};
  // Written by the worker that runs the first block, and read when all have left.
  std::atomic<const Worker*> first_worker_{nullptr};
  uint64_t first_ran_ = 0;
  Clock::duration first_spent_{0};
  // Whether a piece of this launch wanted help.
  std::atomic<bool> shared_{false};
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

// ---- cooperative launches -----------------------------------------------------------------------

namespace {

class CooperativeWork final : public Work,
                              public Crew,
                              public std::enable_shared_from_this<CooperativeWork> {
 public:
  CooperativeWork(LaunchRequest request, std::function<void(const LaunchFault*)> completed)
      : arguments_(*request.kernel, request.arguments),
        block_count_(static_cast<uint32_t>(block_count(request.grid))),
        grid_barrier_(block_count_),
        timer_(request.time_limit),
        launch_{request.kernel, arguments_.addresses(),       request.grid,
                request.block,  request.dynamic_shared_bytes, &cancelled_,
                &timer_,        &grid_barrier_},
        owner_(std::move(request.owner)),
        completed_(std::move(completed)) {}

  // There is one piece: nothing is left to claim when it is done.
  bool run_piece(Worker&) override {
    try {
      BlockThreads::instance().start(shared_from_this(), block_count_);
    } catch (const std::system_error& error) {
      record({cudaErrorLaunchOutOfResources, "Cannot start a thread for each of the " +
                                                 std::to_string(block_count_) +
                                                 " blocks of a cooperative launch of " +
                                                 launch_.kernel->name + ": " + error.what()});
      all_ran();
    }
    return false;
  }

  // The blocks are still running, and the last of them notifies waiting threads.
  void completed() override {}

  void run(BlockRunner& runner, uint32_t number) override {
    try {
      runner.prepare(launch_);
      const BlockOutcome outcome = runner.run(block_index_of(launch_.grid, number));
      if (outcome == BlockOutcome::faulted) record(runner.fault());
    } catch (const std::system_error& error) {
      record({cudaErrorMemoryAllocation, error.what()});
    }
    grid_barrier_.leave();
  }

  void all_ran() override {
    owner_ = nullptr;
    completed_(faulted_ ? &fault_ : nullptr);
  }

 private:
  // The first fault is the launch's; it ends what waits.
  void record(LaunchFault fault) {
    if (cancelled_.exchange(true, std::memory_order_relaxed)) return;
    fault_ = std::move(fault);
    faulted_ = true;
    grid_barrier_.cancel();
  }

  ArgumentCopy arguments_;
  const uint32_t block_count_;
  CooperativeGrid grid_barrier_;
  std::atomic<bool> cancelled_{false};
  LaunchTimer timer_;
  LaunchContext launch_;
  std::shared_ptr<const void> owner_;
  std::function<void(const LaunchFault*)> completed_;
  LaunchFault fault_{cudaSuccess, {}};
  bool faulted_ = false;
};

}  // namespace

std::shared_ptr<Work> make_cooperative_work(LaunchRequest request,
                                            std::function<void(const LaunchFault*)> completed) {
  check_request(request);
  return std::make_shared<CooperativeWork>(std::move(request), std::move(completed));
}

}  // namespace gridstride::host
