// Text that crosses the seam: NUL-terminated UTF-8 in memory of the caller's.
#ifndef GRIDSTRIDE_TEXT_H
#define GRIDSTRIDE_TEXT_H

#include <cstring>
#include <string_view>

#include "shim/guard.h"

namespace gridstride {

// All of the text or none of it: half a name or half a JSON object helps nobody.
inline void write_text(std::string_view text, char* out, int32_t capacity) {
  require(out != nullptr, GS_ERROR_ARGUMENT);
  require(capacity > 0, GS_ERROR_CAPACITY);
  out[0] = '\0';
  require(text.size() < static_cast<size_t>(capacity), GS_ERROR_CAPACITY);
  if (!text.empty()) std::memcpy(out, text.data(), text.size());
  out[text.size()] = '\0';
}

}  // namespace gridstride

#endif
