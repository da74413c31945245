// Which addresses are kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "gridstride/kernel_descriptor.h"
#include "host/device/device.h"
#include "host/module/loaded_module.h"

namespace gridstride::host {

// The descriptor at this address, null when no kernel was registered there. The address may be
// anything: it is compared, not read.
const KernelDescriptor* find_kernel(const void* address);

// The result of cudaLibraryLoadData: an image, and a copy of it for each device that uses it.

// Thread-safe.
class ModuleLibrary {
 public:
  // Takes a copy of the image, which passed check_image, and loads it for the device. Throws
  // ImageError.
  ModuleLibrary(const ImageView& image, Device& device);

  // In the order of the table.
  const std::vector<std::string>& kernel_names() const { return kernel_names_; }

  // The module on a device, loaded now if it was not; null once the library was unloaded. Throws
  // ImageError.
  std::shared_ptr<LoadedModule> on(Device& device);

  // Forgets the modules of all devices, and gives them to the caller.
  std::vector<std::shared_ptr<LoadedModule>> unload();

 private:
  std::vector<unsigned char> image_;
  std::vector<std::string> kernel_names_;
  std::shared_mutex lock_;
  bool is_unloaded_ = false;
  std::map<const Device*, std::shared_ptr<LoadedModule>> modules_;
};

// The libraries and their kernels by handle. A handle is given out once; that of a kernel is odd,
// as the address of a descriptor never is.
class LoadedLibraries {
 public:
  static LoadedLibraries& instance();

  cudaLibrary_t insert(std::shared_ptr<ModuleLibrary> library);
  std::shared_ptr<ModuleLibrary> find(cudaLibrary_t handle) const;
  // Null when the handle names none.
  std::shared_ptr<ModuleLibrary> remove(cudaLibrary_t handle);

  // The handle of the library's kernel of this number; null for a library that is not there.
  cudaKernel_t kernel_handle(cudaLibrary_t library, std::size_t index) const;

  struct Kernel {
    std::shared_ptr<ModuleLibrary> library;
    std::size_t index;
  };
  // A null library if the value is no kernel's handle.
  Kernel find_kernel(const void* handle) const;

  static bool may_be_kernel(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) % 2 != 0;
  }

 private:
  struct Entry {
    std::shared_ptr<ModuleLibrary> library;
    std::uintptr_t first_kernel;
  };

  mutable std::shared_mutex lock_;
  std::unordered_map<std::uintptr_t, Entry> libraries_;
  std::unordered_map<std::uintptr_t, Kernel> kernels_;
  std::uintptr_t next_library_ = 0x1000e;  // see LiveHandles::step
  std::uintptr_t next_kernel_ = 0x10001;
};

// The kernel that a launch names, on the device that it is launched on.

struct LaunchedKernel {
  const KernelDescriptor* descriptor = nullptr;
  // Keeps a module's code loaded; null for a kernel that nothing unloads.
  std::shared_ptr<const void> owner;
};

// function is what the API takes for one: a descriptor's address, or a module's kernel handle.
// Anything else is cudaErrorInvalidDeviceFunction. Loads the module at the device's first use.
cudaError_t find_launched_kernel(const void* function, Device& device, LaunchedKernel& kernel);

}  // namespace gridstride::host
