// Cooperative launches: all blocks at once, barriers, and deadlocks.
#include <string>
#include <vector>

#include "check.h"
#include "gridstride/warp_exchange.h"
#include "host/device/device.h"
#include "module_files.h"
#include "suites.h"

namespace runtime_test {
namespace {

using gridstride::host::fault_description;
using gridstride::host::grid_barrier;
using gridstride::host::kernel_descriptor;

// Block b passes its number on to block b + 1 in each round: a block that ran ahead would be seen.
__global__ void pass_on(int* slots, int* out, int rounds) {
  __shared__ int carried;
  if (threadIdx.x == 0) carried = static_cast<int>(blockIdx.x);
  for (int round = 0; round < rounds; ++round) {
    int* const row = slots + static_cast<unsigned>(round % 2) * gridDim.x;
    if (threadIdx.x == 0) row[(blockIdx.x + 1) % gridDim.x] = carried;
    grid_barrier();
    if (threadIdx.x == 0) carried = row[blockIdx.x];
    grid_barrier();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = carried;
}

// Threads that have ended are not waited for.
__global__ void leave_early(int* out) {
  if (threadIdx.x % 3 == 1) return;
  grid_barrier();
  if (threadIdx.x == 0) atomicAdd(out, 1);
}

// Waits for the block with the next index, which never could where blocks are run in order.
__global__ void wait_for_next(int* flags) {
  __threadfence();
  atomicExch(&flags[blockIdx.x], 1);
  if (blockIdx.x + 1 == gridDim.x) return;
  while (atomicAdd(&flags[blockIdx.x + 1], 0) == 0) __nanosleep(100);
}

__global__ void tell_cooperation(int* out) { *out = gs_host_grid_is_cooperative() ? 2 : 1; }

__global__ void end_in_block(unsigned ending) {
  if (blockIdx.x != ending) grid_barrier();
}

__global__ void fail_in_block(unsigned failing, int* null) {
  if (blockIdx.x == failing) *null = 1;
  grid_barrier();
}

__global__ void mix_barriers() {
  if (threadIdx.x < 7) {
    __syncthreads();
  } else {
    grid_barrier();
  }
}

__global__ void meet_grid() { grid_barrier(); }

// Calls itself until its stack is full; as compilers see it, not forever.
__attribute__((noinline)) int recurse(int depth) {
  if (depth < 0) return depth;
  volatile char frame[4096];
  frame[depth % 4096] = 1;
  return recurse(depth + 1) + frame[0];
}

__global__ void overflow_in_block(unsigned failing, int* out) {
  if (blockIdx.x == failing) *out = recurse(0);
  grid_barrier();
}

template <typename... Arguments>
cudaError_t cooperate(const void* kernel, dim3 grid, dim3 block, cudaStream_t stream,
                      Arguments... arguments) {
  void* addresses[] = {&arguments..., nullptr};
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  const cudaLaunchConfig_t config{grid, block, 0, stream, &attribute, 1};
  return cudaLaunchKernelExC(&config, kernel, addresses);
}

int multiprocessors() {
  int count = 0;
  REQUIRE(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, first_device));
  return count;
}

void check_rounds(unsigned blocks, unsigned threads) {
  constexpr int rounds = 5;
  int* memory = nullptr;
  REQUIRE(cudaMalloc(&memory, 3 * blocks * sizeof(int)));
  const void* const kernel = kernel_descriptor<&pass_on>("pass_on");
  REQUIRE(cooperate(kernel, blocks, threads, nullptr, memory, memory + 2 * blocks, rounds));
  std::vector<int> result(blocks);
  REQUIRE(
      cudaMemcpy(result.data(), memory + 2 * blocks, blocks * sizeof(int), cudaMemcpyDeviceToHost));
  bool right = true;
  for (unsigned b = 0; b < blocks; ++b) {
    right = right &&
            result[b] == static_cast<int>((b + (rounds / blocks + 1) * blocks - rounds) % blocks);
  }
  CHECK(right, std::to_string(blocks) + " blocks of " + std::to_string(threads) +
                   " threads pass values on from barrier to barrier");
  REQUIRE(cudaFree(memory));
}

void check_blocks_at_once() {
  int* flags = nullptr;
  REQUIRE(cudaMalloc(&flags, 100 * sizeof(int)));
  REQUIRE(cudaMemset(flags, 0, 100 * sizeof(int)));
  const void* const waiting = kernel_descriptor<&wait_for_next>("wait_for_next");
  REQUIRE(cooperate(waiting, 20, 32, nullptr, flags));
  CHECK_STATUS(cudaDeviceSynchronize(), cudaSuccess, "a block may wait for one behind it");
  REQUIRE(cudaMemset(flags, 0, sizeof(int)));
  REQUIRE(cooperate(kernel_descriptor<&leave_early>("leave_early"), 5, 100, nullptr, flags));
  int result = 0;
  REQUIRE(cudaMemcpy(&result, flags, sizeof result, cudaMemcpyDeviceToHost));
  CHECK(result == 5, "threads that have ended are not waited for");
  const void* const telling = kernel_descriptor<&tell_cooperation>("tell_cooperation");
  REQUIRE(cooperate(telling, 1, 1, nullptr, flags));
  REQUIRE(cudaMemcpy(&result, flags, sizeof result, cudaMemcpyDeviceToHost));
  CHECK(result == 2, "a kernel knows that its launch is cooperative");
  void* arguments[] = {&flags};
  REQUIRE(cudaLaunchKernel(telling, 1, 1, arguments, 0, nullptr));
  REQUIRE(cudaMemcpy(&result, flags, sizeof result, cudaMemcpyDeviceToHost));
  CHECK(result == 1, "or that it is not");
  REQUIRE(cudaFree(flags));
}

void check_limit() {
  const void* const kernel = kernel_descriptor<&meet_grid>("meet_grid");
  int resident = 0;
  REQUIRE(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, 512, 0));
  CHECK(resident == 3, "three blocks of 512 threads are resident, of 1536 that there may be");
  const auto most = static_cast<unsigned>(resident * multiprocessors());
  CHECK_STATUS(cooperate(kernel, most, 512, nullptr), cudaSuccess, "all that are resident launch");
  CHECK_STATUS(cooperate(kernel, most + 1, 512, nullptr), cudaErrorCooperativeLaunchTooLarge,
               "one more does not");
  CHECK_STATUS(cooperate(kernel, {1u << 30, 65535, 65535}, 1, nullptr),
               cudaErrorCooperativeLaunchTooLarge, "nor do 2^62");
  CHECK_STATUS(cooperate(kernel, 0, 1, nullptr), cudaErrorInvalidConfiguration,
               "no blocks are no launch");
  CHECK_STATUS(cudaDeviceSynchronize(), cudaSuccess, "what was accepted ran");
}

void check_occupancy() {
  const void* const kernel = kernel_descriptor<&meet_grid>("meet_grid");
  struct Case {
    int threads;
    std::size_t shared;
    int expected;
    const char* statement;
  };
  // Per multiprocessor 24 blocks, 1536 threads, 100 KiB of shared memory; 1 KiB of each block's is
  // the system's. CUDA's own calculator has the same figures for these.
  const Case cases[] = {
      {1, 0, 24, "the most blocks"},
      {64, 0, 24, "64 threads fit as often"},
      {65, 0, 16, "65 take three warps"},
      {768, 0, 2, "768 threads twice"},
      {769, 0, 1, "769 once"},
      {1024, 0, 1, "1024 once"},
      {1025, 0, 0, "1025 never"},
      {32, 3 * 1024, 24, "3 KiB of shared memory are no limit"},
      {32, 4 * 1024, 20, "4 KiB and one are taken 20 times"},
      {32, 4 * 1024 + 1, 19, "a byte more is 128"},
      {32, 48 * 1024, 2, "48 KiB twice"},
      {32, 48 * 1024 + 1, 0, "more is not allowed by default"},
  };
  for (const Case& one : cases) {
    int blocks = -1;
    REQUIRE(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, one.threads, one.shared));
    CHECK(blocks == one.expected,
          std::string(one.statement) + ": " + std::to_string(blocks) + " blocks");
  }
  REQUIRE(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 99 * 1024));
  int blocks = -1;
  REQUIRE(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 32, 99 * 1024));
  CHECK(blocks == 1, "what was opted in to fits once");
  CHECK_STATUS(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 0, 0),
               cudaErrorInvalidValue, "a block has threads");
  CHECK_STATUS(cudaOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, kernel, 1, 0),
               cudaErrorInvalidValue, "and the answer a place");
}

void check_configurations() {
  const void* const kernel = kernel_descriptor<&meet_grid>("meet_grid");
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeCooperative;
  attributes[0].val.cooperative = 1;
  attributes[1].id = cudaLaunchAttributeIgnore;
  cudaLaunchConfig_t config = {4, 33, 0, nullptr, attributes, 2};
  CHECK_STATUS(cudaLaunchKernelExC(&config, kernel, nullptr), cudaSuccess,
               "a launch may be cooperative by attribute");
  CHECK_STATUS(cudaDeviceSynchronize(), cudaSuccess, "and runs");
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {2, 1, 1};
  CHECK_STATUS(cudaLaunchKernelExC(&config, kernel, nullptr), cudaErrorNotSupported,
               "there are no clusters");
  attributes[1].id = static_cast<cudaLaunchAttributeID>(77);
  CHECK_STATUS(cudaLaunchKernelExC(&config, kernel, nullptr), cudaErrorInvalidValue,
               "an unknown attribute is refused");
  config.attrs = nullptr;
  CHECK_STATUS(cudaLaunchKernelExC(&config, kernel, nullptr), cudaErrorInvalidValue,
               "and so are attributes that are not there");
  CHECK_STATUS(cudaLaunchKernelExC(nullptr, kernel, nullptr), cudaErrorInvalidValue,
               "and no configuration");
  int value = 0;
  REQUIRE(cudaDeviceGetAttribute(&value, cudaDevAttrCooperativeLaunch, first_device));
  CHECK(value == 1, "a device says that launches may be cooperative");
}

// Launches one after the other, and on two streams at once, beside ordinary ones.
void check_concurrent_launches() {
  constexpr unsigned blocks = 8;
  const void* const kernel = kernel_descriptor<&leave_early>("leave_early");
  int* counters = nullptr;
  REQUIRE(cudaMalloc(&counters, 2 * sizeof(int)));
  REQUIRE(cudaMemset(counters, 0, 2 * sizeof(int)));
  cudaStream_t streams[2] = {};
  for (cudaStream_t& stream : streams) REQUIRE(cudaStreamCreate(&stream));
  for (int i = 0; i < 30; ++i) {
    REQUIRE(cooperate(kernel, blocks, 40, streams[i % 2], counters + i % 2));
  }
  REQUIRE(cudaDeviceSynchronize());
  int result[2] = {};
  REQUIRE(cudaMemcpy(result, counters, sizeof result, cudaMemcpyDeviceToHost));
  CHECK(result[0] == 120 && result[1] == 120, "two streams of cooperative launches both end");
  for (cudaStream_t& stream : streams) REQUIRE(cudaStreamDestroy(stream));
  REQUIRE(cudaFree(counters));
}

void check_module_grid() {
  const LoadedLibrary library;
  constexpr unsigned blocks = 12;
  int* memory = nullptr;
  REQUIRE(cudaMalloc(&memory, (blocks * 50 + 2 * blocks) * sizeof(int)));
  std::vector<int> in(blocks * 50);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i / 50);
  REQUIRE(cudaMemcpy(memory, in.data(), in.size() * sizeof(int), cudaMemcpyHostToDevice));
  int* const between = memory + in.size();
  const int* const source = memory;
  REQUIRE(
      cooperate(library.kernel("meet"), blocks, 50, nullptr, source, between, between + blocks));
  std::vector<int> out(blocks);
  REQUIRE(cudaMemcpy(out.data(), between + blocks, blocks * sizeof(int), cudaMemcpyDeviceToHost));
  bool right = true;
  for (unsigned b = 0; b < blocks; ++b) {
    right = right && out[b] == static_cast<int>(50 * ((b + 1) % blocks));
  }
  CHECK(right, "each block of a module's kernel has shared memory of its own");
  REQUIRE(cudaFree(memory));
}

void expect_fault(int device, cudaError_t launched, cudaError_t expected,
                  const std::string& words) {
  CHECK_STATUS(launched, cudaSuccess, "a launch that will fault is accepted");
  CHECK_STATUS(cudaDeviceSynchronize(), expected, "and is a fault");
  const std::string text = fault_description(device);
  CHECK(text.find(words) != std::string::npos, "that says why: " + text);
  (void)cudaGetLastError();
}

}  // namespace

void check_cooperative_launches() {
  for (const unsigned blocks : {1u, 2u, 3u, 7u, 16u}) check_rounds(blocks, 37);
  check_rounds(static_cast<unsigned>(multiprocessors()), 1024);
  check_blocks_at_once();
  check_limit();
  check_occupancy();
  check_configurations();
  check_concurrent_launches();
  check_module_grid();
}

void check_cooperative_faults() {
  int* const null = nullptr;
  REQUIRE(cudaSetDevice(ended_block_victim_device));
  expect_fault(ended_block_victim_device,
               cooperate(kernel_descriptor<&end_in_block>("end_in_block"), 6, 33, nullptr, 4u),
               cudaErrorLaunchFailure,
               "deadlock, 5 blocks of the grid wait at its barrier for 1 that have ended");
  REQUIRE(cudaSetDevice(failed_block_victim_device));
  expect_fault(
      failed_block_victim_device,
      cooperate(kernel_descriptor<&fail_in_block>("fail_in_block"), 6, 33, nullptr, 2u, null),
      cudaErrorIllegalAddress, "kernel fail_in_block, block (2,0,0)");
  REQUIRE(cudaSetDevice(mixed_barrier_victim_device));
  expect_fault(mixed_barrier_victim_device,
               cooperate(kernel_descriptor<&mix_barriers>("mix_barriers"), 2, 20, nullptr),
               cudaErrorLaunchFailure,
               "13 threads of the block wait at the grid's barrier while 7 wait at __syncthreads");
  REQUIRE(cudaSetDevice(lone_barrier_victim_device));
  expect_fault(
      lone_barrier_victim_device,
      cudaLaunchKernel(kernel_descriptor<&meet_grid>("meet_grid"), 2, 20, nullptr, 0, nullptr),
      cudaErrorLaunchFailure, "in a launch that is not cooperative");
  REQUIRE(cudaSetDevice(overflow_victim_device));
  expect_fault(overflow_victim_device,
               cooperate(kernel_descriptor<&overflow_in_block>("overflow_in_block"), 3, 2, nullptr,
                         1u, null),
               cudaErrorIllegalAddress, "stack overflow");
  REQUIRE(cudaSetDevice(first_device));
}

}  // namespace runtime_test
