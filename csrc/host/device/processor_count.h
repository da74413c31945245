// How many processors this process may use.
#ifndef GRIDSTRIDE_HOST_PROCESSOR_COUNT_H
#define GRIDSTRIDE_HOST_PROCESSOR_COUNT_H

#include <string>

namespace gridstride::host {

// The number of workers: GRIDSTRIDE_HOST_THREADS where it is set, else the processors this process
// may use, and two at least, so that a kernel that waits for another one's result does not keep
// that one from running. Throws std::invalid_argument when the variable is no integer from 1 to
// 256.
unsigned worker_count();

// The same of a given text of the variable; null where it is not set.
unsigned worker_count_from(const char* text);

// The processors that the quotas of a process's control groups amount to, rounded up, 0 without a
// quota. `membership` is the text of /proc/self/cgroup, `mount` where the groups are mounted.
unsigned quota_processors(const std::string& membership, const std::string& mount);

}  // namespace gridstride::host

#endif
