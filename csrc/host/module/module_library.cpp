// Libraries of kernels: loading them device by device, and their handles.
#include "host/module/module_library.h"

#include "host/device/live_handles.h"
#include "host/module/module_variables.h"

namespace gridstride::host {

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

}  // namespace gridstride::host
