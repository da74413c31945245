// A management library with two GPUs whose values tests choose. It has the name of NVML, so it is
// the one that the shim finds. With the header of the toolkit the compiler compares the functions.
#include <cstring>

#if __has_include(<nvml.h>)
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>
#else
extern "C" {
typedef struct nvmlDevice_st* nvmlDevice_t;
typedef enum { NVML_SUCCESS = 0, NVML_ERROR_NOT_FOUND = 6 } nvmlReturn_t;
typedef enum { NVML_TEMPERATURE_GPU = 0 } nvmlTemperatureSensors_t;
typedef enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 } nvmlClockType_t;
typedef struct {
  unsigned int gpu;
  unsigned int memory;
} nvmlUtilization_t;
typedef struct {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
} nvmlMemory_t;
}
#endif

namespace {

char known_uuid[64] = "";
int code_of_call[8] = {};

enum Call : int { init, by_uuid, memory, utilization, temperature, power, clock, reasons };

nvmlReturn_t outcome(Call call) { return static_cast<nvmlReturn_t>(code_of_call[call]); }

// The handles are numbers: the first GPU, which nobody looks for, and the second.
const nvmlDevice_t second = reinterpret_cast<nvmlDevice_t>(2);

bool is_second(nvmlDevice_t device) { return device == second; }

}  // namespace

extern "C" {

void fake_know(const char* uuid) { std::strncpy(known_uuid, uuid, sizeof(known_uuid) - 1); }
void fake_fail(int call, int code) { code_of_call[call] = code; }

nvmlReturn_t nvmlInit_v2(void) { return outcome(init); }

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  if (outcome(by_uuid) != NVML_SUCCESS) return outcome(by_uuid);
  if (std::strcmp(uuid, known_uuid) != 0) return NVML_ERROR_NOT_FOUND;
  *device = second;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory_info) {
  memory_info->total = 80ull << 30;
  memory_info->free = 60ull << 30;
  memory_info->used = is_second(device) ? 20ull << 30 : 0;
  return outcome(memory);
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* rates) {
  rates->gpu = is_second(device) ? 87 : 0;
  rates->memory = 41;
  return outcome(utilization);
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor,
                                      unsigned int* celsius) {
  *celsius = is_second(device) && sensor == NVML_TEMPERATURE_GPU ? 66 : 0;
  return outcome(temperature);
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int* milliwatts) {
  *milliwatts = is_second(device) ? 612345 : 0;
  return outcome(power);
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t, unsigned int* milliwatts) {
  *milliwatts = 700000;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type,
                                    unsigned int* megahertz) {
  if (!is_second(device)) *megahertz = 0;
  else *megahertz = type == NVML_CLOCK_SM ? 1755 : type == NVML_CLOCK_MEM ? 3201 : 0;
  return outcome(clock);
}

nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t,
                                                    unsigned long long* clock_reasons) {
  *clock_reasons = 0x4 | 0x40;
  return outcome(reasons);
}
}
