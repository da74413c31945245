// Which addresses are kernels.
#include "host/module/module_library.h"

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <unordered_set>

#include "host/device/live_handles.h"
#include "host/module/loaded_module.h"

namespace gridstride::host {
namespace {

// Registration comes from static initialisers, before anything here is constructed: it only links
// the descriptor into a list. Looking up moves new entries of the list into a set.
std::atomic<KernelDescriptor*> last_registered{nullptr};

struct Table {
  std::shared_mutex lock;
  std::unordered_set<const void*> kernels;
  const KernelDescriptor* absorbed = nullptr;
};

Table& table() {
  static Table* const instance = new Table;
  return *instance;
}

void absorb(Table& known, const KernelDescriptor* newest) {
  const std::unique_lock<std::shared_mutex> lock(known.lock);
  for (const KernelDescriptor* one = newest; one != known.absorbed; one = one->registered_before) {
    // Another lookup may have absorbed more than this one saw.
    if (!known.kernels.insert(one).second) return;
  }
  known.absorbed = newest;
}

}  // namespace

const KernelDescriptor* find_kernel(const void* address) {
  Table& known = table();
  const KernelDescriptor* newest = last_registered.load(std::memory_order_acquire);
  {
    const std::shared_lock<std::shared_mutex> lock(known.lock);
    if (known.kernels.count(address) != 0) return static_cast<const KernelDescriptor*>(address);
    if (known.absorbed == newest) return nullptr;
  }
  absorb(known, newest);
  const std::shared_lock<std::shared_mutex> lock(known.lock);
  const bool found = known.kernels.count(address) != 0;
  return found ? static_cast<const KernelDescriptor*>(address) : nullptr;
}

}  // namespace gridstride::host

GS_HOST_API void gs_host_register_kernel(gridstride::host::KernelDescriptor* descriptor) {
  auto& last = gridstride::host::last_registered;
  gridstride::host::KernelDescriptor* before = last.load(std::memory_order_relaxed);
  do {
    descriptor->registered_before = before;
  } while (!last.compare_exchange_weak(before, descriptor, std::memory_order_release,
                                       std::memory_order_relaxed));
}

namespace gridstride::host {

// ---- libraries of kernels: loading them device by device, and their handles ---------------------

// ---- one library -------------------------------------------------------------------------------

ModuleLibrary::ModuleLibrary(const ImageView& image, Device& device)
    : image_(image.data, image.data + image.bytes) {
  for (const KernelDescriptor& kernel : on(device)->kernels()) kernel_names_.push_back(kernel.name);
}

std::shared_ptr<LoadedModule> ModuleLibrary::on(Device& device) {
  {
    const std::shared_lock<std::shared_mutex> lock(lock_);
    const auto entry = modules_.find(&device);
    if (entry != modules_.end()) return entry->second;
  }
  const std::unique_lock<std::shared_mutex> lock(lock_);
  if (is_unloaded_) return nullptr;
  std::shared_ptr<LoadedModule>& module = modules_[&device];
  if (module == nullptr) {
    // A failure must not leave the empty entry behind.
    try {
      module = std::make_shared<LoadedModule>(ImageView{image_.data(), image_.size()}, device);
    } catch (...) {
      modules_.erase(&device);
      throw;
    }
    ModuleVariables::instance().add(module);
  }
  return module;
}

std::vector<std::shared_ptr<LoadedModule>> ModuleLibrary::unload() {
  const std::unique_lock<std::shared_mutex> lock(lock_);
  is_unloaded_ = true;
  std::vector<std::shared_ptr<LoadedModule>> modules;
  for (auto& entry : modules_) modules.push_back(std::move(entry.second));
  modules_.clear();
  return modules;
}

// ---- handles -----------------------------------------------------------------------------------

LoadedLibraries& LoadedLibraries::instance() {
  static LoadedLibraries& only = *new LoadedLibraries;
  return only;
}

cudaLibrary_t LoadedLibraries::insert(std::shared_ptr<ModuleLibrary> library) {
  const std::unique_lock<std::shared_mutex> lock(lock_);
  const std::uintptr_t handle = next_library_;
  next_library_ += LiveHandles<ModuleLibrary>::step;
  const std::uintptr_t first_kernel = next_kernel_;
  for (std::size_t i = 0; i < library->kernel_names().size(); ++i) {
    kernels_.emplace(next_kernel_, Kernel{library, i});
    next_kernel_ += 2;
  }
  libraries_.emplace(handle, Entry{std::move(library), first_kernel});
  return reinterpret_cast<cudaLibrary_t>(handle);
}

std::shared_ptr<ModuleLibrary> LoadedLibraries::find(cudaLibrary_t handle) const {
  const std::shared_lock<std::shared_mutex> lock(lock_);
  const auto entry = libraries_.find(reinterpret_cast<std::uintptr_t>(handle));
  return entry == libraries_.end() ? nullptr : entry->second.library;
}

std::shared_ptr<ModuleLibrary> LoadedLibraries::remove(cudaLibrary_t handle) {
  const std::unique_lock<std::shared_mutex> lock(lock_);
  const auto entry = libraries_.find(reinterpret_cast<std::uintptr_t>(handle));
  if (entry == libraries_.end()) return nullptr;
  const Entry removed = entry->second;
  libraries_.erase(entry);
  for (std::size_t i = 0; i < removed.library->kernel_names().size(); ++i) {
    kernels_.erase(removed.first_kernel + 2 * i);
  }
  return removed.library;
}

cudaKernel_t LoadedLibraries::kernel_handle(cudaLibrary_t library, std::size_t index) const {
  const std::shared_lock<std::shared_mutex> lock(lock_);
  const auto entry = libraries_.find(reinterpret_cast<std::uintptr_t>(library));
  if (entry == libraries_.end()) return nullptr;
  return reinterpret_cast<cudaKernel_t>(entry->second.first_kernel + 2 * index);
}

LoadedLibraries::Kernel LoadedLibraries::find_kernel(const void* handle) const {
  const std::shared_lock<std::shared_mutex> lock(lock_);
  const auto entry = kernels_.find(reinterpret_cast<std::uintptr_t>(handle));
  return entry == kernels_.end() ? Kernel{nullptr, 0} : entry->second;
}

// ---- from what the API is given to a kernel -----------------------------------------------------

namespace {

cudaError_t find_module_kernel(const void* handle, Device& device, LaunchedKernel& kernel) {
  const LoadedLibraries::Kernel found = LoadedLibraries::instance().find_kernel(handle);
  if (found.library == nullptr) return cudaErrorInvalidDeviceFunction;
  try {
    std::shared_ptr<LoadedModule> module = found.library->on(device);
    if (module == nullptr) return cudaErrorInvalidDeviceFunction;
    kernel.descriptor = &module->kernels()[found.index];
    kernel.owner = std::move(module);
    return cudaSuccess;
  } catch (const ImageError& error) {
    return error.code();
  }
}

}  // namespace

cudaError_t find_launched_kernel(const void* function, Device& device, LaunchedKernel& kernel) {
  if (LoadedLibraries::may_be_kernel(function)) {
    return find_module_kernel(function, device, kernel);
  }
  kernel.descriptor = function == nullptr ? nullptr : find_kernel(function);
  if (kernel.descriptor == nullptr) return cudaErrorInvalidDeviceFunction;
  // Compiled for another version of this runtime, as a GPU's code may be for another GPU.
  return kernel.descriptor->contract == kernel_contract ? cudaSuccess
                                                        : cudaErrorNoKernelImageForDevice;
}

}  // namespace gridstride::host
