// Which devices the machine has, as far as this runtime is concerned.
#ifndef GRIDSTRIDE_HOST_TOPOLOGY_H
#define GRIDSTRIDE_HOST_TOPOLOGY_H

#include <vector>

#include "host/device/device_specification.h"

namespace gridstride::host {

// The visible devices in their order; set_topology changes nothing any more.
std::vector<DeviceSpecification> fix_topology();

}  // namespace gridstride::host

#endif
