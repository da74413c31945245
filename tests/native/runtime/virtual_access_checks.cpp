// Access to mapped memory: rights of devices, copies, and memory at several addresses.
#include <algorithm>
#include <cstring>
#include <vector>

#include "check.h"
#include "suites.h"
#include "virtual_range.h"

namespace runtime_test {
namespace {

using gridstride::host::kernel_descriptor;

__global__ void write_ones(unsigned char* data, std::size_t bytes) {
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < bytes;
       i += gridDim.x * blockDim.x) {
    data[i] = 1;
  }
}

void check_access_arguments() {
  const auto invalid = CUDA_ERROR_INVALID_VALUE;
  const VirtualRange range(first_device, 1);
  CUmemAccessDesc description = access_for(first_device);
  CHECK_RESULT(cuMemSetAccess(range.address(), piece, nullptr, 1), invalid,
               "access must be described");
  CHECK_RESULT(cuMemSetAccess(range.address(), piece, &description, 0), invalid,
               "at least for one");
  CHECK_RESULT(cuMemSetAccess(range.address(), 0, &description, 1), invalid, "and for something");
  CHECK_RESULT(cuMemSetAccess(0, piece, &description, 1), invalid, "but null");
  description.flags = static_cast<CUmemAccess_flags>(2);
  CHECK_RESULT(cuMemSetAccess(range.address(), piece, &description, 1), invalid,
               "there is no access to write alone");
  description = access_for(device_total);
  CHECK_RESULT(cuMemSetAccess(range.address(), piece, &description, 1), CUDA_ERROR_INVALID_DEVICE,
               "nor for a device that is not there");
  description = access_for(plain_device);
  CHECK_RESULT(cuMemSetAccess(range.address(), piece, &description, 1), CUDA_ERROR_NOT_SUPPORTED,
               "nor for one without virtual memory management");
  description.location = {CU_MEM_LOCATION_TYPE_HOST, 0};
  CHECK_RESULT(cuMemSetAccess(range.address(), piece, &description, 1), CUDA_ERROR_NOT_SUPPORTED,
               "nor for the host");
  const CUmemAccessDesc mixed[] = {access_for(first_device, CU_MEM_ACCESS_FLAGS_PROT_NONE),
                                   access_for(device_total)};
  CHECK_RESULT(cuMemSetAccess(range.address(), piece, mixed, 2), CUDA_ERROR_INVALID_DEVICE,
               "a list with a mistake is refused");
  CHECK(can_write(range.address()), "and nothing of it done");
}

void check_process_access() {
  const CUdeviceptr address = reserve_addresses(2 * piece);
  REQUIRE_RESULT(map_new_memory(address, piece, first_device));
  CHECK(!can_read(address), "what is mapped is inaccessible at first");
  REQUIRE_RESULT(set_access(address, piece, first_device, CU_MEM_ACCESS_FLAGS_PROT_READ));
  CHECK(can_read(address) && !can_write(address), "access to read is no access to write");
  REQUIRE_RESULT(set_access(address, piece, second_device));
  CHECK(can_write(address), "the process has the most that any device has");
  bytes_at(address)[17] = 42;
  REQUIRE_RESULT(set_access(address, piece, second_device, CU_MEM_ACCESS_FLAGS_PROT_NONE));
  CHECK(can_read(address) && !can_write(address), "access can be taken back");
  REQUIRE_RESULT(set_access(address, piece, first_device, CU_MEM_ACCESS_FLAGS_PROT_NONE));
  CHECK(!can_read(address), "all of it");
  REQUIRE_RESULT(set_access(address, piece, first_device));
  CHECK(bytes_at(address)[17] == 42, "and given again to the same bytes");
  REQUIRE_RESULT(cuMemUnmap(address, piece));
  CHECK(!can_read(address), "nothing is accessible once it is unmapped");
  REQUIRE_RESULT(map_new_memory(address, piece, first_device));
  CHECK(!can_read(address), "nor what is mapped there next");
  REQUIRE_RESULT(set_access(address, piece, first_device));
  CHECK(bytes_at(address)[17] == 0, "which is other memory");
  REQUIRE_RESULT(cuMemUnmap(address, piece));
  REQUIRE_RESULT(cuMemAddressFree(address, 2 * piece));
}

void check_aliases() {
  const CUdeviceptr address = reserve_addresses(6 * piece);
  const CUdeviceptr other = address + 3 * piece;
  const CUmemGenericAllocationHandle handle = create_memory(first_device, 2 * piece);
  REQUIRE_RESULT(cuMemMap(address, 2 * piece, 0, handle, 0));
  REQUIRE_RESULT(cuMemMap(other, piece, 0, handle, 0));
  REQUIRE_RESULT(set_access(address, 2 * piece, first_device));
  REQUIRE_RESULT(set_access(other, piece, first_device, CU_MEM_ACCESS_FLAGS_PROT_READ));
  bytes_at(address)[0] = 5;
  bytes_at(address)[piece - 1] = 6;
  CHECK(bytes_at(other)[0] == 5 && bytes_at(other)[piece - 1] == 6,
        "memory that is mapped at two addresses is the same at both");
  CHECK(!can_write(other), "the access is each mapping's own");
  REQUIRE_RESULT(cuMemUnmap(address, 2 * piece));
  CHECK(bytes_at(other)[0] == 5, "unmapping one leaves the other");
  // Other memory where the first was, while that lives on elsewhere.
  REQUIRE_RESULT(map_new_memory(address, piece, first_device));
  REQUIRE_RESULT(set_access(address, piece, first_device));
  bytes_at(address)[0] = 7;
  CHECK(bytes_at(other)[0] == 5, "addresses that are used again do not disturb the memory");
  REQUIRE_RESULT(cuMemUnmap(other, piece));
  REQUIRE_RESULT(cuMemMap(other, 2 * piece, 0, handle, 0));
  REQUIRE_RESULT(set_access(other, 2 * piece, first_device));
  CHECK(bytes_at(other)[0] == 5 && bytes_at(other)[piece - 1] == 6,
        "memory that is mapped nowhere keeps its bytes");
  REQUIRE_RESULT(cuMemUnmap(other, 2 * piece));
  REQUIRE_RESULT(cuMemRelease(handle));
  REQUIRE_RESULT(cuMemUnmap(address, piece));
  REQUIRE_RESULT(map_new_memory(address, 2 * piece, first_device));
  REQUIRE_RESULT(set_access(address, 2 * piece, first_device));
  CHECK(bytes_at(address)[0] == 0, "freed memory is not seen again");
  REQUIRE_RESULT(cuMemUnmap(address, 2 * piece));
  REQUIRE_RESULT(cuMemAddressFree(address, 6 * piece));
}

void check_peer_copies() {
  const VirtualRange range(first_device, 1);
  unsigned char* there = nullptr;
  REQUIRE(cudaSetDevice(second_device));
  REQUIRE(cudaMalloc(&there, 4096));
  const auto refused = cudaErrorInvalidValue;
  CHECK_STATUS(cudaMemcpy(there, range.data(), 4096, cudaMemcpyDeviceToDevice), refused,
               "a device does not copy memory that it has no access to");
  CHECK_STATUS(cudaMemset(range.data(), 1, 4096), refused, "nor fill it");
  CHECK_STATUS(cudaMemcpyPeer(there, second_device, range.data(), first_device, 4096), cudaSuccess,
               "a copy between devices reads as the device it names");
  REQUIRE_RESULT(set_access(range.address(), piece, second_device, CU_MEM_ACCESS_FLAGS_PROT_READ));
  CHECK_STATUS(cudaMemcpy(there, range.data(), 4096, cudaMemcpyDeviceToDevice), cudaSuccess,
               "with access to read it copies from there");
  CHECK_STATUS(cudaMemcpy(range.data(), there, 4096, cudaMemcpyDeviceToDevice), refused,
               "but not to there");
  REQUIRE_RESULT(set_access(range.address(), piece, second_device));
  CHECK_STATUS(cudaMemcpy(range.data(), there, 4096, cudaMemcpyDeviceToDevice), cudaSuccess,
               "which access to write allows");
  REQUIRE(cudaFree(there));
  REQUIRE(cudaSetDevice(first_device));
}

std::vector<unsigned char> pattern_of(std::size_t bytes) {
  std::vector<unsigned char> pattern(bytes);
  for (std::size_t index = 0; index < bytes; ++index) {
    pattern[index] = static_cast<unsigned char>(index * 31 + index / 4093);
  }
  return pattern;
}

// Three pieces: a copy of more than 4 MiB spans them and is done in several pieces.
void check_copies_across() {
  const VirtualRange range(first_device, 3);
  const std::size_t bytes = range.bytes() - 13;
  const std::vector<unsigned char> pattern = pattern_of(bytes);
  std::vector<unsigned char> result(bytes);
  REQUIRE(cudaMemcpy(range.data() + 5, pattern.data(), bytes, cudaMemcpyHostToDevice));
  REQUIRE(cudaMemcpy(result.data(), range.data() + 5, bytes, cudaMemcpyDeviceToHost));
  CHECK(result == pattern, "copies span mappings that lie side by side");
  REQUIRE(cudaMemset(range.data() + piece - 100, 9, 200));
  REQUIRE(cudaMemcpy(result.data(), range.data() + piece - 101, 202, cudaMemcpyDeviceToHost));
  CHECK(result[0] == pattern[piece - 106] && std::count(&result[1], &result[201], 9) == 200 &&
            result[201] == pattern[piece + 95],
        "and so do fills");
  const auto refused = cudaErrorInvalidValue;
  CHECK_STATUS(
      cudaMemcpy(result.data(), range.data() + range.bytes() - 1, 2, cudaMemcpyDeviceToHost),
      refused, "one byte beyond is refused");
  CHECK_STATUS(cudaMemcpy(result.data(), range.data(), SIZE_MAX, cudaMemcpyDeviceToHost), refused,
               "so are all bytes there are");
  CHECK_STATUS(cudaMemset(range.data() + range.bytes(), 0, 1), refused, "and what is behind");
  CHECK_STATUS(cudaMemcpy(range.data(), pattern.data(), 8, cudaMemcpyDeviceToHost), refused,
               "the direction is checked");
}

void check_rows_across() {
  const VirtualRange range(first_device, 3);
  constexpr std::size_t pitch = 6007;
  constexpr std::size_t width = 4001;
  constexpr std::size_t height = 1000;
  const std::vector<unsigned char> pattern = pattern_of(width * height);
  std::vector<unsigned char> result(width * height);
  REQUIRE(cudaMemcpy2D(range.data(), pitch, pattern.data(), width, width, height,
                       cudaMemcpyHostToDevice));
  REQUIRE(cudaMemcpy2D(result.data(), width, range.data(), pitch, width, height,
                       cudaMemcpyDeviceToHost));
  CHECK(result == pattern, "rows are copied across mappings");
  CHECK_STATUS(cudaMemcpy2D(range.data(), 2 * piece, pattern.data(), 1, 1, 3, cudaMemcpyDefault),
               cudaErrorInvalidValue, "rows that end beyond are refused");
}

void check_rows_over_a_hole() {
  const CUdeviceptr address = reserve_addresses(3 * piece);
  for (const CUdeviceptr at : {address, address + 2 * piece}) {
    REQUIRE_RESULT(map_new_memory(at, piece, first_device));
    REQUIRE_RESULT(set_access(at, piece, first_device));
  }
  const unsigned char rows[2] = {};
  CHECK_STATUS(cudaMemcpy2D(bytes_at(address), 2 * piece, rows, 1, 1, 2, cudaMemcpyDefault),
               cudaErrorInvalidValue, "rows with a hole between them are refused");
  for (const CUdeviceptr at : {address, address + 2 * piece}) {
    REQUIRE_RESULT(cuMemUnmap(at, piece));
  }
  REQUIRE_RESULT(cuMemAddressFree(address, 3 * piece));
}

cudaError_t launch_writes(unsigned char* data, std::size_t bytes) {
  void* arguments[] = {&data, &bytes};
  const cudaError_t status = cudaLaunchKernel(kernel_descriptor<&write_ones>("write_ones"), 64, 256,
                                              arguments, 0, nullptr);
  return status == cudaSuccess ? cudaDeviceSynchronize() : status;
}

void check_kernels() {
  const VirtualRange range(first_device, 3);
  const unsigned char* const data = range.data();
  REQUIRE(launch_writes(range.data(), range.bytes()));
  CHECK(std::count(data, data + range.bytes(), 1) == static_cast<std::ptrdiff_t>(range.bytes()),
        "a kernel writes across mappings");
  REQUIRE(cudaSetDevice(second_device));
  CHECK_STATUS(launch_writes(range.data(), range.bytes()), cudaSuccess,
               "a kernel of a device without access is not noticed");
  REQUIRE(cudaSetDevice(first_device));
}

}  // namespace

void check_virtual_access() {
  REQUIRE(cudaSetDevice(first_device));
  check_access_arguments();
  check_process_access();
  check_aliases();
  check_peer_copies();
  (void)cudaGetLastError();
}

void check_virtual_copies() {
  REQUIRE(cudaSetDevice(first_device));
  check_copies_across();
  check_rows_across();
  check_rows_over_a_hole();
  check_kernels();
  (void)cudaGetLastError();
}

}  // namespace runtime_test
