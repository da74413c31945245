// Devices: the host library's topology, and what a device says of itself.
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "check.h"
#include "suites.h"

namespace {

using Records = std::vector<double>;

// Two devices of capability 8.9 with 1 and 2 GiB, of which nothing is known but what a launch
// needs.
Records two_devices() {
  struct Attribute {
    int id;
    double value;
  };
  constexpr Attribute attributes[] = {
      {1, 1024},  {2, 1024},   {3, 1024}, {4, 64}, {5, 2147483647}, {6, 65535},      {7, 65535},
      {8, 49152}, {10, 32},    {16, 2},   {75, 8}, {76, 9},         {97, 99 * 1024}, {81, 102400},
      {39, 1536}, {12, 65536}, {102, 1},  {95, 1}, {106, 24}};
  Records records(2 * GS_TOPOLOGY_RECORD_SLOTS, std::numeric_limits<double>::quiet_NaN());
  for (int device = 0; device < 2; device++) {
    double* const record = &records[static_cast<size_t>(device * GS_TOPOLOGY_RECORD_SLOTS)];
    record[0] = (device + 1) * 1073741824.0;
    for (const Attribute& attribute : attributes) record[1 + attribute.id] = attribute.value;
  }
  return records;
}

std::string text_of(int32_t (*function)(int32_t, char*, int32_t), int32_t device) {
  char text[256] = {};
  return function(device, text, sizeof(text)) == 0 ? text : "";
}

void check_identity(int32_t device) {
  const std::string of = " of device " + std::to_string(device);
  check(!text_of(gs.gs_device_name, device).empty(), "the name" + of);
  const std::string uuid = text_of(gs.gs_device_uuid, device);
  check(uuid.size() == 40 && uuid.rfind("GPU-", 0) == 0 && uuid[12] == '-' && uuid[17] == '-',
        "the uuid" + of);
  const std::string bus = text_of(gs.gs_device_bus, device);
  check(bus.size() >= 12 && bus[4] == ':' && bus[7] == ':' && bus[10] == '.', "the bus" + of);
  check(text_of(gs.gs_device_fault, device).empty() &&
            gs.gs_device_fault(device, nullptr, 0) == GS_ERROR_ARGUMENT,
        "no fault" + of);
  double capacity = 0;
  double memory[2] = {};
  check_status(gs.gs_device_capacity(device, &capacity), 0, "the capacity" + of);
  check_status(gs.gs_device_memory(device, memory), 0, "the memory" + of);
  check(memory[0] > 0 && memory[0] <= memory[1] && memory[1] <= capacity, "is within it");
  double observed[2] = {};
  const int32_t status = gs.gs_device_observe(device, observed);
  check(status == GS_ERROR_UNSUPPORTED || (status == 0 && observed[0] <= observed[1]),
        "free memory by NVML" + of + ", or no NVML");
}

}  // namespace

void check_topology() {
  const Records records = two_devices();
  if (!is_host()) {
    check_status(gs.gs_topology_set(records.data(), 2), GS_ERROR_UNSUPPORTED,
                 "a topology for real devices");
    return;
  }
  Records without_threads = records;
  without_threads[2] = std::nan("");
  check_status(gs.gs_topology_set(without_threads.data(), 2), GS_ERROR_ARGUMENT,
               "a topology with a device that can run nothing");
  check_status(gs.gs_topology_set(records.data(), 2), 0, "a topology of two devices");
  check_status(gs.gs_topology_set(records.data(), 2), 0, "the same again");
  check_status(gs.gs_topology_set(records.data(), 1), GS_ERROR_CONFIGURED, "another");
  double count = 0;
  check(gs.gs_device_count(&count) == 0 && count == 2, "there are two devices then");
}

void check_devices() {
  double count = 0;
  gs.gs_device_count(&count);
  const int32_t none = static_cast<int32_t>(count);
  double versions[2] = {};
  check_status(gs.gs_device_versions(versions), 0, "gs_device_versions()");
  check(versions[0] >= 12000 && versions[1] >= 12000, "they are CUDA's encoding");
  for (int32_t device = 0; device < none; device++) check_identity(device);

  double value = -1;
  check(gs.gs_device_attribute(0, 10, &value) == 0 && value == 32, "a warp has 32 lanes");
  check_status(gs.gs_device_attribute(0, 10, nullptr), GS_ERROR_ARGUMENT, "no result");
  check_status(gs.gs_device_attribute(0, 100000, &value), 1, "an attribute there is not");
  char text[64];
  for (const int32_t device : {none, -1, INT32_MAX, INT32_MIN}) {
    const std::string of = " of device " + std::to_string(device);
    check_status(gs.gs_device_attribute(device, 10, &value), GS_ERROR_DEVICE, "an attribute" + of);
    check_status(gs.gs_device_name(device, text, 64), GS_ERROR_DEVICE, "the name" + of);
    check_status(gs.gs_device_fault(device, text, 64), GS_ERROR_DEVICE, "the fault" + of);
    check_status(gs.gs_device_open(device), GS_ERROR_DEVICE, "opening" + of);
    check_status(gs.gs_stream_create(device, 0, &value), GS_ERROR_DEVICE, "a stream" + of);
  }
  double last[3] = {};
  gs.gs_error_last(last);
  check_equal(last[2], INT32_MIN, "a failure names the device");
  check_status(gs.gs_device_open(0), 0, "opening device 0");
  check_status(gs.gs_device_synchronize(0), 0, "waiting for it");
}
