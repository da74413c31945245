// Occupancy, by the rules of CUDA's own calculator (cuda_occupancy.h of the toolkit).
#include "host/device/occupancy.h"

#include <algorithm>
#include <climits>
#include <optional>

#include "gridstride/kernel_descriptor.h"

namespace gridstride::host {
namespace {

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::uint64_t limit_or_none(const DeviceSpecification& limits, cudaDeviceAttr id) {
  const std::optional<int> value = limits.attribute(id);
  return value ? static_cast<std::uint64_t>(std::max(*value, 0)) : INT_MAX;
}

// Threads are given out in whole warps.
std::uint64_t blocks_by_threads(const DeviceSpecification& limits, int block_threads) {
  const std::uint64_t warp = limit_or_none(limits, cudaDevAttrWarpSize);
  return limit_or_none(limits, cudaDevAttrMaxThreadsPerMultiProcessor) /
         round_up(static_cast<std::uint64_t>(block_threads), warp);
}

// Shared memory is given out in units, and the system keeps some of it in every block.
std::uint64_t blocks_by_shared_memory(const DeviceSpecification& limits, std::uint64_t bytes) {
  const std::uint64_t unit =
      limits.attribute_or_zero(cudaDevAttrComputeCapabilityMajor) < 8 ? 256 : 128;
  const int reserved = limits.attribute_or_zero(cudaDevAttrReservedSharedMemoryPerBlock);
  const std::uint64_t taken = round_up(bytes + static_cast<std::uint64_t>(reserved), unit);
  if (taken == 0) return INT_MAX;
  return limit_or_none(limits, cudaDevAttrMaxSharedMemoryPerMultiprocessor) / taken;
}

}  // namespace

int resident_blocks(const Device& device, const KernelDescriptor& kernel, int block_threads,
                    std::size_t dynamic_shared_bytes) {
  const DeviceSpecification& limits = device.specification();
  const int shared_limit = device.dynamic_shared_limit(kernel);
  if (block_threads > limits.attribute_or_zero(cudaDevAttrMaxThreadsPerBlock) || shared_limit < 0 ||
      dynamic_shared_bytes > static_cast<std::size_t>(shared_limit)) {
    return 0;
  }
  const std::uint64_t blocks = std::min(
      {limit_or_none(limits, cudaDevAttrMaxBlocksPerMultiprocessor),
       blocks_by_threads(limits, block_threads),
       blocks_by_shared_memory(limits, kernel.static_shared_bytes + dynamic_shared_bytes)});
  return static_cast<int>(blocks);
}

std::uint64_t resident_grid(const Device& device, const KernelDescriptor& kernel, int block_threads,
                            std::size_t dynamic_shared_bytes) {
  const auto multiprocessors = static_cast<std::uint64_t>(
      device.specification().attribute_or_zero(cudaDevAttrMultiProcessorCount));
  return multiprocessors * static_cast<std::uint64_t>(resident_blocks(device, kernel, block_threads,
                                                                      dynamic_shared_bytes));
}

}  // namespace gridstride::host
