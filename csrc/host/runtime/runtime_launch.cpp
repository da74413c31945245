// The CUDA runtime API: kernel launches.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include "gridstride/kernel_descriptor.h"
#include "gridstride/runtime_api.h"
#include "host/device/device.h"
#include "host/execution/block_runner.h"
#include "host/execution/kernel_work.h"
#include "host/graph/capture.h"
#include "host/graph/graph.h"
#include "host/module/module_library.h"
#include "host/runtime/errors.h"
#include "host/stream/stream_graph.h"

using namespace gridstride::host;

namespace {

enum class LaunchKind { ordinary, cooperative };

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

// A cooperative launch needs all its blocks on the device at once.
cudaError_t check_cooperation(const Device& device, const LaunchRequest& request) {
  if (device.specification().attribute_or_zero(cudaDevAttrCooperativeLaunch) == 0) {
    return cudaErrorNotSupported;
  }
  const unsigned threads = request.block.x * request.block.y * request.block.z;
  const std::uint64_t most = resident_grid(device, *request.kernel, static_cast<int>(threads),
                                           request.dynamic_shared_bytes);
  // The geometry is valid: the product of the grid is below 2^63.
  return block_count(request.grid) <= std::min<std::uint64_t>(most, UINT32_MAX)
             ? cudaSuccess
             : cudaErrorCooperativeLaunchTooLarge;
}

Operation launch_operation(const std::shared_ptr<Stream>& stream, LaunchRequest request,
                           LaunchKind kind) {
  const auto completed = [stream](const LaunchFault* fault) {
    if (fault != nullptr) stream->device().report_fault(fault->code, fault->description);
    StreamGraph::instance().finish(*stream);
  };
  request.time_limit = stream->device().time_limit;
  Operation operation;
  operation.work = kind == LaunchKind::cooperative
                       ? make_cooperative_work(std::move(request), completed)
                       : make_kernel_work(std::move(request), completed);
  return operation;
}

std::shared_ptr<Work> lost_kernel(const std::shared_ptr<Stream>& stream, const std::string& name) {
  return std::make_shared<LostMemoryWork>(
      stream, "a launched graph runs the kernel " + name + " of a module that is unloaded",
      cudaErrorInvalidDeviceFunction);
}

// A node keeps no module loaded: a launch looks its kernel up anew.
cudaError_t capture_launch(Stream& stream, const void* function, LaunchRequest request,
                           LaunchKind kind) {
  request.owner = nullptr;
  const std::string name = request.kernel->name;
  return capture_node(stream, {[=](const std::shared_ptr<Stream>& launched) {
                                 LaunchedKernel kernel;
                                 Operation lost;
                                 if (find_launched_kernel(function, launched->device(), kernel) !=
                                     cudaSuccess) {
                                   lost.work = lost_kernel(launched, name);
                                   return lost;
                                 }
                                 LaunchRequest again = request;
                                 again.kernel = kernel.descriptor;
                                 again.owner = kernel.owner;
                                 return launch_operation(launched, std::move(again), kind);
                               },
                               nullptr});
}

// The threads of a cooperative launch are made now: too few are an error of the call, and not a
// fault that takes the device away.
cudaError_t prepare_threads(const LaunchRequest& request) {
  try {
    BlockThreads::instance().prepare(static_cast<std::uint32_t>(block_count(request.grid)));
    return cudaSuccess;
  } catch (const std::system_error&) {
    return cudaErrorLaunchOutOfResources;
  }
}

// As in CUDA, read once: launches return when the kernel is done.
bool launches_block() {
  static const bool blocking = [] {
    const char* const value = std::getenv("CUDA_LAUNCH_BLOCKING");
    return value != nullptr && std::strcmp(value, "1") == 0;
  }();
  return blocking;
}

cudaError_t enqueue(const std::shared_ptr<Stream>& stream, LaunchRequest request,
                    LaunchKind kind) {
  if (kind == LaunchKind::cooperative) {
    const cudaError_t status = prepare_threads(request);
    if (status != cudaSuccess) return status;
  }
  StreamGraph::instance().enqueue(*stream, launch_operation(stream, std::move(request), kind));
  if (!launches_block()) return cudaSuccess;
  StreamGraph::instance().synchronize(*stream);
  return stream->device().fault_code();
}

cudaError_t launch(const void* function, const dim3& grid, const dim3& block, void** arguments,
                   std::size_t dynamic_shared_bytes, cudaStream_t stream_handle, LaunchKind kind) {
  Device* const device = current_device();
  if (device == nullptr) return cudaErrorNoDevice;
  LaunchedKernel kernel;
  cudaError_t status = find_launched_kernel(function, *device, kernel);
  if (status != cudaSuccess) return status;
  std::shared_ptr<Stream> stream;
  status = find_stream_for_work(stream_handle, stream);
  if (status != cudaSuccess) return status;
  status = check_launch(*stream, *kernel.descriptor, grid, block, arguments, dynamic_shared_bytes);
  if (status != cudaSuccess) return status;
  LaunchRequest request{kernel.descriptor,
                        grid,
                        block,
                        dynamic_shared_bytes,
                        pack_arguments(*kernel.descriptor, arguments),
                        device->ordinal(),
                        std::move(kernel.owner)};
  if (kind == LaunchKind::cooperative) {
    status = check_cooperation(*device, request);
    if (status != cudaSuccess) return status;
  }
  device->load(*kernel.descriptor);
  if (is_captured(*stream)) return capture_launch(*stream, function, std::move(request), kind);
  return enqueue(stream, std::move(request), kind);
}

// The requests in the attributes of a launch. Hints for hardware are ignored.
cudaError_t read_attributes(const cudaLaunchConfig_t& config, LaunchKind& kind) {
  if (config.attrs == nullptr && config.numAttrs != 0) return cudaErrorInvalidValue;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config.attrs[i];
    switch (attribute.id) {
      case cudaLaunchAttributeCooperative:
        kind = attribute.val.cooperative != 0 ? LaunchKind::cooperative : LaunchKind::ordinary;
        break;
      case cudaLaunchAttributeIgnore:
      case cudaLaunchAttributeAccessPolicyWindow:
      case cudaLaunchAttributeSynchronizationPolicy:
      case cudaLaunchAttributePriority:
      case cudaLaunchAttributeMemSyncDomainMap:
      case cudaLaunchAttributeMemSyncDomain:
      case cudaLaunchAttributePreferredSharedMemoryCarveout:
      case cudaLaunchAttributeNvlinkUtilCentricScheduling:
        break;
      case cudaLaunchAttributeClusterDimension:
      case cudaLaunchAttributeClusterSchedulingPolicyPreference:
      case cudaLaunchAttributePreferredClusterDimension:
      case cudaLaunchAttributeProgrammaticStreamSerialization:
      case cudaLaunchAttributeProgrammaticEvent:
      case cudaLaunchAttributeLaunchCompletionEvent:
      case cudaLaunchAttributeDeviceUpdatableKernelNode:
        return cudaErrorNotSupported;
      default:
        return cudaErrorInvalidValue;
    }
  }
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             size_t dynamic_shared_bytes, cudaStream_t stream) {
  return api_call([&] {
    return launch(function, grid, block, arguments, dynamic_shared_bytes, stream,
                  LaunchKind::ordinary);
  });
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                void** arguments) {
  return api_call([&] {
    if (config == nullptr) return cudaErrorInvalidValue;
    LaunchKind kind = LaunchKind::ordinary;
    const cudaError_t status = read_attributes(*config, kind);
    if (status != cudaSuccess) return status;
    const auto& [grid, block, shared_bytes, stream, attributes, attribute_count] = *config;
    (void)attributes, (void)attribute_count;
    return launch(function, grid, block, arguments, shared_bytes, stream, kind);
  });
}
