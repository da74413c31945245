// Streams by handle.
#pragma once

#include "shim/call.h"
#include "shim/device/device.h"
#include "shim/handle_table.h"

namespace gridstride {

struct Stream {
  int device = no_device;
  cudaStream_t stream = nullptr;
  bool adopted = false;  // made and kept alive by another library

  void end() const;
};

using StreamUse = HandleTable<Stream>::Use;

extern HandleTable<Stream> streams;

// A stream of the device that the call names.
inline StreamUse use_stream(int32_t handle, int device) {
  thread_state.device = device;
  StreamUse stream = streams.use(handle);
  require(stream->device == device, GS_ERROR_FOREIGN);
  return stream;
}

// A stream; the call acts on the stream's device.
inline StreamUse use_stream(int32_t handle) {
  StreamUse stream = streams.use(handle);
  thread_state.device = stream->device;
  return stream;
}

// A stream's handle, and the number of the record among all records of the process.
using EventPoint = std::pair<int64_t, uint64_t>;

struct Event {
  int device = no_device;
  cudaEvent_t event = nullptr;
  std::atomic<int32_t> stream{0};   // of the last record; 0: none, negative: all of a device
  std::atomic<uint64_t> record{0};  // the number of the last record

  EventPoint last_record() const { return EventPoint{stream, record}; }

  void end() const;
};

using EventUse = HandleTable<Event>::Use;

extern HandleTable<Event> events;

// A captured graph, to become part of others, and its executable form, to be launched.
struct Graph {
  int device = no_device;  // that of the stream it was captured on
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  uint64_t node_count = 0;

  void end();
};

using GraphUse = HandleTable<Graph>::Use;

extern HandleTable<Graph> graphs;

// While it lives, this thread's calls neither fail because of a capture nor invalidate it. For
// calls outside of the capture: growing and shrinking the memory of captured work.
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

// The same for queries that the library makes by itself: they cannot fail.
class RelaxedQueries {
 public:
  RelaxedQueries() { status_of(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  RelaxedQueries(const RelaxedQueries&) = delete;
  RelaxedQueries& operator=(const RelaxedQueries&) = delete;
  ~RelaxedQueries() { status_of(cudaThreadExchangeStreamCaptureMode(&mode_)); }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace gridstride
