// Devices: properties, opening, waiting, peers.
#include "shim/device/device.h"

#include <cuda_runtime.h>  // defines __CUDASIM__ where the runtime is the host device's

#include <cstdio>

#include "shim/device/driver_table.h"
#include "shim/guard.h"

namespace gridstride {

namespace {

cudaDeviceProp properties_of(int device) {
  concern(device);
  cudaDeviceProp properties;
  GS_CALL(cudaGetDeviceProperties, &properties, device);
  return properties;
}

struct MemoryInformation {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
};

MemoryInformation memory_of_current_device() {
  MemoryInformation memory;
  GS_CALL(cudaMemGetInfo, &memory.free_bytes, &memory.total_bytes);
  return memory;
}

}  // namespace

int device_attribute(int device, int attribute) {
  concern(device);
  int value = 0;
  const int32_t status =
      GS_ATTEMPT(cudaDeviceGetAttribute, &value, static_cast<cudaDeviceAttr>(attribute), device);
  if (status == 0) return value;
  // CUDA does not document that the runtime passes on attributes for which it has no name.
  const DriverTable& driver = driver_table();
  if (status != cudaErrorInvalidValue || driver.device_get_attribute == nullptr) {
    fail_call(CallKind::cudaDeviceGetAttribute, status);
  }
  call(CallKind::cuDeviceGetAttribute, [&] {
    return driver.device_get_attribute(&value, static_cast<CUdevice_attribute>(attribute), device);
  });
  return value;
}

UuidText uuid_text(int device, const char* prefix) {
  const cudaDeviceProp properties = properties_of(device);
  unsigned char byte[16];
  static_assert(sizeof(properties.uuid) == sizeof(byte), "a uuid is 16 bytes");
  std::memcpy(byte, &properties.uuid, sizeof(byte));
  UuidText uuid;
  std::snprintf(uuid.text, sizeof(uuid.text),
                "%.3s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", prefix,
                byte[0], byte[1], byte[2], byte[3], byte[4], byte[5], byte[6], byte[7], byte[8],
                byte[9], byte[10], byte[11], byte[12], byte[13], byte[14], byte[15]);
  return uuid;
}

}  // namespace gridstride

using namespace gridstride;

int32_t gs_topology_set(const double* devices, int32_t count) {
  return guarded([&] {
    require(count >= 0 && (devices != nullptr || count == 0), GS_ERROR_ARGUMENT);
    set_topology(devices, count);
  });
}

int32_t gs_device_count(double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    int count = 0;
    GS_CALL(cudaGetDeviceCount, &count);
    result[0] = count;
  });
}

int32_t gs_device_versions(double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    int driver = 0;
    int runtime = 0;
    GS_CALL(cudaDriverGetVersion, &driver);
    GS_CALL(cudaRuntimeGetVersion, &runtime);
    result[0] = driver;
    result[1] = runtime;
  });
}

int32_t gs_device_attribute(int32_t device, int32_t attribute, double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    result[0] = device_attribute(device, attribute);
  });
}

int32_t gs_device_name(int32_t device, char* text, int32_t capacity) {
  return guarded([&] { write_text(properties_of(device).name, text, capacity); });
}

int32_t gs_device_bus(int32_t device, char* text, int32_t capacity) {
  return guarded([&] {
    concern(device);
    char bus_id[32] = {};
    GS_CALL(cudaDeviceGetPCIBusId, bus_id, static_cast<int>(sizeof(bus_id)), device);
    write_text(bus_id, text, capacity);
  });
}

int32_t gs_device_uuid(int32_t device, char* text, int32_t capacity) {
  return guarded([&] { write_text(uuid_text(device, "GPU").text, text, capacity); });
}

int32_t gs_device_capacity(int32_t device, double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    result[0] = static_cast<double>(properties_of(device).totalGlobalMem);
  });
}

int32_t gs_device_open(int32_t device) {
  return guarded([&] {
    make_current(device);
    // cudaSetDevice has created the context. Only a use of it shows that it works.
    memory_of_current_device();
  });
}

int32_t gs_device_memory(int32_t device, double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    make_current(device);
    const MemoryInformation memory = memory_of_current_device();
    result[0] = static_cast<double>(memory.free_bytes);
    result[1] = static_cast<double>(memory.total_bytes);
  });
}

int32_t gs_device_synchronize(int32_t device) {
  return guarded([&] {
    make_current(device);
    GS_CALL(cudaDeviceSynchronize);
  });
}

int32_t gs_device_peer(int32_t device, int32_t peer, double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    concern(device);
    require(peer >= 0, GS_ERROR_DEVICE);
    int can_access = 0;
    GS_CALL(cudaDeviceCanAccessPeer, &can_access, device, peer);
    result[0] = can_access;
  });
}

int32_t gs_device_join(int32_t device, int32_t peer) {
  return guarded([&] {
    make_current(device);
    require(peer >= 0, GS_ERROR_DEVICE);
    const int32_t status = GS_ATTEMPT(cudaDeviceEnablePeerAccess, peer, 0u);
    if (status == cudaErrorPeerAccessAlreadyEnabled) return;
    if (status != 0) fail_call(CallKind::cudaDeviceEnablePeerAccess, status);
  });
}

int32_t gs_device_fault(int32_t device, char* text, int32_t capacity) {
  return guarded([&] {
    concern(device);
    int count = 0;
    GS_CALL(cudaGetDeviceCount, &count);
    require(device < count, GS_ERROR_DEVICE);
    write_text(fault_description(device), text, capacity);
  });
}

int32_t gs_device_limit(int32_t device, double milliseconds) {
  return guarded([&] {
    concern(device);
    require(milliseconds >= 0 && milliseconds < 2147483648.0, GS_ERROR_ARGUMENT);
    set_time_limit(device, milliseconds);
  });
}

#ifdef __CUDASIM__
#include "host/device/device.h"
#endif

namespace gridstride {

// ---- differences between the two libraries -----------------------------------------------------

#ifdef __CUDASIM__

const char* library_kind() { return "host"; }

void set_topology(const double* records, int32_t count) {
  enum Outcome { accepted = 0, already_different = 1, malformed = 2 };
  const int outcome = host::set_topology(records, count);
  require(outcome != already_different, GS_ERROR_CONFIGURED);
  require(outcome == accepted, GS_ERROR_ARGUMENT);
}

void set_time_limit(int device, double milliseconds) {
  require(host::set_time_limit(device, milliseconds), GS_ERROR_DEVICE);
}

std::string fault_description(int device) { return host::fault_description(device); }

#else

const char* library_kind() { return "cuda"; }

void set_topology(const double*, int32_t) { fail(GS_ERROR_UNSUPPORTED); }

void set_time_limit(int, double) { fail(GS_ERROR_UNSUPPORTED); }

std::string fault_description(int) { return {}; }

#endif

}  // namespace gridstride
