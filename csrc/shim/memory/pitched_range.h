// Rows of memory at a pitch: what a 2-D copy reads or writes.
#ifndef GRIDSTRIDE_PITCHED_RANGE_H
#define GRIDSTRIDE_PITCHED_RANGE_H

#include "shim/memory/memory_range.h"

namespace gridstride {

// width bytes of each row, height rows; both sides of a copy share it.
struct CopyExtent {
  uint64_t width = 0;
  uint64_t height = 0;

  bool is_empty() const { return width == 0 || height == 0; }
};

struct PitchedRange {
  uint64_t address = 0;
  uint64_t pitch = 0;

  void* pointer() const { return reinterpret_cast<void*>(static_cast<uintptr_t>(address)); }
};

// Everything from the first byte of the first row to the last of the last. Throws where a row does
// not fit its pitch (as CUDA does) or the sum leaves the range of addresses. The extent is not
// empty.
MemoryRange spanned(const PitchedRange& rows, const CopyExtent& extent);

// Whether any byte belongs to both. Ranges may interleave without overlapping: the left and the
// right half of one matrix do.
bool overlap(const PitchedRange& first, const PitchedRange& second, const CopyExtent& extent);

}  // namespace gridstride

#endif
