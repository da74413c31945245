// A cooperative launch as work for the pool.
#ifndef GRIDSTRIDE_HOST_COOPERATIVE_WORK_H
#define GRIDSTRIDE_HOST_COOPERATIVE_WORK_H

#include <cstdint>
#include <functional>
#include <memory>

#include "host/execution/faults.h"
#include "host/execution/launch_request.h"
#include "host/stream/work.h"

namespace gridstride::host {

// As make_kernel_work; `completed` is called on one of the launch's own threads, or on a worker
// when there were none to be had, which is a fault. The grid has less than 2^32 blocks.
std::shared_ptr<Work> make_cooperative_work(LaunchRequest request,
                                            std::function<void(const LaunchFault*)> completed);

}  // namespace gridstride::host

#endif
