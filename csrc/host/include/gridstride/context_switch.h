// Changing from one stack to another, inlined into the code that waits.
//
// A switch is inline because a kernel that parks through a called function returns through an
// address the processor did not predict: the return stack holds the other fiber's addresses.
// Inlined, the switch ends in one indirect jump to the fiber's own continuation.
//
// A context is one pointer: the stack pointer of the parked fiber. Its continuation address and the
// two registers that inline assembly cannot declare as clobbered are stored there; every other
// register is declared so, and the compiler saves exactly those that are live. Floating-point
// control (rounding, flush to zero) is not part of a context: no kernel may change it.
#pragma once

#include <stdint.h>

#include "qualifiers.h"

// APX adds registers that a compiler of today cannot list as clobbered.
#if !(defined(__x86_64__) && !defined(__APX_F__)) && !defined(__aarch64__)
#error "the host device runs on x86-64 without APX and on aarch64"
#endif

namespace gridstride::host {

// Any address on the stack that is executing. The assembly has no inputs: a compiler may reuse the
// result within a function: callers only use the bits that name the region of stacks, and a kernel
// thread stays in one region, on one stack, from its first instruction to its last.
GS_HOST_INLINE uintptr_t stack_address() {
#if defined(__x86_64__)
  uintptr_t address;
  asm("movq %%rsp, %0" : "=r"(address));
  return address;
#else
  uintptr_t address;
  asm("mov %0, sp" : "=r"(address));
  return address;
#endif
}

#if defined(__x86_64__)

#if defined(__AVX512F__)
#define GS_HOST_WIDE_CLOBBERS                                                                  \
  , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", \
      "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5",     \
      "k6", "k7"
#else
#define GS_HOST_WIDE_CLOBBERS
#endif

// The 128 bytes below the stack pointer belong to the interrupted function (the red zone), and rbp
// and rbx may be its frame and base pointers.
GS_HOST_INLINE void switch_context(void** parked, void* next) {
  asm volatile(
      "leaq -128(%%rsp), %%rsp\n\t"
      "pushq %%rbp\n\t"
      "pushq %%rbx\n\t"
      "leaq 1f(%%rip), %%rcx\n\t"
      "pushq %%rcx\n\t"
      "movq %%rsp, (%0)\n\t"
      "movq %1, %%rsp\n\t"
      "popq %%rcx\n\t"
      "jmpq *%%rcx\n\t"
      ".p2align 4\n"
      "1:\n\t"
      "popq %%rbx\n\t"
      "popq %%rbp\n\t"
      "leaq 128(%%rsp), %%rsp\n"
      : "+D"(parked), "+S"(next)
      :
      : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1",
        "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
        "xmm13", "xmm14", "xmm15", "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)",
        "st(7)", "memory", "cc" GS_HOST_WIDE_CLOBBERS);
}
#undef GS_HOST_WIDE_CLOBBERS

[[noreturn]] GS_HOST_INLINE void resume_context(void* next) {
  asm volatile(
      "movq %0, %%rsp\n\t"
      "popq %%rcx\n\t"
      "jmpq *%%rcx\n"
      :
      : "r"(next)
      : "memory");
  __builtin_unreachable();
}

// The stack of a function just called: sixteen-byte aligned above a return address, here null, so
// that a debugger's walk ends there.
inline void* make_context(void*, void* stack_top, void (*entry)()) {
  const uintptr_t top = reinterpret_cast<uintptr_t>(stack_top) & ~uintptr_t{63};
  void** slot = reinterpret_cast<void**>(top);
  *--slot = nullptr;
  *--slot = reinterpret_cast<void*>(entry);
  return slot;
}

#else  // aarch64

#if defined(__APPLE__)
// Apple's ABI has a red zone, and x18 belongs to the system.
#define GS_HOST_FRAME_BYTES "160"
#define GS_HOST_PLATFORM_CLOBBERS
#else
#define GS_HOST_FRAME_BYTES "32"
#define GS_HOST_PLATFORM_CLOBBERS , "x18"
#endif
#if defined(__ARM_FEATURE_SVE)
#define GS_HOST_PREDICATE_CLOBBERS                                                              \
  , "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13", "p14", \
      "p15"
#else
#define GS_HOST_PREDICATE_CLOBBERS
#endif

// x29 and x19 may be the function's frame and base pointers. The landing pad (hint #36, `bti j`)
// is a no-operation where branch targets are not enforced.
GS_HOST_INLINE void switch_context(void** parked, void* next) {
  register void** save asm("x0") = parked;
  register void* target asm("x1") = next;
  asm volatile(
      "sub sp, sp, #" GS_HOST_FRAME_BYTES "\n\t"
      "stp x29, x19, [sp]\n\t"
      "adr x9, 1f\n\t"
      "str x9, [sp, #16]\n\t"
      "mov x10, sp\n\t"
      "str x10, [%0]\n\t"
      "mov sp, %1\n\t"
      "ldr x9, [sp, #16]\n\t"
      "br x9\n\t"
      ".p2align 4\n"
      "1:\n\t"
      "hint #36\n\t"
      "ldp x29, x19, [sp]\n\t"
      "add sp, sp, #" GS_HOST_FRAME_BYTES "\n"
      : "+r"(save), "+r"(target)
      :
      : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
        "x16", "x17", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30", "v0",
        "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14",
        "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27",
        "v28", "v29", "v30", "v31", "memory",
        "cc" GS_HOST_PLATFORM_CLOBBERS GS_HOST_PREDICATE_CLOBBERS);
}
#undef GS_HOST_FRAME_BYTES
#undef GS_HOST_PLATFORM_CLOBBERS
#undef GS_HOST_PREDICATE_CLOBBERS

[[noreturn]] GS_HOST_INLINE void resume_context(void* next) {
  register void* target asm("x1") = next;
  asm volatile(
      "mov sp, %0\n\t"
      "ldr x9, [sp, #16]\n\t"
      "br x9\n"
      :
      : "r"(target)
      : "memory", "x9");
  __builtin_unreachable();
}

// The frame stays below the entry function's; x29 keeps any value, because nothing returns there.
inline void* make_context(void*, void* stack_top, void (*entry)()) {
  const uintptr_t top = reinterpret_cast<uintptr_t>(stack_top) & ~uintptr_t{63};
  void** frame = reinterpret_cast<void**>(top) - 4;
  frame[0] = nullptr;
  frame[1] = nullptr;
  frame[2] = reinterpret_cast<void*>(entry);
  return frame;
}

#endif

}  // namespace gridstride::host
