// Ranges of memory as numbers: sums that cannot wrap, and whether ranges overlap.
#ifndef GRIDSTRIDE_MEMORY_RANGE_H
#define GRIDSTRIDE_MEMORY_RANGE_H

#include "shim/checked_integer.h"

namespace gridstride {

struct MemoryRange {
  uint64_t address = 0;
  uint64_t bytes = 0;

  uint64_t end() const { return address + bytes; }
  void* pointer() const { return reinterpret_cast<void*>(static_cast<uintptr_t>(address)); }

  bool contains(const MemoryRange& other) const {
    return address <= other.address && other.end() <= end();
  }
  bool overlaps(const MemoryRange& other) const {
    return address < other.end() && other.address < end();
  }
};

inline MemoryRange checked_range(uint64_t address, uint64_t bytes) {
  require(address <= largest_safe_integer && bytes <= largest_safe_integer - address,
          GS_ERROR_ARGUMENT);
  return MemoryRange{address, bytes};
}

// Memory of the calling process; a buffer that JavaScript passed.
inline uint64_t address_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

}  // namespace gridstride

#endif
