// What every function of the driver API runs inside.
#ifndef GRIDSTRIDE_HOST_DRIVER_CALL_H
#define GRIDSTRIDE_HOST_DRIVER_CALL_H

#include <new>

#include "gridstride/runtime_types.h"

#include "cuda.h"

namespace gridstride::host {

// No C++ exception leaves the runtime. The driver API has no last error: what it returns is all
// that is known of a failure.
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

#endif
