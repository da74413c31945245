// CUDA's error state: the names and texts of statuses, and the last error of each host thread.
#pragma once

#include <new>

#include "cuda.h"
#include "gridstride/runtime_types.h"

namespace gridstride::host {

// The constant's name and CUDA's text for it; "unrecognized error code" for other numbers.
const char* error_name(cudaError_t error);
const char* error_text(cudaError_t error);

// The calling thread's last error: what cudaGetLastError returns unless the device has a fault.
cudaError_t last_error();
void clear_last_error();

// Keeps a failure as the thread's last error and returns its argument. Success keeps the stored
// error.
cudaError_t remember_error(cudaError_t error);

// Every function of the API runs inside this: no C++ exception leaves the runtime, and every
// failure is remembered.
template <typename Body>
cudaError_t api_call(Body body) noexcept {
  try {
    return remember_error(body());
  } catch (const std::bad_alloc&) {
    return remember_error(cudaErrorMemoryAllocation);
  } catch (...) {
    return remember_error(cudaErrorUnknown);
  }
}

// The body of every function of the driver API.

// No C++ exception leaves the runtime. The driver API has no last error: its result is all that is
// known of a failure.
template <typename Body>
CUresult driver_call(Body body) noexcept {
  cudaError_t status = cudaErrorUnknown;
  try {
    status = body();
  } catch (const std::bad_alloc&) {
    status = cudaErrorMemoryAllocation;
  } catch (...) {
    status = cudaErrorUnknown;
  }
  return static_cast<CUresult>(status);
}

}  // namespace gridstride::host
