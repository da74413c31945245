// Which signals a thread of the runtime takes.
#ifndef GRIDSTRIDE_HOST_THREAD_SIGNALS_H
#define GRIDSTRIDE_HOST_THREAD_SIGNALS_H

#include <signal.h>

namespace gridstride::host {

// What the processor raises. abort() counts as the kernel's too: it is how the C++ library ends on
// std::terminate.
inline constexpr int fault_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};

// As long as it lives, threads that the calling one makes inherit a mask that blocks all but
// faults: no signal that is meant for the process (a timer's, the terminal's) is ever handled on
// them.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int fault : fault_signals) sigdelset(&blocked, fault);
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace gridstride::host

#endif
