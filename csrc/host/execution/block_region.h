// The region of memory a worker runs blocks in (its layout is in block_state.h).
#ifndef GRIDSTRIDE_HOST_BLOCK_REGION_H
#define GRIDSTRIDE_HOST_BLOCK_REGION_H

#include <cstddef>
#include <cstdint>

#include "host/execution/block_state.h"

namespace gridstride::host {

// Reserves a region and constructs its state. Nothing but the state takes memory until used. Of the
// stacks, the first guarded_stacks get an inaccessible page below them. Throws std::system_error.
BlockState& map_region(uint32_t guarded_stacks);

void unmap_region(BlockState& block);

// Gives the block `bytes` of dynamic shared memory. Throws std::system_error.
void place_dynamic_shared(BlockState& block, size_t bytes);

// The context of a fiber that will run the block's threads, on a stack of its own. Ends the block
// with a fault when there is no memory for one.
void* new_fiber(BlockState& block);

// Gives up the stack that the caller executes on, up to its last switch: nobody else can take it
// before that.
void free_calling_stack(BlockState& block);

// Forgets what is on the stacks.
void free_all_stacks(BlockState& block);

// Whether an address lies in the inaccessible part of a stack, so that the stack has overflowed.
bool is_stack_guard(const BlockState& block, uintptr_t address);

// Whether an address lies in the inaccessible memory around the block's dynamic shared memory.
bool is_beside_dynamic_shared(const BlockState& block, uintptr_t address);

}  // namespace gridstride::host

#endif
