// Mapping a worker's region, and its stacks and shared memory as they are first needed.
#include "host/execution/block_region.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

#include "host/execution/faults.h"

namespace gridstride::host {
namespace {

#if !defined(MAP_NORESERVE)
#define MAP_NORESERVE 0
#endif

size_t page_bytes() {
  static const size_t bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

char* at(BlockState& block, size_t offset) { return reinterpret_cast<char*>(&block) + offset; }

[[noreturn]] void throw_system_error(const char* action) {
  throw std::system_error(errno, std::generic_category(), action);
}

[[noreturn]] void unmap_and_throw(char* region, const char* action) {
  const int reason = errno;
  munmap(region, region_bytes);
  errno = reason;
  throw_system_error(action);
}

// Lines of different stacks at one offset would share the sets of the first-level cache, and the
// hot end of every stack is at the same one; each stack starts elsewhere instead.
constexpr size_t color_step = 448;
constexpr size_t colors = 100;
static_assert(color_step * colors < stack_bytes / 2, "colouring must leave most of a stack");

// Runs on every new fiber. An exception ends here: below are no frames to unwind.
void run_fiber() {
  BlockState& block = calling_block();
  try {
    block.kernel->run_threads(block.arguments);
  } catch (const std::exception& exception) {
    std::snprintf(block.fault.what, sizeof(block.fault.what), "the kernel threw an exception: %s",
                  exception.what());
  } catch (...) {
    std::snprintf(block.fault.what, sizeof(block.fault.what),
                  "the kernel threw an exception that is no std::exception");
  }
  // Outside of the handler: the exception is released before its stack is abandoned.
  block.fault.code = cudaErrorLaunchFailure;
  block.outcome = BlockOutcome::faulted;
  resume_context(block.runner_context);
}

// Each stack is made accessible when it is first needed: a guard page splits the mapping, and a
// process may have only so many mappings (65530 by default on Linux).
bool prepare_stack(BlockState& block) {
  const uint32_t stack = block.prepared_stacks;
  const size_t guard = stack < block.guarded_stacks ? page_bytes() : 0;
  char* low = at(block, stacks_offset + stack * stack_bytes);
  if (mprotect(low + guard, stack_bytes - guard, PROT_READ | PROT_WRITE) != 0) return false;
  ++block.prepared_stacks;
  block.free_stacks[block.free_stack_count++] = static_cast<uint16_t>(stack);
  return true;
}

}  // namespace

BlockState& map_region(uint32_t guarded_stacks) {
  // Twice the size holds an aligned region wherever it lies; the rest is unmapped.
  const size_t reserved = 2 * region_bytes;
  void* mapping = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                       -1, 0);
  if (mapping == MAP_FAILED) throw_system_error("Cannot reserve memory for a worker's stacks");
  char* start = static_cast<char*>(mapping);
  const uintptr_t address = reinterpret_cast<uintptr_t>(start);
  char* region = start + (round_up(address, region_bytes) - address);
  const size_t before = static_cast<size_t>(region - start);
  const size_t after = reserved - before - region_bytes;
  if (before != 0) munmap(start, before);
  if (after != 0) munmap(region + region_bytes, after);
  const size_t state_bytes = round_up(sizeof(BlockState), page_bytes());
  if (mprotect(region, state_bytes, PROT_READ | PROT_WRITE) != 0 ||
      mprotect(region + signal_stack_offset, signal_stack_bytes, PROT_READ | PROT_WRITE) != 0) {
    unmap_and_throw(region, "Cannot map memory for a worker's state");
  }
#if defined(MADV_NOHUGEPAGE)
  // A stack touches a few kilobytes of its 128: huge pages would make each block take megabytes.
  madvise(region, region_bytes, MADV_NOHUGEPAGE);
#endif
  BlockState* block = new (region) BlockState{};
  block->guarded_stacks = guarded_stacks;
  // The first one is mapped here, where a failure can be reported; a block always finds it free.
  if (!prepare_stack(*block)) unmap_and_throw(region, "Cannot map a worker's first stack");
  return *block;
}

void unmap_region(BlockState& block) { munmap(&block, region_bytes); }

// At the end of its window and before an inaccessible page: an access past the end faults; up to
// 127 bytes past it do not, for the sake of the start's alignment.
void place_dynamic_shared(BlockState& block, size_t bytes) {
  const size_t pages = round_up(bytes, page_bytes());
  if (pages > block.shared_window_bytes) {
    char* start = at(block, shared_window_end - pages);
    if (mprotect(start, pages, PROT_READ | PROT_WRITE) != 0) {
      throw_system_error("Cannot map dynamic shared memory");
    }
    block.shared_window_bytes = pages;
  }
  block.dynamic_shared = at(block, shared_window_end - round_up(bytes, 128));
  block.dynamic_shared_bytes = static_cast<uint32_t>(bytes);
}

void free_calling_stack(BlockState& block) {
  const uintptr_t offset = stack_address() - reinterpret_cast<uintptr_t>(&block) - stacks_offset;
  block.free_stacks[block.free_stack_count++] = static_cast<uint16_t>(offset / stack_bytes);
}

void* new_fiber(BlockState& block) {
  if (block.free_stack_count == 0 && !prepare_stack(block)) {
    raise_fault(block, cudaErrorMemoryAllocation, "no memory for the stack of the next thread: %s",
                std::strerror(errno));
  }
  // The one freed last: its lines are still in the cache.
  const size_t stack = block.free_stacks[--block.free_stack_count];
  char* low = at(block, stacks_offset + stack * stack_bytes);
  char* top = low + stack_bytes - stack % colors * color_step;
  return make_context(low, top, run_fiber);
}

void free_all_stacks(BlockState& block) {
  block.free_stack_count = 0;
  for (uint32_t stack = block.prepared_stacks; stack-- > 0;) {
    block.free_stacks[block.free_stack_count++] = static_cast<uint16_t>(stack);
  }
}

bool is_stack_guard(const BlockState& block, uintptr_t address) {
  const uintptr_t offset = address - reinterpret_cast<uintptr_t>(&block);
  if (offset < stacks_offset || offset >= stacks_offset + max_block_threads * stack_bytes) {
    return false;
  }
  return (offset - stacks_offset) % stack_bytes < page_bytes();
}

bool is_beside_dynamic_shared(const BlockState& block, uintptr_t address) {
  const uintptr_t offset = address - reinterpret_cast<uintptr_t>(&block);
  return offset >= signal_stack_offset + signal_stack_bytes && offset < stacks_offset;
}

}  // namespace gridstride::host
