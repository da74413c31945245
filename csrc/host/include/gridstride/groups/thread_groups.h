// Cooperative groups of threads, and the operations of their reductions and scans.
#pragma once

#include <stdint.h>

#include "block_tiles.h"
#include "../collectives.h"
#include "lane_groups.h"
#include "../qualifiers.h"
#include "../register_names.h"
#include "../special_registers.h"
#include "../vector_types.h"
#include "../warp_exchange.h"

namespace cooperative_groups {

// CUDA's names: less gives the smaller one, and greater the larger.
#define GS_GROUP_OPERATOR(name, expression)                                    \
  template <class T>                                                           \
  struct name {                                                                \
    T operator()(T left, T right) const { return static_cast<T>(expression); } \
  };
GS_GROUP_OPERATOR(plus, left + right)
GS_GROUP_OPERATOR(less, right < left ? right : left)
GS_GROUP_OPERATOR(greater, left < right ? right : left)
GS_GROUP_OPERATOR(bit_and, left& right)
GS_GROUP_OPERATOR(bit_or, left | right)
GS_GROUP_OPERATOR(bit_xor, left ^ right)
#undef GS_GROUP_OPERATOR

}  // namespace cooperative_groups

namespace gridstride::host {

// Cooperative groups of any size: thread_group, thread_block and grid_group.

// Threads before one in CUDA's order (x fastest), of so many in each direction.
template <class Extents>
GS_HOST_INLINE unsigned long long linear_rank(const uint3& index, const Extents& extents) {
  return (static_cast<unsigned long long>(index.z) * extents.y + index.y) * extents.x + index.x;
}

template <unsigned int Size>
class WarpTile;

GS_HOST_INLINE unsigned long long volume(const dim3& extents) {
  return static_cast<unsigned long long>(extents.x) * extents.y * extents.z;
}

}  // namespace gridstride::host

namespace cooperative_groups {

// Any group, of a type that the caller does not know. Other members go through the group's own
// type.
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
  template <unsigned int Size>
  friend class gridstride::host::WarpTile;
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

// Memory for tiles of more than a warp, which old devices need. The host device has its own.
template <unsigned int MaxBlockSize = 1024>
struct block_tile_memory {};

template <unsigned int MaxBlockSize>
thread_block this_thread_block(block_tile_memory<MaxBlockSize>&) {
  return this_thread_block();
}

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

namespace gridstride::host {

// Cooperative groups within a warp: thread_block_tile and coalesced_group, and how groups are
// divided into them.

// What tiles and coalesced groups have in common. Group gives the lanes; results that are bits, and
// parameters that name a thread, are ranks.
template <class Group>
class LaneOperations {
 public:
  static constexpr bool is_larger_than_warp = false;

  GS_HOST_INLINE void sync() const { lanes().synchronize(); }
  GS_HOST_INLINE unsigned int thread_rank() const { return lanes().rank(); }

  template <class T>
  GS_HOST_INLINE T shfl(T value, unsigned int rank) const {
    return lanes().value_of(value, rank % group().num_threads(), shuffle_index);
  }
  template <class T>
  GS_HOST_INLINE T shfl_up(T value, unsigned int delta) const {
    const unsigned int rank = thread_rank();
    return lanes().value_of(value, delta <= rank ? rank - delta : rank, shuffle_up);
  }
  template <class T>
  GS_HOST_INLINE T shfl_down(T value, unsigned int delta) const {
    const unsigned int rank = thread_rank();
    const unsigned int after = group().num_threads() - rank;
    return lanes().value_of(value, delta < after ? rank + delta : rank, shuffle_down);
  }

  GS_HOST_INLINE int any(int predicate) const { return lanes().vote(predicate != 0) != 0; }
  GS_HOST_INLINE int all(int predicate) const { return lanes().vote(predicate == 0) == 0; }
  GS_HOST_INLINE unsigned int ballot(int predicate) const {
    return lanes().packed(lanes().vote(predicate != 0));
  }
  template <class T>
  GS_HOST_INLINE unsigned int match_any(T value) const {
    return lanes().packed(lanes().equal_lanes(value));
  }
  // 0 where not all values are equal.
  template <class T>
  GS_HOST_INLINE unsigned int match_all(T value, int& all_equal) const {
    const bool differs = lanes().equal_lanes(value) != present();
    all_equal = lanes().vote(differs) == 0;
    return all_equal ? lanes().packed(present()) : 0;
  }

  // The lanes of the group that are there: a block need not fill its last warp.
  GS_HOST_INLINE uint32_t present() const { return lanes().mask() & existing_lanes(); }
  GS_HOST_INLINE LaneGroup lanes() const { return group().lane_group(); }

 private:
  GS_HOST_INLINE const Group& group() const { return *static_cast<const Group*>(this); }
};

}  // namespace gridstride::host

namespace cooperative_groups {

// ---- coalesced groups --------------------------------------------------------------------------

class coalesced_group : public thread_group,
                        public gridstride::host::LaneOperations<coalesced_group> {
  using Operations = gridstride::host::LaneOperations<coalesced_group>;

 public:
  using Operations::sync;
  using Operations::thread_rank;

  unsigned int num_threads() const { return lanes_.count(); }
  unsigned int size() const { return num_threads(); }
  // Of the groups that a group was divided into; 0 and 1 where it was not.
  unsigned int meta_group_rank() const { return meta_rank_; }
  unsigned int meta_group_size() const { return meta_size_; }

  gridstride::host::LaneGroup lane_group() const { return lanes_; }

 private:
  friend coalesced_group coalesced_threads(uint64_t place);
  friend coalesced_group tiled_partition(const coalesced_group& parent, unsigned int size);
  template <class Group>
  friend coalesced_group binary_partition(const Group& parent, bool predicate);
  template <class Group, class Label>
  friend coalesced_group labeled_partition(const Group& parent, Label label);

  coalesced_group(gridstride::host::LaneGroup lanes, unsigned int meta_rank, unsigned int meta_size)
      : thread_group(lanes), lanes_(lanes), meta_rank_(meta_rank), meta_size_(meta_size) {}

  gridstride::host::LaneGroup lanes_;
  unsigned int meta_rank_;
  unsigned int meta_size_;
};

// The threads of the warp that come here before none of them can go on. `place` distinguishes calls
// that stand in different places, and is not to be passed.
GS_HOST_INLINE coalesced_group
coalesced_threads(uint64_t place = gridstride::host::place(__builtin_FILE(), __builtin_LINE())) {
  return {gridstride::host::LaneGroup(gs_host_converge(place)), 0, 1};
}

// ---- tiles -------------------------------------------------------------------------------------

template <unsigned int Size, class Parent = void>
class thread_block_tile;

}  // namespace cooperative_groups

namespace gridstride::host {

// A tile of at most a warp.
template <unsigned int Size>
class WarpTile : public LaneOperations<WarpTile<Size>> {
  static_assert(Size >= 1 && (Size & (Size - 1)) == 0, "a tile has a power of two of threads");

 public:
  static constexpr unsigned int num_threads() { return Size; }
  static constexpr unsigned int size() { return Size; }

  GS_HOST_INLINE static unsigned int thread_rank() { return lane_id() & (Size - 1); }

  template <class T>
  GS_HOST_INLINE T shfl_xor(T value, unsigned int lane_mask) const {
    const unsigned int rank = thread_rank() ^ lane_mask;
    return lane_group().value_of(value, rank < Size ? rank : thread_rank(), shuffle_xor);
  }

  GS_HOST_INLINE LaneGroup lane_group() const {
    constexpr uint32_t ones = Size == 32 ? 0xffffffffu : (1u << Size % 32) - 1;
    return LaneGroup(ones << (lane_id() & ~(Size - 1)));
  }

  operator cooperative_groups::thread_group() const {
    return cooperative_groups::thread_group(lane_group());
  }
};

template <unsigned int Size, bool IsLarge = (Size > 32)>
struct TileBase {
  using type = WarpTile<Size>;
};
template <unsigned int Size>
struct TileBase<Size, true> {
  using type = BlockTile<Size>;
};

}  // namespace gridstride::host

namespace cooperative_groups {

// A tile of any parent; every other tile is one of these as well.
template <unsigned int Size>
class thread_block_tile<Size, void> : public gridstride::host::TileBase<Size>::type {
 public:
  unsigned int meta_group_rank() const { return meta_rank_; }
  unsigned int meta_group_size() const { return meta_size_; }

 protected:
  thread_block_tile(unsigned int meta_rank, unsigned int meta_size)
      : meta_rank_(meta_rank), meta_size_(meta_size) {}

 private:
  unsigned int meta_rank_;
  unsigned int meta_size_;
};

template <unsigned int Size, class Parent>
class thread_block_tile : public thread_block_tile<Size, void> {
  template <unsigned int TileSize, class Group>
  friend thread_block_tile<TileSize, Group> tiled_partition(const Group& parent);

  explicit thread_block_tile(const Parent& parent)
      : thread_block_tile<Size, void>(
            static_cast<unsigned int>(parent.thread_rank() / Size),
            static_cast<unsigned int>((parent.num_threads() + Size - 1) / Size)) {}
};

template <unsigned int TileSize, class Group>
GS_HOST_INLINE thread_block_tile<TileSize, Group> tiled_partition(const Group& parent) {
  return thread_block_tile<TileSize, Group>(parent);
}

// ---- partitions with a size or members known at run time ----------------------------------------

// Tiles of consecutive threads, the last one smaller where the size does not divide the parent's.
inline coalesced_group tiled_partition(const coalesced_group& parent, unsigned int size) {
  if (size == 0) gs_host_trap("tiled_partition() of a coalesced_group was called with size 0");
  const unsigned int tile = parent.thread_rank() / size;
  return {parent.lane_group().part(tile * size, size), tile,
          (parent.num_threads() + size - 1) / size};
}

inline thread_group tiled_partition(const thread_group& parent, unsigned int size) {
  if (parent.kind_ == thread_group::Kind::lanes) {
    if (size == 0) gs_host_trap("tiled_partition() of a thread_group was called with size 0");
    const auto rank = static_cast<unsigned int>(parent.thread_rank());
    return thread_group(parent.lanes_.part(rank / size * size, size));
  }
  if (size == 0 || size > 32 || (size & (size - 1)) != 0) {
    gs_host_trap("tiled_partition() was called with a size that is no power of two up to 32");
  }
  const uint32_t ones = size == 32 ? 0xffffffffu : (1u << size) - 1;
  const uint32_t lanes = ones << (gridstride::host::lane_id() & ~(size - 1));
  return thread_group(gridstride::host::LaneGroup(lanes & gridstride::host::existing_lanes()));
}

template <class Group>
coalesced_group binary_partition(const Group& parent, bool predicate) {
  const uint32_t yes = parent.lanes().vote(predicate);
  const uint32_t lanes = predicate ? yes : parent.present() & ~yes;
  return {gridstride::host::LaneGroup(lanes), predicate, 2};
}

// One group for each label; they are numbered by their first threads.
template <class Group, class Label>
coalesced_group labeled_partition(const Group& parent, Label label) {
  using gridstride::host::LaneGroup;
  const uint32_t lanes = parent.lanes().equal_lanes(label);
  const uint32_t first = lanes & (0 - lanes);
  const bool leads = first >> gridstride::host::lane_id() & 1;
  const LaneGroup leaders(parent.lanes().vote(leads));
  const auto first_lane = static_cast<uint32_t>(__builtin_ctz(lanes));
  return {LaneGroup(lanes), leaders.rank_of(first_lane), leaders.count()};
}

// ---- one of a group ----------------------------------------------------------------------------

template <class Group, class Function, class... Arguments>
void invoke_one(const Group& group, Function&& function, Arguments&&... arguments) {
  if (group.thread_rank() == 0) {
    static_cast<Function&&>(function)(static_cast<Arguments&&>(arguments)...);
  }
}

template <class Group, class Function, class... Arguments>
auto invoke_one_broadcast(const Group& group, Function&& function, Arguments&&... arguments)
    -> decltype(function(static_cast<Arguments&&>(arguments)...)) {
  decltype(function(static_cast<Arguments&&>(arguments)...)) result{};
  if (group.thread_rank() == 0) result = function(static_cast<Arguments&&>(arguments)...);
  return group.shfl(result, 0);
}

// ---- functions for the members that every group has --------------------------------------------

template <class Group>
void sync(const Group& group) {
  group.sync();
}
template <class Group>
auto thread_rank(const Group& group) -> decltype(group.thread_rank()) {
  return group.thread_rank();
}
template <class Group>
auto group_size(const Group& group) -> decltype(group.num_threads()) {
  return group.num_threads();
}

}  // namespace cooperative_groups
