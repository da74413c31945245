// Barriers of the block, shared memory, and what must survive a thread's absence.
#include <cstdint>
#include <vector>

#include "execution_check.h"

namespace execution {
namespace {

// Each round reads what another warp's thread wrote in the round before.
__global__ void rotate(unsigned* out, unsigned rounds) {
  __shared__ unsigned ring[1024];
  const unsigned threads = blockDim.x;
  const unsigned t = threadIdx.x;
  unsigned value = t;
  for (unsigned round = 0; round < rounds; ++round) {
    ring[t] = value;
    __syncthreads();
    value = ring[(t + 37) % threads];
    __syncthreads();
  }
  out[blockIdx.x * threads + t] = value;
}

void check_rotation(unsigned threads) {
  const unsigned blocks = 5;
  const unsigned rounds = 9;
  std::vector<unsigned> out(blocks * threads);
  const Outcome outcome = run<rotate>(blocks, threads, 0, out.data(), rounds);
  bool right = outcome.code == cudaSuccess;
  for (unsigned i = 0; i < out.size(); ++i) {
    right = right && out[i] == (i % threads + 37 * rounds) % threads;
  }
  check(right, "barriers order shared memory among " + std::to_string(threads) + " threads",
        outcome.description);
}

struct Votes {
  int count, all, any, count_of_true, all_of_true, any_of_false;
};

// Threads from `living` on have exited: they are no part of the barrier.
__global__ void vote(Votes* out, unsigned living) {
  const unsigned t = threadIdx.x;
  if (t >= living) return;
  Votes votes;
  votes.count = __syncthreads_count(t % 3 == 0);
  votes.all = __syncthreads_and(t != 5);
  votes.any = __syncthreads_or(t == living - 1);
  votes.count_of_true = __syncthreads_count(2);
  votes.all_of_true = __syncthreads_and(-1);
  votes.any_of_false = __syncthreads_or(0);
  out[t] = votes;
}

void check_votes(unsigned threads, unsigned living) {
  std::vector<Votes> out(threads, {-1, -1, -1, -1, -1, -1});
  const Outcome outcome = run<vote>(1, threads, 0, out.data(), living);
  bool right = outcome.code == cudaSuccess;
  for (unsigned t = 0; t < living; ++t) {
    const Votes& votes = out[t];
    right = right && votes.count == static_cast<int>((living + 2) / 3) &&
            votes.all == (living <= 5) && votes.any == 1 &&
            votes.count_of_true == static_cast<int>(living) && votes.all_of_true == 1 &&
            votes.any_of_false == 0;
  }
  for (unsigned t = living; t < threads; ++t) right = right && out[t].count == -1;
  check(right,
        "barrier votes of " + std::to_string(living) + " of " + std::to_string(threads) +
            " threads",
        outcome.description);
}

// The last thread exits while all others wait, which completes the barrier.
__global__ void exit_while_others_wait(int* out) {
  if (threadIdx.x == blockDim.x - 1) {
    __nanosleep(1);
    return;
  }
  out[threadIdx.x] = __syncthreads_count(1);
}

// Many values of every register class live across a switch, and must be the thread's own after it.
__global__ void keep_registers(double* out) {
  const double t = threadIdx.x;
  double floating[24];
  long long integers[20];
  long double extended = t / 3;
  for (int i = 0; i < 24; ++i) floating[i] = t * (i + 1) + 0.5;
  for (int i = 0; i < 20; ++i) integers[i] = threadIdx.x * 1000003LL * (i + 1);
  for (int round = 0; round < 3; ++round) {
    __syncthreads();
    for (int i = 0; i < 24; ++i) floating[i] = floating[i] * 1.25 + static_cast<double>(round);
    __syncwarp();
    for (int i = 0; i < 20; ++i) integers[i] ^= integers[i] >> (round + 1);
    extended = extended * 2 + static_cast<long double>(floating[round]);
    __nanosleep(0);
  }
  double sum = static_cast<double>(extended);
  for (const double value : floating) sum += value;
  for (const long long value : integers) sum += static_cast<double>(value);
  out[threadIdx.x] = sum;
}

double kept_registers(double t) {
  double floating[24];
  long long integers[20];
  long double extended = t / 3;
  for (int i = 0; i < 24; ++i) floating[i] = t * (i + 1) + 0.5;
  for (int i = 0; i < 20; ++i) integers[i] = static_cast<long long>(t) * 1000003LL * (i + 1);
  for (int round = 0; round < 3; ++round) {
    for (double& value : floating) value = value * 1.25 + round;
    for (long long& value : integers) value ^= value >> (round + 1);
    extended = extended * 2 + static_cast<long double>(floating[round]);
  }
  double sum = static_cast<double>(extended);
  for (const double value : floating) sum += value;
  for (const long long value : integers) sum += static_cast<double>(value);
  return sum;
}

void check_registers() {
  std::vector<double> out(257);
  const Outcome outcome = run<keep_registers>(1, 257, 0, out.data());
  bool right = outcome.code == cudaSuccess;
  for (unsigned t = 0; t < out.size(); ++t) right = right && out[t] == kept_registers(t);
  check(right, "registers survive waiting", outcome.description);
}

// Fills all of it, and leaves the first word for the next block to find.
__global__ void use_dynamic_shared(unsigned* errors) {
  auto* words = static_cast<unsigned*>(host::dynamic_shared_memory());
  const unsigned count = host::dynamic_shared_bytes() / sizeof(unsigned);
  const unsigned salt = blockIdx.x * 7919;
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x) words[i] = i + salt;
  __syncthreads();
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x) {
    if (words[count - 1 - i] != count - 1 - i + salt) errors[blockIdx.x] += 1;
  }
  if (reinterpret_cast<uintptr_t>(words) % 128 != 0) errors[blockIdx.x] += 1;
}

void check_dynamic_shared(size_t bytes) {
  std::vector<unsigned> errors(16);
  const Outcome outcome = run<use_dynamic_shared>(16, 67, bytes, errors.data());
  check(outcome.code == cudaSuccess && errors == std::vector<unsigned>(16),
        std::to_string(bytes) + " bytes of dynamic shared memory are a block's own",
        outcome.description);
}

}  // namespace

void check_barriers() {
  for (const unsigned threads : {1u, 2u, 31u, 32u, 33u, 64u, 97u, 1023u, 1024u}) {
    check_rotation(threads);
  }
  check_votes(1, 1);
  check_votes(5, 5);
  check_votes(32, 31);
  check_votes(1024, 1024);
  check_votes(1024, 1);
  check_votes(67, 33);
  std::vector<int> counts(100);
  run<exit_while_others_wait>(1, 101, 0, counts.data());
  check(counts == std::vector<int>(100, 100), "a thread that exits completes a barrier");
  check_registers();
  for (const size_t bytes : {4, 128, 132, 4096, 49152, 100004, 232448, 1048576}) {
    check_dynamic_shared(bytes);
  }
}

}  // namespace execution
