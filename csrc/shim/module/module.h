// A module: machine code, loaded by the CUDA runtime's library API.
//
// A cudaLibrary_t has its code and variables once for every device; a module is of one.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "shim/device/device.h"
#include "shim/handle_table.h"
#include "shim/launch/kernel_registry.h"

#if CUDART_VERSION < 12080 && !defined(__CUDASIM__)
#error "CUDA 12.8 or newer is needed: older runtimes cannot load modules"
#endif

namespace gridstride {

class JitLog;

// Several threads may use a module; only one ends it. Functions that need the library throw
// cudaErrorIllegalState while it is not loaded.
class LoadedModule {
 public:
  struct Variable {
    void* address = nullptr;
    size_t bytes = 0;
  };

  struct Place {
    size_t offset = 0;
    size_t bytes = 0;
  };

  // Copies the image.
  LoadedModule(int device, const void* image, size_t bytes);
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;
  // Also where a lost device keeps its part: what the library has in the host's memory goes.
  ~LoadedModule();

  int device() const { return device_; }

  void load();

  std::string log() const;

  // Throws GS_ERROR_NOT_FOUND behind the last.
  std::string kernel_name(int32_t index);

  // Throws GS_ERROR_NOT_FOUND.
  cudaKernel_t kernel(const char* name) const;
  Variable variable(const char* name) const;

  // Where a kernel's parameter of this number is; of no bytes behind the last.
  Place parameter(cudaKernel_t kernel, size_t index) const;

  // The handle of a kernel for these parameters, the same for the same ones. Throws GS_ERROR_LAUNCH
  // if they differ from the compiled ones.
  int32_t launchable_kernel(cudaKernel_t kernel, std::vector<Parameter> parameters);

  // Waits for everything enqueued on the device.
  void wait() const;

  // Ends the handles of its kernels, when calls that are launching them are done.
  void end_kernels();

  // Waits and gives the library back.
  void unload();

 private:
  struct LaunchableKernel {
    cudaKernel_t kernel;
    std::vector<Parameter> parameters;
    int32_t handle;
  };

  // With the device current.
  cudaLibrary_t loaded_library() const;
  void set_log(std::string text);
  void require_compiled(cudaKernel_t kernel, const std::vector<Parameter>& parameters) const;

  const int device_;
  std::atomic<cudaLibrary_t> library_{nullptr};
  std::mutex load_mutex_;    // guards the two below: one thread loads
  std::vector<char> image_;  // empty once it is loaded: then the driver has a copy
  std::unique_ptr<JitLog> jit_log_;
  mutable std::mutex mutex_;  // guards all below
  std::string log_;
  std::vector<std::string> kernel_names_;
  std::vector<LaunchableKernel> kernels_;
};

// Loads a kernel for the current device, which may wait for all work of the device. Otherwise CUDA
// does so at the first launch. Drivers before CUDA 12.4 load it when its attributes are read.
void load_kernel(cudaKernel_t kernel);

// Throws GS_ERROR_UNSUPPORTED if the driver does not tell.
bool is_kernel_loaded(cudaKernel_t kernel);

// For launches with certain parameters, which are the module's to keep.
struct ModuleKernel {
  int device = no_device;
  Launchable launchable;

  void end() const {}
};

extern HandleTable<ModuleKernel> module_kernels;

// Ids of built-in kernels count from 1 and stay far below the least handle.
inline bool is_built_in(int32_t id) { return id < HandleTable<ModuleKernel>::min_handle; }

// Calls body with the kernel of this id, which lives until body returns.
template <class Body>
void with_kernel(int32_t id, int device, const Body& body) {
  if (is_built_in(id)) {
    body(kernel_of(id).launchable());
    return;
  }
  const HandleTable<ModuleKernel>::Use kernel = module_kernels.use(id);
  thread_state.device = device;
  require(kernel->device == device, GS_ERROR_FOREIGN);
  body(kernel->launchable);
}

struct Module {
  LoadedModule* loaded = nullptr;  // its own

  void end() const;
};

using ModuleUse = HandleTable<Module>::Use;

extern HandleTable<Module> modules;

int64_t live_nvrtc_programs();

void destroy_programs(int32_t isolate);

}  // namespace gridstride
