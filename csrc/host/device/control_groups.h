// The control groups (containers) that limit this process on Linux; there are none elsewhere.
#ifndef GRIDSTRIDE_HOST_CONTROL_GROUPS_H
#define GRIDSTRIDE_HOST_CONTROL_GROUPS_H

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

}  // namespace gridstride::host

#endif
