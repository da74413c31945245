// What cuda_occupancy.h of the toolkit answers to the cases in a file, for
// occupancy_oracle_test.ts: `occupancy_oracle residency|block_size FILE` reads records of 32-bit
// integers and writes one record of answers for each.
#include <cuda_occupancy.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

// As occupancy_oracle_test.ts writes them.
struct Case {
  std::int32_t major;
  std::int32_t minor;
  std::int32_t warp_size;
  std::int32_t max_threads_per_block;
  std::int32_t max_threads_per_multiprocessor;
  std::int32_t registers_per_block;
  std::int32_t registers_per_multiprocessor;
  std::int32_t shared_memory_per_block;
  std::int32_t shared_memory_per_block_opt_in;
  std::int32_t shared_memory_per_multiprocessor;
  std::int32_t reserved_shared_memory;
  std::int32_t threads;
  std::int32_t registers;
  std::int32_t static_shared_memory;
  std::int32_t dynamic_shared_memory;
  std::int32_t dynamic_shared_memory_per_thread;  // for block sizes only
  std::int32_t barriers;
  std::int32_t kernel_max_threads;
  std::int32_t opt_in;
};

cudaOccDeviceProp device_of(const Case& given) {
  cudaOccDeviceProp device;
  device.computeMajor = given.major;
  device.computeMinor = given.minor;
  device.warpSize = given.warp_size;
  device.maxThreadsPerBlock = given.max_threads_per_block;
  device.maxThreadsPerMultiprocessor = given.max_threads_per_multiprocessor;
  device.regsPerBlock = given.registers_per_block;
  device.regsPerMultiprocessor = given.registers_per_multiprocessor;
  device.sharedMemPerBlock = given.shared_memory_per_block;
  device.sharedMemPerBlockOptin = given.shared_memory_per_block_opt_in;
  device.sharedMemPerMultiprocessor = given.shared_memory_per_multiprocessor;
  device.reservedSharedMemPerBlock = given.reserved_shared_memory;
  device.numSms = 1;
  return device;
}

cudaOccFuncAttributes function_of(const Case& given) {
  cudaOccFuncAttributes function;
  function.maxThreadsPerBlock = given.kernel_max_threads;
  function.numRegs = given.registers;
  function.sharedSizeBytes = given.static_shared_memory;
  function.shmemLimitConfig = given.opt_in ? FUNC_SHMEM_LIMIT_OPTIN : FUNC_SHMEM_LIMIT_DEFAULT;
  // A launch is allowed its shared memory.
  function.maxDynamicSharedSizeBytes = INT_MAX / 2;
  function.numBlockBarriers = given.barriers;
  return function;
}

std::vector<std::int32_t> residency(const Case& given) {
  cudaOccDeviceProp device = device_of(given);
  // The calculator leaves it to the launch to refuse more threads than the kernel can have.
  if (given.kernel_max_threads < device.maxThreadsPerBlock) {
    device.maxThreadsPerBlock = given.kernel_max_threads;
  }
  const cudaOccFuncAttributes function = function_of(given);
  const cudaOccDeviceState state;
  cudaOccResult result;
  std::memset(&result, 0, sizeof result);
  const cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(
      &result, &device, &function, &state, given.threads, given.dynamic_shared_memory);
  return {static_cast<std::int32_t>(error),
          result.activeBlocksPerMultiprocessor,
          result.blockLimitWarps,
          result.blockLimitBlocks,
          result.blockLimitRegs,
          result.blockLimitSharedMem,
          result.blockLimitBarriers,
          static_cast<std::int32_t>(result.limitingFactors)};
}

std::vector<std::int32_t> block_size(const Case& given) {
  const cudaOccDeviceProp device = device_of(given);
  const cudaOccFuncAttributes function = function_of(given);
  const cudaOccDeviceState state;
  int blocks = 0;
  int threads = 0;
  const cudaOccError error = cudaOccMaxPotentialOccupancyBlockSizeVariableSMem(
      &blocks, &threads, &device, &function, &state, [&](int size) -> std::size_t {
        return static_cast<std::size_t>(given.dynamic_shared_memory) +
               static_cast<std::size_t>(given.dynamic_shared_memory_per_thread) *
                   static_cast<std::size_t>(size);
      });
  return {static_cast<std::int32_t>(error), blocks, threads};
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const bool asks_for_size = std::strcmp(arguments[1], "block_size") == 0;
  std::FILE* file = std::fopen(arguments[2], "rb");
  if (file == nullptr) return 1;
  Case given;
  while (std::fread(&given, sizeof given, 1, file) == 1) {
    const std::vector<std::int32_t> answer = asks_for_size ? block_size(given) : residency(given);
    std::fwrite(answer.data(), sizeof answer[0], answer.size(), stdout);
  }
  std::fclose(file);
  return 0;
}
