// Checking launches, and copying their arguments.
#include "host/execution/launch_request.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "host/execution/block_state.h"

namespace gridstride::host {
namespace {

[[noreturn]] void refuse(const KernelDescriptor& kernel, const std::string& reason) {
  throw std::invalid_argument("Cannot launch " + std::string(kernel.name) + " as " + reason);
}

std::string to_text(dim3 dimension) {
  return "(" + std::to_string(dimension.x) + "," + std::to_string(dimension.y) + "," +
         std::to_string(dimension.z) + ")";
}

}  // namespace

void check_request(const LaunchRequest& request) {
  const KernelDescriptor& kernel = *request.kernel;
  if (kernel.contract != kernel_contract) {
    refuse(kernel, "it must be compiled against version " + std::to_string(kernel_contract) +
                       " of the host device's headers: it is of version " +
                       std::to_string(kernel.contract));
  }
  const dim3 grid = request.grid;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) {
    refuse(kernel, "the dimensions of the grid must be positive: they are " + to_text(grid));
  }
  uint64_t blocks = uint64_t{grid.x} * grid.y;
  if (__builtin_mul_overflow(blocks, grid.z, &blocks) || blocks >= uint64_t{1} << 63) {
    refuse(kernel, "a grid must have less than 2^63 blocks: its dimensions are " + to_text(grid));
  }
  const dim3 block = request.block;
  const uint64_t face = uint64_t{block.x} * block.y;
  // The product of three 32-bit numbers may overflow; of two it does not.
  if (face == 0 || block.z == 0 || face > max_block_threads || face * block.z > max_block_threads) {
    refuse(kernel, "a block must have 1 to 1024 threads: its dimensions are " + to_text(block));
  }
  if (request.dynamic_shared_bytes > max_dynamic_shared_bytes) {
    refuse(kernel, "dynamic shared memory must be at most " +
                       std::to_string(max_dynamic_shared_bytes) + " bytes: it is " +
                       std::to_string(request.dynamic_shared_bytes));
  }
}

std::vector<unsigned char> pack_arguments(const KernelDescriptor& kernel, void** arguments) {
  std::vector<unsigned char> packed(for_each_parameter(kernel, [](uint32_t, size_t) {}));
  for_each_parameter(kernel, [&](uint32_t i, size_t offset) {
    const auto* source = static_cast<const unsigned char*>(arguments[i]);
    std::copy(source, source + kernel.parameter_sizes[i], packed.data() + offset);
  });
  return packed;
}

ArgumentCopy::ArgumentCopy(const KernelDescriptor& kernel,
                           const std::vector<unsigned char>& packed) {
  size_t alignment = 1;
  const size_t bytes = for_each_parameter(kernel, [&](uint32_t i, size_t) {
    alignment = std::max<size_t>(alignment, kernel.parameter_alignments[i]);
  });
  if (packed.size() != bytes) {
    refuse(kernel, "its arguments must take " + std::to_string(bytes) + " bytes: they take " +
                       std::to_string(packed.size()));
  }
  storage_.resize(bytes + alignment);
  const auto address = reinterpret_cast<uintptr_t>(storage_.data());
  unsigned char* start = storage_.data() + (alignment - address % alignment) % alignment;
  std::copy(packed.begin(), packed.end(), start);
  addresses_.resize(kernel.parameter_count + 1);
  for_each_parameter(kernel, [&](uint32_t i, size_t offset) { addresses_[i] = start + offset; });
}

}  // namespace gridstride::host
