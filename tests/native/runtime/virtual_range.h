// Virtual memory for the checks: statuses of the driver API, and a range with memory behind it.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <vector>

#include "check.h"
#include "cuda.h"
#include "suites.h"

#define CHECK_RESULT(call, expected, statement) \
  CHECK_STATUS(static_cast<cudaError_t>(call), static_cast<cudaError_t>(expected), statement)
#define REQUIRE_RESULT(call) REQUIRE(static_cast<cudaError_t>(call))

namespace runtime_test {

// What addresses and memory are multiples of.
constexpr std::size_t piece = 2 * mebibyte;

inline CUmemAllocationProp memory_of(int device) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  return properties;
}

inline CUmemAccessDesc access_for(int device,
                                  CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
  return {{CU_MEM_LOCATION_TYPE_DEVICE, device}, flags};
}

inline CUresult set_access(CUdeviceptr address, std::size_t bytes, int device,
                           CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
  const CUmemAccessDesc description = access_for(device, flags);
  return cuMemSetAccess(address, bytes, &description, 1);
}

inline CUmemGenericAllocationHandle create_memory(int device, std::size_t bytes) {
  const CUmemAllocationProp properties = memory_of(device);
  CUmemGenericAllocationHandle handle = 0;
  REQUIRE_RESULT(cuMemCreate(&handle, bytes, &properties, 0));
  return handle;
}

inline CUdeviceptr reserve_addresses(std::size_t bytes) {
  CUdeviceptr address = 0;
  REQUIRE_RESULT(cuMemAddressReserve(&address, bytes, 0, 0, 0));
  return address;
}

// Creates memory, maps it and forgets the handle: it lives as long as it is mapped.
inline CUresult map_new_memory(CUdeviceptr address, std::size_t bytes, int device) {
  const CUmemAllocationProp properties = memory_of(device);
  CUmemGenericAllocationHandle handle = 0;
  CUresult status = cuMemCreate(&handle, bytes, &properties, 0);
  if (status != CUDA_SUCCESS) return status;
  status = cuMemMap(address, bytes, 0, handle, 0);
  (void)cuMemRelease(handle);
  return status;
}

inline unsigned char* bytes_at(CUdeviceptr address) {
  return reinterpret_cast<unsigned char*>(static_cast<std::uintptr_t>(address));
}

inline std::size_t free_memory_of(int device) {
  int before = 0;
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  REQUIRE(cudaGetDevice(&before));
  REQUIRE(cudaSetDevice(device));
  REQUIRE(cudaMemGetInfo(&free_bytes, &total));
  REQUIRE(cudaSetDevice(before));
  return free_bytes;
}

// Queries the system: a write from an inaccessible address to a pipe fails without a signal.
inline bool can_read(CUdeviceptr address) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  const bool is_readable = write(ends[1], bytes_at(address), 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return is_readable;
}

// And a read from a pipe to an address that must not be written to.
inline bool can_write(CUdeviceptr address) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  const bool is_writable = write(ends[1], "x", 1) == 1 && read(ends[0], bytes_at(address), 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return is_writable;
}

// Addresses with memory of a device behind all of them, in pieces, which the device may access.
class VirtualRange {
 public:
  VirtualRange(int device, std::size_t pieces) : bytes_(pieces * piece) {
    address_ = reserve_addresses(bytes_);
    for (std::size_t offset = 0; offset < bytes_; offset += piece) {
      REQUIRE_RESULT(map_new_memory(address_ + offset, piece, device));
    }
    REQUIRE_RESULT(set_access(address_, bytes_, device));
  }
  ~VirtualRange() {
    if (is_mapped_) (void)cuMemUnmap(address_, bytes_);
    REQUIRE_RESULT(cuMemAddressFree(address_, bytes_));
  }
  VirtualRange(const VirtualRange&) = delete;
  VirtualRange& operator=(const VirtualRange&) = delete;

  CUdeviceptr address() const { return address_; }
  std::size_t bytes() const { return bytes_; }
  unsigned char* data() const { return bytes_at(address_); }

  CUresult unmap() {
    is_mapped_ = false;
    return cuMemUnmap(address_, bytes_);
  }

 private:
  const std::size_t bytes_;
  CUdeviceptr address_ = 0;
  bool is_mapped_ = true;
};

// The role of a child that cannot have memory files. The exit status.
int check_without_memory_files();

}  // namespace runtime_test
