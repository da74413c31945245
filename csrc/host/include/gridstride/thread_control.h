// Fences, clocks, and the ways a thread stops itself.
#ifndef GRIDSTRIDE_HOST_THREAD_CONTROL_H
#define GRIDSTRIDE_HOST_THREAD_CONTROL_H

#include "qualifiers.h"
#include "warp_exchange.h"

// The threads of a block share an OS thread: only the compiler could reorder what they see.
inline void __threadfence_block() {
  asm volatile("" ::: "memory");
  gridstride::host::spin_hint();
}

// Fences count as spinning, as a loop that polls a volatile flag usually holds one.
inline void __threadfence() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  gridstride::host::spin_hint();
}

inline void __threadfence_system() { __threadfence(); }

// Lets the block's other threads run, for however long they take: what sleeps is not the processor.
inline void __nanosleep(unsigned int) { gridstride::host::yield_thread(); }

// Ticks of the processor's constant-rate counter where it has one, nanoseconds elsewhere.
inline long long clock64() {
#if defined(__x86_64__)
  return static_cast<long long>(__builtin_ia32_rdtsc());
#elif defined(__aarch64__)
  long long ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return static_cast<long long>(gs_host_clock());
#endif
}

// %globaltimer: nanoseconds of a monotonic clock.
inline unsigned long long __globaltimer() { return gs_host_clock(); }

[[noreturn]] inline void __trap() { gs_host_trap("__trap() was called"); }

// There is no debugger to hand the thread to, as on a GPU without one.
[[noreturn]] inline void __brkpt() { gs_host_trap("__brkpt() was called without a debugger"); }

#endif
