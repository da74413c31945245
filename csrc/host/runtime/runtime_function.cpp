// The CUDA runtime API: what a kernel is and may use. And the driver's functions for the same.
#include "host/device/device.h"
#include "host/runtime/driver_call.h"
#include "host/runtime/errors.h"
#include "gridstride/runtime_api.h"
#include "host/execution/launch_request.h"
#include "host/module/launched_kernel.h"
#include "host/device/occupancy.h"

using namespace gridstride::host;

namespace {

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

cudaError_t find_parameter(const KernelDescriptor& kernel, std::size_t index, std::size_t* offset,
                           std::size_t* bytes) {
  if (offset == nullptr || index >= kernel.parameter_count) return cudaErrorInvalidValue;
  for_each_parameter(kernel, [&](std::uint32_t parameter, std::size_t at) {
    if (parameter == index) *offset = at;
  });
  if (bytes != nullptr) *bytes = kernel.parameter_sizes[index];
  return cudaSuccess;
}

// The kernel of this name and the calling thread's device, for body.
template <typename Body>
cudaError_t with_kernel(const void* function, Body body) {
  Device* const device = current_device();
  if (device == nullptr) return cudaErrorNoDevice;
  LaunchedKernel kernel;
  const cudaError_t status = find_launched_kernel(function, *device, kernel);
  return status == cudaSuccess ? body(*kernel.descriptor, *device) : status;
}

cudaError_t set_attribute(const KernelDescriptor& kernel, Device& device,
                          cudaFuncAttribute attribute, int value) {
  switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
      return device.set_dynamic_shared_limit(kernel, value) ? cudaSuccess : cudaErrorInvalidValue;
    case cudaFuncAttributePreferredSharedMemoryCarveout:
      // A hint: percent of a cache that is not there, or -1 for no preference.
      return value >= -1 && value <= 100 ? cudaSuccess : cudaErrorInvalidValue;
    case cudaFuncAttributeClusterDimMustBeSet:
    case cudaFuncAttributeRequiredClusterWidth:
    case cudaFuncAttributeRequiredClusterHeight:
    case cudaFuncAttributeRequiredClusterDepth:
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
    case cudaFuncAttributeClusterSchedulingPolicyPreference: return cudaErrorNotSupported;
  }
  return cudaErrorInvalidValue;
}

cudaError_t get_name(const char** name, const KernelDescriptor& kernel) {
  if (name == nullptr) return cudaErrorInvalidValue;
  *name = kernel.name;
  return cudaSuccess;
}

// The driver calls what it does not know a handle.
cudaError_t for_driver(cudaError_t status) {
  return status == cudaErrorInvalidDeviceFunction ? cudaErrorInvalidResourceHandle : status;
}

}  // namespace

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return api_call([&] {
    return with_kernel(function, [&](const KernelDescriptor& kernel, Device& device) {
      return attributes == nullptr ? cudaErrorInvalidValue : describe(*attributes, kernel, device);
    });
  });
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return api_call([&] {
    return with_kernel(function, [&](const KernelDescriptor& kernel, Device& device) {
      return set_attribute(kernel, device, attribute, value);
    });
  });
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
  return api_call([&] {
    return with_kernel(
        function, [&](const KernelDescriptor& kernel, Device&) { return get_name(name, kernel); });
  });
}

cudaError_t cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset,
                                 size_t* bytes) {
  return api_call([&] {
    return with_kernel(function, [&](const KernelDescriptor& kernel, Device&) {
      return find_parameter(kernel, index, offset, bytes);
    });
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                          int block_threads,
                                                          size_t dynamic_shared_bytes) {
  return api_call([&] {
    if (blocks == nullptr || block_threads <= 0) return cudaErrorInvalidValue;
    return with_kernel(function, [&](const KernelDescriptor& kernel, Device& device) {
      *blocks = resident_blocks(device, kernel, block_threads, dynamic_shared_bytes);
      return cudaSuccess;
    });
  });
}

CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  return driver_call([&] {
    return for_driver(with_kernel(
        kernel, [&](const KernelDescriptor& found, Device&) { return get_name(name, found); }));
  });
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* bytes) {
  return driver_call([&] {
    return for_driver(with_kernel(kernel, [&](const KernelDescriptor& found, Device&) {
      return find_parameter(found, index, offset, bytes);
    }));
  });
}
