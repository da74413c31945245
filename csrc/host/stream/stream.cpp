// The table of live streams, and what a handle means.
#include "host/stream/stream.h"

#include "host/device/device.h"

namespace gridstride::host {

cudaError_t find_stream_despite_fault(cudaStream_t handle, std::shared_ptr<Stream>& stream) {
  if (handle == cudaStreamPerThread) return cudaErrorNotSupported;
  if (handle == nullptr || handle == cudaStreamLegacy) {
    Device* const device = current_device();
    if (device == nullptr) return cudaErrorNoDevice;
    stream = device->legacy_stream();
    return cudaSuccess;
  }
  stream = live_streams().find(reinterpret_cast<std::uintptr_t>(handle));
  return stream == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess;
}

LiveHandles<Stream>& live_streams() {
  static auto& handles = *new LiveHandles<Stream>(0x10000);
  return handles;
}

cudaError_t find_stream(cudaStream_t handle, std::shared_ptr<Stream>& stream) {
  const cudaError_t status = find_stream_despite_fault(handle, stream);
  return status == cudaSuccess ? stream->device().fault_code() : status;
}

}  // namespace gridstride::host
