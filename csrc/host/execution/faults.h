// Faults: the reasons for which a launch ends early, and their descriptions.
//
// A fault is found in one of two ways. The runtime notices misuse itself (raise_fault), or the
// processor does, and a signal handler stores the bare facts and leaves the kernel
// (fault_signals.h); they are put into words afterwards, on the worker's own stack.
#pragma once

#include <cstdint>
#include <string>

#include "gridstride/runtime_types.h"

namespace gridstride::host {

struct BlockState;

// A launch that failed. The description names kernel, block, thread, address, what
// happened, and the line of the source where the library has a line table.
struct LaunchFault {
  cudaError_t code;
  std::string description;
};

// Of fixed size, as it is written on a kernel's stack by code that may run out of anything.
struct BlockFault {
  cudaError_t code;
  char what[512];
};

enum class MemoryAccess { unknown, read, write };

// What a signal handler knows.
struct MachineFault {
  int signal;
  int code;
  uintptr_t address;
  MemoryAccess access;
  // x86-64 reports no address for an access that is misaligned or to an address outside of the
  // 48-bit range. This means that a register held such an address: it was the latter.
  bool register_not_canonical;
  // Of the interrupted instruction, or of a call that raises a fault; 0 where it is not known.
  uintptr_t instruction;
};

// Ends the calling thread's block with a fault. The kernel's stacks are left as they are.
[[noreturn]] __attribute__((format(printf, 3, 4))) void raise_fault(BlockState& block,
                                                                    cudaError_t code,
                                                                    const char* format, ...);

// Puts block.machine_fault into words: fills block.fault.
void explain_machine_fault(BlockState& block);

// block.fault with the names of kernel, block, thread and source line.
LaunchFault describe_fault(const BlockState& block);

}  // namespace gridstride::host
