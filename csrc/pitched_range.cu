// Spans and overlaps of pitched rows.
#include "pitched_range.h"

#include <driver_types.h>

#include <algorithm>

namespace gridstride {

MemoryRange spanned(const PitchedRange& rows, const CopyExtent& extent) {
  require(extent.width <= rows.pitch, cudaErrorInvalidPitchValue);
  uint64_t bytes = 0;
  const bool wraps = __builtin_mul_overflow(rows.pitch, extent.height - 1, &bytes) ||
                     __builtin_add_overflow(bytes, extent.width, &bytes);
  require(!wraps, GS_ERROR_ARGUMENT);
  return checked_range(rows.address, bytes);
}

bool overlap(const PitchedRange& first, const PitchedRange& second, const CopyExtent& extent) {
  if (extent.is_empty()) return false;
  const PitchedRange& lower = first.address <= second.address ? first : second;
  const PitchedRange& upper = first.address <= second.address ? second : first;
  const MemoryRange reach = spanned(lower, extent);
  if (!reach.overlaps(spanned(upper, extent))) return false;

  // Rows of `upper` that begin inside the reach of `lower`: each can only meet the row of `lower`
  // that begins at or before it, and the one after that.
  const auto row_meets = [&](uint64_t start) {
    const uint64_t row = std::min((start - lower.address) / lower.pitch, extent.height - 1);
    const MemoryRange bytes{start, extent.width};
    const MemoryRange before{lower.address + row * lower.pitch, extent.width};
    if (before.overlaps(bytes)) return true;
    const MemoryRange after{before.address + lower.pitch, extent.width};
    return row + 1 < extent.height && after.overlaps(bytes);
  };
  if (lower.pitch == upper.pitch) return row_meets(upper.address);
  for (uint64_t row = 0; row < extent.height; row++) {
    const uint64_t start = upper.address + row * upper.pitch;
    if (start >= reach.end()) return false;
    if (row_meets(start)) return true;
  }
  return false;
}

}  // namespace gridstride
