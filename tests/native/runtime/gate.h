// Holding a stream at a point until the test lets it go on: how the tests make timing certain.
#pragma once

#include <condition_variable>
#include <mutex>

#include "check.h"

namespace runtime_test {

// One gate at a time is reached, as host functions run one after the other: a second closed gate
// behind a first one waits for it.
class Gate {
 public:
  // Later work of the stream waits for open().
  explicit Gate(cudaStream_t stream) {
    const cudaError_t status = cudaLaunchHostFunc(stream, &Gate::pass, this);
    passed_ = status != cudaSuccess;
    REQUIRE(status);
  }

  ~Gate() {
    open();
    await_passed();
  }

  void open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  static void pass(void* self) {
    Gate& gate = *static_cast<Gate*>(self);
    std::unique_lock<std::mutex> lock(gate.mutex_);
    gate.changed_.wait(lock, [&] { return gate.open_; });
    gate.passed_ = true;
    gate.changed_.notify_all();
  }

  // The host function uses this object.
  void await_passed() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return passed_; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  bool passed_ = false;
};

}  // namespace runtime_test
