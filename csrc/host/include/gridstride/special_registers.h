// The state behind threadIdx, blockIdx, blockDim and gridDim (register_names.h).
//
// A worker's stacks lie in one region of memory aligned to its own size. The state of the running
// block is at its start. Masking the stack pointer finds that state: reading threadIdx is a load at
// a constant offset: no thread-local storage, no argument, no call.
#pragma once

#include <stdint.h>

#include "context_switch.h"
#include "qualifiers.h"
#include "vector_types.h"

namespace gridstride::host {

inline constexpr uintptr_t region_bytes = uintptr_t{1} << 28;

// The part of a block's state that code inlined into kernels reads and steps. Kernels compiled
// earlier rely on its layout: a change here must change kernel_contract (kernel_descriptor.h).
struct BlockRegisters {
  // Of the thread that runs now; the runtime sets it before it gives a thread the processor.
  uint3 thread_index;
  // Threads after this one that may run in a plain loop; 0 once a thread of the block has parked.
  uint32_t plain_remaining;
  // Calls of spin_hint() since this thread got the processor.
  uint32_t spin_count;
  dim3 block_dimension;
  dim3 grid_dimension;
  uint3 block_index;
  // Of the barrier completed last: how many threads arrived, and how many with a true predicate.
  uint32_t barrier_arrivals;
  uint32_t barrier_true_arrivals;
  uint32_t dynamic_shared_bytes;
  void* dynamic_shared;
};

// The state of the block that the calling kernel thread belongs to. Only kernel code may call it:
// elsewhere the masked stack pointer is an address of nothing.
GS_HOST_INLINE BlockRegisters* block_registers() {
  return reinterpret_cast<BlockRegisters*>(stack_address() & ~(region_bytes - 1));
}

GS_HOST_INLINE const BlockRegisters* read_only_registers() { return block_registers(); }

// Linear index of the calling thread in its block, in CUDA's order (x fastest).
GS_HOST_INLINE uint32_t thread_number() {
  const BlockRegisters* registers = read_only_registers();
  const uint32_t row =
      registers->thread_index.z * registers->block_dimension.y + registers->thread_index.y;
  return row * registers->block_dimension.x + registers->thread_index.x;
}

// %laneid
GS_HOST_INLINE uint32_t lane_id() { return thread_number() & 31; }

// The block's dynamic shared memory, aligned to 128 bytes; what follows it is inaccessible.
GS_HOST_INLINE void* dynamic_shared_memory() { return read_only_registers()->dynamic_shared; }

// %dynamic_smem_size
GS_HOST_INLINE uint32_t dynamic_shared_bytes() {
  return read_only_registers()->dynamic_shared_bytes;
}

}  // namespace gridstride::host
