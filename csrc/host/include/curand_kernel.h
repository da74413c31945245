// CUDA's name for random numbers in kernels: the generator Philox4_32_10.
//
// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3",
// 2011) encrypts a 128-bit counter with a 64-bit key. The seed is the key, a subsequence counts in
// the upper half of the counter, and an offset counts words, four to a block.
#pragma once

#include "cuda_runtime.h"

// As large as on a GPU.
struct curandStatePhilox4_32_10 {
  uint4 counter;
  uint4 block;  // the counter, encrypted
  uint2 key;
  unsigned int used;  // words of the block that were returned: 0 to 3
  // Whether the second value of a pair is kept for the next call.
  int kept, kept_double;
  float second;
  double second_double;
};
typedef curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

namespace gridstride::host {

GS_HOST_INLINE void encrypt(curandStatePhilox4_32_10* state) {
  uint4 words = state->counter;
  uint2 key = state->key;
  for (int round = 0; round < 10; round++) {
    const unsigned long long first = 0xd2511f53ull * words.x;
    const unsigned long long second = 0xcd9e8d57ull * words.z;
    words = {static_cast<unsigned int>(second >> 32) ^ words.y ^ key.x,
             static_cast<unsigned int>(second),
             static_cast<unsigned int>(first >> 32) ^ words.w ^ key.y,
             static_cast<unsigned int>(first)};
    key.x += 0x9e3779b9u;
    key.y += 0xbb67ae85u;
  }
  state->block = words;
}

GS_HOST_INLINE void add_to_counter(curandStatePhilox4_32_10* state, unsigned long long low,
                                   unsigned long long high) {
  uint4& counter = state->counter;
  const unsigned long long lower = (counter.x | 1ull * counter.y << 32) + low;
  const unsigned long long upper = (counter.z | 1ull * counter.w << 32) + high + (lower < low);
  counter = {static_cast<unsigned int>(lower), static_cast<unsigned int>(lower >> 32),
             static_cast<unsigned int>(upper), static_cast<unsigned int>(upper >> 32)};
  encrypt(state);
}

// 53 bits of two words, in (0, 1).
GS_HOST_INLINE double uniform_of(unsigned int low, unsigned int high) {
  return (low ^ 1ull * high << 21) * 0x1p-53 + 0x1p-54;
}

// Box and Muller's pairs of normal numbers.
GS_HOST_INLINE float2 normal_pair(unsigned int x, unsigned int y) {
  constexpr float turn = 0x1p-32f * 6.2831855f;
  float2 pair;
  __sincosf(fmaf(static_cast<float>(y), turn, turn / 2), &pair.x, &pair.y);
  const float radius = sqrtf(-2.0f * logf(x * 0x1p-32f + 0x1p-33f));
  return {pair.x * radius, pair.y * radius};
}

GS_HOST_INLINE double2 normal_pair(const uint4& words) {
  double2 pair;
  sincospi(2 * uniform_of(words.z, words.w), &pair.x, &pair.y);
  const double radius = sqrt(-2.0 * log(uniform_of(words.x, words.y)));
  return {pair.x * radius, pair.y * radius};
}

// The first value of a pair, and the second at the next call.
template <class Value, class Pair>
GS_HOST_INLINE Value one_of(int& kept, Value& second, Pair next) {
  kept = kept == 0;
  if (kept == 0) return second;
  const auto pair = next();
  second = pair.y;
  return pair.x;
}

}  // namespace gridstride::host

// ---- the state ---------------------------------------------------------------------------------

GS_HOST_INLINE void skipahead(unsigned long long n, curandStatePhilox4_32_10_t* state) {
  state->used += n % 4;
  gridstride::host::add_to_counter(state, n / 4 + state->used / 4, 0);
  state->used %= 4;
}

GS_HOST_INLINE void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10_t* state) {
  gridstride::host::add_to_counter(state, 0, n);
}

GS_HOST_INLINE void curand_init(unsigned long long seed, unsigned long long subsequence,
                                unsigned long long offset, curandStatePhilox4_32_10_t* state) {
  *state = {};
  state->key = {static_cast<unsigned int>(seed), static_cast<unsigned int>(seed >> 32)};
  skipahead_sequence(subsequence, state);
  skipahead(offset, state);
}

// ---- words -------------------------------------------------------------------------------------

GS_HOST_INLINE unsigned int curand(curandStatePhilox4_32_10_t* state) {
  const unsigned int words[] = {state->block.x, state->block.y, state->block.z, state->block.w};
  const unsigned int word = words[state->used++];
  if (state->used == 4) {
    state->used = 0;
    gridstride::host::add_to_counter(state, 1, 0);
  }
  return word;
}

GS_HOST_INLINE uint4 curand4(curandStatePhilox4_32_10_t* state) {
  return {curand(state), curand(state), curand(state), curand(state)};
}

// ---- uniform numbers, in (0, 1] ----------------------------------------------------------------

GS_HOST_INLINE float curand_uniform(curandStatePhilox4_32_10_t* state) {
  return curand(state) * 0x1p-32f + 0x1p-33f;
}

GS_HOST_INLINE float4 curand_uniform4(curandStatePhilox4_32_10_t* state) {
  return {curand_uniform(state), curand_uniform(state), curand_uniform(state),
          curand_uniform(state)};
}

// Of one word; the following functions take two for each number.
GS_HOST_INLINE double curand_uniform_double(curandStatePhilox4_32_10_t* state) {
  return curand(state) * 0x1p-32 + 0x1p-32;
}

GS_HOST_INLINE double2 curand_uniform2_double(curandStatePhilox4_32_10_t* state) {
  const uint4 words = curand4(state);
  return {gridstride::host::uniform_of(words.x, words.y),
          gridstride::host::uniform_of(words.z, words.w)};
}

// ---- normal numbers ----------------------------------------------------------------------------

GS_HOST_INLINE float2 curand_normal2(curandStatePhilox4_32_10_t* state) {
  const unsigned int x = curand(state);
  return gridstride::host::normal_pair(x, curand(state));
}

GS_HOST_INLINE float4 curand_normal4(curandStatePhilox4_32_10_t* state) {
  const float2 first = curand_normal2(state);
  const float2 second = curand_normal2(state);
  return {first.x, first.y, second.x, second.y};
}

GS_HOST_INLINE float curand_normal(curandStatePhilox4_32_10_t* state) {
  return gridstride::host::one_of(state->kept, state->second,
                                     [&] { return curand_normal2(state); });
}

GS_HOST_INLINE double2 curand_normal2_double(curandStatePhilox4_32_10_t* state) {
  return gridstride::host::normal_pair(curand4(state));
}

GS_HOST_INLINE double curand_normal_double(curandStatePhilox4_32_10_t* state) {
  return gridstride::host::one_of(state->kept_double, state->second_double,
                                     [&] { return curand_normal2_double(state); });
}
