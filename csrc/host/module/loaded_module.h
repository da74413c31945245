// Modules: images that are loaded in the process and linked with this runtime.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string_view>
#include <vector>

#include "gridstride/kernel_descriptor.h"
#include "gridstride/module_table.h"
#include "host/device/device.h"
#include "host/device/live_handles.h"
#include "host/execution/source_lines.h"
#include "host/module/module_image.h"

namespace gridstride::host {

// Every object has a copy of the library of its own, with variables of its own, also of one image.
class OpenedImage {
 public:
  // The image passed check_image. Throws ImageError.
  explicit OpenedImage(const ImageView& image);
  ~OpenedImage();
  OpenedImage(const OpenedImage&) = delete;
  OpenedImage& operator=(const OpenedImage&) = delete;

  const ModuleTable& table() const { return *table_; }

  // Where the library's address 0 is.
  std::uintptr_t base() const { return base_; }

 private:
  void* handle_;
  const ModuleTable* table_ = nullptr;
  std::uintptr_t base_ = 0;
  // Goes before the library does: the address may then be another one's.
  std::optional<SourceLines> lines_;
};

// A module on one device: its kernels as launches take them, and its variables.

struct ModuleVariable {
  const char* name;
  std::uintptr_t address;
  std::size_t bytes;
};

// Launches of its kernels and copies of its variables share it: the library goes with the last of
// them.
class LoadedModule : private Counted<LoadedModule> {
 public:
  using Counted<LoadedModule>::live;

  // Charges the device for the variables. The image passed check_image. Throws ImageError.
  LoadedModule(const ImageView& image, Device& device);
  ~LoadedModule();

  Device& device() const { return device_; }

  // In the order of the table, with their names, which live as long as this.
  const std::vector<KernelDescriptor>& kernels() const { return kernels_; }
  const std::vector<ModuleVariable>& variables() const { return variables_; }

 private:
  void read_table();
  void check_names() const;
  void measure_shared_memory(const ImageView& image);
  void make_writable(const ImageView& image) const;
  void charge();

  OpenedImage opened_;
  Device& device_;
  std::vector<KernelDescriptor> kernels_;
  std::vector<ModuleVariable> variables_;
  std::uint64_t charged_ = 0;
};

// Addresses of module variables. They count as memory of the module's device.

// Thread-safe. Without any module, and that is how most programs run, a lookup is one load.
class ModuleVariables {
 public:
  static ModuleVariables& instance();

  void add(const std::shared_ptr<LoadedModule>& module);
  void remove(const LoadedModule& module);

  // The module of which a variable holds all of [address, address + bytes), null for none.
  std::shared_ptr<LoadedModule> hold(const void* address, std::size_t bytes) const;

  // The module of a variable that the address lies in, null for none.
  std::shared_ptr<LoadedModule> module_at(const void* address) const { return hold(address, 1); }

 private:
  struct Range {
    std::size_t bytes;
    std::shared_ptr<LoadedModule> module;
  };

  mutable std::shared_mutex lock_;
  std::map<std::uintptr_t, Range> ranges_;
  std::atomic<std::size_t> count_{0};
};

// The static shared memory of a library's kernels.

// The bytes of each kernel's own __shared__ arrays, by the symbols of the library, plus those of
// arrays that no kernel declares (device functions have them, and namespaces): the symbols do not
// name their users. If the sum is more than any kernel may have, only its own arrays count. In a
// library without symbols it is what all arrays take together, or 0 where that is too much for one.
//
// The kernels are given by where in the library their run_threads are.
std::vector<std::uint32_t> static_shared_bytes(const ImageView& image,
                                               const std::vector<std::uintptr_t>& run_threads);

}  // namespace gridstride::host
