// Which devices the machine has, as far as this runtime is concerned.
#pragma once

#include <string>
#include <vector>

#include "host/device/device_specification.h"

namespace gridstride::host {

// The visible devices in their order; set_topology changes nothing any more.
std::vector<DeviceSpecification> fix_topology();

// CUDA_VISIBLE_DEVICES: which devices a process sees, and in which order.

// The ordinals that the variable's value selects from devices with these uuids (as uuid_text
// writes them). An entry is an ordinal or the unambiguous beginning of a uuid. As in CUDA the list
// ends before the first entry that is neither, so "-1" or "" hide all; an entry named twice makes
// the whole list void. null (not set) selects all.
std::vector<int> visible_ordinals(const char* value, const std::vector<std::string>& uuids);

}  // namespace gridstride::host
