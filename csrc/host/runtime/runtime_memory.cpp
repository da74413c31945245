// The CUDA runtime API: device memory, registered host memory, and what an address is.
#include "gridstride/runtime_api.h"
#include "host/device/device.h"
#include "host/graph/capture.h"
#include "host/memory/host_memory.h"
#include "host/memory/virtual_memory.h"
#include "host/module/loaded_module.h"
#include "host/runtime/errors.h"
#include "host/stream/stream_graph.h"

using namespace gridstride::host;

namespace {

constexpr unsigned known_register_flags = cudaHostRegisterPortable | cudaHostRegisterMapped |
                                          cudaHostRegisterIoMemory | cudaHostRegisterReadOnly;

// The calling thread's device, unless there is none or its context is lost.
cudaError_t usable_device(Device*& device) {
  device = current_device();
  return device == nullptr ? cudaErrorNoDevice : device->fault_code();
}

cudaError_t allocate(void** address, std::size_t bytes) {
  if (address == nullptr) return cudaErrorInvalidValue;
  Device* device = nullptr;
  cudaError_t status = usable_device(device);
  if (status == cudaSuccess) status = capture_forbids();
  if (status != cudaSuccess) return status;
  if (bytes == 0) {
    *address = nullptr;
    return cudaSuccess;
  }
  void* const allocated = device->memory().allocate(bytes);
  if (allocated == nullptr) return cudaErrorMemoryAllocation;
  *address = allocated;
  return cudaSuccess;
}

// Memory of a device with a fault is freed as well: the caller gets the fault, and nothing leaks.
cudaError_t release(void* address) {
  if (address == nullptr) return cudaSuccess;
  Device* const device = device_of_address(address);
  if (device == nullptr || !device->memory().begins_at(address)) return cudaErrorInvalidValue;
  const cudaError_t forbidden = capture_forbids();
  if (forbidden != cudaSuccess) return forbidden;
  StreamGraph::instance().synchronize(*device);
  if (!device->memory().release(address)) return cudaErrorInvalidValue;
  return device->fault_code();
}

// A freed or unknown address counts as unregistered: CUDA does not check more.
void describe(cudaPointerAttributes& attributes, const void* address) {
  void* const pointer = const_cast<void*>(address);
  attributes = {cudaMemoryTypeUnregistered, cudaInvalidDeviceId, nullptr, pointer};
  Device* const device = device_of_address(address);
  int registered_on = cudaInvalidDeviceId;
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  if (const auto memory = VirtualMemory::instance().mappings().memory_at(number)) {
    attributes = {cudaMemoryTypeDevice, memory->device.ordinal(), pointer, nullptr};
  } else if (device != nullptr && device->memory().hold(address, 1) != nullptr) {
    attributes = {cudaMemoryTypeDevice, device->ordinal(), pointer, nullptr};
  } else if (const auto module = ModuleVariables::instance().module_at(address)) {
    attributes = {cudaMemoryTypeDevice, module->device().ordinal(), pointer, nullptr};
  } else if (RegisteredMemory::instance().covers(address, 1, &registered_on)) {
    attributes = {cudaMemoryTypeHost, registered_on, pointer, pointer};
  }
}

}  // namespace

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return api_call([&] {
    if (free_bytes == nullptr || total_bytes == nullptr) return cudaErrorInvalidValue;
    Device* device = nullptr;
    const cudaError_t status = usable_device(device);
    if (status != cudaSuccess) return status;
    *free_bytes = device->memory().free_bytes();
    *total_bytes = device->memory().capacity();
    return cudaSuccess;
  });
}

cudaError_t cudaMalloc(void** address, size_t bytes) {
  return api_call([&] { return allocate(address, bytes); });
}

cudaError_t cudaFree(void* address) {
  return api_call([&] { return release(address); });
}

cudaError_t cudaHostRegister(void* address, size_t bytes, unsigned int flags) {
  return api_call([&] {
    if ((flags & ~known_register_flags) != 0) return cudaErrorInvalidValue;
    if ((flags & cudaHostRegisterIoMemory) != 0) return cudaErrorNotSupported;
    Device* device = nullptr;
    cudaError_t status = usable_device(device);
    if (status == cudaSuccess) status = capture_forbids();
    if (status != cudaSuccess) return status;
    return RegisteredMemory::instance().add(address, bytes, device->ordinal());
  });
}

cudaError_t cudaHostUnregister(void* address) {
  return api_call([&] {
    const cudaError_t forbidden = capture_forbids();
    return forbidden == cudaSuccess ? RegisteredMemory::instance().remove(address) : forbidden;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  return api_call([&] {
    if (attributes == nullptr) return cudaErrorInvalidValue;
    describe(*attributes, address);
    return cudaSuccess;
  });
}
