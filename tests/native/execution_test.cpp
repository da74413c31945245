// Tests of the host device's execution engine, against csrc/host/ directly.
//
//   execution_test [library of execution_late_kernels.cpp]
//
// The optional library is opened while the pool runs, as kernels compiled at run time are.
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "execution_check.h"

namespace execution {
namespace {

int failures = 0;
std::mutex print_lock;

}  // namespace

void check(bool holds, const std::string& name, const std::string& detail) {
  const std::lock_guard<std::mutex> lock(print_lock);
  failures += holds ? 0 : 1;
  const char* separator = !holds && !detail.empty() ? ": " : "";
  std::printf("%s %s%s%s\n", holds ? "ok" : "FAILED", name.c_str(), separator,
              holds ? "" : detail.c_str());
  std::fflush(stdout);
}

Launch::Launch(host::LaunchRequest request) {
  auto state = state_;
  auto completed = [state](const host::LaunchFault* fault) {
    const std::lock_guard<std::mutex> lock(state->mutex);
    if (fault != nullptr) state->outcome = {fault->code, fault->description};
    if (++state->completions > 1) state->outcome = {cudaErrorUnknown, "completed twice"};
    state->changed.notify_all();
  };
  host::WorkerPool::instance().submit(host::make_kernel_work(std::move(request), completed));
}

const Outcome& Launch::wait() {
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->changed.wait(lock, [this] { return state_->completions != 0; });
  return state_->outcome;
}

bool Launch::is_done() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->completions != 0;
}

}  // namespace execution

int main(int count, char** arguments) {
  execution::install_earlier_handler();
  execution::check_indices();
  execution::check_barriers();
  execution::check_collectives();
  execution::check_tiles();
  execution::check_cooperative_groups();
  execution::check_convergence();
  execution::check_user_source();
  execution::check_faults();
  execution::check_waiting();
  execution::check_pool();
  if (count > 1) execution::check_late_library(arguments[1]);
  std::printf("%d failed\n", execution::failures);
  return execution::failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
