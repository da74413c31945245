// Cooperative groups of any size: thread_group, thread_block and grid_group.
#ifndef GRIDSTRIDE_HOST_THREAD_GROUPS_H
#define GRIDSTRIDE_HOST_THREAD_GROUPS_H

#include "collectives.h"
#include "grid_barrier.h"
#include "lane_group.h"
#include "qualifiers.h"
#include "register_names.h"
#include "special_registers.h"
#include "vector_types.h"

namespace gridstride::host {

// Threads before one in CUDA's order (x fastest), of so many in each direction.
template <class Extents>
GS_HOST_INLINE unsigned long long linear_rank(const uint3& index, const Extents& extents) {
  return (static_cast<unsigned long long>(index.z) * extents.y + index.y) * extents.x + index.x;
}

GS_HOST_INLINE unsigned long long volume(const dim3& extents) {
  return static_cast<unsigned long long>(extents.x) * extents.y * extents.z;
}

}  // namespace gridstride::host

namespace cooperative_groups {

// Any group, when which one it is shall not matter. What is more than this goes through the group's
// own type.
class thread_group {
 public:
  void sync() const {
    switch (kind_) {
      case Kind::grid: return gridstride::host::grid_barrier();
      case Kind::block: return __syncthreads();
      case Kind::lanes: return lanes_.synchronize();
    }
  }

  unsigned long long num_threads() const {
    using namespace gridstride::host;
    switch (kind_) {
      case Kind::grid: return volume(gridDim) * volume(blockDim);
      case Kind::block: return volume(blockDim);
      case Kind::lanes: break;
    }
    return lanes_.count();
  }
  unsigned long long size() const { return num_threads(); }

  unsigned long long thread_rank() const {
    using namespace gridstride::host;
    switch (kind_) {
      case Kind::grid: return linear_rank(blockIdx, gridDim) * volume(blockDim) + thread_number();
      case Kind::block: return thread_number();
      case Kind::lanes: break;
    }
    return lanes_.rank();
  }

 protected:
  enum class Kind { grid, block, lanes };

  explicit thread_group(Kind kind) : kind_(kind), lanes_(0) {}
  explicit thread_group(gridstride::host::LaneGroup lanes) : kind_(Kind::lanes), lanes_(lanes) {}

 private:
  template <unsigned int Size, class Parent>
  friend class thread_block_tile;
  friend thread_group tiled_partition(const thread_group& parent, unsigned int size);
  friend thread_group this_thread();

  Kind kind_;
  gridstride::host::LaneGroup lanes_;
};

// ---- the block ---------------------------------------------------------------------------------

class thread_block : public thread_group {
 public:
  // Arriving is put off until the wait, which then waits for every thread to come as far: later
  // than a GPU would have to.
  struct arrival_token {};

  static void sync() { __syncthreads(); }
  static arrival_token barrier_arrive() { return {}; }
  static void barrier_wait(arrival_token&&) { __syncthreads(); }

  static unsigned int thread_rank() { return gridstride::host::thread_number(); }
  static unsigned int num_threads() {
    return static_cast<unsigned int>(gridstride::host::volume(blockDim));
  }
  static unsigned int size() { return num_threads(); }

  static dim3 group_index() { return blockIdx; }
  static dim3 thread_index() { return threadIdx; }
  static dim3 dim_threads() { return blockDim; }
  static dim3 group_dim() { return blockDim; }

 private:
  friend thread_block this_thread_block();

  thread_block() : thread_group(Kind::block) {}
};

inline thread_block this_thread_block() { return thread_block(); }

// ---- the grid ----------------------------------------------------------------------------------

class grid_group : public thread_group {
 public:
  struct arrival_token {};

  // Ends in a fault where the launch was not cooperative.
  static void sync() { gridstride::host::grid_barrier(); }
  static arrival_token barrier_arrive() { return {}; }
  static void barrier_wait(arrival_token&&) { gridstride::host::grid_barrier(); }
  static bool is_valid() { return gridstride::host::is_grid_cooperative(); }

  static unsigned long long thread_rank() {
    return block_rank() * gridstride::host::volume(blockDim) + gridstride::host::thread_number();
  }
  static unsigned long long num_threads() {
    return num_blocks() * gridstride::host::volume(blockDim);
  }
  static unsigned long long size() { return num_threads(); }

  static unsigned long long block_rank() {
    return gridstride::host::linear_rank(blockIdx, gridDim);
  }
  static unsigned long long num_blocks() { return gridstride::host::volume(gridDim); }
  static dim3 block_index() { return blockIdx; }
  static dim3 dim_blocks() { return gridDim; }
  static dim3 group_dim() { return gridDim; }

 private:
  friend grid_group this_grid();

  grid_group() : thread_group(Kind::grid) {}
};

inline grid_group this_grid() { return grid_group(); }

// ---- the calling thread alone ------------------------------------------------------------------

inline thread_group this_thread() {
  return thread_group(gridstride::host::LaneGroup(1u << gridstride::host::lane_id()));
}

}  // namespace cooperative_groups

#endif
