// Some lanes of one warp and their collectives: the core of the cooperative groups of a warp.
#pragma once

#include <stdint.h>

#include "../collectives.h"
#include "../special_registers.h"
#include "../warp_exchange.h"

namespace gridstride::host {

// A lane's rank is its place among the lanes of the mask. Everything is said in ranks, and becomes
// lanes here.

// Which lanes of the calling thread's warp exist: the last warp of a block may have fewer than 32.
GS_HOST_INLINE uint32_t existing_lanes() {
  const BlockRegisters* registers = read_only_registers();
  const dim3 extents = registers->block_dimension;
  const uint32_t after_first = extents.x * extents.y * extents.z - (thread_number() & ~31u);
  return after_first >= 32 ? 0xffffffffu : (1u << after_first) - 1;
}

// Gives every lane of the mask the value of the lane that it names. A value of another size than a
// word travels in pieces of eight bytes.
template <class T>
GS_HOST_INLINE T exchange(uint32_t mask, const T& value, uint32_t source,
                          const CollectiveOperation& operation) {
  static_assert(__is_trivially_copyable(T), "lanes exchange trivially copyable values");
  static_assert(sizeof(T) <= 32, "lanes exchange values of up to 32 bytes, as in CUDA");
  constexpr unsigned pieces = (sizeof(T) + 7) / 8;
  uint64_t words[pieces] = {};
  __builtin_memcpy(words, static_cast<const void*>(&value), sizeof(T));
  for (unsigned i = 0; i < pieces; i++) {
    words[i] = warp_collective(mask, words[i], source, operation);
  }
  T result;
  __builtin_memcpy(static_cast<void*>(&result), words, sizeof(T));
  return result;
}

class LaneGroup {
 public:
  GS_HOST_INLINE explicit LaneGroup(uint32_t mask) : mask_(mask) {}

  GS_HOST_INLINE uint32_t mask() const { return mask_; }
  GS_HOST_INLINE uint32_t count() const { return static_cast<uint32_t>(__builtin_popcount(mask_)); }
  GS_HOST_INLINE uint32_t rank() const { return rank_of(lane_id()); }
  GS_HOST_INLINE uint32_t rank_of(uint32_t lane) const {
    return static_cast<uint32_t>(__builtin_popcount(mask_ & ((1u << lane) - 1)));
  }

  // 32 where the group has no such rank.
  uint32_t lane_of(uint32_t rank) const {
    uint32_t left = mask_;
    const uint32_t first = left == 0 ? 0 : static_cast<uint32_t>(__builtin_ctz(left));
    const uint32_t run = left >> first;
    // Neighbours, as in every tile.
    if ((run & (run + 1)) == 0) return rank < 32 && (run >> rank & 1) != 0 ? first + rank : 32;
    for (; rank != 0 && left != 0; rank--) left &= left - 1;
    return left == 0 ? 32 : static_cast<uint32_t>(__builtin_ctz(left));
  }

  // The lanes of a result, which are bits, as ranks: bit r is the lane of rank r.
  uint32_t packed(uint32_t lanes) const {
    uint32_t result = 0;
    uint32_t rank = 0;
    for_each_lane(mask_, [&](uint32_t lane) { result |= (lanes >> lane & 1) << rank++; });
    return result;
  }

  // The lanes of this group with ranks from `first` on.
  LaneGroup part(uint32_t first, uint32_t count) const {
    uint32_t lanes = 0;
    uint32_t rank = 0;
    for_each_lane(mask_, [&](uint32_t lane) {
      if (rank >= first && rank - first < count) lanes |= 1u << lane;
      rank++;
    });
    return LaneGroup(lanes);
  }

  GS_HOST_INLINE void synchronize() const { warp_collective(mask_, 0, 0, synchronize_warp); }

  // The caller's own value where the group has no such rank.
  template <class T>
  GS_HOST_INLINE T value_of(const T& value, uint32_t rank,
                            const CollectiveOperation& operation) const {
    const uint32_t lane = lane_of(rank);
    return exchange(mask_, value, lane < 32 ? lane : lane_id(), operation);
  }

  GS_HOST_INLINE uint32_t vote(bool predicate) const {
    return static_cast<uint32_t>(warp_collective(mask_, predicate, 0, ballot));
  }

  // The lanes with the same bits as the caller's value.
  template <class T>
  uint32_t equal_lanes(const T& value) const {
    uint32_t equal = mask_;
    for_each_word(value, [&](uint64_t word) {
      equal &= static_cast<uint32_t>(warp_collective(mask_, word, 0, match_any));
    });
    return equal;
  }

 private:
  template <class T, class Action>
  GS_HOST_INLINE static void for_each_word(const T& value, Action action) {
    static_assert(__is_trivially_copyable(T), "lanes compare trivially copyable values");
    uint64_t words[(sizeof(T) + 7) / 8] = {};
    __builtin_memcpy(words, static_cast<const void*>(&value), sizeof(T));
    for (const uint64_t word : words) action(word);
  }

  uint32_t mask_;
};

}  // namespace gridstride::host
