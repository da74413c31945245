// The border of the shim: inside it a failure is an exception, outside it is a status.
//
// An exported function is `return guarded([&] { … });`. A failure is rare and costs a microsecond;
// a call that succeeds pays nothing.
#pragma once

#include <cstring>
#include <string_view>

#include "gridstride.h"

namespace gridstride {

constexpr int32_t no_device = -1;

// A failure as gs_error_last reports it. It is thrown inside the shim and ends at the seam.
struct Failure {
  int32_t status = 0;
  int32_t call = 0;  // 0: no CUDA call was involved
  int32_t device = no_device;
};

// One variable: a hot call looks up thread-local storage once. Constant-initialised: no access goes
// through an initialisation wrapper.
struct ThreadState {
  gs_command_block* block = nullptr;
  int32_t isolate = 0;     // the owner of the resources that this thread makes; 0: nobody
  int32_t device = no_device;  // the device the running call concerns, once that is known
  Failure last_failure;
};

inline thread_local ThreadState thread_state;

// Ends the running call with a status of the shim's own (a CUDA call's goes through call.h).
[[noreturn]] void fail(int32_t status);

inline void require(bool holds, int32_t status) {
  if (__builtin_expect(!holds, 0)) fail(status);
}

// The status of the exception being handled, which becomes the thread's last failure.
int32_t remember_exception() noexcept;

// Whether a status means that the process has lost a device: its context is gone with everything in
// it. The tables then forget resources that can no longer be released.
bool tells_loss(int32_t status);

// Whether the exception being handled says so.
bool exception_tells_loss() noexcept;

template <class Body>
int32_t guarded(const Body& body) noexcept {
  thread_state.device = no_device;
  try {
    body();
    return 0;
  } catch (...) {
    return remember_exception();
  }
}

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

// Writes NUL-terminated UTF-8 to the caller's memory: all of the text or none of it.
inline void write_text(std::string_view text, char* out, int32_t capacity) {
  require(out != nullptr, GS_ERROR_ARGUMENT);
  require(capacity > 0, GS_ERROR_CAPACITY);
  out[0] = '\0';
  require(text.size() < static_cast<size_t>(capacity), GS_ERROR_CAPACITY);
  if (!text.empty()) std::memcpy(out, text.data(), text.size());
  out[text.size()] = '\0';
}

}  // namespace gridstride
