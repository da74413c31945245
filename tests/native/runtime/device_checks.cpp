// Devices: the topology, attributes and identity, and which of them a process sees.
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <thread>

#include "check.h"
#include "host/device/device.h"
#include "host/device/topology.h"
#include "suites.h"
#include "visible_child.h"

namespace runtime_test {
namespace {

using gridstride::host::default_record;
using gridstride::host::DeviceRecord;
using gridstride::host::record_slots;
using gridstride::host::set_topology;
using gridstride::host::virtual_memory_attribute;
using gridstride::host::visible_ordinals;

double capacity_of(int device) {
  if (device == small_device) return small_capacity;
  if (device >= huge_device && device <= last_huge_device) return huge_capacity;
  return ordinary_capacity;
}

int set_one(const DeviceRecord& record) { return set_topology(record.data(), 1); }

void check_topology() {
  std::vector<double> topology = test_topology();
  CHECK(set_topology(topology.data(), device_total) == 0, "setting the same topology succeeds");
  CHECK(set_topology(topology.data(), device_total - 1) == 1, "fewer devices are another topology");
  CHECK(set_topology(topology.data(), 0) == 1, "no devices are another topology");
  topology[0] += 512;
  CHECK(set_topology(topology.data(), device_total) == 1, "other memory is another topology");
}

void check_malformed_topology() {
  const DeviceRecord sound = default_record();
  CHECK(set_topology(nullptr, 1) == 2, "records must be given");
  CHECK(set_topology(sound.data(), -1) == 2, "a negative count is malformed");
  struct Change {
    int slot;
    double value;
    const char* statement;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const Change changes[] = {
      {0, 0, "no memory is malformed"},
      {0, -1, "negative memory is malformed"},
      {0, nan, "memory that is no number is malformed"},
      {0, 0.5, "half a byte is malformed"},
      {0, infinity, "infinite memory is malformed"},
      {1 + cudaDevAttrMultiProcessorCount, 1.5, "half a multiprocessor is malformed"},
      {1 + cudaDevAttrMultiProcessorCount, 0x1p31, "an attribute beyond int is malformed"},
      {1 + cudaDevAttrMaxGridDimX, nan, "a device without grid limit is malformed"},
      {1 + cudaDevAttrMaxThreadsPerBlock, 1025, "more threads than the engine has are malformed"},
      {1 + cudaDevAttrWarpSize, 64, "a warp of 64 is malformed"},
  };
  for (const Change& change : changes) {
    DeviceRecord record = sound;
    record[static_cast<std::size_t>(change.slot)] = change.value;
    CHECK(set_one(record) == 2, change.statement);
  }
}

void check_attributes() {
  int value = 0;
  REQUIRE(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, first_device));
  CHECK(value == 8, "an attribute has the value of the record");
  CHECK_STATUS(cudaDeviceGetAttribute(&value, cudaDevAttrMemoryClockRate, first_device),
               cudaErrorInvalidValue, "an attribute without value is an invalid value");
  for (const int attribute : {0, -1, 160, 1 << 20}) {
    CHECK_STATUS(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(attribute), 0),
                 cudaErrorInvalidValue, "attribute " + std::to_string(attribute) + " is unknown");
  }
  CHECK_STATUS(cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0), cudaErrorInvalidValue,
               "an attribute needs a place for its value");
  CHECK_STATUS(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, device_total),
               cudaErrorInvalidDevice, "the ordinal behind the last device is invalid");
  CHECK_STATUS(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, -1), cudaErrorInvalidDevice,
               "a negative ordinal is invalid");
}

void check_identity() {
  std::set<std::string> uuids;
  std::set<std::string> buses;
  bool capacities = true;
  for (int device = 0; device < device_total; ++device) {
    cudaDeviceProp properties;
    REQUIRE(cudaGetDeviceProperties(&properties, device));
    uuids.insert(std::string(properties.uuid.bytes, 16));
    char bus[13];
    REQUIRE(cudaDeviceGetPCIBusId(bus, sizeof bus, device));
    buses.insert(bus);
    capacities = capacities && properties.totalGlobalMem == capacity_of(device);
  }
  CHECK(uuids.size() == device_total, "uuids are distinct");
  CHECK(buses.size() == device_total, "bus ids are distinct");
  CHECK(capacities, "every device has the memory of its record");
  char too_short[12];
  CHECK_STATUS(cudaDeviceGetPCIBusId(too_short, sizeof too_short, 0), cudaErrorInvalidValue,
               "a bus id needs its ending zero");
  cudaDeviceProp properties;
  REQUIRE(cudaGetDeviceProperties(&properties, 0));
  CHECK(std::strcmp(properties.name, "Gridstride host device (8.9)") == 0,
        "the name says what the device is");
  CHECK(properties.maxThreadsPerBlock == 1024 && properties.maxGridSize[1] == 65535 &&
            properties.sharedMemPerBlockOptin == 99 * 1024 && properties.warpSize == 32,
        "properties repeat the attributes");
}

void check_current_device() {
  REQUIRE(cudaSetDevice(second_device));
  int elsewhere = -1;
  std::thread([&] { REQUIRE(cudaGetDevice(&elsewhere)); }).join();
  CHECK(elsewhere == 0, "another thread starts with device 0");
  int here = -1;
  REQUIRE(cudaGetDevice(&here));
  CHECK(here == second_device, "cudaSetDevice changes the calling thread's device");
  CHECK_STATUS(cudaSetDevice(device_total), cudaErrorInvalidDevice, "an absent device is refused");
  REQUIRE(cudaGetDevice(&here));
  CHECK(here == second_device, "a refused device changes nothing");
  REQUIRE(cudaSetDevice(first_device));
}

void check_last_error() {
  (void)cudaGetLastError();
  (void)cudaSetDevice(-1);
  std::thread([] {
    CHECK_STATUS(cudaGetLastError(), cudaSuccess, "the last error is the thread's own");
  }).join();
  int count = 0;
  REQUIRE(cudaGetDeviceCount(&count));
  CHECK_STATUS(cudaPeekAtLastError(), cudaErrorInvalidDevice, "peeking shows the last error");
  CHECK_STATUS(cudaGetLastError(), cudaErrorInvalidDevice, "success does not clear it");
  CHECK_STATUS(cudaGetLastError(), cudaSuccess, "reading clears it");
  CHECK(std::strcmp(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress") == 0 &&
            std::strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory") == 0,
        "errors have CUDA's names and texts");
  CHECK(std::strcmp(cudaGetErrorName(static_cast<cudaError_t>(11)), "unrecognized error code") == 0,
        "a gap in the numbering has no name");
}

void check_versions_and_peers() {
  int driver = 0;
  int runtime = 0;
  REQUIRE(cudaDriverGetVersion(&driver));
  REQUIRE(cudaRuntimeGetVersion(&runtime));
  CHECK(driver == 13000 && runtime == 13000, "driver and runtime are of version 13.0");
  int can = -1;
  REQUIRE(cudaDeviceCanAccessPeer(&can, first_device, second_device));
  CHECK(can == 1, "two devices are peers");
  REQUIRE(cudaDeviceCanAccessPeer(&can, first_device, first_device));
  CHECK(can == 0, "a device is no peer of itself");
  CHECK_STATUS(cudaDeviceEnablePeerAccess(second_device, 0), cudaSuccess, "peers can be enabled");
  CHECK_STATUS(cudaDeviceEnablePeerAccess(second_device, 0), cudaErrorPeerAccessAlreadyEnabled,
               "peers cannot be enabled twice");
  CHECK_STATUS(cudaDeviceEnablePeerAccess(first_device, 0), cudaErrorInvalidDevice,
               "a device cannot be enabled for itself");
  CHECK_STATUS(cudaDeviceEnablePeerAccess(huge_device, 1), cudaErrorInvalidValue,
               "peer access has no flags");
}

std::string joined(const std::vector<int>& ordinals) {
  std::string text;
  for (const int ordinal : ordinals) text += std::to_string(ordinal) + ";";
  return text;
}

void check_visible_ordinals() {
  const std::vector<std::string> uuids = {"GPU-ab01", "GPU-ab02", "GPU-cd01"};
  struct Case {
    const char* value;
    const char* expected;
  };
  const Case cases[] = {
      {nullptr, "0;1;2;"}, {"", ""},          {"1", "1;"},      {"2,0", "2;0;"},
      {" 1 , 2", "1;2;"},  {"0,-1,1", "0;"},  {"-1", ""},       {"0,3,1", "0;"},
      {"0,,1", "0;"},      {"0,0", ""},       {"GPU-cd", "2;"}, {"GPU-ab", ""},
      {"GPU-ab02,0", "1;0;"}, {"gpu-cd", ""}, {"0x1", ""},      {"99999999999999999999", ""},
      {"0,GPU-ab01", ""},  {"NoDevFiles", ""},
  };
  for (const Case& one : cases) {
    const std::string shown = one.value == nullptr ? "unset" : "'" + std::string(one.value) + "'";
    CHECK(joined(visible_ordinals(one.value, uuids)) == one.expected,
          "CUDA_VISIBLE_DEVICES " + shown + " selects '" + one.expected + "'");
  }
}

void check_children() {
  const auto visible = [](const char* value) {
    return run_as_child("child-visible", "CUDA_VISIBLE_DEVICES", value);
  };
  CHECK(visible("2,0") == "cudaSuccess 2 0000:03:00.0 0000:01:00.0",
        "visible devices are renumbered and keep their bus ids");
  CHECK(visible("") == "cudaErrorNoDevice 0", "no visible device is no device");
  CHECK(visible("77") == "cudaErrorNoDevice 0", "an ordinal beyond the last hides all");
  const std::string all = "cudaSuccess " + std::to_string(device_total) + " ";
  CHECK(run_as_child("child-visible", "CUDA_DEVICE_ORDER", "PCI_BUS_ID").rfind(all, 0) == 0,
        "CUDA_DEVICE_ORDER is accepted");
  CHECK(run_as_child("child-blocking", "CUDA_LAUNCH_BLOCKING", "1") == "cudaSuccess",
        "CUDA_LAUNCH_BLOCKING=1 makes launches wait");
  CHECK(run_as_child("child-blocking", "CUDA_LAUNCH_BLOCKING", "0") == "cudaErrorNotReady",
        "without it launches return at once");
  CHECK(run_as_child("child-default", "CUDA_LAUNCH_BLOCKING", "0") ==
            "1 Gridstride host device (8.9) with memory",
        "without a topology there is one device of capability 8.9");
}

}  // namespace

std::vector<double> test_topology() {
  std::vector<double> records;
  for (int device = 0; device < device_total; ++device) {
    DeviceRecord record = default_record();
    record[0] = capacity_of(device);
    if (device == plain_device) {
      record[1 + virtual_memory_attribute] = std::numeric_limits<double>::quiet_NaN();
    }
    records.insert(records.end(), record.begin(), record.end());
  }
  return records;
}

void check_devices() {
  int count = 0;
  REQUIRE(cudaGetDeviceCount(&count));
  CHECK(count == device_total, "all devices of the topology are there");
  check_topology();
  check_malformed_topology();
  check_attributes();
  check_identity();
  check_current_device();
  check_last_error();
  check_versions_and_peers();
}

void check_visibility() {
  check_visible_ordinals();
  check_children();
}

}  // namespace runtime_test
