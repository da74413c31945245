// What a device may do with memory.
#ifndef GRIDSTRIDE_HOST_MEMORY_ACCESS_H
#define GRIDSTRIDE_HOST_MEMORY_ACCESS_H

namespace gridstride::host {

// Each allows what those before it allow.
enum class AllowedAccess : unsigned char { none, read, read_write };

}  // namespace gridstride::host

#endif
