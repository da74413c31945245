// The CUDA runtime API: streams and host functions.
#include <algorithm>

#include "host/graph/capture.h"
#include "host/device/device.h"
#include "host/runtime/errors.h"
#include "gridstride/runtime_api.h"
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

// Runs body with the stream of the handle, to tell something of it.
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

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned int* flags) {
  return with_stream(handle, [&](Stream& stream) {
    if (flags == nullptr) return cudaErrorInvalidValue;
    *flags = stream.flags();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  return with_stream(handle, [&](Stream& stream) {
    if (priority == nullptr) return cudaErrorInvalidValue;
    *priority = stream.priority();
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
