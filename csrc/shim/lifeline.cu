// Lifelines: processes that end with this one, however it ends.
//
// A lifeline is a pipe. A child process inherits the read end, and this process holds the only
// write end. When that is closed, by a call or by the kernel after the end of this process, the
// kernel signals the owner of the read end, which is the child's process group: a compiler and all
// programs that it has started. The signal is SIGKILL, so no program can ignore it.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <utility>

#include "shim/guard.h"
#include "shim/handle_table.h"

namespace gridstride {

namespace {

struct Lifeline {
  std::atomic<int> read_end{-1};
  int write_end = -1;

  void close_read_end() {
    const int descriptor = read_end.exchange(-1);
    if (descriptor >= 0) close(descriptor);
  }
  void end() {
    close_read_end();
    close(write_end);
  }
};

HandleTable<Lifeline> lifelines;

// Whether a process group is that of a child, which has ended at most as a zombie.
bool is_group_of_child(int32_t group) {
  siginfo_t state = {};
  return group > 1 && getpgid(group) == group &&
         waitid(P_PID, static_cast<id_t>(group), &state, WEXITED | WNOHANG | WNOWAIT) == 0;
}

}  // namespace

}  // namespace gridstride

using namespace gridstride;

int32_t gs_lifeline_open(double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
#ifdef F_SETSIG
    HandleTable<Lifeline>::Reservation made = lifelines.reserve();
    int ends[2];
    require(pipe2(ends, O_CLOEXEC) == 0, GS_ERROR_SYSTEM);
    // Programs that start meanwhile inherit it too: it has no effect on them.
    fcntl(ends[0], F_SETFD, 0);
    made->read_end = ends[0];
    made->write_end = ends[1];
    result[0] = made.publish();
#else
    fail(GS_ERROR_UNSUPPORTED);
#endif
  });
}

int32_t gs_lifeline_tie(int32_t lifeline, int32_t group) {
  return guarded([&] {
    const auto use = lifelines.use(lifeline);
    const int descriptor = use->read_end.load();
    require(descriptor >= 0, GS_ERROR_ARGUMENT);
    require(is_group_of_child(group), GS_ERROR_NOT_FOUND);
#ifdef F_SETSIG
    require(fcntl(descriptor, F_SETOWN, -group) == 0 && fcntl(descriptor, F_SETSIG, SIGKILL) == 0 &&
                fcntl(descriptor, F_SETFL, O_ASYNC) == 0,
            GS_ERROR_SYSTEM);
#endif
    // The child has its own descriptor of the same open file, which has the owner.
    use->close_read_end();
  });
}

int32_t gs_lifeline_end(int32_t lifeline) {
  return guarded([&] { lifelines.destroy(lifeline); });
}
