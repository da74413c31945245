// Tile registers of x86-64 processors (AMX) for bfloat16. A register is named by its number.
#pragma once

#include "../qualifiers.h"

// For functions that use the registers: clang++ allows the instructions in these alone.
#if defined(__clang__)
#define GS_TILE_FUNCTION __attribute__((noinline, target("amx-tile,amx-bf16")))
#else
#define GS_TILE_FUNCTION __attribute__((noinline, noclone))
#endif

#define GS_TILE_CONFIGURE(shapes) __asm__ volatile("ldtilecfg %0" ::"m"(shapes))
#define GS_TILE_RELEASE() __asm__ volatile("tilerelease" ::)
#define GS_TILE_ZERO(tile) __asm__ volatile("tilezero %%tmm" #tile ::)
// The stride of rows is in bytes.
#define GS_TILE_LOAD(tile, from, stride)                                    \
  __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #tile ::"r"(from),          \
                   "r"(static_cast<long long>(stride)) : "memory")
#define GS_TILE_STORE(tile, to, stride)                                     \
  __asm__ volatile("tilestored %%tmm" #tile ", (%0,%1,1)" ::"r"(to),        \
                   "r"(static_cast<long long>(stride)) : "memory")
// sum += left · right, of rows of left and of pairs of rows of right.
#define GS_TILE_MULTIPLY(left, right, sum) \
  __asm__ volatile("tdpbf16ps %%tmm" #right ", %%tmm" #left ", %%tmm" #sum ::)

namespace gridstride::host {

// Whether the processor has the registers, and the system lets this process use them.
__device__ inline bool request_matrix_tiles() {
  unsigned int a = 7;
  unsigned int b;
  unsigned int c = 0;
  unsigned int d;
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  constexpr unsigned int wanted = 1u << 22 | 1u << 24;  // amx-bf16 and amx-tile
  if ((d & wanted) != wanted) return false;
  long long status = 158;  // arch_prctl
  __asm__ volatile("syscall"
                   : "+a"(status)
                   : "D"(0x1023ll), "S"(18ll)  // ARCH_REQ_XCOMP_PERM for the data of the registers
                   : "rcx", "r11", "memory");
  return status == 0;
}

}  // namespace gridstride::host
