// The grammar of CUDA_VISIBLE_DEVICES.
#include "host/device/visible_devices.h"

#include <algorithm>
#include <numeric>
#include <string_view>

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

}  // namespace gridstride::host
