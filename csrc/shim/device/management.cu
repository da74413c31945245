// NVML, the driver's management library: the only one that tells a device's free memory without
// creating a context on it. Opened by the first call that needs it.
#include <mutex>

#include "shim/device/device.h"
#include "shim/device/shared_library.h"

namespace gridstride {

namespace {

// The few declarations of nvml.h that are needed; the toolkit need not be there to build this.
enum class NvmlReturn : int {
  success = 0,
  not_supported = 3,
  not_found = 6,
};

struct NvmlMemory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

using NvmlDevice = struct NvmlDeviceTag*;

struct NvmlTable {
  NvmlReturn (*init)() = nullptr;
  NvmlReturn (*device_by_uuid)(const char* uuid, NvmlDevice* device) = nullptr;
  NvmlReturn (*memory_info)(NvmlDevice device, NvmlMemory* memory) = nullptr;

  bool is_complete() const {
    return init != nullptr && device_by_uuid != nullptr && memory_info != nullptr;
  }
};

int32_t status_of(NvmlReturn code) {
  if (code == NvmlReturn::success) return 0;
  const bool has_none = code == NvmlReturn::not_supported || code == NvmlReturn::not_found;
  return has_none ? GS_ERROR_UNSUPPORTED : GS_ERROR_SYSTEM;
}

NvmlTable filled_from_library() {
  void* library = open_first_library({"libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"});
  NvmlTable table;
  table.init = reinterpret_cast<NvmlReturn (*)()>(library_symbol(library, "nvmlInit_v2"));
  table.device_by_uuid = reinterpret_cast<NvmlReturn (*)(const char*, NvmlDevice*)>(
      library_symbol(library, "nvmlDeviceGetHandleByUUID"));
  table.memory_info = reinterpret_cast<NvmlReturn (*)(NvmlDevice, NvmlMemory*)>(
      library_symbol(library, "nvmlDeviceGetMemoryInfo"));
  return table;
}

// The library, initialised. A failed initialisation is tried again by the next call: the driver
// may have been loading.
const NvmlTable& management_library() {
  static const NvmlTable table = filled_from_library();
  require(table.is_complete(), GS_ERROR_UNSUPPORTED);
  static std::mutex mutex;
  static bool is_initialised = false;
  const std::lock_guard<std::mutex> lock(mutex);
  if (!is_initialised) {
    call(CallKind::nvmlInit_v2, [] { return table.init(); });
    is_initialised = true;
  }
  return table;
}

NvmlDevice device_of(const NvmlTable& nvml, int device) {
  NvmlDevice found = nullptr;
  const UuidText whole = uuid_text(device, "GPU");
  const int32_t status = attempt(CallKind::nvmlDeviceGetHandleByUUID,
                                 [&] { return nvml.device_by_uuid(whole.text, &found); });
  if (status == 0) return found;
  if (status != GS_ERROR_UNSUPPORTED) fail_call(CallKind::nvmlDeviceGetHandleByUUID, status);
  // CUDA does not say whether a device is a whole GPU or a part of one; NVML's name differs.
  const UuidText part = uuid_text(device, "MIG");
  call(CallKind::nvmlDeviceGetHandleByUUID, [&] { return nvml.device_by_uuid(part.text, &found); });
  return found;
}

}  // namespace

}  // namespace gridstride

using namespace gridstride;

int32_t gs_device_observe(int32_t device, double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    concern(device);
    const NvmlTable& nvml = management_library();
    const NvmlDevice found = device_of(nvml, device);
    NvmlMemory memory = {};
    call(CallKind::nvmlDeviceGetMemoryInfo, [&] { return nvml.memory_info(found, &memory); });
    result[0] = static_cast<double>(memory.free);
    result[1] = static_cast<double>(memory.total);
  });
}
