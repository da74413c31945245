// Loops that wait for another thread: of the same block, of another block, of a launch that fails.
#include <cstdint>
#include <vector>

#include "execution_check.h"

namespace execution {
namespace {

unsigned load_spinning(unsigned* address) {
  host::spin_hint();
  return __atomic_load_n(address, __ATOMIC_ACQUIRE);
}

// The first thread to run waits for the last one to.
__global__ void wait_for_last_thread(unsigned* flag, unsigned* out) {
  if (threadIdx.x == blockDim.x - 1) __atomic_store_n(flag, 1u, __ATOMIC_RELEASE);
  while (load_spinning(flag) == 0) {
  }
  out[threadIdx.x] = threadIdx.x;
}

void check_flag(unsigned threads) {
  unsigned flag = 0;
  std::vector<unsigned> out(threads, ~0u);
  const Outcome outcome = run<wait_for_last_thread>(1, threads, 0, &flag, out.data());
  bool right = outcome.code == cudaSuccess;
  for (unsigned t = 0; t < threads; ++t) right = right && out[t] == t;
  check(right, std::to_string(threads) + " threads wait for the last one's flag",
        outcome.description);
}

// A lock that every thread takes: the holder may lose the processor while it holds it.
__global__ void count_under_lock(unsigned* lock, unsigned* count) {
  unsigned free = 0;
  while (!__atomic_compare_exchange_n(lock, &free, 1u, false, __ATOMIC_ACQUIRE,
                                      __ATOMIC_RELAXED)) {
    free = 0;
    host::spin_hint();
  }
  const unsigned before = *count;
  __nanosleep(100);
  *count = before + 1;
  __atomic_store_n(lock, 0u, __ATOMIC_RELEASE);
}

void check_lock() {
  unsigned lock = 0;
  unsigned count = 0;
  const Outcome outcome = run<count_under_lock>(7, 129, 0, &lock, &count);
  check(outcome.code == cudaSuccess && count == 7 * 129, "a lock among the threads of all blocks",
        std::to_string(count) + outcome.description);
}

// Each block waits for the one before it, as a chained scan does.
__global__ void chain_blocks(unsigned* totals) {
  __shared__ unsigned before;
  if (threadIdx.x == 0) {
    unsigned total = 0;
    while (blockIdx.x != 0 && (total = load_spinning(&totals[blockIdx.x - 1])) == 0) {
    }
    before = total;
  }
  __syncthreads();
  if (threadIdx.x == 33) __atomic_store_n(&totals[blockIdx.x], before + 1, __ATOMIC_RELEASE);
}

void check_chain() {
  std::vector<unsigned> totals(20011);
  const unsigned blocks = static_cast<unsigned>(totals.size());
  const Outcome outcome = run<chain_blocks>(blocks, 64, 0, totals.data());
  bool right = outcome.code == cudaSuccess;
  for (unsigned i = 0; i < blocks; ++i) right = right && totals[i] == i + 1;
  check(right, "every block waits for the one before it", outcome.description);
}

// Block 0 waits for what block 1 never does, as it faults.
__global__ void wait_for_faulting_block(unsigned* flag) {
  if (blockIdx.x == 1) __trap();
  while (load_spinning(flag) == 0) {
  }
}

void check_cancelled_wait() {
  // A lone worker would never come to the block that faults.
  if (host::WorkerPool::instance().size() < 2) return;
  unsigned flag = 0;
  const Outcome outcome = run<wait_for_faulting_block>(2, 3, 0, &flag);
  check(outcome.code == cudaErrorLaunchFailure, "a fault ends blocks that wait",
        outcome.description);
}

// A fence in the loop is enough, where the flag is volatile as in older code.
__global__ void wait_by_fence(volatile unsigned* flag) {
  if (threadIdx.x == 40) *flag = 1;
  while (*flag == 0) __threadfence();
}

void check_fence() {
  unsigned flag = 0;
  const Outcome outcome = run<wait_by_fence>(1, 41, 0, &flag);
  check(outcome.code == cudaSuccess && flag == 1, "a fence lets other threads run",
        outcome.description);
}

}  // namespace

void check_waiting() {
  for (const unsigned threads : {1u, 2u, 33u, 1024u}) check_flag(threads);
  check_lock();
  check_chain();
  check_cancelled_wait();
  check_fence();
}

}  // namespace execution
