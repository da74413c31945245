// The CUDA driver API: fills by 16- and 32-bit elements.
#include "host/runtime/driver_call.h"
#include "host/memory/transfer.h"

using namespace gridstride::host;

namespace {

CUresult fill_elements(CUdeviceptr destination, std::uint32_t value, std::size_t element_bytes,
                       std::size_t count, CUstream stream) {
  return driver_call([&] {
    FillRequest request;
    request.destination = reinterpret_cast<void*>(static_cast<std::uintptr_t>(destination));
    request.value = value;
    request.element_bytes = element_bytes;
    request.stream = stream;
    if (destination % element_bytes != 0 ||
        __builtin_mul_overflow(count, element_bytes, &request.width)) {
      return cudaErrorInvalidValue;
    }
    return fill(request);
  });
}

}  // namespace

CUresult cuMemsetD16Async(CUdeviceptr destination, unsigned short value, size_t count,
                          CUstream stream) {
  return fill_elements(destination, value, sizeof value, count, stream);
}

CUresult cuMemsetD32Async(CUdeviceptr destination, unsigned int value, size_t count,
                          CUstream stream) {
  return fill_elements(destination, value, sizeof value, count, stream);
}
