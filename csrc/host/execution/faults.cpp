// Putting faults into words.
#include "host/execution/faults.h"

#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "host/execution/block_region.h"
#include "host/execution/fault_signals.h"
#include "host/execution/source_lines.h"

namespace gridstride::host {
namespace {

void write_fault(BlockState& block, cudaError_t code, const char* format, va_list arguments) {
  block.fault.code = code;
  std::vsnprintf(block.fault.what, sizeof(block.fault.what), format, arguments);
}

__attribute__((format(printf, 3, 4))) void set_fault(BlockState& block, cudaError_t code,
                                                     const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  write_fault(block, code, format, arguments);
  va_end(arguments);
}

const char* access_name(MemoryAccess access) {
  switch (access) {
    case MemoryAccess::read:
      return "read of";
    case MemoryAccess::write:
      return "write to";
    case MemoryAccess::unknown:
      break;
  }
  return "access to";
}

// The processor refused the access without naming its address.
void explain_unnamed_address(BlockState& block, const MachineFault& machine) {
  if (machine.register_not_canonical) {
    set_fault(block, cudaErrorIllegalAddress,
              "access to a wild address outside of the 48-bit range");
    return;
  }
  set_fault(block, cudaErrorMisalignedAddress,
            "access to an address that is not a multiple of the access's size, or that lies "
            "outside of the 48-bit range");
}

void explain_address(BlockState& block, const MachineFault& machine) {
  const char* access = access_name(machine.access);
  const auto address = static_cast<unsigned long long>(machine.address);
  constexpr uintptr_t null_page = 64 * 1024;
  if (is_stack_guard(block, machine.address)) {
    set_fault(block, cudaErrorIllegalAddress,
              "stack overflow, %s address 0x%llx below the thread's stack of %zu KiB", access,
              address, stack_bytes / 1024);
  } else if (is_beside_dynamic_shared(block, machine.address)) {
    set_fault(block, cudaErrorIllegalAddress,
              "%s address 0x%llx, %lld bytes from the start of the block's %u bytes of dynamic "
              "shared memory",
              access, address,
              static_cast<long long>(machine.address -
                                     reinterpret_cast<uintptr_t>(block.dynamic_shared)),
              block.dynamic_shared_bytes);
  } else if (machine.address < null_page) {
    set_fault(block, cudaErrorIllegalAddress, "%s address 0x%llx, through a null pointer", access,
              address);
  } else if (machine.code == SEGV_ACCERR) {
    set_fault(block, cudaErrorIllegalAddress, "%s address 0x%llx, which does not allow it", access,
              address);
  } else {
    set_fault(block, cudaErrorIllegalAddress, "%s address 0x%llx, where no memory is", access,
              address);
  }
}

void explain_bus_error(BlockState& block, const MachineFault& machine) {
  const auto address = static_cast<unsigned long long>(machine.address);
  if (machine.code == BUS_ADRALN) {
    set_fault(block, cudaErrorMisalignedAddress,
              "%s address 0x%llx, which is not a multiple of the access's size",
              access_name(machine.access), address);
    return;
  }
  // x86-64 raises this signal, and names no address, for a wild one in its frame or stack pointer.
  if (machine.code != BUS_ADRERR && machine.code != BUS_OBJERR) {
    explain_unnamed_address(block, machine);
    return;
  }
  set_fault(block, cudaErrorIllegalAddress, "%s address 0x%llx, beyond the end of a mapped file",
            access_name(machine.access), address);
}

void explain_interruption(BlockState& block) {
  set_fault(block, cudaErrorLaunchTimeout,
            "the launch has run for longer than its time limit of %.10g s, and this thread was "
            "running%s",
            static_cast<double>(block.time_limit) / 1e9,
            block.thread_count == 1 ? ""
                                    : ". Threads of a block run one after another on the host "
                                      "device: if this thread waits for another one of its block, "
                                      "the waiting needs a barrier, an atomic, __threadfence() or "
                                      "__nanosleep() for the other one to run");
}

[[noreturn]] void leave_block(BlockState& block) {
  block.outcome = BlockOutcome::faulted;
  resume_context(block.runner_context);
}

[[noreturn]] void end_process(const char* what) {
  std::fprintf(stderr, "gridstride: %s outside of a kernel\n", what);
  std::abort();
}

}  // namespace

void raise_fault(BlockState& block, cudaError_t code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  write_fault(block, code, format, arguments);
  va_end(arguments);
  block.machine_fault.instruction = 0;
  leave_block(block);
}

void explain_machine_fault(BlockState& block) {
  const MachineFault machine = block.machine_fault;
  block.machine_fault.signal = 0;
  switch (machine.signal) {
    case SIGSEGV:
      if (machine.code != SEGV_MAPERR && machine.code != SEGV_ACCERR) {
        explain_unnamed_address(block, machine);
      } else {
        explain_address(block, machine);
      }
      return;
    case SIGBUS:
      explain_bus_error(block, machine);
      return;
    case SIGFPE:
      set_fault(block, cudaErrorLaunchFailure,
                "integer division by zero, or of the smallest integer by -1");
      return;
    case SIGILL:
      set_fault(block, cudaErrorIllegalInstruction, "illegal instruction at address 0x%llx",
                static_cast<unsigned long long>(machine.address));
      return;
    case SIGTRAP:
      set_fault(block, cudaErrorLaunchFailure, "a trap or breakpoint instruction");
      return;
    case interrupt_signal:
      explain_interruption(block);
      return;
    case SIGABRT:
      set_fault(block, cudaErrorLaunchFailure, "abort() was called");
      return;
    default:
      set_fault(block, cudaErrorLaunchFailure, "signal %d", machine.signal);
  }
}

LaunchFault describe_fault(const BlockState& block) {
  char place[192];
  const uint3 b = block.block_index;
  const uint3 t = block.thread_index;
  std::snprintf(place, sizeof(place), ", block (%u,%u,%u), thread (%u,%u,%u): ", b.x, b.y, b.z, t.x,
                t.y, t.z);
  return {block.fault.code,
          std::string("kernel ") + block.kernel->name + place + block.fault.what +
              source_place(reinterpret_cast<uintptr_t>(block.kernel->code_start),
                           block.machine_fault.instruction)};
}

}  // namespace gridstride::host

// Both may be reached by functions that are for host and device alike, hence from any thread.
GS_HOST_API void gs_host_trap(const char* what) {
  using namespace gridstride::host;
  BlockState* block = running_block();
  if (block == nullptr) end_process(what);
  // The call is the kernel's own, and ends where the return address begins.
  block->machine_fault.instruction = reinterpret_cast<uintptr_t>(__builtin_return_address(0)) - 1;
  set_fault(*block, cudaErrorLaunchFailure, "%s", what);
  leave_block(*block);
}

GS_HOST_API void gs_host_assert_failed(const char* condition, const char* file, int line,
                                       const char* function) {
  using namespace gridstride::host;
  BlockState* block = running_block();
  if (block == nullptr) {
    std::fprintf(stderr, "%s:%d: %s: Assertion `%s' failed.\n", file, line, function, condition);
    std::abort();
  }
  raise_fault(*block, cudaErrorAssert, "assertion `%s` failed in %s at %s:%d", condition, function,
              file, line);
}
