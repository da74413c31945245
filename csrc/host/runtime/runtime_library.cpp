// The CUDA runtime API: modules, which CUDA calls libraries, and kernels.
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "gridstride/runtime_api.h"
#include "host/device/device.h"
#include "host/execution/kernel_work.h"
#include "host/graph/capture.h"
#include "host/module/loaded_module.h"
#include "host/module/module_image.h"
#include "host/module/module_library.h"
#include "host/runtime/errors.h"
#include "host/stream/stream_graph.h"

using namespace gridstride::host;

namespace {

// A log buffer that the caller gave, with where its size stands in the option values.
struct LogBuffer {
  char* text = nullptr;
  std::size_t capacity = 0;
  void** filled = nullptr;

  // Cut off where the buffer ends; the terminating null counts, as in CUDA.
  void write(const std::string& message) const {
    if (text == nullptr || capacity == 0) return;
    const std::size_t length = message.copy(text, capacity - 1);
    text[length] = '\0';
    if (filled != nullptr) *filled = reinterpret_cast<void*>(length + 1);
  }
};

struct LoadOptions {
  LogBuffer information;
  LogBuffer errors;
  std::size_t image_bytes = 0;  // 0: as the image says
  void** wall_time = nullptr;
};

cudaError_t read_option(cudaJitOption option, void** value, LoadOptions& options) {
  const auto number = reinterpret_cast<std::uintptr_t>(*value);
  // A value of type unsigned lies in the low bytes of the pointer.
  const std::size_t capacity = static_cast<unsigned>(number);
  switch (option) {
    case cudaJitInfoLogBuffer:
      options.information.text = static_cast<char*>(*value);
      return cudaSuccess;
    case cudaJitInfoLogBufferSizeBytes:
      options.information.capacity = capacity;
      options.information.filled = value;
      return cudaSuccess;
    case cudaJitErrorLogBuffer:
      options.errors.text = static_cast<char*>(*value);
      return cudaSuccess;
    case cudaJitErrorLogBufferSizeBytes:
      options.errors.capacity = capacity;
      options.errors.filled = value;
      return cudaSuccess;
    case gridstrideJitImageBytes:
      options.image_bytes = number;
      return number == 0 ? cudaErrorInvalidValue : cudaSuccess;
    case cudaJitWallTime: options.wall_time = value; return cudaSuccess;
    case cudaJitMaxRegisters:
    case cudaJitThreadsPerBlock:
    case cudaJitOptimizationLevel:
    case cudaJitFallbackStrategy:
    case cudaJitGenerateDebugInfo:
    case cudaJitLogVerbose:
    case cudaJitGenerateLineInfo:
    case cudaJitCacheMode:
    case cudaJitPositionIndependentCode:
    case cudaJitMinCtaPerSm:
    case cudaJitMaxThreadsPerBlock:
    case cudaJitOverrideDirectiveValues: return cudaSuccess;
  }
  return cudaErrorInvalidValue;
}

cudaError_t read_options(cudaJitOption* names, void** values, unsigned count,
                         LoadOptions& options) {
  if (count != 0 && (names == nullptr || values == nullptr)) return cudaErrorInvalidValue;
  for (unsigned i = 0; i < count; ++i) {
    const cudaError_t status = read_option(names[i], &values[i], options);
    if (status != cudaSuccess) return status;
  }
  return cudaSuccess;
}

// That the image stays where it is may be said: it is copied anyway.
cudaError_t check_library_options(const cudaLibraryOption* options, unsigned count) {
  if (count != 0 && options == nullptr) return cudaErrorInvalidValue;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == cudaLibraryHostUniversalFunctionAndDataTable) return cudaErrorNotSupported;
    if (options[i] != cudaLibraryBinaryIsPreserved) return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

// Nothing was compiled.
void write_wall_time(const LoadOptions& options) {
  const float none = 0;
  if (options.wall_time != nullptr) std::memcpy(options.wall_time, &none, sizeof none);
}

cudaError_t load(cudaLibrary_t& library, const void* code, const LoadOptions& options) {
  Device* const device = current_device();
  if (device == nullptr) return cudaErrorNoDevice;
  if (device->fault_code() != cudaSuccess) return device->fault_code();
  const cudaError_t forbidden = capture_forbids();
  if (forbidden != cudaSuccess) return forbidden;
  options.information.write("");
  options.errors.write("");
  try {
    const std::size_t bytes =
        options.image_bytes != 0 ? options.image_bytes : stated_image_bytes(code);
    const ImageView image = {static_cast<const unsigned char*>(code), bytes};
    check_image(image);
    library = LoadedLibraries::instance().insert(std::make_shared<ModuleLibrary>(image, *device));
  } catch (const ImageError& error) {
    options.errors.write(error.what());
    return error.code();
  }
  write_wall_time(options);
  return cudaSuccess;
}

// Also for a device with a fault, which the caller gets: nothing stays behind.
cudaError_t unload(cudaLibrary_t handle) {
  if (LoadedLibraries::instance().find(handle) == nullptr) return cudaErrorInvalidResourceHandle;
  const cudaError_t forbidden = capture_forbids();
  if (forbidden != cudaSuccess) return forbidden;
  // First it leaves the table, then enqueued work ends, then it is unloaded.
  const std::shared_ptr<ModuleLibrary> library = LoadedLibraries::instance().remove(handle);
  if (library == nullptr) return cudaErrorInvalidResourceHandle;
  cudaError_t status = cudaSuccess;
  for (const std::shared_ptr<LoadedModule>& module : library->unload()) {
    StreamGraph::instance().synchronize(module->device());
    ModuleVariables::instance().remove(*module);
    if (status == cudaSuccess) status = module->device().fault_code();
  }
  return status;
}

cudaError_t find_kernel_named(cudaKernel_t& kernel, cudaLibrary_t handle, const char* name) {
  const std::shared_ptr<ModuleLibrary> library = LoadedLibraries::instance().find(handle);
  if (library == nullptr) return cudaErrorInvalidResourceHandle;
  const std::vector<std::string>& names = library->kernel_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != name) continue;
    kernel = LoadedLibraries::instance().kernel_handle(handle, i);
    return kernel == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess;
  }
  return cudaErrorSymbolNotFound;
}

// The library's module on the calling thread's device.
cudaError_t find_module(std::shared_ptr<LoadedModule>& module, cudaLibrary_t handle) {
  const std::shared_ptr<ModuleLibrary> library = LoadedLibraries::instance().find(handle);
  if (library == nullptr) return cudaErrorInvalidResourceHandle;
  Device* const device = current_device();
  if (device == nullptr) return cudaErrorNoDevice;
  try {
    module = library->on(*device);
  } catch (const ImageError& error) {
    return error.code();
  }
  return module == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess;
}

cudaError_t find_global(void** address, std::size_t* bytes, cudaLibrary_t handle,
                        const char* name) {
  std::shared_ptr<LoadedModule> module;
  const cudaError_t status = find_module(module, handle);
  if (status != cudaSuccess) return status;
  for (const ModuleVariable& variable : module->variables()) {
    if (std::strcmp(variable.name, name) != 0) continue;
    if (address != nullptr) *address = reinterpret_cast<void*>(variable.address);
    if (bytes != nullptr) *bytes = variable.bytes;
    return cudaSuccess;
  }
  return cudaErrorSymbolNotFound;
}

}  // namespace

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption* options,
                                void** option_values, unsigned int option_count,
                                cudaLibraryOption* library_options, void**,
                                unsigned int library_option_count) {
  return api_call([&] {
    if (library == nullptr || code == nullptr) return cudaErrorInvalidValue;
    LoadOptions read;
    cudaError_t status = read_options(options, option_values, option_count, read);
    if (status == cudaSuccess)
      status = check_library_options(library_options, library_option_count);
    return status == cudaSuccess ? load(*library, code, read) : status;
  });
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return api_call([&] { return unload(library); });
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  return api_call([&] {
    if (kernel == nullptr || name == nullptr) return cudaErrorInvalidValue;
    return find_kernel_named(*kernel, library, name);
  });
}

cudaError_t cudaLibraryGetKernelCount(unsigned int* count, cudaLibrary_t library) {
  return api_call([&] {
    if (count == nullptr) return cudaErrorInvalidValue;
    const std::shared_ptr<ModuleLibrary> found = LoadedLibraries::instance().find(library);
    if (found == nullptr) return cudaErrorInvalidResourceHandle;
    *count = static_cast<unsigned int>(found->kernel_names().size());
    return cudaSuccess;
  });
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned int count,
                                        cudaLibrary_t library) {
  return api_call([&] {
    if (kernels == nullptr) return cudaErrorInvalidValue;
    const std::shared_ptr<ModuleLibrary> found = LoadedLibraries::instance().find(library);
    if (found == nullptr) return cudaErrorInvalidResourceHandle;
    for (std::size_t i = 0; i < count && i < found->kernel_names().size(); ++i) {
      kernels[i] = LoadedLibraries::instance().kernel_handle(library, i);
    }
    return cudaSuccess;
  });
}

cudaError_t cudaLibraryGetGlobal(void** address, size_t* bytes, cudaLibrary_t library,
                                 const char* name) {
  return api_call([&] {
    if (name == nullptr || (address == nullptr && bytes == nullptr)) return cudaErrorInvalidValue;
    return find_global(address, bytes, library, name);
  });
}

// ---- kernels: attributes and occupancy ----------------------------------------------------------

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

// An unknown kernel is an invalid handle to the driver.
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

cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  return api_call([&] {
    return with_kernel(function, [&](const KernelDescriptor&, Device&) {
      if (kernel == nullptr) return cudaErrorInvalidValue;
      *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
      return cudaSuccess;
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

CUresult cuLibraryGetModule(CUmodule* module, CUlibrary handle) {
  return driver_call([&] {
    if (module == nullptr) return cudaErrorInvalidValue;
    std::shared_ptr<LoadedModule> loaded;
    const cudaError_t status = find_module(loaded, handle);
    if (status == cudaSuccess) *module = reinterpret_cast<CUmodule>(loaded.get());
    return status;
  });
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  return driver_call([&] {
    return for_driver(with_kernel(kernel, [&](const KernelDescriptor&, Device&) {
      if (function == nullptr) return cudaErrorInvalidValue;
      // The kernel's own handle: what is done with it concerns the calling thread's device.
      *function = reinterpret_cast<CUfunction>(kernel);
      return cudaSuccess;
    }));
  });
}

CUresult cuFuncLoad(CUfunction function) {
  return driver_call([&] {
    return for_driver(with_kernel(function, [&](const KernelDescriptor& kernel, Device& device) {
      const cudaError_t forbidden = capture_forbids();
      if (forbidden == cudaSuccess) device.load(kernel);
      return forbidden;
    }));
  });
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
  return driver_call([&] {
    return for_driver(with_kernel(function, [&](const KernelDescriptor& kernel, Device& device) {
      if (state == nullptr) return cudaErrorInvalidValue;
      *state = device.is_loaded(kernel) ? CU_FUNCTION_LOADING_STATE_LOADED
                                        : CU_FUNCTION_LOADING_STATE_UNLOADED;
      return cudaSuccess;
    }));
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
