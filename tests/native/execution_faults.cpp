// Faults: every kind becomes the right code with a description that names the place, and leaves the
// pool in order.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include <assert.h>
#include "execution_check.h"
#include "gridstride/groups/reduction_loops.h"

namespace execution {
namespace {

volatile int zero = 0;

// The thread at fault is (5,0,0) of block (1,0,0), where all others are well.
__device__ bool is_culprit() { return threadIdx.x == 5 && blockIdx.x == 1; }

template <auto Action>
__global__ void misbehave(int* out) {
  if (is_culprit()) Action(out);
  out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

// The same after parking: the thread is on a fiber of its own then.
template <auto Action>
__global__ void misbehave_after_barrier(int* out) {
  __syncthreads();
  if (is_culprit()) Action(out);
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

void write_null(int*) { *reinterpret_cast<volatile int*>(uintptr_t{0}) = 1; }
void read_near_null(int* out) { *out = *reinterpret_cast<volatile int*>(uintptr_t{4096 + 12}); }
void write_unmapped(int*) { *reinterpret_cast<volatile int*>(uintptr_t{0x7000000000}) = 1; }
void write_wild(int*) { *reinterpret_cast<volatile int*>(uintptr_t{0x1234567890abcdef}) = 1; }
#if defined(__x86_64__)
// The processor raises another exception where the address is relative to the frame pointer.
void write_wild_frame(int*) {
  asm volatile("push %%rbp\n\tmov %0, %%rbp\n\tmovl $1, (%%rbp)\n\tpop %%rbp"
               :
               : "r"(uint64_t{0x1234567890abcdef})
               : "memory");
}
#endif
[[maybe_unused]] void divide_by_zero(int* out) { *out = 7 / zero; }
void trap(int*) { __trap(); }
void break_here(int*) { __brkpt(); }
void fail_assertion(int*) { assert(zero == 1); }
void call_abort(int*) { std::abort(); }
void throw_exception(int*) { throw std::runtime_error("no such element"); }
void throw_number(int*) { throw 7; }
void throw_where_forbidden(int* out) noexcept { throw_number(out); }
void send_trap_signal(int*) { __builtin_trap(); }

void write_read_only(int*) {
  static void* const page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *static_cast<volatile int*>(page) = 1;
}

__attribute__((noinline)) int recurse(volatile int* above, int depth) {
  volatile int here[100];
  here[depth % 100] = *above;
  if (depth < 0) return here[3];
  return recurse(here, depth + 1) + here[depth % 7];
}
void overflow_stack(int* out) { *out = recurse(out, 0); }

void overrun_shared(int*) {
  auto* bytes = static_cast<volatile char*>(host::dynamic_shared_memory());
  bytes[host::dynamic_shared_bytes() + 127] = 1;
}

void shuffle_outside_mask(int*) { __shfl_sync(~(1u << 5), 1, 0); }

struct Expectation {
  const char* name;
  cudaError_t code;
  const char* words;
};

void check_outcome(const Outcome& outcome, const Expectation& expected, const char* where) {
  const std::string place = "kernel kernel, block (1,0,0), thread (5,0,0): ";
  const bool placed = outcome.description.compare(0, place.size(), place) == 0;
  const bool worded = outcome.description.find(expected.words) != std::string::npos;
  check(outcome.code == expected.code && placed && worded, std::string(expected.name) + where,
        std::to_string(outcome.code) + " " + outcome.description);
}

template <auto Action>
void check_fault(const Expectation& expected) {
  std::vector<int> out(4 * 64);
  check_outcome(run<misbehave<Action>>(4, 64, 200, out.data()), expected, "");
  check_outcome(run<misbehave_after_barrier<Action>>(4, 64, 200, out.data()), expected,
                ", after a barrier");
}

__global__ void nothing_wrong(int* out) {
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = __reduce_add_sync(0xffffffffu, 1);
}

void check_health() {
  std::vector<int> out(64 * 64);
  const Outcome outcome = run<nothing_wrong>(64, 64, 0, out.data());
  check(outcome.code == cudaSuccess && out == std::vector<int>(64 * 64, 32),
        "the pool is in order after the faults", outcome.description);
}

__global__ void different_collectives() {
  if (threadIdx.x % 32 < 16) {
    __syncwarp();
  } else {
    __ballot_sync(0xffffffffu, 1);
  }
}

__global__ void wait_for_each_other() {
  if (threadIdx.x == 0) {
    __syncwarp(3);
  } else {
    __syncthreads();
  }
}

void wait_in_idle_rounds() {
  if (threadIdx.x == 40) __syncwarp();
  for (unsigned s = 32; s > 0; s >>= 1) {
    if (threadIdx.x >= s && gridstride::host::idle_rounds(s, 0)) break;
    __syncthreads();
  }
}

void check_misuse() {
  Outcome outcome = run<different_collectives>(1, 64, 0);
  check(outcome.code == cudaErrorLaunchFailure &&
            outcome.description.find("__ballot_sync was called with mask 0xffffffff while lanes "
                                     "0x0000ffff of the warp wait in __syncwarp") !=
                std::string::npos,
        "different collectives with one mask", outcome.description);
  outcome = run<wait_for_each_other>(1, 32, 0);
  check(outcome.code == cudaErrorLaunchFailure &&
            outcome.description.find("deadlock") != std::string::npos &&
            outcome.description.find("31 of 32 living threads wait at __syncthreads") !=
                std::string::npos &&
            outcome.description.find("for lanes 0x00000002") != std::string::npos,
        "a deadlock", outcome.description);
  outcome = run<wait_in_idle_rounds>(1, 64, 0);
  check(outcome.code == cudaErrorLaunchFailure &&
            outcome.description.find("63 of 64 living threads wait at __syncthreads") !=
                std::string::npos,
        "a deadlock of threads that wait for several barriers", outcome.description);
}

#if defined(__x86_64__)
// An aligned vector move, as compilers emit for 16-byte types.
void move_misaligned(int* out) { asm volatile("movaps %%xmm0, (%0)" ::"r"(out + 1) : "memory"); }

// The processor names neither the address nor the reason, and no register holds the address.
void move_far(int* out) {
  asm volatile("movl $1, (%0,%1,4)" ::"r"(out), "r"(1ll << 46) : "memory");
}

void check_misalignment() {
  alignas(16) static int out[4 * 64];
  const Expectation expected = {"a misaligned access", cudaErrorMisalignedAddress, "multiple"};
  check_outcome(run<misbehave<move_misaligned>>(4, 64, 0, static_cast<int*>(out)), expected, "");
  const Expectation far = {"a far index", cudaErrorMisalignedAddress, "of the 48-bit range"};
  check_outcome(run<misbehave<move_far>>(4, 64, 0, static_cast<int*>(out)), far, "");
}
#else
void check_misalignment() {}
#endif

// A fault ends the launch: of the many blocks behind it few still run.
__global__ void fault_first(unsigned* blocks) {
  if (blockIdx.x == 0) __trap();
  if (threadIdx.x == 0) __atomic_fetch_add(blocks, 1u, __ATOMIC_RELAXED);
  __syncthreads();
}

void check_cancellation() {
  unsigned blocks = 0;
  const Outcome outcome = run<fault_first>(10000000, 32, 0, &blocks);
  check(outcome.code == cudaErrorLaunchFailure && blocks < 9000000,
        "a fault ends its launch early", std::to_string(blocks) + " blocks ran");
}

// Signals that are no kernel's go where they went before.
volatile std::sig_atomic_t passed_on = 0;
void note_signal(int, siginfo_t* info, void*) { passed_on = info->si_code; }

}  // namespace

// Before the pool starts: the pool finds this handler.
void install_earlier_handler() {
  struct sigaction action = {};
  action.sa_sigaction = note_signal;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

namespace {

void check_passing_on() {
  union sigval value = {};
  sigqueue(getpid(), SIGBUS, value);
  for (int i = 0; i < 1000 && passed_on == 0; ++i) usleep(1000);
  check(passed_on == SI_QUEUE, "a signal outside of kernels reaches the earlier handler");
}

#if defined(__x86_64__)
// The effect of a breakpoint on a process without a handler.
void check_breakpoint_outside() {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    asm volatile("int3");
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  check(WIFSIGNALED(status) && WTERMSIG(status) == SIGTRAP,
        "a breakpoint outside of kernels ends the process", std::to_string(status));
}
#else
void check_breakpoint_outside() {}
#endif

}  // namespace

void check_faults() {
  check_fault<write_null>({"a null pointer", cudaErrorIllegalAddress, "through a null pointer"});
  check_fault<read_near_null>({"a read near null", cudaErrorIllegalAddress, "address 0x100c"});
  check_fault<write_unmapped>({"an unmapped address", cudaErrorIllegalAddress, "0x7000000000"});
  check_fault<write_wild>({"a wild address", cudaErrorIllegalAddress, ""});
  check_fault<write_read_only>({"a write to what is read-only", cudaErrorIllegalAddress,
                                "which does not allow it"});
  check_fault<overflow_stack>({"a stack overflow", cudaErrorIllegalAddress, "stack overflow"});
  check_fault<overrun_shared>({"an access past dynamic shared memory", cudaErrorIllegalAddress,
                               "of the block's 200 bytes of dynamic shared memory"});
#if defined(__x86_64__)
  check_fault<write_wild_frame>({"a wild address in the frame pointer", cudaErrorIllegalAddress,
                                 "wild address"});
  check_fault<divide_by_zero>({"a division by zero", cudaErrorLaunchFailure, "division by zero"});
  check_fault<send_trap_signal>({"a trap instruction", cudaErrorIllegalInstruction, "illegal"});
#else
  check_fault<send_trap_signal>({"a trap instruction", cudaErrorLaunchFailure, "trap"});
#endif
  check_fault<trap>({"__trap()", cudaErrorLaunchFailure, "__trap() was called"});
  check_fault<break_here>({"__brkpt()", cudaErrorLaunchFailure, "__brkpt()"});
  check_fault<fail_assertion>({"a failed assertion", cudaErrorAssert, "`zero == 1`"});
  check_fault<call_abort>({"abort()", cudaErrorLaunchFailure, "abort()"});
  check_fault<throw_exception>({"an exception", cudaErrorLaunchFailure, "no such element"});
  check_fault<throw_number>({"an exception of another type", cudaErrorLaunchFailure, "threw"});
  check_fault<throw_where_forbidden>({"std::terminate", cudaErrorLaunchFailure, "abort()"});
  check_fault<shuffle_outside_mask>({"a lane outside its mask", cudaErrorLaunchFailure,
                                     "does not name the calling lane 5"});
  check_misalignment();
  check_misuse();
  check_cancellation();
  check_passing_on();
  check_breakpoint_outside();
  check_health();
}

}  // namespace execution
