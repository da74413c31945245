// The CUDA runtime API: devices and versions.
#include <cstdio>
#include <cstring>
#include <memory>

#include "host/graph/capture.h"
#include "host/device/device.h"
#include "host/runtime/errors.h"
#include "gridstride/runtime_api.h"
#include "host/stream/stream_graph.h"

using namespace gridstride::host;

namespace {

constexpr int cuda_version = CUDART_VERSION;

// CUDA's range on devices that have priorities.
constexpr int least_priority = 0;
constexpr int greatest_priority = -5;

std::size_t size_of(const DeviceSpecification& specification, cudaDeviceAttr attribute) {
  return static_cast<std::size_t>(specification.attribute_or_zero(attribute));
}

bool on_one_board(const Device& one, const Device& other) {
  const auto board = [](const Device& device) {
    return device.specification().attribute_or_zero(cudaDevAttrMultiGpuBoardGroupID);
  };
  return board(one) == board(other);
}

void fill_limits(const DeviceSpecification& specification, cudaDeviceProp& properties) {
  const auto value = [&](cudaDeviceAttr id) { return specification.attribute_or_zero(id); };
  properties.warpSize = value(cudaDevAttrWarpSize);
  properties.maxThreadsPerBlock = value(cudaDevAttrMaxThreadsPerBlock);
  properties.maxThreadsDim[0] = value(cudaDevAttrMaxBlockDimX);
  properties.maxThreadsDim[1] = value(cudaDevAttrMaxBlockDimY);
  properties.maxThreadsDim[2] = value(cudaDevAttrMaxBlockDimZ);
  properties.maxGridSize[0] = value(cudaDevAttrMaxGridDimX);
  properties.maxGridSize[1] = value(cudaDevAttrMaxGridDimY);
  properties.maxGridSize[2] = value(cudaDevAttrMaxGridDimZ);
  properties.regsPerBlock = value(cudaDevAttrMaxRegistersPerBlock);
  properties.regsPerMultiprocessor = value(cudaDevAttrMaxRegistersPerMultiprocessor);
  properties.maxThreadsPerMultiProcessor = value(cudaDevAttrMaxThreadsPerMultiProcessor);
  properties.maxBlocksPerMultiProcessor = value(cudaDevAttrMaxBlocksPerMultiprocessor);
  properties.multiProcessorCount = value(cudaDevAttrMultiProcessorCount);
}

void fill_memory(const DeviceSpecification& specification, cudaDeviceProp& properties) {
  const auto value = [&](cudaDeviceAttr id) { return specification.attribute_or_zero(id); };
  const auto size = [&](cudaDeviceAttr id) { return size_of(specification, id); };
  properties.totalGlobalMem = specification.total_memory();
  properties.totalConstMem = size(cudaDevAttrTotalConstantMemory);
  properties.memoryBusWidth = value(cudaDevAttrGlobalMemoryBusWidth);
  properties.l2CacheSize = value(cudaDevAttrL2CacheSize);
  properties.sharedMemPerBlock = size(cudaDevAttrMaxSharedMemoryPerBlock);
  properties.sharedMemPerBlockOptin = size(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  properties.sharedMemPerMultiprocessor = size(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  properties.reservedSharedMemPerBlock = size(cudaDevAttrReservedSharedMemoryPerBlock);
}

void fill_abilities(const DeviceSpecification& specification, cudaDeviceProp& properties) {
  const auto value = [&](cudaDeviceAttr id) { return specification.attribute_or_zero(id); };
  properties.integrated = value(cudaDevAttrIntegrated);
  properties.canMapHostMemory = value(cudaDevAttrCanMapHostMemory);
  properties.concurrentKernels = value(cudaDevAttrConcurrentKernels);
  properties.ECCEnabled = value(cudaDevAttrEccEnabled);
  properties.asyncEngineCount = value(cudaDevAttrAsyncEngineCount);
  properties.unifiedAddressing = value(cudaDevAttrUnifiedAddressing);
  properties.streamPrioritiesSupported = value(cudaDevAttrStreamPrioritiesSupported);
  properties.managedMemory = value(cudaDevAttrManagedMemory);
  properties.cooperativeLaunch = value(cudaDevAttrCooperativeLaunch);
  properties.clusterLaunch = value(cudaDevAttrClusterLaunch);
}

void fill_identity(const DeviceSpecification& specification, cudaDeviceProp& properties) {
  std::snprintf(properties.name, sizeof properties.name, "%s", specification.name().c_str());
  properties.uuid = specification.uuid();
  properties.major = specification.attribute_or_zero(cudaDevAttrComputeCapabilityMajor);
  properties.minor = specification.attribute_or_zero(cudaDevAttrComputeCapabilityMinor);
  properties.pciDomainID = specification.attribute_or_zero(cudaDevAttrPciDomainId);
  properties.pciBusID = specification.attribute_or_zero(cudaDevAttrPciBusId);
  properties.pciDeviceID = specification.attribute_or_zero(cudaDevAttrPciDeviceId);
}

cudaError_t find(int ordinal, Device*& device) {
  if (devices().empty()) return cudaErrorNoDevice;
  device = find_device(ordinal);
  return device == nullptr ? cudaErrorInvalidDevice : cudaSuccess;
}

cudaError_t tell_version(int* version) {
  if (version == nullptr) return cudaErrorInvalidValue;
  *version = cuda_version;
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaDriverGetVersion(int* version) {
  return api_call([&] { return tell_version(version); });
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  return api_call([&] { return tell_version(version); });
}

cudaError_t cudaGetDeviceCount(int* count) {
  return api_call([&] {
    if (count == nullptr) return cudaErrorInvalidValue;
    *count = static_cast<int>(devices().size());
    return *count == 0 ? cudaErrorNoDevice : cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int ordinal) {
  return api_call([&] {
    Device* device = nullptr;
    const cudaError_t status = find(ordinal, device);
    if (status == cudaSuccess) set_current_ordinal(ordinal);
    return status;
  });
}

cudaError_t cudaGetDevice(int* ordinal) {
  return api_call([&] {
    if (ordinal == nullptr) return cudaErrorInvalidValue;
    if (devices().empty()) return cudaErrorNoDevice;
    *ordinal = current_ordinal();
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int ordinal) {
  return api_call([&] {
    if (value == nullptr) return cudaErrorInvalidValue;
    Device* device = nullptr;
    const cudaError_t status = find(ordinal, device);
    if (status != cudaSuccess) return status;
    const auto known = device->specification().attribute(attribute);
    if (!known) return cudaErrorInvalidValue;
    *value = *known;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int ordinal) {
  return api_call([&] {
    if (properties == nullptr) return cudaErrorInvalidValue;
    Device* device = nullptr;
    const cudaError_t status = find(ordinal, device);
    if (status != cudaSuccess) return status;
    *properties = {};
    fill_identity(device->specification(), *properties);
    fill_limits(device->specification(), *properties);
    fill_memory(device->specification(), *properties);
    fill_abilities(device->specification(), *properties);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* bus_id, int length, int ordinal) {
  return api_call([&] {
    Device* device = nullptr;
    const cudaError_t status = find(ordinal, device);
    if (status != cudaSuccess) return status;
    const std::string text = device->specification().bus_id();
    if (bus_id == nullptr || length <= static_cast<int>(text.size())) return cudaErrorInvalidValue;
    std::memcpy(bus_id, text.c_str(), text.size() + 1);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSynchronize() {
  return api_call([&] {
    Device* const device = current_device();
    if (device == nullptr) return cudaErrorNoDevice;
    const cudaError_t forbidden = capture_forbids_waiting(*device);
    if (forbidden != cudaSuccess) return forbidden;
    StreamGraph::instance().synchronize(*device);
    return device->fault_code();
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return api_call([&] {
    const Device* const device = current_device();
    if (device == nullptr) return cudaErrorNoDevice;
    const bool has_priorities =
        device->specification().attribute_or_zero(cudaDevAttrStreamPrioritiesSupported) != 0;
    if (least != nullptr) *least = has_priorities ? least_priority : 0;
    if (greatest != nullptr) *greatest = has_priorities ? greatest_priority : 0;
    return device->fault_code();
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can_access, int ordinal, int peer) {
  return api_call([&] {
    if (can_access == nullptr) return cudaErrorInvalidValue;
    Device* device = nullptr;
    Device* other = nullptr;
    cudaError_t status = find(ordinal, device);
    if (status == cudaSuccess) status = find(peer, other);
    if (status != cudaSuccess) return status;
    *can_access = device != other && on_one_board(*device, *other) ? 1 : 0;
    return status;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
  return api_call([&] {
    if (flags != cudaPeerAccessDefault) return cudaErrorInvalidValue;
    Device* const device = current_device();
    if (device == nullptr) return cudaErrorNoDevice;
    const Device* const other = find_device(peer);
    if (other == nullptr || other == device) return cudaErrorInvalidDevice;
    if (!on_one_board(*device, *other)) return cudaErrorPeerAccessUnsupported;
    if (device->fault_code() != cudaSuccess) return device->fault_code();
    return device->enable_peer(peer) ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
  });
}
