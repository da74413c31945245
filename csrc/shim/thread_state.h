// What the shim keeps for each calling thread.
#ifndef GRIDSTRIDE_THREAD_STATE_H
#define GRIDSTRIDE_THREAD_STATE_H

#include "gridstride.h"

namespace gridstride {

constexpr int32_t no_device = -1;

// What went wrong, as gs_error_last tells it. Inside the shim it is thrown; it ends at the seam.
struct Failure {
  int32_t status = 0;
  int32_t call = 0;  // 0: no CUDA call was involved
  int32_t device = no_device;
};

// One variable, so that a hot call looks up thread-local storage once, and constant-initialised,
// so that no access goes through an initialisation wrapper.
struct ThreadState {
  gs_command_block* block = nullptr;
  int32_t device = no_device;  // the device the running call concerns, once that is known
  Failure last_failure;
};

inline thread_local ThreadState thread_state;

}  // namespace gridstride

#endif
