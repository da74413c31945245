// The CUDA runtime API: kernel launches and the attributes of kernels.
#include <cstdlib>
#include <cstring>

#include "capture.h"
#include "device.h"
#include "errors.h"
#include "gridstride/kernel_descriptor.h"
#include "gridstride/runtime_api.h"
#include "kernel_table.h"
#include "kernel_work.h"
#include "stream_graph.h"

using namespace gridstride::host;

namespace {

bool is_between(unsigned value, int most) {
  return value >= 1 && value <= static_cast<unsigned>(most);
}

// The limits of the device, which are at most those of the engine.
bool is_geometry_valid(const DeviceSpecification& limits, const dim3& grid, const dim3& block) {
  const auto limit = [&](cudaDeviceAttr id) { return limits.attribute_or_zero(id); };
  if (!is_between(grid.x, limit(cudaDevAttrMaxGridDimX)) ||
      !is_between(grid.y, limit(cudaDevAttrMaxGridDimY)) ||
      !is_between(grid.z, limit(cudaDevAttrMaxGridDimZ)) ||
      !is_between(block.x, limit(cudaDevAttrMaxBlockDimX)) ||
      !is_between(block.y, limit(cudaDevAttrMaxBlockDimY)) ||
      !is_between(block.z, limit(cudaDevAttrMaxBlockDimZ))) {
    return false;
  }
  // Each factor is below 2^31 and the first two may be 2^31: checked two at a time.
  const auto most = static_cast<unsigned long long>(limit(cudaDevAttrMaxThreadsPerBlock));
  const unsigned long long face = 1ull * block.x * block.y;
  return face <= most && face * block.z <= most;
}

bool are_arguments_given(const KernelDescriptor& kernel, void** arguments) {
  if (kernel.parameter_count == 0) return true;
  if (arguments == nullptr) return false;
  for (std::uint32_t index = 0; index < kernel.parameter_count; ++index) {
    if (arguments[index] == nullptr) return false;
  }
  return true;
}

cudaError_t find_function(const void* function, const KernelDescriptor*& kernel) {
  kernel = function == nullptr ? nullptr : find_kernel(function);
  if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  // Compiled for another version of this runtime, as a GPU's code may be for another GPU.
  return kernel->contract == kernel_contract ? cudaSuccess : cudaErrorNoKernelImageForDevice;
}

// CUDA rejects a geometry beyond the limits as a configuration, and too much shared memory as a
// value.
cudaError_t check_launch(const Stream& stream, const KernelDescriptor& kernel, const dim3& grid,
                         const dim3& block, void** arguments, std::size_t dynamic_shared_bytes) {
  const Device& device = stream.device();
  if (&device != current_device()) return cudaErrorInvalidResourceHandle;
  if (!is_geometry_valid(device.specification(), grid, block)) {
    return cudaErrorInvalidConfiguration;
  }
  const int shared_limit = device.dynamic_shared_limit(kernel);
  if (shared_limit < 0 || dynamic_shared_bytes > static_cast<std::size_t>(shared_limit)) {
    return cudaErrorInvalidValue;
  }
  return are_arguments_given(kernel, arguments) ? cudaSuccess : cudaErrorInvalidValue;
}

Operation launch_operation(const std::shared_ptr<Stream>& stream, LaunchRequest request) {
  Operation operation;
  operation.work = make_kernel_work(std::move(request), [stream](const LaunchFault* fault) {
    if (fault != nullptr) stream->device().report_fault(fault->code, fault->description);
    StreamGraph::instance().finish(*stream);
  });
  return operation;
}

cudaError_t capture_launch(Stream& stream, LaunchRequest request) {
  return capture_node(
      stream, {[request = std::move(request)](const std::shared_ptr<Stream>& launched) {
                 return launch_operation(launched, request);
               },
               nullptr});
}

// As in CUDA, read once: launches return when the kernel is done.
bool launches_block() {
  static const bool blocking = [] {
    const char* const value = std::getenv("CUDA_LAUNCH_BLOCKING");
    return value != nullptr && std::strcmp(value, "1") == 0;
  }();
  return blocking;
}

cudaError_t launch(const void* function, const dim3& grid, const dim3& block, void** arguments,
                   std::size_t dynamic_shared_bytes, cudaStream_t stream_handle) {
  const KernelDescriptor* kernel = nullptr;
  cudaError_t status = find_function(function, kernel);
  if (status != cudaSuccess) return status;
  std::shared_ptr<Stream> stream;
  status = find_stream_for_work(stream_handle, stream);
  if (status != cudaSuccess) return status;
  status = check_launch(*stream, *kernel, grid, block, arguments, dynamic_shared_bytes);
  if (status != cudaSuccess) return status;
  LaunchRequest request{kernel,
                        grid,
                        block,
                        dynamic_shared_bytes,
                        pack_arguments(*kernel, arguments),
                        stream->device().ordinal()};
  if (is_captured(*stream)) return capture_launch(*stream, std::move(request));
  StreamGraph::instance().enqueue(*stream, launch_operation(stream, std::move(request)));
  if (!launches_block()) return cudaSuccess;
  StreamGraph::instance().synchronize(*stream);
  return stream->device().fault_code();
}

cudaError_t describe(cudaFuncAttributes& attributes, const KernelDescriptor& kernel,
                     const Device& device) {
  const DeviceSpecification& specification = device.specification();
  const int capability = 10 * specification.attribute_or_zero(cudaDevAttrComputeCapabilityMajor) +
                         specification.attribute_or_zero(cudaDevAttrComputeCapabilityMinor);
  attributes = {};
  attributes.sharedSizeBytes = kernel.static_shared_bytes;
  attributes.maxThreadsPerBlock = specification.attribute_or_zero(cudaDevAttrMaxThreadsPerBlock);
  attributes.ptxVersion = capability;
  attributes.binaryVersion = capability;
  attributes.maxDynamicSharedSizeBytes = device.dynamic_shared_limit(kernel);
  return cudaSuccess;
}

// The kernel at this address and the calling thread's device, for body.
template <typename Body>
cudaError_t with_function(const void* function, Body body) {
  return api_call([&] {
    Device* const device = current_device();
    if (device == nullptr) return cudaErrorNoDevice;
    const KernelDescriptor* kernel = nullptr;
    const cudaError_t status = find_function(function, kernel);
    return status == cudaSuccess ? body(*kernel, *device) : status;
  });
}

}  // namespace

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             size_t dynamic_shared_bytes, cudaStream_t stream) {
  return api_call(
      [&] { return launch(function, grid, block, arguments, dynamic_shared_bytes, stream); });
}

cudaError_t cudaLaunchCooperativeKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t) {
  return api_call([] { return cudaErrorNotSupported; });
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return with_function(function, [&](const KernelDescriptor& kernel, Device& device) {
    return attributes == nullptr ? cudaErrorInvalidValue : describe(*attributes, kernel, device);
  });
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return with_function(function, [&](const KernelDescriptor& kernel, Device& device) {
    switch (attribute) {
      case cudaFuncAttributeMaxDynamicSharedMemorySize:
        return device.set_dynamic_shared_limit(kernel, value) ? cudaSuccess
                                                              : cudaErrorInvalidValue;
      case cudaFuncAttributePreferredSharedMemoryCarveout:
        // A hint: percent of a cache that is not there, or -1 for no preference.
        return value >= -1 && value <= 100 ? cudaSuccess : cudaErrorInvalidValue;
      case cudaFuncAttributeClusterDimMustBeSet:
      case cudaFuncAttributeRequiredClusterWidth:
      case cudaFuncAttributeRequiredClusterHeight:
      case cudaFuncAttributeRequiredClusterDepth:
      case cudaFuncAttributeNonPortableClusterSizeAllowed:
      case cudaFuncAttributeClusterSchedulingPolicyPreference:
        return cudaErrorNotSupported;
    }
    return cudaErrorInvalidValue;
  });
}
