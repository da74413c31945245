/*
 * sampling.cuh — the next token of each row of logits.
 *
 * Problem: a row has some 10^5 logits and settings of its own: a penalty for tokens of its text, a
 * temperature, the numbers and probabilities that limit the choice, a seed and the number of the
 * draw. The kept tokens are those whose distance to the best logit, in units of the temperature, is
 * at most a limit, so nothing is sorted.
 * Mapping: a block has a row. Limits are found by digits of the distances: the histogram of a digit
 * shows the bin in which the wanted count or weight is reached; the next digit divides that bin.
 * Bytes: a row is read twice for the best token, with a penalty once more; then its distances are
 * written once, read thrice for each limit and four times for the draw. A row stays in the
 * second-level cache.
 * Numerics: weights are integers, in units of 2^-40 of the best token's, so sums have no order. The
 * draw is an integer below their sum: the number of random bits is 64, as random.cuh gives them.
 */
#pragma once

#include "kernels/tensor/random.cuh"

namespace gridstride::bitnet {

using tensor::i64;
using tensor::random::u64;

// Distances have 31 bits, whose sign is 0: a digit of 11 bits and two of 10.
constexpr int pattern_bits = 31;
constexpr int bins = 1 << 11;

struct Best {
  float value;
  i64 token;

  // The first of equal ones.
  static __device__ __forceinline__ Best merge(Best a, Best b) {
    return b.value > a.value || (b.value == a.value && b.token < a.token) ? b : a;
  }
};

}  // namespace gridstride::bitnet

#include "kernels/bitnet/sampling_loops.cuh"
#include "kernels/bitnet/sampling_threads.cuh"

namespace gridstride::bitnet {

// Columns of the settings, each with a number for each row.
enum Column { slot, draw, seed_low, seed_high, temperature, top_k, top_p, min_p, penalty };

__device__ __forceinline__ u64 weight_of(float distance) {
  return distance < 28.0f ? static_cast<u64>(expf(-distance) * 0x1p40f) : 0;
}

// The least distance up to which tokens within a limit weigh at least `wanted`.
template <typename Weight>
__device__ __forceinline__ float find_limit(const float* distances, i64 n, float limit, u64 wanted,
                                            u64* histogram, Weight weight) {
  const unsigned int last = __float_as_uint(limit);
  unsigned int prefix = 0;
  int shift = pattern_bits;
  while (shift > 0) {
    const int above = shift;
    const int digits = above == pattern_bits ? 11 : 10;
    shift -= digits;
    clear(histogram, 1 << digits);
    each(distances, n, [=](i64, float distance) {
      const unsigned int pattern = __float_as_uint(distance);
      if (pattern > last || pattern >> above != prefix) return;
      const u64 own = weight(distance);
      if (own > 0) add(histogram + (pattern >> shift & ((1u << digits) - 1)), own);
    });
    const Place place = find_place(1 << digits, wanted, [=](i64 bin) { return histogram[bin]; });
    // All tokens together may weigh less than wanted by a rounding.
    if (place.index < 0) return limit;
    wanted -= place.before;
    prefix = prefix << digits | static_cast<unsigned int>(place.index);
  }
  return __uint_as_float(prefix);
}

// Chooses the token of row `row` of `rows`. `seen` has a bit for each token of a slot's text, `fed`
// the last token of a slot.
__device__ __forceinline__ void sample_row(i64 row, i64 rows, i64 n, const float* logits,
                                           const int* settings, float* distances, i64 words,
                                           int* seen, int* fed, int* chosen) {
  GS_SHARED u64 histogram[bins];
  const auto integer = [=](Column column) { return settings[column * rows + row]; };
  const auto number = [=](Column column) { return __int_as_float(integer(column)); };
  const int place = integer(slot);
  if (place < 0) return;
  int* const own_seen = seen + place * words;
  const float factor = number(penalty);
  const bool is_penalised = factor != 1.0f;
  const auto penalised = [=](i64 token, float logit) {
    if (!is_penalised || (own_seen[token / 32] >> (token % 32) & 1) == 0) return logit;
    return logit > 0 ? logit / factor : logit * factor;
  };
  const auto plain = [=](i64 token) { return logits[token]; };
  const auto own = [=](i64 token) { return penalised(token, logits[token]); };
  const Best likeliest = find_best(n, plain);
  Best best = is_penalised ? find_best(n, own) : likeliest;
  const float top = likeliest.value;
  const double sum = sum_of(n, [=](i64 token) { return tensor::exponential(logits[token] - top); });
  const float heat = number(temperature);
  // All logits are NaN.
  if (best.token == n) best.token = 0;
  if (heat > 0) {
    for_all(n, [=](i64 token) { distances[token] = (best.value - own(token)) / heat; });
    float limit = INFINITY;
    const auto weigh = [](float distance) { return weight_of(distance); };
    const auto weigh_all = [&] {
      u64 total = 0;
      each(distances, n, [&](i64, float distance) {
        if (distance <= limit) total += weight_of(distance);
      });
      return merge_block(total, [](u64 a, u64 b) { return a + b; });
    };
    finish_writes();
    const int count = integer(top_k);
    if (count > 0 && count < n) {
      limit = find_limit(distances, n, limit, static_cast<u64>(count), histogram,
                         [](float) { return u64{1}; });
    }
    if (number(top_p) < 1) {
      const double share = ceil(static_cast<double>(number(top_p)) *
                                static_cast<double>(weigh_all()));
      limit = find_limit(distances, n, limit, static_cast<u64>(share), histogram, weigh);
    }
    if (number(min_p) > 0) limit = fminf(limit, -logf(number(min_p)));
    const u64 seed = static_cast<u64>(static_cast<unsigned int>(integer(seed_high))) << 32 |
                     static_cast<unsigned int>(integer(seed_low));
    const u64 random = static_cast<u64>(
        tensor::random::integer_at(integer(draw), seed, 0, 0, weigh_all()));
    const Place drawn = find_place(n, random + 1, [=](i64 token) {
      const float distance = distances[token];
      return distance <= limit ? weight_of(distance) : u64{0};
    });
    // Only where distances are no numbers.
    if (drawn.index >= 0) best.token = drawn.index;
  }
  if (threadIdx.x > 0) return;
  if (is_penalised) {
    const unsigned int bit = 1u << (best.token % 32);
    own_seen[best.token / 32] = static_cast<int>(
        static_cast<unsigned int>(own_seen[best.token / 32]) | bit);
  }
  fed[place] = static_cast<int>(best.token);
  chosen[2 * row] = static_cast<int>(best.token);
  chosen[2 * row + 1] = __float_as_int(logits[best.token] - top - logf(static_cast<float>(sum)));
}

}  // namespace gridstride::bitnet
