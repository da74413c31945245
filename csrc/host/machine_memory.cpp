// Physical memory by sysconf, limits by the files of Linux control groups (versions 1 and 2).
#include "machine_memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace gridstride::host {
namespace {

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

// A limit file holds a number, or "max" for none; it is absent outside Linux and in the root group.
std::uint64_t limit_in_file(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t limit = 0;
  return file >> limit ? limit : no_limit;
}

// A group is bounded by all groups above it, and a container may see its own group as the root.
std::uint64_t smallest_limit_upwards(const std::string& mount, std::string group,
                                     const std::string& file) {
  std::uint64_t smallest = limit_in_file(mount + "/" + file);
  while (!group.empty() && group != "/") {
    smallest = std::min(smallest, limit_in_file(mount + group + "/" + file));
    group.erase(group.find_last_of('/'));
  }
  return smallest;
}

// /proc/self/cgroup has lines "hierarchy:controllers:group"; version 2 names no controllers.
std::uint64_t control_group_limit() {
  std::uint64_t smallest = no_limit;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (group.empty() || group.front() != '/') continue;
    if (controllers == ",,") {
      smallest = std::min(smallest, smallest_limit_upwards("/sys/fs/cgroup", group, "memory.max"));
    } else if (controllers.find(",memory,") != std::string::npos) {
      smallest = std::min(smallest, smallest_limit_upwards("/sys/fs/cgroup/memory", group,
                                                           "memory.limit_in_bytes"));
    }
  }
  return smallest;
}

}  // namespace

std::uint64_t machine_memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  const std::uint64_t physical =
      pages > 0 && page_bytes > 0
          ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes)
          : std::uint64_t{1} << 30;
  return std::min(physical, control_group_limit());
}

}  // namespace gridstride::host
