// What loops of reductions call that src/launch/source/reduction_loops.ts has recognized. Each call
// says whether it has done all that is left of its loop; when not, the loop goes on as it stands.
#pragma once

#include <stdint.h>

#include <type_traits>

#include "../collectives.h"

namespace gridstride::host {

// Step adds the value of another lane to a lane's own. It is a lambda without captures: an object
// of any bits is as good as that of the source.
template <bool IsXor, typename T, typename Step>
GS_HOST_INLINE void climb_ladder(LaneSlot* lanes, uint32_t participants) {
  T values[32], others[32];
  for (uint32_t lane = 0; lane < 32; ++lane) {
    values[lane] = from_bits<T>((participants >> lane & 1) != 0 ? lanes[lane].value : 0);
  }
  for (uint32_t offset = 16; offset > 0; offset /= 2) {
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const uint32_t source = IsXor ? lane ^ offset : lane + offset;
      const bool present = source < 32 && (participants >> source & 1) != 0;
      others[lane] = values[present ? source : lane];
    }
    for (uint32_t lane = 0; lane < 32; ++lane) {
      __builtin_bit_cast(Step, char{})(values[lane], others[lane]);
    }
  }
  for_each_lane(participants, [&](uint32_t lane) { lanes[lane].result = to_bits(values[lane]); });
}

template <bool IsXor, typename T, typename Step>
inline void complete_ladder(LaneSlot* lanes, uint32_t participants) {
  // A constant makes the steps straight code on vectors.
  if (participants == ~0u) return climb_ladder<IsXor, T, Step>(lanes, ~0u);
  climb_ladder<IsXor, T, Step>(lanes, participants);
}

template <bool IsXor, typename T, typename Step>
inline constexpr CollectiveOperation ladder{IsXor ? shuffle_xor.name : shuffle_down.name,
                                            complete_ladder<IsXor, T, Step>, true};

// for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(~0u, v, o);
template <bool IsXor, typename T, typename Step>
GS_HOST_INLINE bool shuffle_ladder(unsigned int mask, T& value, unsigned int offset, int width,
                                   Step) {
  if constexpr (std::is_arithmetic_v<T> && sizeof(T) <= 8) {
    if (mask != ~0u || offset != 16 || width != 32) return false;
    const CollectiveOperation& operation = ladder<IsXor, T, Step>;
    const Arrival arrival = gs_host_collective_arrive(mask, to_bits(value), 0, &operation);
    if (arrival.next_context) switch_context(&arrival.lane->context, arrival.next_context);
    if (__builtin_expect(arrival.lane->declined != 0, 0)) return false;
    value = from_bits<T>(arrival.lane->result);
    return true;
  } else {
    return false;
  }
}

// for (int s = n; s > limit; s /= 2) { if (threadIdx.x < s) work(); __syncthreads(); }
// In a thread whose condition has failed, and so fails in each round that is left.
template <typename S, typename Limit>
GS_HOST_INLINE bool idle_rounds(S s, Limit limit) {
  uint32_t rounds = 0;
  for (; s > static_cast<S>(limit); s = static_cast<S>(s / 2)) ++rounds;
  if (rounds == 0) return true;
  const Arrival arrival = gs_host_barriers_arrive(rounds);
  if (arrival.next_context) switch_context(&arrival.lane->context, arrival.next_context);
  return arrival.lane != nullptr;
}

}  // namespace gridstride::host
