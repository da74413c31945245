// What counts as a device's memory: the allocations and mappings made here, as far as their owner
// has not declared which blocks of them live, and the memory of other libraries.
#ifndef GRIDSTRIDE_MEMORY_CHECK_H
#define GRIDSTRIDE_MEMORY_CHECK_H

#include "shim/memory/membership.h"
#include "shim/memory/memory_range.h"

namespace gridstride {

// Throws cudaErrorInvalidValue unless all of the range is memory of this device that may be
// touched: inside one allocation of ours, or in adjacent mappings of one reservation, and inside
// one live block where blocks were declared; or what CUDA knows as device or managed memory of
// another library. The device is current.
void require_device_memory(const MemoryRange& range, int device);

// From now on the block lives, or does so no more. Throws cudaErrorInvalidValue unless it lies in
// one allocation or one reservation's mappings of the device, and its beginning or end is due.
void declare_block(const MemoryRange& block, int device, bool is_live);

// What has been declared of the byte at address, on whichever device; `unknown` where it is neither
// allocated nor mapped here. The live block, if that is the answer, goes to block.
BlockAt declared_block_at(uint64_t address, MemoryRange& block);

}  // namespace gridstride

#endif
