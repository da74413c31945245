// The border of the shim: inside it a failure is an exception, outside it is a status.
//
// An exported function is `return guarded([&] { … });`. Failing is rare and a failure costs a
// microsecond; what does not fail pays nothing for the possibility.
#ifndef GRIDSTRIDE_GUARD_H
#define GRIDSTRIDE_GUARD_H

#include "shim/thread_state.h"

namespace gridstride {

// Ends the running call with a status of the shim's own (a CUDA call's goes through call.h).
[[noreturn]] void fail(int32_t status);

inline void require(bool holds, int32_t status) {
  if (__builtin_expect(!holds, 0)) fail(status);
}

// The status of the exception being handled, which becomes the thread's last failure.
int32_t remember_exception() noexcept;

// Whether a status says that a device is lost to the process: its context is gone, with all that
// was in it. What then cannot be given back is gone as well, so that the tables forget it.
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

}  // namespace gridstride

#endif
