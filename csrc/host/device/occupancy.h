// How many blocks a device holds at once, by its limits.
#ifndef GRIDSTRIDE_HOST_OCCUPANCY_H
#define GRIDSTRIDE_HOST_OCCUPANCY_H

#include <cstddef>
#include <cstdint>

#include "host/device/device.h"

namespace gridstride::host {

// Blocks of so many threads that a multiprocessor of the device holds, which may be none. A limit
// that the device has no value for limits nothing, and neither do registers.
int resident_blocks(const Device& device, const KernelDescriptor& kernel, int block_threads,
                    std::size_t dynamic_shared_bytes);

// The same on all multiprocessors: what a cooperative launch may have.
std::uint64_t resident_grid(const Device& device, const KernelDescriptor& kernel, int block_threads,
                            std::size_t dynamic_shared_bytes);

}  // namespace gridstride::host

#endif
