// Signals that the processor raises while a kernel runs.
#pragma once

#include <signal.h>

#include "host/execution/block_region.h"

namespace gridstride::host {

// Installs the handlers, once per process. A signal that is not a kernel's goes to the handler that
// was there before. Throws std::system_error.
void install_fault_handlers();

// Turns the signals of kernels on the calling OS thread into faults of `block`: they are handled on
// the block's signal stack, and unblocked. Once per OS thread, which either lives for good or calls
// release_calling_thread before its block goes.
void adopt_calling_thread(BlockState& block);
void release_calling_thread();

// More than all workers and all threads of cooperative launches are.
inline constexpr unsigned max_adopted_threads = 16384;

// Whether the block's launch has run for longer than it may.
bool is_overdue(const BlockState& block);

// Sends the interrupting signal to the threads whose blocks are beyond their deadline; whether any
// thread is inside a kernel.
bool interrupt_overdue_blocks();

// The block that the calling OS thread runs, null when it is not inside a kernel. Asynchronous
// signals may interrupt it.
BlockState* running_block();

// Which signals a thread of the runtime takes.

// What the processor raises. abort() counts as the kernel's too: it is how the C++ library ends on
// std::terminate.
//
// The last one is the watchdog's: a signal that is ignored where nobody handles it.
inline constexpr int interrupt_signal = SIGURG;
inline constexpr int fault_signals[] = {SIGSEGV, SIGBUS,  SIGFPE,          SIGILL,
                                        SIGTRAP, SIGABRT, interrupt_signal};

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
