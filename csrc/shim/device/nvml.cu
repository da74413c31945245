// NVML, the driver's management library: free memory without a context, and telemetry. The first
// call that needs it opens it.
#include <initializer_list>
#include <mutex>
#include <type_traits>

#include "shim/device/device.h"
#include "shim/device/driver_table.h"
#include "shim/guard.h"

namespace gridstride {

namespace {

// The few declarations of nvml.h that are needed; the toolkit need not be there to build this.
enum class NvmlReturn : int {
  success = 0,
  not_supported = 3,
  not_found = 6,
  library_not_found = 12,
  function_not_found = 13,
  unknown = 999,
};

enum class NvmlTemperatureSensor : int { gpu = 0 };

enum class NvmlClock : int { multiprocessors = 1, memory = 2 };

struct NvmlMemory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct NvmlUtilization {
  unsigned int gpu;
  unsigned int memory;
};

using NvmlDevice = struct NvmlDeviceTag*;

struct NvmlTable {
  NvmlReturn (*init)() = nullptr;
  NvmlReturn (*device_by_uuid)(const char* uuid, NvmlDevice* device) = nullptr;
  NvmlReturn (*memory_info)(NvmlDevice device, NvmlMemory* memory) = nullptr;
  // Any of these may be missing.
  NvmlReturn (*utilization)(NvmlDevice device, NvmlUtilization* utilization) = nullptr;
  NvmlReturn (*temperature)(NvmlDevice device, NvmlTemperatureSensor sensor,
                            unsigned int* celsius) = nullptr;
  NvmlReturn (*power)(NvmlDevice device, unsigned int* milliwatts) = nullptr;
  NvmlReturn (*power_limit)(NvmlDevice device, unsigned int* milliwatts) = nullptr;
  NvmlReturn (*clock)(NvmlDevice device, NvmlClock clock, unsigned int* megahertz) = nullptr;
  NvmlReturn (*throttle_reasons)(NvmlDevice device, unsigned long long* reasons) = nullptr;

  bool is_usable() const {
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
  const auto find = [library](const char* name, auto& function) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(library_symbol(library, name));
  };
  find("nvmlInit_v2", table.init);
  find("nvmlDeviceGetHandleByUUID", table.device_by_uuid);
  find("nvmlDeviceGetMemoryInfo", table.memory_info);
  find("nvmlDeviceGetUtilizationRates", table.utilization);
  find("nvmlDeviceGetTemperature", table.temperature);
  find("nvmlDeviceGetPowerUsage", table.power);
  find("nvmlDeviceGetEnforcedPowerLimit", table.power_limit);
  find("nvmlDeviceGetClockInfo", table.clock);
  // Its name since the drivers of CUDA 12.2, and the earlier one.
  find("nvmlDeviceGetCurrentClocksEventReasons", table.throttle_reasons);
  if (table.throttle_reasons == nullptr) {
    find("nvmlDeviceGetCurrentClocksThrottleReasons", table.throttle_reasons);
  }
  return table;
}

// The outcome of a call of NVML: our status, for errors, and NVML's code.
struct Outcome {
  CallKind kind = CallKind::none;
  int32_t status = GS_ERROR_UNSUPPORTED;
  NvmlReturn code = NvmlReturn::library_not_found;
};

template <class Make>
Outcome outcome_of(CallKind kind, const Make& make) {
  // An injected fault leaves the code as it is.
  NvmlReturn code = NvmlReturn::unknown;
  const int32_t status = attempt(kind, [&] { return code = make(); });
  return {kind, status, code};
}

const NvmlTable& management_library() {
  static const NvmlTable table = filled_from_library();
  return table;
}

// A failed initialisation is tried again by the next call: the driver may have been loading.
Outcome initialise(const NvmlTable& nvml) {
  static std::mutex mutex;
  static bool is_initialised = false;
  const std::lock_guard<std::mutex> lock(mutex);
  if (is_initialised) return {CallKind::nvmlInit_v2, 0, NvmlReturn::success};
  const Outcome outcome = outcome_of(CallKind::nvmlInit_v2, [&] { return nvml.init(); });
  is_initialised = outcome.status == 0;
  return outcome;
}

// NVML's handle of a device. Ordinals differ: only CUDA obeys CUDA_VISIBLE_DEVICES.
Outcome find_device(int device, NvmlDevice& found) {
  const NvmlTable& nvml = management_library();
  if (!nvml.is_usable()) return {};
  const Outcome initialised = initialise(nvml);
  if (initialised.status != 0) return initialised;
  const auto by_uuid = [&](const char* prefix) {
    const UuidText uuid = uuid_text(device, prefix);
    return outcome_of(CallKind::nvmlDeviceGetHandleByUUID,
                      [&] { return nvml.device_by_uuid(uuid.text, &found); });
  };
  const Outcome whole = by_uuid("GPU");
  if (whole.status != GS_ERROR_UNSUPPORTED) return whole;
  // CUDA does not say whether a device is a whole GPU or a part of one; NVML's name differs.
  return by_uuid("MIG");
}

// In the order of gs_device_telemetry.
enum Field : int {
  gpu_utilization,
  memory_utilization,
  memory_used,
  memory_total,
  temperature,
  power,
  power_limit,
  multiprocessor_clock,
  memory_clock,
  throttle_reasons,
  field_count
};

static_assert(field_count == GS_TELEMETRY_FIELDS, "the fields of gs_device_telemetry");

// Fills the fields that a call gives; `make` is not called without its function.
template <class Function, class Make>
void read_fields(double* fields, CallKind kind, Function function,
                 std::initializer_list<Field> given, const Make& make) {
  NvmlReturn code = NvmlReturn::function_not_found;
  if (function != nullptr) code = outcome_of(kind, make).code;
  for (const Field field : given) fields[field_count + field] = static_cast<double>(code);
}

}  // namespace

}  // namespace gridstride

using namespace gridstride;

int32_t gs_device_observe(int32_t device, double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    concern(device);
    NvmlDevice found = nullptr;
    const Outcome outcome = find_device(device, found);
    if (outcome.status != 0) fail_call(outcome.kind, outcome.status);
    NvmlMemory memory = {};
    call(CallKind::nvmlDeviceGetMemoryInfo,
         [&] { return management_library().memory_info(found, &memory); });
    result[0] = static_cast<double>(memory.free);
    result[1] = static_cast<double>(memory.total);
  });
}

int32_t gs_device_telemetry(int32_t device, double* fields) {
  return guarded([&] {
    require(fields != nullptr, GS_ERROR_ARGUMENT);
    concern(device);
    NvmlDevice found = nullptr;
    const NvmlReturn code = find_device(device, found).code;
    for (int field = 0; field < field_count; field++) {
      fields[field] = 0;
      fields[field_count + field] = static_cast<double>(code);
    }
    if (code != NvmlReturn::success) return;
    const NvmlTable& nvml = management_library();
    read_fields(fields, CallKind::nvmlDeviceGetUtilizationRates, nvml.utilization,
                {gpu_utilization, memory_utilization}, [&] {
                  NvmlUtilization utilization = {};
                  const NvmlReturn done = nvml.utilization(found, &utilization);
                  fields[gpu_utilization] = utilization.gpu;
                  fields[memory_utilization] = utilization.memory;
                  return done;
                });
    read_fields(fields, CallKind::nvmlDeviceGetMemoryInfo, nvml.memory_info,
                {memory_used, memory_total}, [&] {
                  NvmlMemory memory = {};
                  const NvmlReturn done = nvml.memory_info(found, &memory);
                  fields[memory_used] = static_cast<double>(memory.used);
                  fields[memory_total] = static_cast<double>(memory.total);
                  return done;
                });
    const auto read_number = [&](CallKind kind, auto function, Field field, auto... arguments) {
      read_fields(fields, kind, function, {field}, [&] {
        unsigned int value = 0;
        const NvmlReturn done = function(found, arguments..., &value);
        fields[field] = value;
        return done;
      });
    };
    read_number(CallKind::nvmlDeviceGetTemperature, nvml.temperature, temperature,
                NvmlTemperatureSensor::gpu);
    read_number(CallKind::nvmlDeviceGetPowerUsage, nvml.power, power);
    read_number(CallKind::nvmlDeviceGetEnforcedPowerLimit, nvml.power_limit, power_limit);
    read_number(CallKind::nvmlDeviceGetClockInfo, nvml.clock, multiprocessor_clock,
                NvmlClock::multiprocessors);
    read_number(CallKind::nvmlDeviceGetClockInfo, nvml.clock, memory_clock, NvmlClock::memory);
    read_fields(fields, CallKind::nvmlDeviceGetCurrentClocksEventReasons,
                nvml.throttle_reasons, {throttle_reasons}, [&] {
                  unsigned long long reasons = 0;
                  const NvmlReturn done = nvml.throttle_reasons(found, &reasons);
                  fields[throttle_reasons] = static_cast<double>(reasons);
                  return done;
                });
  });
}
