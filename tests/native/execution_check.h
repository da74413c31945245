// What the tests of the host device's execution engine share: checking, and launching a kernel
// through the worker pool without the CUDA runtime above it.
//
// execution_test.cpp holds main(); the other execution_*.cpp files hold one suite each and are
// linked with it and with csrc/host/. Every check prints one line; the program's status is 0 when
// all hold.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include <gridstride/qualifiers.h>
//
#include <gridstride/collectives.h>
#include <gridstride/kernel_descriptor.h>
#include <gridstride/register_names.h>
#include "host/execution/kernel_work.h"
#include "host/execution/worker_pool.h"

namespace execution {

namespace host = gridstride::host;

// Prints the check and counts it; detail is printed when it does not hold.
void check(bool holds, const std::string& name, const std::string& detail = "");

void check_indices();
void check_barriers();
void check_collectives();
void check_tiles();
void check_cooperative_groups();
void check_convergence();
void check_user_source();
void check_faults();
void check_waiting();
void check_pool();
void check_late_library(const char* path);

// For check_faults, to be called before anything is launched.
void install_earlier_handler();

struct Outcome {
  cudaError_t code = cudaSuccess;
  std::string description;
};

// A launch in flight.
class Launch {
 public:
  explicit Launch(host::LaunchRequest request);
  const Outcome& wait();
  bool is_done();

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    int completions = 0;
    Outcome outcome;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

// A kernel's type gives its arguments theirs, as a launch by hand would cast them.
template <auto Kernel, typename Type>
struct Launcher;
template <auto Kernel, typename... Parameters>
struct Launcher<Kernel, void (*)(Parameters...)> {
  static Launch start(const char* name, dim3 grid, dim3 block, size_t shared,
                      Parameters... arguments) {
    const host::KernelDescriptor* kernel = host::kernel_descriptor<Kernel>(name);
    void* addresses[] = {const_cast<void*>(static_cast<const void*>(&arguments))..., nullptr};
    return Launch({kernel, grid, block, shared, host::pack_arguments(*kernel, addresses), 0});
  }
};

template <auto Kernel, typename... Arguments>
Launch start(dim3 grid, dim3 block, size_t shared, Arguments... arguments) {
  return Launcher<Kernel, decltype(Kernel)>::start("kernel", grid, block, shared, arguments...);
}

template <auto Kernel, typename... Arguments>
Outcome run(dim3 grid, dim3 block, size_t shared, Arguments... arguments) {
  return start<Kernel>(grid, block, shared, arguments...).wait();
}

inline std::string to_text(dim3 dimension) {
  return "(" + std::to_string(dimension.x) + "," + std::to_string(dimension.y) + "," +
         std::to_string(dimension.z) + ")";
}

}  // namespace execution
