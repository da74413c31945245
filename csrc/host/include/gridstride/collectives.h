// Fences, clocks, and the ways a thread stops itself.
#pragma once

#include <stdint.h>

#include <type_traits>

#include "qualifiers.h"
#include "special_registers.h"
#include "warp_exchange.h"

// The threads of a block share an OS thread: only the compiler could reorder their accesses.
inline void __threadfence_block() {
  asm volatile("" ::: "memory");
  gridstride::host::spin_hint();
}

// Fences count as spinning, as a loop that polls a volatile flag usually holds one.
inline void __threadfence() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  gridstride::host::spin_hint();
}

inline void __threadfence_system() { __threadfence(); }

// Lets the block's other threads run, for however long they take: what sleeps is not the processor.
inline void __nanosleep(unsigned int) { gridstride::host::yield_thread(); }

// Ticks of the processor's constant-rate counter where it has one, nanoseconds elsewhere.
inline long long clock64() {
#if defined(__x86_64__)
  return static_cast<long long>(__builtin_ia32_rdtsc());
#elif defined(__aarch64__)
  long long ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return static_cast<long long>(gs_host_clock());
#endif
}

[[noreturn]] inline void __trap() { gs_host_trap("__trap() was called"); }

// There is no debugger to hand the thread to, as on a GPU without one.
[[noreturn]] inline void __brkpt() { gs_host_trap("__brkpt() was called without a debugger"); }

// ---- barriers --------------------------------------------------------------------------------

struct __half;
struct __half2;
struct __nv_bfloat16;
struct __nv_bfloat162;

namespace gridstride::host {

// Barriers of the block and collectives of the warp.
//
// Lanes are threads that run one after the other, not in lockstep: the mask of a call defines its
// warp. A lane that has exited is dropped from every mask, as on hardware; a lane outside the mask
// it passes, two different collectives with one mask, and a wait that cannot end are reported
// faults.

GS_HOST_INLINE void block_barrier(bool predicate) {
  const Arrival arrival = gs_host_barrier_arrive(predicate);
  if (arrival.next_context) switch_context(&arrival.lane->context, arrival.next_context);
}

inline void complete_nothing(LaneSlot*, uint32_t) {}
inline constexpr CollectiveOperation synchronize_warp{"__syncwarp", complete_nothing};

}  // namespace gridstride::host

GS_HOST_INLINE void __syncthreads() { gridstride::host::block_barrier(false); }

// The counts stay until the next barrier completes, for which every thread must have read them.
GS_HOST_INLINE int __syncthreads_count(int predicate) {
  gridstride::host::block_barrier(predicate != 0);
  return static_cast<int>(gridstride::host::block_registers()->barrier_true_arrivals);
}

GS_HOST_INLINE int __syncthreads_or(int predicate) { return __syncthreads_count(predicate) != 0; }

GS_HOST_INLINE int __syncthreads_and(int predicate) {
  const int count = __syncthreads_count(predicate);
  return count == static_cast<int>(gridstride::host::block_registers()->barrier_arrivals);
}

GS_HOST_INLINE void __syncwarp(unsigned int mask = 0xffffffffu) {
  gridstride::host::warp_collective(mask, 0, 0, gridstride::host::synchronize_warp);
}

// `place` distinguishes calls in different places; callers do not pass it.
GS_HOST_INLINE unsigned int __activemask(
    uint64_t place = gridstride::host::place(__builtin_FILE(), __builtin_LINE())) {
  return gs_host_converge(place);
}

// ---- shuffles --------------------------------------------------------------------------------

namespace gridstride::host {

template <unsigned Bytes>
struct UnsignedOfSize;
template <>
struct UnsignedOfSize<1> {
  using type = uint8_t;
};
template <>
struct UnsignedOfSize<2> {
  using type = uint16_t;
};
template <>
struct UnsignedOfSize<4> {
  using type = uint32_t;
};
template <>
struct UnsignedOfSize<8> {
  using type = uint64_t;
};

template <typename T>
GS_HOST_INLINE uint64_t to_bits(T value) {
  static_assert(__is_trivially_copyable(T), "lanes exchange trivially copyable values");
  return __builtin_bit_cast(typename UnsignedOfSize<sizeof(T)>::type, value);
}

template <typename T>
GS_HOST_INLINE T from_bits(uint64_t bits) {
  using Bits = typename UnsignedOfSize<sizeof(T)>::type;
  return __builtin_bit_cast(T, static_cast<Bits>(bits));
}

// A lane that has exited has no value: the calling lane gets its own.
inline void complete_shuffle(LaneSlot* lanes, uint32_t participants) {
  for_each_lane(participants, [=](uint32_t lane) {
    const uint32_t source = lanes[lane].source;
    const bool present = participants >> source & 1;
    lanes[lane].result = lanes[present ? source : lane].value;
  });
}

inline constexpr CollectiveOperation shuffle_index{"__shfl_sync", complete_shuffle};
inline constexpr CollectiveOperation shuffle_up{"__shfl_up_sync", complete_shuffle};
inline constexpr CollectiveOperation shuffle_down{"__shfl_down_sync", complete_shuffle};
inline constexpr CollectiveOperation shuffle_xor{"__shfl_xor_sync", complete_shuffle};

// The lane bits that name a segment: those above its width. This and the source lanes below follow
// the definition of the `shfl` instruction: any width and offset gives the GPU's answer.
GS_HOST_INLINE uint32_t segment_mask(int width) {
  return (32u - static_cast<uint32_t>(width)) & 31;
}

// The value of a lane outside of the mask is undefined in CUDA. A GPU mostly gives what that lane's
// register holds, which nothing here knows. A plausible value would hide the mistake: this one is
// NaN in every floating-point type, and a huge integer.
inline constexpr uint64_t unknown_value = 0x7fff7fff7fff7fff;

template <typename T>
GS_HOST_INLINE T shuffle(uint32_t mask, T value, uint32_t source,
                         const CollectiveOperation& operation) {
  const uint64_t bits = warp_collective(mask, to_bits(value), source, operation);
  return from_bits<T>((mask >> source & 1) != 0 ? bits : unknown_value);
}

// What CUDA's functions for the lanes of a warp take. Those of cooperative groups take more.
template <typename T>
inline constexpr bool is_lane_value =
    std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, __half> ||
    std::is_same_v<T, __half2> || std::is_same_v<T, __nv_bfloat16> ||
    std::is_same_v<T, __nv_bfloat162>;

#define GS_REQUIRE_LANE_VALUE(T)                      \
  static_assert(::gridstride::host::is_lane_value<T>, \
                "CUDA exchanges numbers between lanes, no structs, vectors or pointers")

}  // namespace gridstride::host

template <typename T>
GS_HOST_INLINE T __shfl_sync(unsigned int mask, T value, int source_lane, int width = 32) {
  GS_REQUIRE_LANE_VALUE(T);
  using namespace gridstride::host;
  const uint32_t segment = segment_mask(width);
  const uint32_t within = static_cast<uint32_t>(source_lane) & ~segment & 31;
  const uint32_t source = (lane_id() & segment) | within;
  return shuffle(mask, value, source, shuffle_index);
}

template <typename T>
GS_HOST_INLINE T __shfl_up_sync(unsigned int mask, T value, unsigned int delta, int width = 32) {
  GS_REQUIRE_LANE_VALUE(T);
  using namespace gridstride::host;
  const uint32_t lane = lane_id();
  const uint32_t first = lane & segment_mask(width);
  const uint32_t offset = delta & 31;
  const uint32_t source = lane >= first + offset ? lane - offset : lane;
  return shuffle(mask, value, source, shuffle_up);
}

template <typename T>
GS_HOST_INLINE T __shfl_down_sync(unsigned int mask, T value, unsigned int delta, int width = 32) {
  GS_REQUIRE_LANE_VALUE(T);
  using namespace gridstride::host;
  const uint32_t lane = lane_id();
  const uint32_t last = lane | (~segment_mask(width) & 31);
  const uint32_t target = lane + (delta & 31);
  return shuffle(mask, value, target <= last ? target : lane, shuffle_down);
}

template <typename T>
GS_HOST_INLINE T __shfl_xor_sync(unsigned int mask, T value, int lane_mask, int width = 32) {
  GS_REQUIRE_LANE_VALUE(T);
  using namespace gridstride::host;
  const uint32_t lane = lane_id();
  const uint32_t last = lane | (~segment_mask(width) & 31);
  const uint32_t target = lane ^ (static_cast<uint32_t>(lane_mask) & 31);
  return shuffle(mask, value, target <= last ? target : lane, shuffle_xor);
}

// ---- votes and matches -----------------------------------------------------------------------

namespace gridstride::host {

inline void complete_ballot(LaneSlot* lanes, uint32_t participants) {
  uint32_t votes = 0;
  for_each_lane(participants, [&](uint32_t lane) {
    votes |= static_cast<uint32_t>(lanes[lane].value != 0) << lane;
  });
  for_each_lane(participants, [=](uint32_t lane) { lanes[lane].result = votes; });
}

inline void complete_any(LaneSlot* lanes, uint32_t participants) {
  uint64_t any = 0;
  for_each_lane(participants, [&](uint32_t lane) { any |= lanes[lane].value; });
  for_each_lane(participants, [=](uint32_t lane) { lanes[lane].result = any; });
}

inline void complete_all(LaneSlot* lanes, uint32_t participants) {
  uint64_t all = 1;
  for_each_lane(participants, [&](uint32_t lane) { all &= lanes[lane].value; });
  for_each_lane(participants, [=](uint32_t lane) { lanes[lane].result = all; });
}

inline void complete_match_any(LaneSlot* lanes, uint32_t participants) {
  for_each_lane(participants, [=](uint32_t lane) {
    uint32_t equal = 0;
    for_each_lane(participants, [&](uint32_t other) {
      equal |= static_cast<uint32_t>(lanes[other].value == lanes[lane].value) << other;
    });
    lanes[lane].result = equal;
  });
}

inline void complete_match_all(LaneSlot* lanes, uint32_t participants) {
  const uint64_t first = lanes[__builtin_ctz(participants)].value;
  bool equal = true;
  for_each_lane(participants, [&](uint32_t lane) { equal = equal && lanes[lane].value == first; });
  for_each_lane(participants, [=](uint32_t lane) {
    lanes[lane].result = equal ? participants : 0;
  });
}

inline constexpr CollectiveOperation ballot{"__ballot_sync", complete_ballot};
inline constexpr CollectiveOperation vote_any{"__any_sync", complete_any};
inline constexpr CollectiveOperation vote_all{"__all_sync", complete_all};
inline constexpr CollectiveOperation match_any{"__match_any_sync", complete_match_any};
inline constexpr CollectiveOperation match_all{"__match_all_sync", complete_match_all};

}  // namespace gridstride::host

GS_HOST_INLINE unsigned int __ballot_sync(unsigned int mask, int predicate) {
  using namespace gridstride::host;
  return static_cast<unsigned int>(warp_collective(mask, predicate != 0, 0, ballot));
}

GS_HOST_INLINE int __any_sync(unsigned int mask, int predicate) {
  using namespace gridstride::host;
  return static_cast<int>(warp_collective(mask, predicate != 0, 0, vote_any));
}

GS_HOST_INLINE int __all_sync(unsigned int mask, int predicate) {
  using namespace gridstride::host;
  return static_cast<int>(warp_collective(mask, predicate != 0, 0, vote_all));
}

template <typename T>
GS_HOST_INLINE unsigned int __match_any_sync(unsigned int mask, T value) {
  using namespace gridstride::host;
  return static_cast<unsigned int>(warp_collective(mask, to_bits(value), 0, match_any));
}

template <typename T>
GS_HOST_INLINE unsigned int __match_all_sync(unsigned int mask, T value, int* all_equal) {
  using namespace gridstride::host;
  const auto lanes = static_cast<unsigned int>(warp_collective(mask, to_bits(value), 0, match_all));
  *all_equal = lanes != 0;
  return lanes;
}

// ---- reductions ------------------------------------------------------------------------------

namespace gridstride::host {

// Combine is a type with a static apply(), as a template argument cannot be a lambda in C++17.
template <typename T, typename Combine>
inline void complete_reduction(LaneSlot* lanes, uint32_t participants) {
  T total = from_bits<T>(lanes[__builtin_ctz(participants)].value);
  for_each_lane(participants & (participants - 1), [&](uint32_t lane) {
    total = Combine::apply(total, from_bits<T>(lanes[lane].value));
  });
  for_each_lane(participants, [=](uint32_t lane) { lanes[lane].result = to_bits(total); });
}

template <typename T, typename Combine>
inline constexpr CollectiveOperation reduction{Combine::name, complete_reduction<T, Combine>};

template <typename Combine, typename T>
GS_HOST_INLINE T reduce(unsigned int mask, T value) {
  return from_bits<T>(warp_collective(mask, to_bits(value), 0, reduction<T, Combine>));
}

struct AddCombine {
  static constexpr const char* name = "__reduce_add_sync";
  // Sums wrap, also signed ones.
  template <typename T>
  static T apply(T left, T right) {
    return static_cast<T>(static_cast<uint32_t>(left) + static_cast<uint32_t>(right));
  }
};
struct MinCombine {
  static constexpr const char* name = "__reduce_min_sync";
  template <typename T>
  static T apply(T left, T right) {
    return right < left ? right : left;
  }
};
struct MaxCombine {
  static constexpr const char* name = "__reduce_max_sync";
  template <typename T>
  static T apply(T left, T right) {
    return left < right ? right : left;
  }
};
struct AndCombine {
  static constexpr const char* name = "__reduce_and_sync";
  static unsigned int apply(unsigned int left, unsigned int right) { return left & right; }
};
struct OrCombine {
  static constexpr const char* name = "__reduce_or_sync";
  static unsigned int apply(unsigned int left, unsigned int right) { return left | right; }
};
struct XorCombine {
  static constexpr const char* name = "__reduce_xor_sync";
  static unsigned int apply(unsigned int left, unsigned int right) { return left ^ right; }
};

}  // namespace gridstride::host

#define GS_HOST_REDUCTION(function, type, combine)                        \
  GS_HOST_INLINE type function(unsigned int mask, type value) {           \
    return gridstride::host::reduce<gridstride::host::combine>(mask, value); \
  }
GS_HOST_REDUCTION(__reduce_add_sync, unsigned int, AddCombine)
GS_HOST_REDUCTION(__reduce_add_sync, int, AddCombine)
GS_HOST_REDUCTION(__reduce_min_sync, unsigned int, MinCombine)
GS_HOST_REDUCTION(__reduce_min_sync, int, MinCombine)
GS_HOST_REDUCTION(__reduce_max_sync, unsigned int, MaxCombine)
GS_HOST_REDUCTION(__reduce_max_sync, int, MaxCombine)
GS_HOST_REDUCTION(__reduce_and_sync, unsigned int, AndCombine)
GS_HOST_REDUCTION(__reduce_or_sync, unsigned int, OrCombine)
GS_HOST_REDUCTION(__reduce_xor_sync, unsigned int, XorCombine)
#undef GS_HOST_REDUCTION
