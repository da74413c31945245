// How much memory this process may use: the machine's, or less where a control group limits it.
#ifndef GRIDSTRIDE_HOST_MACHINE_MEMORY_H
#define GRIDSTRIDE_HOST_MACHINE_MEMORY_H

#include <cstdint>

namespace gridstride::host {

// Bytes; the smallest of the physical memory and the limits of all enclosing control groups.
std::uint64_t machine_memory_bytes();

}  // namespace gridstride::host

#endif
