// The interrupted processor state that a signal handler is given, by system and architecture: what
// can be read from it, and how to continue elsewhere.
#ifndef GRIDSTRIDE_HOST_MACHINE_CONTEXT_H
#define GRIDSTRIDE_HOST_MACHINE_CONTEXT_H

#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

#include "host/execution/faults.h"
#include "gridstride/context_switch.h"

namespace gridstride::host {

#if defined(__linux__) && defined(__x86_64__)

// The page-fault error code: bit 1 says that the access was a write.
inline MemoryAccess interrupted_access(void* context, int signal) {
  if (signal != SIGSEGV && signal != SIGBUS) return MemoryAccess::unknown;
  const auto code = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR];
  return (code & 2) != 0 ? MemoryAccess::write : MemoryAccess::read;
}

// Whether a general register holds what cannot be an address: bits 47 to 63 differ.
inline bool holds_wild_address(void* context) {
  const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  static constexpr int numbers[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI,
                                    REG_RBP, REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12,
                                    REG_R13, REG_R14, REG_R15};
  for (const int number : numbers) {
    const int64_t value = registers[number];
    const int64_t high_bits = value >> 47;
    if (high_bits != 0 && high_bits != -1) return true;
  }
  return false;
}

#else

inline MemoryAccess interrupted_access(void*, int) { return MemoryAccess::unknown; }
inline bool holds_wild_address(void*) { return true; }

#endif

#if defined(GS_HOST_PORTABLE_SWITCH)

// Leaves the handler for good. setcontext restores the runner's signal mask.
inline void continue_in(void*, void* parked) { resume_context(parked); }

#elif defined(__x86_64__)

// What resume_context does, done to the state that returning from the signal restores: the
// continuation is popped off the parked stack. The direction flag must be clear where functions
// begin, and the kernel may have been interrupted inside a backward copy.
inline void continue_in(void* context, void* parked) {
  void** stack = static_cast<void**>(parked);
  const auto continuation = reinterpret_cast<uintptr_t>(stack[0]);
  const auto stack_pointer = reinterpret_cast<uintptr_t>(stack + 1);
  constexpr uintptr_t direction_flag = 1 << 10;
#if defined(__APPLE__)
  auto& state = static_cast<ucontext_t*>(context)->uc_mcontext->__ss;
  state.__rip = continuation;
  state.__rsp = stack_pointer;
  state.__rflags &= ~direction_flag;
#else
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  registers[REG_RIP] = static_cast<greg_t>(continuation);
  registers[REG_RSP] = static_cast<greg_t>(stack_pointer);
  registers[REG_EFL] &= ~static_cast<greg_t>(direction_flag);
#endif
}

#else  // aarch64

inline void continue_in(void* context, void* parked) {
  void** frame = static_cast<void**>(parked);
  const auto continuation = reinterpret_cast<uintptr_t>(frame[2]);
#if defined(__APPLE__)
  auto& state = static_cast<ucontext_t*>(context)->uc_mcontext->__ss;
  __darwin_arm_thread_state64_set_pc_fptr(state, reinterpret_cast<void*>(continuation));
  __darwin_arm_thread_state64_set_sp(state, parked);
#else
  auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
  machine.pc = continuation;
  machine.sp = reinterpret_cast<uintptr_t>(parked);
#endif
}

#endif

}  // namespace gridstride::host

#endif
