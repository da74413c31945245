// Reads affinity, sysconf, and the files of Linux control groups (versions 1 and 2).
#include "host/device/machine.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

namespace gridstride::host {
namespace {

bool has_name(const std::string& names, const std::string& wanted) {
  return ("," + names + ",").find("," + wanted + ",") != std::string::npos;
}

}  // namespace

std::string control_group_membership() {
  std::ifstream file("/proc/self/cgroup");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void for_each_control_group(const std::string& membership, const std::string& mount,
                            const std::string& controller,
                            const std::function<void(const std::string&, bool)>& visit) {
  std::istringstream lines(membership);
  std::string line;
  // number:controllers:path, with neither number nor controllers in version 2 ("0::/path").
  while (std::getline(lines, line)) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    if (path.empty() || path[0] != '/') continue;
    const bool is_unified = controllers.empty();
    if (!is_unified && !has_name(controllers, controller)) continue;
    const std::string root = is_unified ? mount : mount + "/" + controller;
    visit(root, is_unified);
    while (path.size() > 1) {
      visit(root + path, is_unified);
      path.erase(path.rfind('/'));
    }
  }
}

// ---- memory -------------------------------------------------------------------------------------

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

#if defined(__linux__)
#include <sched.h>
#endif

namespace gridstride::host {

// How many processors this process may use: the machine's, less what affinity and the quotas of
// control groups (containers) take away.

namespace {

constexpr unsigned max_workers = 256;

#if defined(__linux__)
unsigned allowed_processors() {
  // The set must be as large as the system's own, which can be more than cpu_set_t holds.
  for (int processors = CPU_SETSIZE; processors <= 1 << 20; processors *= 2) {
    cpu_set_t* set = CPU_ALLOC(processors);
    if (set == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(processors);
    const bool known = sched_getaffinity(0, bytes, set) == 0;
    const int count = known ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (known) return static_cast<unsigned>(count);
  }
  return std::thread::hardware_concurrency();
}
#else
unsigned allowed_processors() { return std::thread::hardware_concurrency(); }
#endif

unsigned processors_of(double quota, double period) {
  if (quota <= 0 || period <= 0) return 0;
  const double processors = quota / period;
  const auto whole = static_cast<unsigned>(std::min(processors, 1e6));
  return whole < processors ? whole + 1 : whole;
}

// Version 2: "max 100000" or "150000 100000".
unsigned unified_quota(const std::string& directory) {
  std::ifstream file(directory + "/cpu.max");
  double quota = 0;
  double period = 0;
  return file >> quota >> period ? processors_of(quota, period) : 0;
}

// Version 1: two files, the quota -1 where there is none.
unsigned controller_quota(const std::string& directory) {
  std::ifstream quota_file(directory + "/cpu.cfs_quota_us");
  std::ifstream period_file(directory + "/cpu.cfs_period_us");
  double quota = 0;
  double period = 0;
  return quota_file >> quota && period_file >> period ? processors_of(quota, period) : 0;
}

unsigned smaller_quota(unsigned one, unsigned other) {
  if (one == 0 || other == 0) return std::max(one, other);
  return std::min(one, other);
}

}  // namespace

unsigned quota_processors(const std::string& membership, const std::string& mount) {
  unsigned smallest = 0;
  for_each_control_group(membership, mount, "cpu",
                         [&](const std::string& directory, bool is_unified) {
                           smallest = smaller_quota(smallest, is_unified
                                                                  ? unified_quota(directory)
                                                                  : controller_quota(directory));
                         });
  return smallest;
}

unsigned worker_count_from(const char* text) {
  if (text == nullptr || *text == '\0') {
    const unsigned quota = quota_processors(control_group_membership(), "/sys/fs/cgroup");
    const unsigned processors = smaller_quota(allowed_processors(), quota);
    return std::min(std::max(processors, 2u), max_workers);
  }
  const std::string value = text;
  const bool digits = value.size() <= 3 && value.find_first_not_of("0123456789") == value.npos;
  const unsigned long count = digits ? std::strtoul(text, nullptr, 10) : 0;
  if (count >= 1 && count <= max_workers) return static_cast<unsigned>(count);
  throw std::invalid_argument(
      "Cannot start the host device's workers as GRIDSTRIDE_HOST_THREADS must be an integer from 1 "
      "to 256: it is '" +
      value + "'");
}

unsigned worker_count() { return worker_count_from(std::getenv("GRIDSTRIDE_HOST_THREADS")); }

bool is_order_reversed() {
  const char* const order = std::getenv("GRIDSTRIDE_HOST_ORDER");
  return order != nullptr && std::string(order) == "reverse";
}

}  // namespace gridstride::host
