// The share of the machine that this process may use: processors, memory, and the control groups
// (containers) that limit both.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace gridstride::host {

// The process's own /proc/self/cgroup; empty where there is none.
std::string control_group_membership();

// Calls visit(directory, is_unified) for each group that limits what the controller ("cpu",
// "memory") rules: the process's own, all above it, and the root of the mount, as inside a
// container the paths may be the host's and not exist. Version 2 of control groups is unified and
// lies directly in mount, version 1 has a folder for each controller. membership is the text of a
// /proc/<pid>/cgroup.
void for_each_control_group(const std::string& membership, const std::string& mount,
                            const std::string& controller,
                            const std::function<void(const std::string&, bool)>& visit);

// How much memory this process may use: the machine's, or less where a control group limits it.

// Bytes; the smallest of the physical memory and the limits of all enclosing control groups.
std::uint64_t machine_memory_bytes();

// How many processors this process may use.

// The number of workers: GRIDSTRIDE_HOST_THREADS where it is set, else the processors this process
// may use, and two at least: a kernel that waits for another one's result must not keep that one
// from running. Throws std::invalid_argument when the variable is no integer from 1 to 256.
unsigned worker_count();

// The same of a given text of the variable; null where it is not set.
unsigned worker_count_from(const char* text);

// Whether the warps of a block start with the last one: GRIDSTRIDE_HOST_ORDER is "reverse".
bool is_order_reversed();

// The processors that the quotas of a process's control groups amount to, rounded up, 0 without a
// quota. `membership` is the text of /proc/self/cgroup, `mount` where the groups are mounted.
unsigned quota_processors(const std::string& membership, const std::string& mount);

}  // namespace gridstride::host
