// How a failure becomes a status and the thread's last failure.
#include "guard.h"

#include <new>

namespace gridstride {

namespace {

int32_t remember(const Failure& failure) noexcept {
  thread_state.last_failure = failure;
  return failure.status;
}

int32_t remember_own(int32_t status) noexcept {
  return remember(Failure{status, 0, thread_state.device});
}

}  // namespace

[[gnu::cold]] void fail(int32_t status) { throw Failure{status, 0, thread_state.device}; }

[[gnu::cold]] int32_t remember_exception() noexcept {
  try {
    throw;
  } catch (const Failure& failure) {
    return remember(failure);
  } catch (const std::bad_alloc&) {
    return remember_own(GS_ERROR_HOST_MEMORY);
  } catch (...) {
    return remember_own(GS_ERROR_INTERNAL);
  }
}

}  // namespace gridstride

using namespace gridstride;

int32_t gs_error_last(double* result) {
  return guarded([&] {
    require(result != nullptr, GS_ERROR_ARGUMENT);
    const Failure& last = thread_state.last_failure;
    result[0] = last.status;
    result[1] = last.call;
    result[2] = last.device;
  });
}
