// Memory of a device that addresses are given to and taken from: what cuMemCreate makes.
#ifndef GRIDSTRIDE_HOST_PHYSICAL_MEMORY_H
#define GRIDSTRIDE_HOST_PHYSICAL_MEMORY_H

#include <cstddef>
#include <cstdint>

#include "host/device/counted.h"
#include "host/device/device.h"

namespace gridstride::host {

// Lives, and is charged to its device, while somebody has its handle or it is mapped.
struct PhysicalMemory : Counted<PhysicalMemory> {
  PhysicalMemory(Device& owner, std::size_t size, std::uint64_t name)
      : device(owner), bytes(size), handle(name) {}

  Device& device;
  const std::size_t bytes;
  const std::uint64_t handle;
  // cuMemCreate and cuMemRetainAllocationHandle each count one, cuMemRelease takes one away.
  std::size_t references = 1;
  std::size_t mappings = 0;
  // Where it lies in the PageFile; chosen when it is first mapped.
  bool is_placed = false;
  std::uint64_t offset = 0;
};

}  // namespace gridstride::host

#endif
