// Signals that the processor raises while a kernel runs.
#ifndef GRIDSTRIDE_HOST_FAULT_SIGNALS_H
#define GRIDSTRIDE_HOST_FAULT_SIGNALS_H

#include "host/execution/block_state.h"

namespace gridstride::host {

// Installs the handlers, once per process. A signal that is not a kernel's goes to the handler that
// was there before. Throws std::system_error.
void install_fault_handlers();

// Makes the calling OS thread one whose kernels' signals become faults of `block`: they are handled
// on the block's signal stack, and unblocked. Once per OS thread, which either lives for good or
// calls release_calling_thread before its block goes.
void adopt_calling_thread(BlockState& block);
void release_calling_thread();

// More than all workers and all threads of cooperative launches are.
inline constexpr unsigned max_adopted_threads = 16384;

// The block that the calling OS thread runs, null when it is not inside a kernel. Asynchronous
// signals may interrupt it.
BlockState* running_block();

}  // namespace gridstride::host

#endif
