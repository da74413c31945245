// What a device of the host runtime claims to be: memory, attributes, name, uuid and bus id.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "gridstride/device_attributes.h"

namespace gridstride::host {

// A record of gs_topology_set: slot 0 is the memory in bytes, slot 1 + a is attribute a.
constexpr int record_slots = 161;
using DeviceRecord = std::array<double, record_slots>;

// CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: the runtime shares the driver's numbers
// but has no name for this one.
constexpr auto virtual_memory_attribute = static_cast<cudaDeviceAttr>(102);

class DeviceSpecification {
 public:
  // record must satisfy is_valid_record. ordinal counts all devices of the machine, also those
  // that CUDA_VISIBLE_DEVICES hides: name, uuid and bus id stay with the device.
  DeviceSpecification(const DeviceRecord& record, int ordinal);

  std::uint64_t total_memory() const { return total_memory_; }
  // Nothing for a number that is no attribute, or one that this device has no value for.
  std::optional<int> attribute(int id) const;
  // For attributes that is_valid_record demands, and where absent means none.
  int attribute_or_zero(int id) const { return attribute(id).value_or(0); }
  const cudaUUID_t& uuid() const { return uuid_; }
  std::string name() const;
  std::string bus_id() const;

 private:
  std::uint64_t total_memory_;
  DeviceRecord record_;
  cudaUUID_t uuid_;
};

// True when memory and attributes are integers of their types, within what this runtime can run,
// and the attributes that decide about launches are all there.
bool is_valid_record(const DeviceRecord& record);

// One device with the limits of compute capability 8.9, half of the memory the process may use,
// and a multiprocessor per core, as a core runs one block at a time.
DeviceRecord default_record();

// "GPU-" and 32 hexadecimal digits in CUDA's grouping.
std::string uuid_text(const cudaUUID_t& uuid);

}  // namespace gridstride::host
