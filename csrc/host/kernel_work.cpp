// A kernel launch as work for the pool: its blocks are claimed in chunks, in ascending order, by
// all workers. The order is a promise: a block may wait for one of a smaller index (as chained
// scans do), because that one has been claimed before.
#include "kernel_work.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "block_runner.h"
#include "block_state.h"
#include "worker_pool.h"

namespace gridstride::host {
namespace {

using Clock = std::chrono::steady_clock;

// A piece this long costs little to claim, and lets other work wait for little.
constexpr auto shortest_piece = std::chrono::microseconds(50);
constexpr auto longest_piece = std::chrono::microseconds(200);
constexpr uint64_t largest_chunk = uint64_t{1} << 20;

size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

// Calls visit(parameter, offset) for every parameter of a packed copy; gives the copy's size.
template <typename Visit>
size_t for_each_parameter(const KernelDescriptor& kernel, Visit visit) {
  size_t offset = 0;
  for (uint32_t i = 0; i < kernel.parameter_count; ++i) {
    offset = round_up(offset, kernel.parameter_alignments[i]);
    visit(i, offset);
    offset += kernel.parameter_sizes[i];
  }
  return offset;
}

// A copy of packed arguments in which each one is aligned as its type demands, and their addresses.
class ArgumentCopy {
 public:
  ArgumentCopy(const KernelDescriptor& kernel, const std::vector<unsigned char>& packed) {
    size_t alignment = 1;
    const size_t bytes = for_each_parameter(kernel, [&](uint32_t i, size_t) {
      alignment = std::max<size_t>(alignment, kernel.parameter_alignments[i]);
    });
    if (packed.size() != bytes) {
      throw std::invalid_argument("Cannot launch " + std::string(kernel.name) +
                                  " as its arguments must take " + std::to_string(bytes) +
                                  " bytes: they take " + std::to_string(packed.size()));
    }
    storage_.resize(bytes + alignment);
    const auto address = reinterpret_cast<uintptr_t>(storage_.data());
    unsigned char* start = storage_.data() + (round_up(address, alignment) - address);
    std::copy(packed.begin(), packed.end(), start);
    addresses_.resize(kernel.parameter_count + 1);
    for_each_parameter(kernel,
                       [&](uint32_t i, size_t offset) { addresses_[i] = start + offset; });
  }

  void** addresses() { return addresses_.data(); }

 private:
  std::vector<unsigned char> storage_;
  std::vector<void*> addresses_;
};

class KernelWork final : public Work {
 public:
  KernelWork(LaunchRequest request, std::function<void(const LaunchFault*)> completed)
      : arguments_(*request.kernel, request.arguments),
        launch_{request.kernel, arguments_.addresses(),       request.grid,
                request.block,  request.dynamic_shared_bytes, &cancelled_},
        block_count_(uint64_t{request.grid.x} * request.grid.y * request.grid.z),
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
    run_blocks(worker.runner(), first, std::min(chunk, block_count_ - first));
    adapt_chunk(chunk, Clock::now() - start);
    return true;
  }

  // The fault, written by another worker perhaps, is visible: the pool's lock lies in between.
  void completed() override { completed_(faulted_ ? &fault_ : nullptr); }

  bool divisible() const override { return block_count_ > 1; }

 private:
  // Small enough, towards the end, that the workers end together.
  uint64_t next_chunk() const {
    const uint64_t claimed = next_block_.load(std::memory_order_relaxed);
    const uint64_t left = block_count_ > claimed ? block_count_ - claimed : 0;
    const uint64_t fair = left / (2 * uint64_t{workers_});
    return std::max<uint64_t>(1, std::min(chunk_.load(std::memory_order_relaxed), fair));
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

  void run_blocks(BlockRunner& runner, uint64_t first, uint64_t count) {
    try {
      runner.prepare(launch_);
    } catch (const std::system_error& error) {
      record({cudaErrorMemoryAllocation, error.what()});
      return;
    }
    const dim3 grid = launch_.grid;
    uint3 index;
    index.x = static_cast<unsigned>(first % grid.x);
    index.y = static_cast<unsigned>(first / grid.x % grid.y);
    index.z = static_cast<unsigned>(first / grid.x / grid.y);
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
  uint64_t block_count_;
  unsigned workers_;
  std::function<void(const LaunchFault*)> completed_;
  std::atomic<bool> cancelled_{false};
  LaunchFault fault_{cudaSuccess, {}};
  bool faulted_ = false;
  // On lines of their own: every worker writes them.
  alignas(64) std::atomic<uint64_t> next_block_{0};
  std::atomic<uint64_t> chunk_{1};
};

[[noreturn]] void refuse(const KernelDescriptor& kernel, const std::string& reason) {
  throw std::invalid_argument("Cannot launch " + std::string(kernel.name) + " as " + reason);
}

std::string to_text(dim3 dimension) {
  return "(" + std::to_string(dimension.x) + "," + std::to_string(dimension.y) + "," +
         std::to_string(dimension.z) + ")";
}

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
  if (face == 0 || block.z == 0 || face > max_block_threads ||
      face * block.z > max_block_threads) {
    refuse(kernel, "a block must have 1 to 1024 threads: its dimensions are " + to_text(block));
  }
  if (request.dynamic_shared_bytes > max_dynamic_shared_bytes) {
    refuse(kernel, "dynamic shared memory must be at most " +
                       std::to_string(max_dynamic_shared_bytes) + " bytes: it is " +
                       std::to_string(request.dynamic_shared_bytes));
  }
}

}  // namespace

std::vector<unsigned char> pack_arguments(const KernelDescriptor& kernel, void** arguments) {
  std::vector<unsigned char> packed(for_each_parameter(kernel, [](uint32_t, size_t) {}));
  for_each_parameter(kernel, [&](uint32_t i, size_t offset) {
    const auto* source = static_cast<const unsigned char*>(arguments[i]);
    std::copy(source, source + kernel.parameter_sizes[i], packed.data() + offset);
  });
  return packed;
}

std::shared_ptr<Work> make_kernel_work(LaunchRequest request,
                                       std::function<void(const LaunchFault*)> completed) {
  check_request(request);
  return std::make_shared<KernelWork>(std::move(request), std::move(completed));
}

}  // namespace gridstride::host
