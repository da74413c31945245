// The time limit of launches.
//
// A block that runs beyond its launch's limit is interrupted by a signal, and leaves the kernel as
// it would after a fault. The watchdog is a thread that looks at all blocks from time to time: a
// launch pays one load for it.
#pragma once

#include <atomic>
#include <cstdint>

namespace gridstride::host {

// Nanoseconds of a clock that never jumps.
int64_t steady_nanoseconds();

// The time that one launch may take, from its first block on.
class LaunchTimer {
 public:
  // Nanoseconds; 0 for no limit.
  explicit LaunchTimer(int64_t limit) : limit_(limit) {}

  int64_t limit() const { return limit_; }

  // When the launch must have ended, 0 without a limit. The first call starts the time, and the
  // watchdog with it.
  int64_t deadline();

 private:
  const int64_t limit_;
  std::atomic<int64_t> deadline_{0};
};

}  // namespace gridstride::host
