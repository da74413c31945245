// A cooperative launch: a worker only starts its threads, which then end the launch by themselves.
#include "host/execution/cooperative_work.h"

#include <atomic>
#include <string>
#include <system_error>
#include <utility>

#include "host/execution/block_threads.h"
#include "host/execution/cooperative_grid.h"

namespace gridstride::host {
namespace {

class CooperativeWork final : public Work,
                              public Crew,
                              public std::enable_shared_from_this<CooperativeWork> {
 public:
  CooperativeWork(LaunchRequest request, std::function<void(const LaunchFault*)> completed)
      : arguments_(*request.kernel, request.arguments),
        block_count_(static_cast<uint32_t>(block_count(request.grid))),
        grid_barrier_(block_count_),
        launch_{request.kernel, arguments_.addresses(),       request.grid,
                request.block,  request.dynamic_shared_bytes, &cancelled_,
                &grid_barrier_},
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

  // The blocks are still running, and the last of them tells who waits.
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
