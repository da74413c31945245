// The CUDA runtime API: events.
#include "host/graph/capture.h"
#include "host/device/device.h"
#include "host/runtime/errors.h"
#include "gridstride/runtime_api.h"
#include "host/stream/stream_graph.h"

using namespace gridstride::host;

namespace {

constexpr unsigned known_event_flags =
    cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;

std::shared_ptr<Event> find_event(cudaEvent_t handle) {
  return live_events().find(reinterpret_cast<std::uintptr_t>(handle));
}

cudaError_t create(cudaEvent_t* handle, unsigned flags) {
  if (handle == nullptr || (flags & ~known_event_flags) != 0) return cudaErrorInvalidValue;
  // There is no other process that could open it.
  if ((flags & cudaEventInterprocess) != 0) return cudaErrorNotSupported;
  Device* const device = current_device();
  if (device == nullptr) return cudaErrorNoDevice;
  if (device->fault_code() != cudaSuccess) return device->fault_code();
  auto event = std::make_shared<Event>(*device, flags);
  *handle = reinterpret_cast<cudaEvent_t>(live_events().insert(std::move(event)));
  return cudaSuccess;
}

cudaError_t destroy(cudaEvent_t handle) {
  const auto event = live_events().remove(reinterpret_cast<std::uintptr_t>(handle));
  return event == nullptr ? cudaErrorInvalidResourceHandle : event->device().fault_code();
}

cudaError_t record(cudaEvent_t handle, cudaStream_t stream_handle) {
  const auto event = find_event(handle);
  if (event == nullptr) return cudaErrorInvalidResourceHandle;
  std::shared_ptr<Stream> stream;
  const cudaError_t status = find_stream_for_work(stream_handle, stream);
  if (status != cudaSuccess) return status;
  if (&stream->device() != &event->device()) return cudaErrorInvalidResourceHandle;
  if (is_captured(*stream)) return capture_record(*stream, *event);
  forget_captured_record(*event);
  StreamGraph::instance().record(*stream, *event);
  return cudaSuccess;
}

// On a device with a fault recordings complete too, so that nobody waits for ever; the caller is
// told the fault.
cudaError_t query(cudaEvent_t handle) {
  const auto event = find_event(handle);
  if (event == nullptr) return cudaErrorInvalidResourceHandle;
  const cudaError_t forbidden = capture_forbids_waiting(*event);
  if (forbidden != cudaSuccess) return forbidden;
  const auto latest = StreamGraph::instance().latest_record(*event);
  const bool is_done = latest == nullptr || latest->complete.load(std::memory_order_acquire);
  const cudaError_t fault = event->device().fault_code();
  return fault != cudaSuccess || is_done ? fault : cudaErrorNotReady;
}

cudaError_t synchronize(cudaEvent_t handle) {
  const auto event = find_event(handle);
  if (event == nullptr) return cudaErrorInvalidResourceHandle;
  const cudaError_t forbidden = capture_forbids_waiting(*event);
  if (forbidden != cudaSuccess) return forbidden;
  const auto latest = StreamGraph::instance().latest_record(*event);
  if (latest != nullptr) StreamGraph::instance().synchronize(*latest);
  return event->device().fault_code();
}

cudaError_t elapsed(float* milliseconds, cudaEvent_t start_handle, cudaEvent_t end_handle) {
  if (milliseconds == nullptr) return cudaErrorInvalidValue;
  const auto start = find_event(start_handle);
  const auto end = find_event(end_handle);
  if (start == nullptr || end == nullptr) return cudaErrorInvalidResourceHandle;
  if (&start->device() != &end->device()) return cudaErrorInvalidResourceHandle;
  if (!start->has_timing() || !end->has_timing()) return cudaErrorInvalidResourceHandle;
  cudaError_t forbidden = capture_forbids_waiting(*start);
  if (forbidden == cudaSuccess) forbidden = capture_forbids_waiting(*end);
  if (forbidden != cudaSuccess) return forbidden;
  const auto first = StreamGraph::instance().latest_record(*start);
  const auto last = StreamGraph::instance().latest_record(*end);
  if (first == nullptr || last == nullptr) return cudaErrorInvalidResourceHandle;
  if (start->device().fault_code() != cudaSuccess) return start->device().fault_code();
  if (!first->complete.load(std::memory_order_acquire) ||
      !last->complete.load(std::memory_order_acquire)) {
    return cudaErrorNotReady;
  }
  const std::chrono::duration<double, std::milli> time = last->completed_at - first->completed_at;
  *milliseconds = static_cast<float>(time.count());
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return api_call([&] { return create(event, cudaEventDefault); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return api_call([&] { return create(event, flags); });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return api_call([&] { return destroy(event); });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return api_call([&] { return record(event, stream); });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return api_call([&] { return query(event); });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return api_call([&] { return synchronize(event); });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return api_call([&] { return elapsed(milliseconds, start, end); });
}
