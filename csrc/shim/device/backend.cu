// The only difference between the two libraries that their callers can see.
#include "shim/device/backend.h"

#include <cuda_runtime.h>  // defines __CUDASIM__ where the runtime is the host device's

#include "shim/guard.h"

#ifdef __CUDASIM__
#include "host/device/device.h"
#endif

namespace gridstride {

#ifdef __CUDASIM__

const char* library_kind() { return "host"; }

void set_topology(const double* records, int32_t count) {
  enum Outcome { accepted = 0, already_different = 1, malformed = 2 };
  const int outcome = host::set_topology(records, count);
  require(outcome != already_different, GS_ERROR_CONFIGURED);
  require(outcome == accepted, GS_ERROR_ARGUMENT);
}

std::string fault_description(int device) { return host::fault_description(device); }

#else

const char* library_kind() { return "cuda"; }

void set_topology(const double*, int32_t) { fail(GS_ERROR_UNSUPPORTED); }

std::string fault_description(int) { return {}; }

#endif

}  // namespace gridstride
