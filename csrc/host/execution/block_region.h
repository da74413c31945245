// What the runtime keeps of the block a worker runs, and where it lies.
//
// A worker reserves one region of region_bytes, aligned to its size:
//
//   offset 0             BlockState; its first part, BlockRegisters, is what kernels read
//   signal_stack_offset  where signals are handled, as the stacks below may have overflowed
//   shared_window_end    dynamic shared memory ends here, an inaccessible page follows
//   stacks_offset        1024 stacks of stack_bytes, each with an inaccessible page at its low end
//
// A stack belongs to a fiber. A fiber runs threads of the block one after the other, and a thread
// keeps its stack from the moment it first parks until it exits; so a block never needs more stacks
// than threads, and a block with threads that never park needs one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "gridstride/kernel_descriptor.h"
#include "gridstride/special_registers.h"
#include "gridstride/vector_types.h"
#include "gridstride/warp_exchange.h"
#include "host/execution/faults.h"

namespace gridstride::host {

class CooperativeGrid;

inline constexpr uint32_t max_block_threads = 1024;
inline constexpr uint32_t warp_lanes = 32;
inline constexpr uint32_t max_block_warps = max_block_threads / warp_lanes;

inline constexpr size_t stack_bytes = 128 * 1024;
inline constexpr size_t stacks_offset = region_bytes / 2;
static_assert(stacks_offset + max_block_threads * stack_bytes <= region_bytes, "stacks must fit");

inline constexpr size_t signal_stack_offset = 1024 * 1024;
inline constexpr size_t signal_stack_bytes = 64 * 1024;

// Beyond the shared memory of any GPU (227 KiB per block): the runtime sets the limits.
inline constexpr size_t max_dynamic_shared_bytes = 1024 * 1024;
inline constexpr size_t shared_window_end = 4 * max_dynamic_shared_bytes;

// Lanes of one warp that have arrived at a collective and wait for the others its mask names.
struct Rendezvous {
  uint32_t mask;
  uint32_t arrived;
  const CollectiveOperation* operation;
};

// How many sets of lanes of one warp may wait in collectives at the same time: a lane waits in one.
inline constexpr uint32_t max_rendezvous = warp_lanes;

// Bit l of each set is lane l. Every living thread that has started is in exactly one of: running,
// ready, at_barrier, standing, yielded, or the arrived set of a rendezvous.
struct Warp {
  uint32_t alive;
  uint32_t ready;
  uint32_t at_barrier;
  uint32_t yielded;
  // Those that wait for several barriers on end.
  uint32_t standing;
  // Those of the yielded that wait for gs_host_converge() to answer.
  uint32_t converging;
  uint32_t rendezvous_count;
  Rendezvous rendezvous[max_rendezvous];
  alignas(64) LaneSlot lanes[warp_lanes];
};

enum class BlockOutcome { finished, faulted, cancelled };

// A thread's indices in one word, for blocks where computing them takes divisions.
struct PackedIndex {
  uint16_t x, y, z;
};

struct BlockState : BlockRegisters {
  // The threads of a block start in order; while `plain` holds, every one of them has run to its
  // end without parking and only BlockRegisters are up to date. What follows is made true by
  // leave_plain() when a thread first does anything else.
  bool plain;
  // thread_index.x is the thread's number and the rest is 0.
  bool one_dimensional;
  // Its whole warps start with the last one.
  bool reversed;
  uint32_t thread_count;
  uint32_t current_thread;
  uint32_t next_unstarted;
  uint32_t alive_count;
  uint32_t barrier_arrived;
  uint32_t barrier_true_arrived;
  // Those of barrier_arrived that stay when a barrier completes, until that many have.
  uint32_t standing_count;
  uint32_t standing_until;
  // How many have completed.
  uint32_t barriers_passed;
  // Those of barrier_arrived that wait for the whole grid.
  uint32_t grid_barrier_arrived;
  // Bit w: warp w has lanes that are ready, or that have yielded.
  uint32_t ready_warps;
  uint32_t yielded_warps;
  // Rounds of yielding threads since the processor was last offered to other OS threads.
  uint32_t yield_rounds;

  void* runner_context;
  const KernelDescriptor* kernel;
  void** arguments;
  // Set when another block of the launch has faulted.
  const std::atomic<bool>* cancelled;
  // Null unless the launch is cooperative.
  CooperativeGrid* cooperative_grid;
  BlockOutcome outcome;
  BlockFault fault;
  // True between the runner's switch into the block and its return: a signal that comes then is
  // the kernel's. Read by the signal handler of the same OS thread.
  volatile bool inside_kernel;
  MachineFault machine_fault;
  // In nanoseconds: what the launch may take, and when that is over; 0 without a limit.
  int64_t time_limit;
  std::atomic<int64_t> deadline{0};

  // Stacks that are accessible, and those of them no thread is on.
  uint32_t prepared_stacks;
  uint32_t guarded_stacks;
  uint32_t free_stack_count;
  uint16_t free_stacks[max_block_threads];
  size_t shared_window_bytes;

  // The block dimension and the order that thread_indices was computed for.
  dim3 indexed_dimension;
  bool indexed_reversed;
  PackedIndex thread_indices[max_block_threads];
  Warp warps[max_block_warps];
};
static_assert(sizeof(BlockState) <= signal_stack_offset, "the state must fit");

inline uint32_t warp_of(uint32_t thread) { return thread / warp_lanes; }
inline uint32_t lane_of(uint32_t thread) { return thread % warp_lanes; }

// The state of the calling thread's block.
inline BlockState& calling_block() { return *static_cast<BlockState*>(block_registers()); }

// The region of memory a worker runs blocks in.

// Reserves a region and constructs its state. Nothing but the state takes memory until used. Of the
// stacks, the first guarded_stacks get an inaccessible page below them. Throws std::system_error.
BlockState& map_region(uint32_t guarded_stacks);

void unmap_region(BlockState& block);

// Gives the block `bytes` of dynamic shared memory. Throws std::system_error.
void place_dynamic_shared(BlockState& block, size_t bytes);

// The context of a fiber that will run the block's threads, on a stack of its own. Ends the block
// with a fault when there is no memory for one.
void* new_fiber(BlockState& block);

// Gives up the stack that the caller executes on, up to its last switch: no other thread can take
// it before that.
void free_calling_stack(BlockState& block);

// Marks all stacks as unused.
void free_all_stacks(BlockState& block);

// Whether an address lies in the inaccessible part of a stack, which means a stack overflow.
bool is_stack_guard(const BlockState& block, uintptr_t address);

// Whether an address lies in the inaccessible memory around the block's dynamic shared memory.
bool is_beside_dynamic_shared(const BlockState& block, uintptr_t address);

}  // namespace gridstride::host
