// Cooperative groups within a warp: thread_block_tile and coalesced_group, and how groups are
// divided into them.
#ifndef GRIDSTRIDE_HOST_LANE_GROUPS_H
#define GRIDSTRIDE_HOST_LANE_GROUPS_H

#include "collectives.h"
#include "convergence.h"
#include "lane_group.h"
#include "qualifiers.h"
#include "thread_groups.h"

namespace gridstride::host {

// What tiles and coalesced groups have in common. Group gives the lanes; results that are bits, and
// parameters that name a thread, are ranks.
template <class Group>
class LaneOperations {
 public:
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

// The threads of the warp that come here before none of them can go on. `place` tells calls apart
// that stand in different places, and is not to be passed.
GS_HOST_INLINE coalesced_group
coalesced_threads(uint64_t place = gridstride::host::place(__builtin_FILE(), __builtin_LINE())) {
  return {gridstride::host::LaneGroup(gs_host_converge(place)), 0, 1};
}

// ---- tiles -------------------------------------------------------------------------------------

template <unsigned int Size, class Parent = void>
class thread_block_tile;

// A tile whose parent does not matter; every other tile is one of these as well.
template <unsigned int Size>
class thread_block_tile<Size, void>
    : public gridstride::host::LaneOperations<thread_block_tile<Size, void>> {
  static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0,
                "on the host device a tile has 1, 2, 4, 8, 16 or 32 threads");
  using LaneGroup = gridstride::host::LaneGroup;

 public:
  static constexpr unsigned int num_threads() { return Size; }
  static constexpr unsigned int size() { return Size; }

  GS_HOST_INLINE static unsigned int thread_rank() {
    return gridstride::host::lane_id() & (Size - 1);
  }
  unsigned int meta_group_rank() const { return meta_rank_; }
  unsigned int meta_group_size() const { return meta_size_; }

  template <class T>
  GS_HOST_INLINE T shfl_xor(T value, unsigned int lane_mask) const {
    const unsigned int rank = thread_rank() ^ lane_mask;
    return lane_group().value_of(value, rank < Size ? rank : thread_rank(),
                                 gridstride::host::shuffle_xor);
  }

  GS_HOST_INLINE LaneGroup lane_group() const {
    constexpr uint32_t ones = Size == 32 ? 0xffffffffu : (1u << Size % 32) - 1;
    return LaneGroup(ones << (gridstride::host::lane_id() & ~(Size - 1)));
  }

  operator thread_group() const { return thread_group(lane_group()); }

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

// ---- partitions whose size, or whose members, only the run knows -------------------------------

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

#endif
