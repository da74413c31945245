// A kernel launch as work for the pool.
#ifndef GRIDSTRIDE_HOST_KERNEL_WORK_H
#define GRIDSTRIDE_HOST_KERNEL_WORK_H

#include <functional>
#include <memory>

#include "host/execution/faults.h"
#include "host/execution/launch_request.h"
#include "host/stream/work.h"

namespace gridstride::host {

// The work of a launch. `completed` is called once, on a worker, with null or with the first fault.
// Throws std::invalid_argument as check_request and ArgumentCopy do.
std::shared_ptr<Work> make_kernel_work(LaunchRequest request,
                                       std::function<void(const LaunchFault*)> completed);

}  // namespace gridstride::host

#endif
