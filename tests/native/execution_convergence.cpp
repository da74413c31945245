// Which lanes run together: what __activemask() answers in divergent code.
#include <cstdint>
#include <vector>

#include <gridstride/atomics.h>
#include <gridstride/integer_functions.h>

#include "execution_check.h"

namespace execution {
namespace {

struct Masks {
  unsigned in_branch, after, sum;
};

__global__ void ask_in_branches(Masks* out, unsigned pattern) {
  const unsigned lane = threadIdx.x % 32;
  Masks masks{};
  if (pattern >> lane & 1) {
    masks.in_branch = __activemask();
  } else {
    masks.in_branch = __activemask();
  }
  masks.after = __activemask();
  masks.sum = __reduce_add_sync(masks.in_branch, lane + 1);
  out[threadIdx.x] = masks;
}

void check_branches(unsigned threads, unsigned pattern) {
  std::vector<Masks> out(threads);
  const Outcome outcome = run<ask_in_branches>(1, threads, 0, out.data(), pattern);
  bool right = outcome.code == cudaSuccess;
  for (unsigned t = 0; t < threads; ++t) {
    const unsigned lanes = threads - t / 32 * 32;
    const unsigned there = lanes >= 32 ? ~0u : (1u << lanes) - 1;
    const unsigned branch = there & (pattern >> t % 32 & 1 ? pattern : ~pattern);
    unsigned sum = 0;
    for (unsigned lane = 0; lane < 32; ++lane) sum += (branch >> lane & 1) * (lane + 1);
    right = right && out[t].in_branch == branch && out[t].after == there && out[t].sum == sum;
  }
  check(right,
        "lanes of a branch run together, " + std::to_string(threads) + " threads by " +
            std::to_string(pattern),
        outcome.description);
}

// Lane l goes round l times; in round r the lanes above r are there.
__global__ void ask_in_loop(unsigned* out) {
  const unsigned lane = threadIdx.x % 32;
  unsigned wrong = 0;
  for (unsigned round = 0; round < lane; ++round) {
    const unsigned expected = round == 31 ? 0 : ~0u << (round + 1);
    wrong += __activemask() != expected;
  }
  out[threadIdx.x] = wrong;
}

// Lanes at the barrier do not run, and lanes that query do not wait for them.
__global__ void ask_before_barrier(unsigned* out) {
  if (threadIdx.x % 2 == 0) out[threadIdx.x] = __activemask();
  __syncthreads();
  if (threadIdx.x % 2 == 1) out[threadIdx.x] = __activemask();
}

void check_loops_and_barriers() {
  std::vector<unsigned> out(64, 1);
  Outcome outcome = run<ask_in_loop>(1, 64, 0, out.data());
  check(outcome.code == cudaSuccess && out == std::vector<unsigned>(64),
        "lanes that stay in a loop run together", outcome.description);
  outcome = run<ask_before_barrier>(1, 64, 0, out.data());
  bool right = outcome.code == cudaSuccess;
  for (unsigned t = 0; t < 64; ++t) right = right && out[t] == (t % 2 ? 0xaaaaaaaau : 0x55555555u);
  check(right, "lanes at a barrier do not run", outcome.description);
}

// One atomic for all lanes that want a place, as compilers and libraries do it.
__global__ void take_places(unsigned* counter, unsigned* places, unsigned modulus) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread % modulus != 0) return;
  const unsigned mask = __activemask();
  const unsigned lane = threadIdx.x % 32;
  const int leader = __ffs(static_cast<int>(mask)) - 1;
  unsigned base = 0;
  if (static_cast<int>(lane) == leader) base = atomicAdd(counter, __popc(mask));
  base = __shfl_sync(mask, base, leader);
  places[base + __popc(mask & ((1u << lane) - 1))] = thread;
}

void check_places(unsigned modulus) {
  const unsigned threads = 50 * 96;
  unsigned counter = 0;
  std::vector<unsigned> places(threads);
  const Outcome outcome = run<take_places>(50, 96, 0, &counter, places.data(), modulus);
  std::vector<int> seen(threads);
  for (unsigned i = 0; i < counter; ++i) seen[places[i]]++;
  bool right = outcome.code == cudaSuccess;
  for (unsigned t = 0; t < threads; ++t) right = right && seen[t] == (t % modulus == 0);
  check(right, "every thread gets a place of its own, one in " + std::to_string(modulus),
        outcome.description);
}

// A function that lanes call in different branches, and that is inlined into both.
__device__ void count(unsigned* counter) {
  const unsigned mask = __activemask();
  const int leader = __ffs(static_cast<int>(mask)) - 1;
  if (static_cast<int>(threadIdx.x % 32) == leader) atomicAdd(counter, __popc(mask));
}

__global__ void count_both(unsigned* counters, unsigned modulus) {
  if (threadIdx.x % modulus == 0) {
    count(&counters[0]);
  } else {
    count(&counters[1]);
  }
}

void check_counters(unsigned modulus) {
  constexpr unsigned threads = 100;
  unsigned counters[2] = {};
  const Outcome outcome = run<count_both>(1, threads, 0, counters, modulus);
  const unsigned multiples = (threads + modulus - 1) / modulus;
  check(outcome.code == cudaSuccess && counters[0] == multiples &&
            counters[1] == threads - multiples,
        "lanes that call a function in different branches do not run together, one in " +
            std::to_string(modulus),
        outcome.description + std::to_string(counters[0]) + " and " + std::to_string(counters[1]));
}

// Odd lanes pass by in the first round.
__global__ void ask_in_some_rounds(unsigned* out, unsigned rounds) {
  for (unsigned round = 0; round < rounds; ++round) {
    if (round >= threadIdx.x % 2) out[round * blockDim.x + threadIdx.x] = __activemask();
  }
}

void check_rounds() {
  std::vector<unsigned> out(64);
  const Outcome outcome = run<ask_in_some_rounds>(1, 32, 0, out.data(), 2u);
  bool right = outcome.code == cudaSuccess;
  for (unsigned t = 0; t < 32; ++t) {
    const bool odd = t % 2 != 0;
    right = right && out[t] == (odd ? 0 : ~0u) && out[32 + t] == (odd ? ~0u : 0x55555555u);
  }
  check(right, "lanes in different rounds of a loop count as together", outcome.description);
}

// Undefined on a GPU: a barrier in both branches of a warp, and shuffles of all lanes in each.
__global__ void meet_across_branches(unsigned* out) {
  __shared__ unsigned sums[2];
  const unsigned lane = threadIdx.x;
  unsigned other = 0;
  if (lane < 10) {
    other = __shfl_xor_sync(~0u, lane, 16);
    if (lane == 0) sums[0] = 5;
    __syncthreads();
  } else {
    other = __shfl_xor_sync(~0u, lane, 16);
    if (lane == 31) sums[1] = 7;
    __syncthreads();
  }
  out[lane] = other + 100 * (sums[0] + sums[1]);
}

void check_across_branches() {
  std::vector<unsigned> out(32);
  const Outcome outcome = run<meet_across_branches>(1, 32, 0, out.data());
  bool right = outcome.code == cudaSuccess;
  for (unsigned lane = 0; lane < 32; ++lane) right = right && out[lane] == (lane ^ 16) + 1200;
  check(right, "barriers and shuffles meet across the branches of a warp", outcome.description);
}

// Queries before a fault are forgotten with their block.
__global__ void ask_and_fail(unsigned* out, bool fails) {
  if (fails && threadIdx.x == 20) __trap();
  if (threadIdx.x < 16) out[threadIdx.x] = __activemask();
}

void check_after_fault() {
  unsigned out[16];
  const Outcome failed = run<ask_and_fail>(1, 32, 0, out, true);
  const Outcome outcome = run<ask_and_fail>(1, 16, 0, out, false);
  bool right = failed.code != cudaSuccess && outcome.code == cudaSuccess;
  for (const unsigned mask : out) right = right && mask == 0xffff;
  check(right, "a fault leaves no lanes waiting", outcome.description);
}

}  // namespace

void check_convergence() {
  for (const unsigned threads : {1u, 31u, 32u, 33u, 77u}) {
    for (const unsigned pattern : {0u, ~0u, 0x55555555u, 0x80000001u, 0x00ff1234u}) {
      check_branches(threads, pattern);
    }
  }
  check_loops_and_barriers();
  for (const unsigned modulus : {1u, 3u, 32u}) check_places(modulus);
  for (const unsigned modulus : {1u, 2u, 3u, 32u}) check_counters(modulus);
  check_rounds();
  check_across_branches();
  check_after_fault();
}

}  // namespace execution
