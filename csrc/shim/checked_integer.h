// Integers that cross the seam as doubles.
#ifndef GRIDSTRIDE_CHECKED_INTEGER_H
#define GRIDSTRIDE_CHECKED_INTEGER_H

#include "shim/guard.h"

namespace gridstride {

// The largest integer below which every integer is a double: Number.MAX_SAFE_INTEGER.
constexpr uint64_t largest_safe_integer = (uint64_t{1} << 53) - 1;
constexpr uint64_t largest_handle = INT32_MAX;
constexpr uint64_t largest_uint32 = UINT32_MAX;

// The range is tested before the conversion, which is undefined outside it; NaN fails the test.
inline uint64_t checked_integer(double value, uint64_t largest = largest_safe_integer) {
  require(value >= 0 && value <= static_cast<double>(largest), GS_ERROR_ARGUMENT);
  const uint64_t integer = static_cast<uint64_t>(value);
  require(static_cast<double>(integer) == value, GS_ERROR_ARGUMENT);
  return integer;
}

}  // namespace gridstride

#endif
