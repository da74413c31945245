// The interrupted processor state that a signal handler is given, by system and architecture: what
// can be read from it, and how to continue elsewhere.
#include "host/execution/fault_signals.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <system_error>

#include "gridstride/context_switch.h"
#include "host/execution/faults.h"
#include "host/execution/watchdog.h"

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

struct InterruptedPlace {
  uintptr_t instruction;
  uintptr_t stack;
};

#if defined(__x86_64__)

inline InterruptedPlace interrupted_place(void* context) {
#if defined(__APPLE__)
  const auto& state = static_cast<ucontext_t*>(context)->uc_mcontext->__ss;
  return {static_cast<uintptr_t>(state.__rip), static_cast<uintptr_t>(state.__rsp)};
#else
  const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  return {static_cast<uintptr_t>(registers[REG_RIP]), static_cast<uintptr_t>(registers[REG_RSP])};
#endif
}

// Does what resume_context does, to the state that returning from the signal restores: the
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

inline InterruptedPlace interrupted_place(void* context) {
#if defined(__APPLE__)
  const auto& state = static_cast<ucontext_t*>(context)->uc_mcontext->__ss;
  return {static_cast<uintptr_t>(__darwin_arm_thread_state64_get_pc(state)),
          static_cast<uintptr_t>(__darwin_arm_thread_state64_get_sp(state))};
#else
  const auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
  return {machine.pc, machine.sp};
#endif
}

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

// Signals that the processor raises while a kernel runs.
//
// The handler runs on a stack of its own, because the kernel's own may have overflowed. It stores
// the facts and rewrites the interrupted context: returning from the signal continues in the block
// runner: nothing is unwound, nothing is allocated, and the signal mask is restored by the return
// itself.

namespace {

struct sigaction previous_actions[std::size(fault_signals)];

// Without a block the place is free. A thread finds its own, which others do not change.
struct AdoptedThread {
  std::atomic<pthread_t> thread;
  std::atomic<BlockState*> block;
};
// Looked up by pthread_self(), which is safe in a handler where thread-local storage that was never
// touched is not: its first use allocates.
AdoptedThread adopted_threads[max_adopted_threads];
// Places behind these were never used.
std::atomic<unsigned> adopted_count{0};
std::mutex* const adoption_lock = new std::mutex;

struct sigaction& previous_action(int signal) {
  size_t i = 0;
  while (fault_signals[i] != signal) ++i;
  return previous_actions[i];
}

// The calling thread's place; null for one that was never adopted, or was released. Another thread
// may have had the same name before, and its place is free.
AdoptedThread* find_calling_thread() {
  const pthread_t self = pthread_self();
  const unsigned count = adopted_count.load(std::memory_order_acquire);
  for (unsigned i = 0; i < count; ++i) {
    AdoptedThread& adopted = adopted_threads[i];
    if (adopted.block.load(std::memory_order_acquire) != nullptr &&
        pthread_equal(adopted.thread.load(std::memory_order_relaxed), self) != 0) {
      return &adopted;
    }
  }
  return nullptr;
}

// What would have happened without this library. For a signal the processor raised, that is the
// same instruction once more under the default action; but a breakpoint is over when its signal
// arrives.
void take_default_action(int signal, const siginfo_t* info) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
  if (info->si_code <= 0 || signal == SIGTRAP) raise(signal);
}

void pass_on(int signal, siginfo_t* info, void* context) {
  struct sigaction& previous = previous_action(signal);
  const bool with_information = (previous.sa_flags & SA_SIGINFO) != 0;
  if (!with_information && previous.sa_handler == SIG_DFL && signal == interrupt_signal) return;
  if (!with_information && previous.sa_handler == SIG_IGN && info->si_code <= 0) return;
  if (!with_information && (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN)) {
    take_default_action(signal, info);
    return;
  }
  // The mask that the system would have set for that handler.
  sigset_t blocked = previous.sa_mask;
  if ((previous.sa_flags & SA_NODEFER) == 0) sigaddset(&blocked, signal);
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const struct sigaction action = previous;
  if ((previous.sa_flags & SA_RESETHAND) != 0) {
    previous.sa_flags &= ~SA_SIGINFO;
    previous.sa_handler = SIG_DFL;
  }
  if (with_information) {
    action.sa_sigaction(signal, info, context);
  } else {
    action.sa_handler(signal);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Raised by the thread's own instruction, or by its own abort(), and not sent by someone else.
bool is_own(int signal, const siginfo_t* info) {
  if (signal == SIGABRT || signal == interrupt_signal) return info->si_pid == getpid();
  return info->si_code > 0;
}

// A kernel is left only where its own code runs: a function of another library, such as malloc(),
// may hold a lock. And not before the runner has saved where to go, which it does on its own stack.
bool is_to_be_left(const BlockState& block, const InterruptedPlace& place) {
  const uintptr_t offset = place.stack - reinterpret_cast<uintptr_t>(&block);
  const KernelDescriptor& kernel = *block.kernel;
  return offset >= stacks_offset && offset < region_bytes &&
         place.instruction >= reinterpret_cast<uintptr_t>(kernel.code_start) &&
         place.instruction < reinterpret_cast<uintptr_t>(kernel.code_end) && is_overdue(block);
}

void handle_signal(int signal, siginfo_t* info, void* context) {
  const int kept_errno = errno;
  BlockState* block = running_block();
  if (block != nullptr && is_own(signal, info)) {
    const InterruptedPlace place = interrupted_place(context);
    if (signal == interrupt_signal && !is_to_be_left(*block, place)) return;
    block->inside_kernel = false;
    block->outcome = BlockOutcome::faulted;
    block->machine_fault = {signal, info->si_code, reinterpret_cast<uintptr_t>(info->si_addr),
                            interrupted_access(context, signal), holds_wild_address(context),
                            place.instruction};
    errno = kept_errno;
    continue_in(context, block->runner_context);
    return;
  }
  pass_on(signal, info, context);
  errno = kept_errno;
}

void install_handler(int signal, struct sigaction& previous) {
  struct sigaction action = {};
  action.sa_sigaction = handle_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  // The old one first: a signal that comes in between finds it.
  if (sigaction(signal, nullptr, &previous) != 0 || sigaction(signal, &action, nullptr) != 0) {
    throw std::system_error(errno, std::generic_category(), "Cannot install a signal handler");
  }
}

void use_signal_stack(BlockState& block) {
  stack_t stack = {};
  stack.ss_sp = reinterpret_cast<char*>(&block) + signal_stack_offset;
  stack.ss_size = signal_stack_bytes;
  sigaltstack(&stack, nullptr);
}

}  // namespace

void install_fault_handlers() {
  static const bool installed = [] {
    for (size_t i = 0; i < std::size(fault_signals); ++i) {
      install_handler(fault_signals[i], previous_actions[i]);
    }
    return true;
  }();
  (void)installed;
}

void adopt_calling_thread(BlockState& block) {
  use_signal_stack(block);
  const std::lock_guard<std::mutex> lock(*adoption_lock);
  unsigned number = 0;
  while (number != max_adopted_threads &&
         adopted_threads[number].block.load(std::memory_order_relaxed) != nullptr) {
    ++number;
  }
  if (number == max_adopted_threads) std::abort();
  adopted_threads[number].thread.store(pthread_self(), std::memory_order_relaxed);
  adopted_threads[number].block.store(&block, std::memory_order_release);
  if (number >= adopted_count.load(std::memory_order_relaxed)) {
    adopted_count.store(number + 1, std::memory_order_release);
  }
  sigset_t unblocked;
  sigemptyset(&unblocked);
  for (const int signal : fault_signals) sigaddset(&unblocked, signal);
  pthread_sigmask(SIG_UNBLOCK, &unblocked, nullptr);
}

void release_calling_thread() {
  const std::lock_guard<std::mutex> lock(*adoption_lock);
  AdoptedThread* const adopted = find_calling_thread();
  if (adopted != nullptr) adopted->block.store(nullptr, std::memory_order_relaxed);
  stack_t none = {};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
}

bool is_overdue(const BlockState& block) {
  const int64_t deadline = block.deadline.load(std::memory_order_relaxed);
  return deadline != 0 && steady_nanoseconds() >= deadline;
}

// Under the lock, no thread is released in between.
bool interrupt_overdue_blocks() {
  const std::lock_guard<std::mutex> lock(*adoption_lock);
  const unsigned count = adopted_count.load(std::memory_order_relaxed);
  bool any_inside = false;
  for (unsigned i = 0; i < count; ++i) {
    const BlockState* const block = adopted_threads[i].block.load(std::memory_order_relaxed);
    if (block == nullptr || !block->inside_kernel) continue;
    any_inside = true;
    if (!is_overdue(*block)) continue;
    pthread_kill(adopted_threads[i].thread.load(std::memory_order_relaxed), interrupt_signal);
  }
  return any_inside;
}

BlockState* running_block() {
  const AdoptedThread* const adopted = find_calling_thread();
  if (adopted == nullptr) return nullptr;
  BlockState* const block = adopted->block.load(std::memory_order_relaxed);
  return block->inside_kernel ? block : nullptr;
}

}  // namespace gridstride::host
