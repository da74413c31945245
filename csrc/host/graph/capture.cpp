// The short way past captures when none is running, and the long way when one is.
#include "host/graph/capture.h"

#include "host/device/device.h"
#include "host/graph/stream_captures.h"

namespace gridstride::host {

cudaError_t capture_forbids() {
  StreamCaptures& captures = StreamCaptures::instance();
  return captures.any() ? captures.refuse_unsafe_call() : cudaSuccess;
}

cudaError_t find_stream_for_work(cudaStream_t handle, std::shared_ptr<Stream>& stream) {
  const cudaError_t status = find_stream(handle, stream);
  StreamCaptures& captures = StreamCaptures::instance();
  if (status != cudaSuccess || !captures.any()) return status;
  const Device& device = stream->device();
  return device.is_legacy_stream(*stream) ? captures.legacy_status(device, true) : cudaSuccess;
}

bool is_captured(const Stream& stream) {
  StreamCaptures& captures = StreamCaptures::instance();
  return captures.any() && captures.covers(stream);
}

cudaError_t capture_node(Stream& stream, NodeContent content) {
  return StreamCaptures::instance().append(stream, std::move(content));
}

cudaError_t refuse_node(Stream& stream) { return StreamCaptures::instance().refuse(stream); }

cudaError_t capture_forbids_waiting(Stream& stream) {
  StreamCaptures& captures = StreamCaptures::instance();
  if (!captures.any()) return cudaSuccess;
  const cudaError_t status = captures.refuse(stream);
  return status == cudaSuccess ? captures.refuse_unsafe_call() : status;
}

// Also when nothing is captured any more: what an event marks in a graph is never reached.
cudaError_t capture_forbids_waiting(Event& event) {
  StreamCaptures& captures = StreamCaptures::instance();
  if (is_captured(event)) {
    const cudaError_t status = captures.refuse(event);
    if (status != cudaSuccess) return status;
  }
  return capture_forbids();
}

cudaError_t capture_forbids_waiting(Device& device) {
  StreamCaptures& captures = StreamCaptures::instance();
  if (!captures.any()) return cudaSuccess;
  const cudaError_t status = captures.refuse(device);
  return status == cudaSuccess ? captures.refuse_unsafe_call() : status;
}

bool is_captured(const Event& event) { return event.is_captured.load(std::memory_order_relaxed); }

cudaError_t capture_record(Stream& stream, Event& event) {
  return StreamCaptures::instance().record(stream, event);
}

void forget_captured_record(Event& event) {
  if (is_captured(event)) StreamCaptures::instance().forget_record(event);
}

cudaError_t capture_wait(const std::shared_ptr<Stream>& stream, Event& event) {
  return StreamCaptures::instance().wait(stream, event);
}

void leave_capture(Stream& stream) {
  StreamCaptures& captures = StreamCaptures::instance();
  if (captures.any()) captures.leave(stream);
}

}  // namespace gridstride::host
