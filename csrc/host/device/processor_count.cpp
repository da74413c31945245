// How many processors this process may use: the machine's, less what affinity and the quotas of
// control groups (containers) take away.
#include "host/device/processor_count.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

#include "host/device/control_groups.h"

namespace gridstride::host {
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

}  // namespace gridstride::host
