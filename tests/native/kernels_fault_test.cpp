// The kernels that fail on purpose, each in a process of its own: the error is the one that
// faults.cu states and it stays, and without their condition the kernels do not fail.
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "kernels_launch.h"
#include "kernels_test.h"

namespace kernels_test {
namespace {

// Runs work in a child and gives its status: what the device said, and said again. This process calls
// nothing of the runtime before: CUDA does not work in the children of a process that has begun to use
// it, and even the name of an error is such a use.
int status_in_child(const std::function<void()>& work) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    work();
    const cudaError_t first = cudaDeviceSynchronize();
    int* memory = nullptr;
    const cudaError_t later = cudaMalloc(&memory, 4);
    constexpr int not_sticky = 255;
    _exit(first == later ? static_cast<int>(first) % 1000 : not_sticky);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Exit statuses have 8 bits.
int expected_status(cudaError_t error) { return static_cast<int>(error) % 1000 % 256; }

template <typename... Arguments>
void check_fault(Check& check, cudaError_t expected, const char* name, Arguments... arguments) {
  const int status = status_in_child([=] { enqueue(name, {2, 64}, 0, nullptr, arguments...); });
  check.that(status == expected_status(expected), "%s: %d, not %d", name, status,
             expected_status(expected));
}

void check_faults() {
  Check check("every fault has its error, which stays");
  float* const nothing = nullptr;
  check_fault(check, cudaErrorIllegalAddress, "fault_null_write", nothing);
  check_fault(check, cudaErrorIllegalAddress, "fault_out_of_bounds", nothing, 1ull << 40);
  check_fault(check, cudaErrorLaunchFailure, "fault_trap");
  check_fault(check, cudaErrorAssert, "fault_assert", 0);
#ifdef __CUDASIM__
  // What a GPU answers with a number, never, or in more than one way.
  int* const no_result = nullptr;
  check_fault(check, cudaErrorIllegalAddress, "fault_stack_overflow", no_result, 1 << 20);
  check_fault(check, cudaErrorLaunchFailure, "fault_divide_by_zero", no_result, 0);
  check_fault(check, cudaErrorLaunchFailure, "fault_deadlock");
#endif
}

void check_no_faults() {
  Check check("without its condition a fault kernel does its work");
  check_fault(check, cudaSuccess, "fault_assert", 1);
  const int status = status_in_child([] {
    const DeviceArray<int> out(std::vector<int>(1));
    const DeviceArray<float> x(std::vector<float>(8));
    launch("fault_divide_by_zero", {1, 1}, 0, out.data(), 1);
    launch("fault_null_write", {1, 32}, 0, x.data());
    launch("fault_out_of_bounds", {1, 32}, 0, x.data(), 7ull);
    const std::vector<float> written = x.read();
    const bool right = out.read()[0] == 1 && written[0] == 1 && written[7] == 1 && written[3] == 0;
    launch("fault_stack_overflow", {1, 1}, 0, out.data(), 0);
    constexpr int wrong = 254;
    if (!right) {
      _exit(wrong);
    }
  });
  check.that(status == 0, "status %d", status);
}

}  // namespace

void test_faults() {
  check_faults();
  check_no_faults();
}

}  // namespace kernels_test
