// Tiles of more than a warp: their threads meet warp by warp, and exchange addresses of values.
//
// CUDA keeps what such tiles share in the block's memory, which programs reserve for old devices as
// block_tile_memory. Here it is a __shared__ variable for each size.
#pragma once

#include "../collectives.h"
#include "lane_groups.h"

namespace gridstride::host {

// What the warps of one tile share.
template <unsigned Warps>
struct TileMeeting {
  unsigned arrived;
  unsigned round;
  const void* values[Warps];
};

template <unsigned Size>
__shared__ inline TileMeeting<Size / 32> tile_meetings[1024 / Size];

template <unsigned Size>
class BlockTile {
  static_assert(Size <= 1024 && (Size & (Size - 1)) == 0,
                "a tile has a power of two of threads, up to 1024");

 public:
  static constexpr bool is_larger_than_warp = true;
  struct arrival_token {};

  static constexpr unsigned int num_threads() { return Size; }
  static constexpr unsigned int size() { return Size; }
  static unsigned int thread_rank() { return thread_number() % Size; }

  // The first lane of each warp waits for the other warps, and the other lanes for it.
  void sync() const {
    warp().synchronize();
    if (lane_id() == 0) {
      TileMeeting<Size / 32>& own = meeting();
      const unsigned round = own.round;
      if (++own.arrived == warp_count()) {
        own.arrived = 0;
        own.round = round + 1;
      } else {
        while (own.round == round) yield_thread();
      }
    }
    warp().synchronize();
  }
  static arrival_token barrier_arrive() { return {}; }
  void barrier_wait(arrival_token&&) const { sync(); }

  // All threads name the same rank.
  template <class T>
  T shfl(const T& value, unsigned int rank) const {
    if (thread_rank() == rank) meeting().values[0] = &value;
    return after_meeting([&] { return T(*static_cast<const T*>(meeting().values[0])); });
  }

  int any(int predicate) const {
    const bool own = warp().vote(predicate != 0) != 0;
    return fold(own, false, warp_count(), [](bool one, bool other) { return one || other; });
  }
  int all(int predicate) const { return !any(predicate == 0); }

  // The values that the first lanes of the first `count` warps give, combined in order.
  template <class T, class Operation>
  T fold(const T& of_warp, const T& first, unsigned int count, Operation&& operation) const {
    if (lane_id() == 0) meeting().values[warp_rank()] = &of_warp;
    return after_meeting([&] {
      T result = first;
      for (unsigned int i = 0; i < count; i++) {
        const T& next = *static_cast<const T*>(meeting().values[i]);
        result = i == 0 ? next : operation(result, next);
      }
      return result;
    });
  }

  static LaneGroup warp() { return LaneGroup(existing_lanes()); }
  static unsigned int warp_rank() { return thread_rank() / 32; }
  // A block need not fill its last tile.
  static unsigned int warp_count() {
    const dim3 extents = read_only_registers()->block_dimension;
    const unsigned int left = extents.x * extents.y * extents.z - (thread_number() & ~(Size - 1));
    return ((left < Size ? left : Size) + 31) / 32;
  }

 private:
  static TileMeeting<Size / 32>& meeting() { return tile_meetings<Size>[thread_number() / Size]; }

  // Reads what all threads have offered, which stays until every thread has read.
  template <class Read>
  auto after_meeting(Read read) const {
    sync();
    const auto result = read();
    sync();
    return result;
  }
};

}  // namespace gridstride::host
