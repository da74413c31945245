// Warp collectives against what the CUDA programming guide says of them.
#include <cstdint>
#include <vector>

#include "execution_check.h"

namespace execution {
namespace {

enum class Shuffle { index, up, down, butterfly };

template <typename T>
__global__ void shuffle_lanes(T* out, Shuffle kind, int offset, int width) {
  const unsigned lane = threadIdx.x;
  const T value = static_cast<T>(lane * 3 + 1);
  T result{};
  switch (kind) {
    case Shuffle::index:
      result = __shfl_sync(0xffffffffu, value, offset, width);
      break;
    case Shuffle::up:
      result = __shfl_up_sync(0xffffffffu, value, static_cast<unsigned>(offset), width);
      break;
    case Shuffle::down:
      result = __shfl_down_sync(0xffffffffu, value, static_cast<unsigned>(offset), width);
      break;
    case Shuffle::butterfly:
      result = __shfl_xor_sync(0xffffffffu, value, offset, width);
      break;
  }
  out[lane] = result;
}

// The guide's words: segments of `width` lanes; an index wraps in its segment, an offset that
// leaves it gives the lane's own value, and a butterfly may reach earlier segments but no later
// one.
int source_lane(Shuffle kind, int lane, int offset, int width) {
  const int first = lane / width * width;
  int source = lane;
  switch (kind) {
    case Shuffle::index:
      return first + ((offset % width) + width) % width;
    case Shuffle::up:
      source = lane - offset;
      return source < first ? lane : source;
    case Shuffle::down:
      source = lane + offset;
      return source >= first + width ? lane : source;
    case Shuffle::butterfly:
      source = lane ^ offset;
      return source >= first + width ? lane : source;
  }
  return lane;
}

template <typename T>
bool shuffles_match(Shuffle kind) {
  for (int width = 1; width <= 32; width *= 2) {
    for (int offset = 0; offset < 32; ++offset) {
      T out[32];
      if (run<shuffle_lanes<T>>(1, 32, 0, out, kind, offset, width).code != cudaSuccess) {
        return false;
      }
      for (int lane = 0; lane < 32; ++lane) {
        if (out[lane] != static_cast<T>(source_lane(kind, lane, offset, width) * 3 + 1)) {
          return false;
        }
      }
    }
  }
  return true;
}

template <typename T>
void check_shuffles(const char* type) {
  check(shuffles_match<T>(Shuffle::index), std::string("__shfl_sync of ") + type);
  check(shuffles_match<T>(Shuffle::up), std::string("__shfl_up_sync of ") + type);
  check(shuffles_match<T>(Shuffle::down), std::string("__shfl_down_sync of ") + type);
  check(shuffles_match<T>(Shuffle::butterfly), std::string("__shfl_xor_sync of ") + type);
}

struct WarpAnswers {
  unsigned ballot, match, active;
  int any, all, all_of_true, equal, unequal;
  unsigned equal_mask, unequal_mask;
  unsigned sum, least, greatest, both, either, parity;
  int signed_sum, signed_least, signed_greatest;
};

__global__ void ask_warp(WarpAnswers* out, unsigned mask) {
  const unsigned lane = threadIdx.x % 32;
  if ((mask >> lane & 1) == 0) return;
  const int number = static_cast<int>(lane) - 7;
  WarpAnswers answers;
  answers.ballot = __ballot_sync(mask, lane % 5 == 2 ? -1 : 0);
  answers.match = __match_any_sync(mask, static_cast<double>(lane % 4));
  answers.active = __activemask();
  answers.any = __any_sync(mask, lane == 30);
  answers.all = __all_sync(mask, lane != 30);
  answers.all_of_true = __all_sync(mask, 256);
  answers.equal_mask = __match_all_sync(mask, 1LL << 40, &answers.equal);
  answers.unequal_mask = __match_all_sync(mask, lane / 31, &answers.unequal);
  answers.sum = __reduce_add_sync(mask, lane + 0xfffffff0u);
  answers.least = __reduce_min_sync(mask, lane + 0x80000000u);
  answers.greatest = __reduce_max_sync(mask, lane + 0x80000000u);
  answers.both = __reduce_and_sync(mask, lane | 0x100u);
  answers.either = __reduce_or_sync(mask, lane);
  answers.parity = __reduce_xor_sync(mask, 1u << lane);
  answers.signed_sum = __reduce_add_sync(mask, number);
  answers.signed_least = __reduce_min_sync(mask, number);
  answers.signed_greatest = __reduce_max_sync(mask, number);
  out[threadIdx.x] = answers;
}

struct Expected {
  unsigned ballot = 0, sum = 0, both = ~0u, either = 0, least_lane = 32, greatest_lane = 0;
  int signed_sum = 0;
};

Expected expect_of(unsigned mask) {
  Expected expected;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    if (lane % 5 == 2) expected.ballot |= 1u << lane;
    expected.sum += lane + 0xfffffff0u;
    expected.both &= lane | 0x100u;
    expected.either |= lane;
    expected.signed_sum += static_cast<int>(lane) - 7;
    expected.least_lane = expected.least_lane == 32 ? lane : expected.least_lane;
    expected.greatest_lane = lane;
  }
  return expected;
}

bool votes_match(const WarpAnswers& got, const Expected& expected, unsigned mask, unsigned lane) {
  unsigned alike = 0;
  for (unsigned other = lane % 4; other < 32; other += 4) alike |= mask & 1u << other;
  const bool has_30 = (mask >> 30 & 1) != 0;
  const bool splits = (mask & 1u << 31) != 0 && (mask & 0x7fffffffu) != 0;
  return got.ballot == expected.ballot && got.match == alike && got.active == mask &&
         got.any == has_30 && got.all == !has_30 && got.all_of_true == 1 && got.equal == 1 &&
         got.equal_mask == mask && got.unequal == !splits &&
         got.unequal_mask == (splits ? 0 : mask);
}

bool reductions_match(const WarpAnswers& got, const Expected& expected, unsigned mask) {
  return got.sum == expected.sum && got.least == expected.least_lane + 0x80000000u &&
         got.greatest == expected.greatest_lane + 0x80000000u && got.both == expected.both &&
         got.either == expected.either && got.parity == mask &&
         got.signed_sum == expected.signed_sum &&
         got.signed_least == static_cast<int>(expected.least_lane) - 7 &&
         got.signed_greatest == static_cast<int>(expected.greatest_lane) - 7;
}

void check_answers(unsigned mask) {
  std::vector<WarpAnswers> out(96);
  const Outcome outcome = run<ask_warp>(1, 96, 0, out.data(), mask);
  const Expected expected = expect_of(mask);
  bool votes = outcome.code == cudaSuccess;
  bool reductions = votes;
  for (unsigned t = 0; t < out.size(); ++t) {
    if ((mask >> t % 32 & 1) == 0) continue;
    votes = votes && votes_match(out[t], expected, mask, t % 32);
    reductions = reductions && reductions_match(out[t], expected, mask);
  }
  const std::string lanes = " of lanes " + std::to_string(mask);
  check(votes, "votes and matches" + lanes, outcome.description);
  check(reductions, "reductions" + lanes, outcome.description);
}

// Eight groups of four lanes exchange at the same time, each with its own mask, and at different
// speeds: as many rendezvous as there may be.
__global__ void exchange_in_groups(unsigned* out) {
  const unsigned lane = threadIdx.x;
  const unsigned group = lane / 4;
  const unsigned mask = 0xfu << group * 4;
  unsigned sum = 0;
  for (unsigned round = 0; round <= group; ++round) {
    sum += __shfl_sync(mask, lane + round, static_cast<int>((lane + 1) % 4), 4);
  }
  __syncwarp();
  out[lane] = sum;
}

void check_groups() {
  std::vector<unsigned> out(32);
  const Outcome outcome = run<exchange_in_groups>(1, 32, 0, out.data());
  bool right = outcome.code == cudaSuccess;
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned group = lane / 4;
    const unsigned source = group * 4 + (lane + 1) % 4;
    right = right && out[lane] == source * (group + 1) + group * (group + 1) / 2;
  }
  check(right, "eight groups of a warp exchange at once", outcome.description);
}

// Lanes leave one after the other; those that wait for them go on without them.
__global__ void leave_one_by_one(unsigned* out) {
  const unsigned lane = threadIdx.x % 32;
  for (unsigned round = 0; round < lane; ++round) {
    const unsigned present = __ballot_sync(0xffffffffu, 1);
    out[threadIdx.x] += static_cast<unsigned>(__builtin_popcount(present));
  }
}

// In round r the lanes above r are there, of those the block has.
void check_exits(unsigned threads) {
  std::vector<unsigned> out(threads);
  const Outcome outcome = run<leave_one_by_one>(1, threads, 0, out.data());
  bool right = outcome.code == cudaSuccess;
  for (unsigned t = 0; t < threads; ++t) {
    const unsigned warp_first = t / 32 * 32;
    const unsigned lanes = threads - warp_first < 32 ? threads - warp_first : 32;
    unsigned expected = 0;
    for (unsigned round = 0; round < t - warp_first; ++round) expected += lanes - round - 1;
    right = right && out[t] == expected;
  }
  check(right, "lanes exit while others wait for them, of " + std::to_string(threads) + " threads",
        outcome.description);
}

// A shuffle from a lane that has exited gives the calling lane's own value, and from one outside of
// the mask a value that nobody takes for one.
__global__ void ask_the_absent(float* out) {
  const float own = static_cast<float>(threadIdx.x) + 50;
  if (threadIdx.x >= 16) {
    out[threadIdx.x] = __shfl_sync(0xffff0000u, own, 3);  // not in the mask
    return;
  }
  if (threadIdx.x == 3) return;
  out[threadIdx.x] = __shfl_sync(0x0000ffffu, own, 3);
}

void check_absent() {
  std::vector<float> out(32);
  const Outcome outcome = run<ask_the_absent>(1, 32, 0, out.data());
  bool right = outcome.code == cudaSuccess;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (lane == 3) continue;
    const float got = out[lane];
    right = right && (lane < 16 ? got == static_cast<float>(lane) + 50 : got != got);
  }
  check(right, "an exited lane gives no value, a lane outside of the mask NaN",
        outcome.description);
}

// The house reduction: warps by shuffles, their sums by shared memory.
__global__ void sum_block(unsigned long long* out) {
  __shared__ unsigned long long sums[32];
  const unsigned t = threadIdx.x;
  unsigned long long value = t + 1ull;
  for (unsigned offset = 16; offset != 0; offset /= 2) {
    const unsigned long long other = __shfl_down_sync(0xffffffffu, value, offset);
    if (t % 32 + offset < 32 && t + offset < blockDim.x) value += other;
  }
  if (t % 32 == 0) sums[t / 32] = value;
  __syncthreads();
  if (t != 0) return;
  for (unsigned warp = 1; warp < (blockDim.x + 31) / 32; ++warp) value += sums[warp];
  out[blockIdx.x] = value;
}

void check_sums(unsigned threads) {
  std::vector<unsigned long long> out(300);
  const Outcome outcome = run<sum_block>(300, threads, 0, out.data());
  const unsigned long long expected = threads * (threads + 1ull) / 2;
  check(outcome.code == cudaSuccess && out == std::vector<unsigned long long>(300, expected),
        "a block of " + std::to_string(threads) + " threads sums by shuffles",
        outcome.description);
}

// Values wider than a register travel as addresses of the lanes' own variables.
struct WideValue {
  float parts[6];
};

void complete_rotation(host::LaneSlot* lanes, uint32_t participants) {
  WideValue values[32];
  host::for_each_lane(participants, [&](uint32_t lane) {
    values[lane] = *reinterpret_cast<WideValue*>(lanes[lane].value);
  });
  host::for_each_lane(participants, [&](uint32_t lane) {
    *reinterpret_cast<WideValue*>(lanes[lane].value) = values[(lane + 1) % 32];
  });
}

constexpr host::CollectiveOperation rotation{"rotation", complete_rotation};

__global__ void rotate_wide(float* out) {
  WideValue value;
  for (int i = 0; i < 6; ++i) value.parts[i] = static_cast<float>(threadIdx.x * 10 + i);
  host::warp_collective(0xffffffffu, reinterpret_cast<uint64_t>(&value), 0, rotation);
  out[threadIdx.x] = value.parts[0] + value.parts[5];
}

void check_wide() {
  std::vector<float> out(32);
  const Outcome outcome = run<rotate_wide>(1, 32, 0, out.data());
  bool right = outcome.code == cudaSuccess;
  for (unsigned lane = 0; lane < 32; ++lane) {
    right = right && out[lane] == static_cast<float>((lane + 1) % 32 * 20 + 5);
  }
  check(right, "collectives of other headers exchange through addresses", outcome.description);
}

}  // namespace

void check_collectives() {
  check_shuffles<unsigned char>("1 byte");
  check_shuffles<short>("2 bytes");
  check_shuffles<float>("4 bytes");
  check_shuffles<long long>("8 bytes");
  const unsigned masks[] = {0xffffffffu, 1u, 0x80000000u, 0x80000001u, 0x40000010u, 0x0ff0a5a5u};
  for (const unsigned mask : masks) {
    check_answers(mask);
  }
  check_groups();
  for (const unsigned threads : {1u, 31u, 32u, 45u, 1024u}) check_exits(threads);
  check_absent();
  for (const unsigned threads : {1u, 32u, 37u, 256u, 1024u}) check_sums(threads);
  check_wide();
}

}  // namespace execution
