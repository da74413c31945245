// The CUDA runtime API: streams and host functions.
#include <algorithm>

#include "gridstride/runtime_api.h"
#include "host/device/device.h"
#include "host/graph/capture.h"
#include "host/runtime/errors.h"
#include "host/stream/stream_graph.h"

using namespace gridstride::host;

namespace {

cudaError_t create(cudaStream_t* handle, unsigned flags, int priority) {
  if (handle == nullptr || (flags & ~unsigned{cudaStreamNonBlocking}) != 0) {
    return cudaErrorInvalidValue;
  }
  Device* const device = current_device();
  if (device == nullptr) return cudaErrorNoDevice;
  if (device->fault_code() != cudaSuccess) return device->fault_code();
  int least = 0;
  int greatest = 0;
  cudaDeviceGetStreamPriorityRange(&least, &greatest);
  // As in CUDA, a priority outside the range is moved to its nearest end.
  const int allowed = std::clamp(priority, greatest, least);
  auto stream = std::make_shared<Stream>(*device, flags, allowed);
  *handle = reinterpret_cast<cudaStream_t>(live_streams().insert(std::move(stream)));
  return cudaSuccess;
}

bool is_default_stream(cudaStream_t handle) {
  return handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread;
}

cudaError_t destroy(cudaStream_t handle) {
  if (is_default_stream(handle)) return cudaErrorInvalidResourceHandle;
  const auto stream = live_streams().remove(reinterpret_cast<std::uintptr_t>(handle));
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  leave_capture(*stream);
  return stream->device().fault_code();
}

// Runs body with the stream of the handle.
template <typename Body>
cudaError_t with_stream(cudaStream_t handle, Body body) {
  return api_call([&] {
    std::shared_ptr<Stream> stream;
    const cudaError_t status = find_stream(handle, stream);
    return status == cudaSuccess ? body(*stream) : status;
  });
}

// Runs body with the stream of the handle, to give it work.
template <typename Body>
cudaError_t with_working_stream(cudaStream_t handle, Body body) {
  return api_call([&] {
    std::shared_ptr<Stream> stream;
    const cudaError_t status = find_stream_for_work(handle, stream);
    return status == cudaSuccess ? body(stream) : status;
  });
}

// Runs body with the stream of the handle, to wait for its work.
template <typename Body>
cudaError_t with_awaited_stream(cudaStream_t handle, Body body) {
  return with_working_stream(handle, [&](const std::shared_ptr<Stream>& stream) {
    const cudaError_t forbidden = capture_forbids_waiting(*stream);
    return forbidden == cudaSuccess ? body(*stream) : forbidden;
  });
}

Operation host_function_operation(cudaHostFn_t function, void* user_data) {
  Operation operation;
  operation.host_function = function;
  operation.user_data = user_data;
  return operation;
}

}  // namespace

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return api_call([&] { return create(stream, cudaStreamDefault, 0); });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return api_call([&] { return create(stream, flags, 0); });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
  return api_call([&] { return create(stream, flags, priority); });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return api_call([&] { return destroy(stream); });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return with_awaited_stream(handle, [](Stream& stream) {
    return StreamGraph::instance().is_idle(stream) ? stream.device().fault_code()
                                                   : cudaErrorNotReady;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return with_awaited_stream(handle, [](Stream& stream) {
    StreamGraph::instance().synchronize(stream);
    return stream.device().fault_code();
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned int flags) {
  return with_working_stream(handle, [&](const std::shared_ptr<Stream>& stream) {
    if (flags != cudaEventWaitDefault) return cudaErrorInvalidValue;
    const auto found = live_events().find(reinterpret_cast<std::uintptr_t>(event));
    if (found == nullptr) return cudaErrorInvalidResourceHandle;
    if (is_captured(*found) || is_captured(*stream)) return capture_wait(stream, *found);
    StreamGraph::instance().wait_for_event(*stream, *found);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  return with_stream(handle, [&](Stream& stream) {
    if (device == nullptr) return cudaErrorInvalidValue;
    *device = stream.device().ordinal();
    return cudaSuccess;
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* user_data) {
  return with_working_stream(handle, [&](const std::shared_ptr<Stream>& stream) {
    if (function == nullptr) return cudaErrorInvalidValue;
    if (is_captured(*stream)) {
      return capture_node(*stream, {[=](const std::shared_ptr<Stream>&) {
                                      return host_function_operation(function, user_data);
                                    },
                                    nullptr});
    }
    StreamGraph::instance().enqueue(*stream, host_function_operation(function, user_data));
    return cudaSuccess;
  });
}

// ---- the CUDA runtime API: events ---------------------------------------------------------------

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

cudaError_t record_device(cudaEvent_t handle, CUcontext context) {
  const auto event = find_event(handle);
  if (event == nullptr || reinterpret_cast<CUcontext>(&event->device()) != context) {
    return cudaErrorInvalidResourceHandle;
  }
  Device& device = event->device();
  if (device.fault_code() != cudaSuccess) return device.fault_code();
  const cudaError_t forbidden = capture_forbids_waiting(device);
  if (forbidden != cudaSuccess) return forbidden;
  forget_captured_record(*event);
  StreamGraph::instance().record(device, *event);
  return cudaSuccess;
}

// On a device with a fault recordings complete too, because waiting threads must end. The caller
// gets the fault.
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

CUresult cuCtxGetCurrent(CUcontext* context) {
  return driver_call([&] {
    if (context == nullptr) return cudaErrorInvalidValue;
    Device* const device = current_device();
    if (device == nullptr) return cudaErrorNoDevice;
    *context = reinterpret_cast<CUcontext>(device);
    return cudaSuccess;
  });
}

CUresult cuCtxRecordEvent(CUcontext context, CUevent event) {
  return driver_call([&] { return record_device(event, context); });
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
