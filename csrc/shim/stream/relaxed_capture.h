// Calls that a capture on this thread would otherwise forbid, and that are no part of it: growing
// and shrinking the memory that captured work is going to use.
#ifndef GRIDSTRIDE_RELAXED_CAPTURE_H
#define GRIDSTRIDE_RELAXED_CAPTURE_H

#include "shim/call.h"

namespace gridstride {

// While it lives, this thread's calls neither fail for a capture nor spoil it.
class RelaxedCapture {
 public:
  RelaxedCapture() { GS_CALL(cudaThreadExchangeStreamCaptureMode, &mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;
  // Not wrapped: what the thread was must be restored, so nothing may keep this from being made.
  ~RelaxedCapture() { status_of(cudaThreadExchangeStreamCaptureMode(&mode_)); }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;  // from then on the thread's own
};

}  // namespace gridstride

#endif
