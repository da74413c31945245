// The CUDA driver API: virtual memory management, and fills. Checks the caller's descriptions of
// memory and access; VirtualMemory checks the mappings.
#include <algorithm>
#include <iterator>
#include <vector>

#include "host/device/device.h"
#include "host/graph/capture.h"
#include "host/memory/transfer.h"
#include "host/memory/virtual_memory.h"
#include "host/runtime/errors.h"

using namespace gridstride::host;

namespace {

VirtualMemory& virtual_memory() { return VirtualMemory::instance(); }

// For functions that take effect at once, also during a capture.
template <typename Body>
CUresult change_call(Body body) noexcept {
  return driver_call([&] {
    const cudaError_t forbidden = capture_forbids();
    return forbidden == cudaSuccess ? body() : forbidden;
  });
}

cudaError_t find_location(const CUmemLocation& location, Device*& device) {
  switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE: break;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT: return cudaErrorNotSupported;
    default: return cudaErrorInvalidValue;
  }
  device = find_device(location.id);
  if (device == nullptr) return cudaErrorInvalidDevice;
  const bool is_supported =
      device->specification().attribute_or_zero(virtual_memory_attribute) == 1;
  return is_supported ? cudaSuccess : cudaErrorNotSupported;
}

// Compression is a hint, which is not followed; a buffer for decompression is memory like any
// other.
cudaError_t check_flags(const CUmemAllocationProp& properties) {
  const auto& flags = properties.allocFlags;
  constexpr unsigned known_usage =
      CU_MEM_CREATE_USAGE_TILE_POOL | CU_MEM_CREATE_USAGE_HW_DECOMPRESS;
  const bool is_reserved_clear = std::all_of(std::begin(flags.reserved), std::end(flags.reserved),
                                             [](unsigned char byte) { return byte == 0; });
  if (flags.compressionType > CU_MEM_ALLOCATION_COMP_GENERIC || flags.gpuDirectRDMACapable > 1 ||
      (flags.usage & ~known_usage) != 0 || !is_reserved_clear) {
    return cudaErrorInvalidValue;
  }
  const bool is_supported =
      flags.gpuDirectRDMACapable == 0 && (flags.usage & CU_MEM_CREATE_USAGE_TILE_POOL) == 0;
  return is_supported ? cudaSuccess : cudaErrorNotSupported;
}

cudaError_t check_properties(const CUmemAllocationProp* properties, Device*& device) {
  if (properties == nullptr) return cudaErrorInvalidValue;
  if (properties->type == CU_MEM_ALLOCATION_TYPE_MANAGED) return cudaErrorNotSupported;
  if (properties->type != CU_MEM_ALLOCATION_TYPE_PINNED) return cudaErrorInvalidValue;
  constexpr int known_handle_types = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR |
                                     CU_MEM_HANDLE_TYPE_WIN32 | CU_MEM_HANDLE_TYPE_WIN32_KMT |
                                     CU_MEM_HANDLE_TYPE_FABRIC;
  if ((properties->requestedHandleTypes & ~known_handle_types) != 0) return cudaErrorInvalidValue;
  if (properties->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE) return cudaErrorNotSupported;
  if (properties->win32HandleMetaData != nullptr) return cudaErrorInvalidValue;
  const cudaError_t status = check_flags(*properties);
  return status == cudaSuccess ? find_location(properties->location, device) : status;
}

cudaError_t read_grant(const CUmemAccessDesc& description, DeviceGrant& grant) {
  Device* device = nullptr;
  const cudaError_t status = find_location(description.location, device);
  if (status != cudaSuccess) return status;
  grant.device = device->ordinal();
  switch (description.flags) {
    case CU_MEM_ACCESS_FLAGS_PROT_NONE: grant.access = AllowedAccess::none; break;
    case CU_MEM_ACCESS_FLAGS_PROT_READ: grant.access = AllowedAccess::read; break;
    case CU_MEM_ACCESS_FLAGS_PROT_READWRITE: grant.access = AllowedAccess::read_write; break;
    default: return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

cudaError_t set_access(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* descriptions,
                       std::size_t count) {
  if (descriptions == nullptr || count == 0) return cudaErrorInvalidValue;
  std::vector<DeviceGrant> grants;
  for (std::size_t index = 0; index < count; ++index) {
    DeviceGrant grant = {};
    const cudaError_t status = read_grant(descriptions[index], grant);
    if (status != cudaSuccess) return status;
    grants.push_back(grant);
  }
  return virtual_memory().set_access(address, bytes, grants);
}

}  // namespace

CUresult cuMemAddressReserve(CUdeviceptr* ptr, size_t size, size_t alignment, CUdeviceptr addr,
                             unsigned long long flags) {
  return change_call([&] {
    if (ptr == nullptr || flags != 0) return cudaErrorInvalidValue;
    std::uintptr_t address = 0;
    const cudaError_t status = virtual_memory().reserve(size, alignment, addr, address);
    if (status == cudaSuccess) *ptr = address;
    return status;
  });
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size) {
  return change_call([&] { return virtual_memory().free_reservation(ptr, size); });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                     const CUmemAllocationProp* prop, unsigned long long flags) {
  return change_call([&] {
    if (handle == nullptr || flags != 0) return cudaErrorInvalidValue;
    Device* device = nullptr;
    cudaError_t status = check_properties(prop, device);
    std::uint64_t created = 0;
    if (status == cudaSuccess) status = virtual_memory().create(*device, size, created);
    if (status == cudaSuccess) *handle = created;
    return status;
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return change_call([&] { return virtual_memory().release(handle); });
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  return change_call([&] {
    if (offset != 0 || flags != 0) return cudaErrorInvalidValue;
    return virtual_memory().map(ptr, size, handle);
  });
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size) {
  return change_call([&] { return virtual_memory().unmap(ptr, size); });
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc, size_t count) {
  return change_call([&] { return set_access(ptr, size, desc, count); });
}

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop,
                                       CUmemAllocationGranularity_flags option) {
  return driver_call([&] {
    if (granularity == nullptr || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
                                   option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)) {
      return cudaErrorInvalidValue;
    }
    Device* device = nullptr;
    const cudaError_t status = check_properties(prop, device);
    if (status == cudaSuccess) *granularity = virtual_granularity;
    return status;
  });
}

// ---- fills by 16- and 32-bit elements ----------------------------------------------------------

namespace {

CUresult fill_elements(CUdeviceptr destination, std::uint32_t value, std::size_t element_bytes,
                       std::size_t count, CUstream stream) {
  return driver_call([&] {
    FillRequest request;
    request.destination = reinterpret_cast<void*>(static_cast<std::uintptr_t>(destination));
    request.value = value;
    request.element_bytes = element_bytes;
    request.stream = stream;
    if (destination % element_bytes != 0 ||
        __builtin_mul_overflow(count, element_bytes, &request.bytes)) {
      return cudaErrorInvalidValue;
    }
    return fill(request);
  });
}

}  // namespace

CUresult cuMemsetD16Async(CUdeviceptr destination, unsigned short value, size_t count,
                          CUstream stream) {
  return fill_elements(destination, value, sizeof value, count, stream);
}

CUresult cuMemsetD32Async(CUdeviceptr destination, unsigned int value, size_t count,
                          CUstream stream) {
  return fill_elements(destination, value, sizeof value, count, stream);
}
