// The devices of the process: the topology, and CUDA_VISIBLE_DEVICES.
#include "host/device/topology.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <numeric>
#include <string_view>
#include <tuple>

#include "host/device/device.h"

namespace gridstride::host {
namespace {

constexpr int no_device = -1;

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

int device_of_ordinal(std::string_view entry, int count) {
  int ordinal = 0;
  for (const char digit : entry) {
    if (digit < '0' || digit > '9') return no_device;
    ordinal = ordinal * 10 + (digit - '0');
    if (ordinal >= count) return no_device;
  }
  return ordinal;
}

int device_of_uuid(std::string_view prefix, const std::vector<std::string>& uuids) {
  int found = no_device;
  for (std::size_t index = 0; index < uuids.size(); ++index) {
    if (std::string_view(uuids[index]).substr(0, prefix.size()) != prefix) continue;
    if (found != no_device) return no_device;
    found = static_cast<int>(index);
  }
  return found;
}

int device_of_entry(std::string_view entry, const std::vector<std::string>& uuids) {
  if (entry.empty()) return no_device;
  if (entry.substr(0, 4) == "GPU-") return device_of_uuid(entry, uuids);
  return device_of_ordinal(entry, static_cast<int>(uuids.size()));
}

}  // namespace

std::vector<int> visible_ordinals(const char* value, const std::vector<std::string>& uuids) {
  std::vector<int> visible;
  if (value == nullptr) {
    visible.resize(uuids.size());
    std::iota(visible.begin(), visible.end(), 0);
    return visible;
  }
  std::string_view rest = value;
  for (;;) {
    const auto comma = rest.find(',');
    const int device = device_of_entry(trimmed(rest.substr(0, comma)), uuids);
    if (device == no_device) return visible;
    if (std::find(visible.begin(), visible.end(), device) != visible.end()) return {};
    visible.push_back(device);
    if (comma == std::string_view::npos) return visible;
    rest.remove_prefix(comma + 1);
  }
}

// ---- the topology, set once by set_topology or by the first function that needs it --------------

namespace {

// The grammar of GRIDSTRIDE_FAKE allows 64 devices in one item; ordinals fit into two bytes.
constexpr int max_devices = 4096;

enum TopologyStatus { topology_set = 0, topology_differs = 1, topology_malformed = 2 };

struct Topology {
  std::mutex mutex;
  bool is_set = false;
  std::vector<DeviceRecord> records;
};

Topology& topology() {
  static Topology& only = *new Topology;
  return only;
}

// Absent attributes are NaN, of which one is as good as another.
bool same_value(double left, double right) {
  return left == right || (std::isnan(left) && std::isnan(right));
}

bool same_record(const DeviceRecord& left, const DeviceRecord& right) {
  return std::equal(left.begin(), left.end(), right.begin(), same_value);
}

bool same_records(const std::vector<DeviceRecord>& left, const std::vector<DeviceRecord>& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), same_record);
}

bool read_records(const double* values, int count, std::vector<DeviceRecord>& records) {
  if (count < 0 || count > max_devices || (count > 0 && values == nullptr)) return false;
  records.resize(static_cast<std::size_t>(count));
  for (DeviceRecord& record : records) {
    std::memcpy(record.data(), values, sizeof record);
    values += record_slots;
    if (!is_valid_record(record)) return false;
  }
  return true;
}

std::vector<DeviceSpecification> specifications_of(const std::vector<DeviceRecord>& records) {
  std::vector<DeviceSpecification> specifications;
  for (const DeviceRecord& record : records) {
    specifications.emplace_back(record, static_cast<int>(specifications.size()));
  }
  return specifications;
}

}  // namespace

int set_topology(const double* values, int count) {
  std::vector<DeviceRecord> records;
  if (!read_records(values, count, records)) return topology_malformed;
  Topology& current = topology();
  const std::lock_guard<std::mutex> lock(current.mutex);
  if (current.is_set) {
    return same_records(current.records, records) ? topology_set : topology_differs;
  }
  current.records = std::move(records);
  current.is_set = true;
  return topology_set;
}

// The devices are given in the order of their buses, which is the default here. FASTEST_FIRST sorts
// by compute capability, then by multiprocessors times clock rate: NVIDIA documents only "a simple
// heuristic".
void order_devices(std::vector<DeviceSpecification>& all) {
  const char* const order = std::getenv("CUDA_DEVICE_ORDER");
  if (order == nullptr || std::strcmp(order, "FASTEST_FIRST") != 0) return;
  const auto speed = [](const DeviceSpecification& device) {
    const double rate = device.attribute(cudaDevAttrClockRate).value_or(1);
    return std::tuple(device.attribute_or_zero(cudaDevAttrComputeCapabilityMajor),
                      device.attribute_or_zero(cudaDevAttrComputeCapabilityMinor),
                      device.attribute_or_zero(cudaDevAttrMultiProcessorCount) * rate);
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const auto& a, const auto& b) { return speed(a) > speed(b); });
}

std::vector<DeviceSpecification> fix_topology() {
  std::vector<DeviceSpecification> all;
  {
    Topology& current = topology();
    const std::lock_guard<std::mutex> lock(current.mutex);
    if (!current.is_set) {
      current.records = {default_record()};
      current.is_set = true;
    }
    all = specifications_of(current.records);
  }
  order_devices(all);
  std::vector<std::string> uuids;
  for (const DeviceSpecification& specification : all) {
    uuids.push_back(uuid_text(specification.uuid()));
  }
  std::vector<DeviceSpecification> visible;
  for (const int ordinal : visible_ordinals(std::getenv("CUDA_VISIBLE_DEVICES"), uuids)) {
    visible.push_back(all[static_cast<std::size_t>(ordinal)]);
  }
  return visible;
}

}  // namespace gridstride::host
