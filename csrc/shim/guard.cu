// How a failure becomes a status and the thread's last failure.
#include "shim/guard.h"

#include <algorithm>
#include <iterator>
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

// By number, as older headers lack some. CUDA's documentation says of all but 214 and 220 that the
// process must end; an uncorrectable memory or NVLink error leaves no usable context either.
constexpr int32_t losses[] = {214, 220, 226, 700, 702, 710, 714, 715,
                              716, 717, 718, 719, 721, 810, 911};

}  // namespace

[[gnu::cold]] bool tells_loss(int32_t status) {
  return std::find(std::begin(losses), std::end(losses), status) != std::end(losses);
}

[[gnu::cold]] bool exception_tells_loss() noexcept {
  try {
    throw;
  } catch (const Failure& failure) {
    return tells_loss(failure.status);
  } catch (...) {
    return false;
  }
}

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
