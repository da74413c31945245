// The CUDA runtime API: copies and fills.
#include "host/device/device.h"
#include "host/runtime/errors.h"
#include "gridstride/runtime_api.h"
#include "host/memory/transfer.h"

using namespace gridstride::host;

namespace {

CopyRequest linear_copy(void* destination, const void* source, std::size_t bytes,
                        cudaMemcpyKind kind) {
  CopyRequest request;
  request.destination = destination;
  request.destination_pitch = bytes;
  request.source = source;
  request.source_pitch = bytes;
  request.width = bytes;
  request.kind = kind;
  return request;
}

CopyRequest pitched_copy(void* destination, std::size_t destination_pitch, const void* source,
                         std::size_t source_pitch, std::size_t width, std::size_t height,
                         cudaMemcpyKind kind) {
  CopyRequest request;
  request.destination = destination;
  request.destination_pitch = destination_pitch;
  request.source = source;
  request.source_pitch = source_pitch;
  request.width = width;
  request.height = height;
  request.kind = kind;
  return request;
}

cudaError_t peer_copy(void* destination, int destination_device, const void* source,
                      int source_device, std::size_t bytes, cudaStream_t stream, bool waits) {
  if (find_device(destination_device) == nullptr || find_device(source_device) == nullptr) {
    return cudaErrorInvalidDevice;
  }
  CopyRequest request = linear_copy(destination, source, bytes, cudaMemcpyDeviceToDevice);
  request.destination_device = destination_device;
  request.source_device = source_device;
  request.stream = stream;
  request.waits = waits;
  return copy(request);
}

FillRequest byte_fill(void* destination, int value, std::size_t bytes, cudaStream_t stream) {
  FillRequest request;
  request.destination = destination;
  request.value = static_cast<unsigned char>(value);
  request.bytes = bytes;
  request.stream = stream;
  return request;
}

}  // namespace

cudaError_t cudaMemcpy(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind) {
  return api_call([&] {
    CopyRequest request = linear_copy(destination, source, bytes, kind);
    request.waits = true;
    return copy(request);
  });
}

cudaError_t cudaMemcpyAsync(void* destination, const void* source, size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t stream) {
  return api_call([&] {
    CopyRequest request = linear_copy(destination, source, bytes, kind);
    request.stream = stream;
    return copy(request);
  });
}

cudaError_t cudaMemcpy2D(void* destination, size_t destination_pitch, const void* source,
                         size_t source_pitch, size_t width, size_t height, cudaMemcpyKind kind) {
  return api_call([&] {
    CopyRequest request = pitched_copy(destination, destination_pitch, source, source_pitch,
                                       width, height, kind);
    request.waits = true;
    return copy(request);
  });
}

cudaError_t cudaMemcpy2DAsync(void* destination, size_t destination_pitch, const void* source,
                              size_t source_pitch, size_t width, size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  return api_call([&] {
    CopyRequest request = pitched_copy(destination, destination_pitch, source, source_pitch,
                                       width, height, kind);
    request.stream = stream;
    return copy(request);
  });
}

cudaError_t cudaMemcpyPeer(void* destination, int destination_device, const void* source,
                           int source_device, size_t bytes) {
  return api_call([&] {
    return peer_copy(destination, destination_device, source, source_device, bytes, nullptr, true);
  });
}

cudaError_t cudaMemcpyPeerAsync(void* destination, int destination_device, const void* source,
                                int source_device, size_t bytes, cudaStream_t stream) {
  return api_call([&] {
    return peer_copy(destination, destination_device, source, source_device, bytes, stream, false);
  });
}

cudaError_t cudaMemset(void* destination, int value, size_t bytes) {
  return api_call([&] { return fill(byte_fill(destination, value, bytes, nullptr)); });
}

cudaError_t cudaMemsetAsync(void* destination, int value, size_t bytes, cudaStream_t stream) {
  return api_call([&] { return fill(byte_fill(destination, value, bytes, stream)); });
}
