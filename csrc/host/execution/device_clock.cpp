// The clock that kernels read as %globaltimer.
#include <chrono>

#include "gridstride/warp_exchange.h"

GS_HOST_API uint64_t gs_host_clock() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}
