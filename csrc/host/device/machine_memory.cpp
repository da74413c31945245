// Physical memory by sysconf, limits by the files of Linux control groups (versions 1 and 2).
#include "host/device/machine_memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "host/device/control_groups.h"

namespace gridstride::host {
namespace {

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

// A limit file holds a number, or "max" for none; it is absent outside Linux and in the root group.
std::uint64_t limit_in_file(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t limit = 0;
  return file >> limit ? limit : no_limit;
}

std::uint64_t control_group_limit() {
  std::uint64_t smallest = no_limit;
  for_each_control_group(control_group_membership(), "/sys/fs/cgroup", "memory",
                         [&](const std::string& directory, bool is_unified) {
                           const char* const file =
                               is_unified ? "/memory.max" : "/memory.limit_in_bytes";
                           smallest = std::min(smallest, limit_in_file(directory + file));
                         });
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
