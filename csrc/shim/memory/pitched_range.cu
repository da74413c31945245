// Spans and overlaps of pitched rows.
#include "shim/memory/pitched_range.h"

#include <driver_types.h>

#include <algorithm>
#include <numeric>

namespace gridstride {

MemoryRange spanned(const PitchedRange& rows, const CopyExtent& extent) {
  require(extent.width <= rows.pitch, cudaErrorInvalidPitchValue);
  uint64_t bytes = 0;
  const bool wraps = __builtin_mul_overflow(rows.pitch, extent.height - 1, &bytes) ||
                     __builtin_add_overflow(bytes, extent.width, &bytes);
  require(!wraps, GS_ERROR_ARGUMENT);
  return checked_range(rows.address, bytes);
}

namespace {

// Whether a row's width of bytes at start touches one of the rows. It can only meet the row that
// begins at or before it and the one after that.
bool touches_row(const PitchedRange& rows, const CopyExtent& extent, uint64_t start) {
  const MemoryRange bytes{start, extent.width};
  if (start < rows.address) return bytes.end() > rows.address;
  const uint64_t row = std::min((start - rows.address) / rows.pitch, extent.height - 1);
  const MemoryRange before{rows.address + row * rows.pitch, extent.width};
  if (before.overlaps(bytes)) return true;
  const MemoryRange after{before.address + rows.pitch, extent.width};
  return row + 1 < extent.height && after.overlaps(bytes);
}

}  // namespace

// The rows of the larger pitch are tried one by one against those of the smaller. There are few:
// fewer than the smaller pitch, as where they fall in a period of the other rows repeats after
// that many, and than the reach divided by the larger pitch. So no extent, whatever it claims,
// takes more steps than the square root of the reach.
bool overlap(const PitchedRange& first, const PitchedRange& second, const CopyExtent& extent) {
  if (extent.is_empty()) return false;
  const PitchedRange& dense = first.pitch <= second.pitch ? first : second;
  const PitchedRange& sparse = first.pitch <= second.pitch ? second : first;
  const MemoryRange reach = spanned(dense, extent);
  if (!reach.overlaps(spanned(sparse, extent))) return false;

  uint64_t row = 0;
  if (sparse.address < reach.address) row = (reach.address - sparse.address) / sparse.pitch;
  const uint64_t period = dense.pitch / std::gcd(dense.pitch, sparse.pitch);
  // One more: the first of them may begin before the dense rows do, where nothing repeats.
  const uint64_t rows_to_try = std::min(extent.height - row, period + 1);
  for (uint64_t tried = 0; tried < rows_to_try; tried++) {
    const uint64_t start = sparse.address + (row + tried) * sparse.pitch;
    if (start >= reach.end()) return false;
    if (touches_row(dense, extent, start)) return true;
  }
  return false;
}

}  // namespace gridstride
