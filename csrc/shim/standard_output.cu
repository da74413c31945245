// Standard output of the process, sent to standard error for a while.
//
// What kernels print goes to file descriptor 1 on both devices: CUDA's driver writes it there by
// the C library's stdout, the host device by write(). Neither can write elsewhere, so the
// descriptor itself is redirected.
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>

#include "shim/guard.h"

namespace gridstride {

namespace {

// Replaces a descriptor atomically: a concurrent write goes to the old target or to the new one.
bool lead(int descriptor, int target) {
  int led = -1;
  do {
    led = dup2(target, descriptor);
  } while (led < 0 && (errno == EINTR || errno == EBUSY));
  return led == descriptor;
}

class Diversion {
 public:
  void begin() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (depth_ == 0) divert();
    ++depth_;
  }

  void end() {
    const std::lock_guard<std::mutex> lock(mutex_);
    require(depth_ > 0, GS_ERROR_ARGUMENT);
    if (depth_ == 1) restore();
    --depth_;
  }

 private:
  // Text in the C library's buffer was printed before, and goes to the original target.
  void divert() {
    std::fflush(stdout);
    // Not among the first three, should one of them be closed.
    const int original = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    require(original >= 0, GS_ERROR_SYSTEM);
    if (!lead(STDOUT_FILENO, STDERR_FILENO)) {
      close(original);
      fail(GS_ERROR_SYSTEM);
    }
    original_ = original;
  }

  void restore() {
    std::fflush(stdout);
    require(lead(STDOUT_FILENO, original_), GS_ERROR_SYSTEM);
    close(original_);
  }

  std::mutex mutex_;
  int depth_ = 0;
  int original_ = -1;
};

// Never destroyed: a thread may still be here when the process ends.
Diversion& diversion() {
  static Diversion* const only = new Diversion();
  return *only;
}

}  // namespace

}  // namespace gridstride

using namespace gridstride;

int32_t gs_output_divert(int32_t diverted) {
  return guarded([&] {
    require(diverted == 0 || diverted == 1, GS_ERROR_ARGUMENT);
    if (diverted == 1) {
      diversion().begin();
    } else {
      diversion().end();
    }
  });
}
