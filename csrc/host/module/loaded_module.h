// A module on one device: its kernels as launches take them, and its variables.
#ifndef GRIDSTRIDE_HOST_LOADED_MODULE_H
#define GRIDSTRIDE_HOST_LOADED_MODULE_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "host/device/counted.h"
#include "host/device/device.h"
#include "gridstride/kernel_descriptor.h"
#include "host/module/opened_image.h"

namespace gridstride::host {

struct ModuleVariable {
  const char* name;
  std::uintptr_t address;
  std::size_t bytes;
};

// Whoever runs its kernels or copies from and to its variables shares it: the library goes with
// the last of them.
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

}  // namespace gridstride::host

#endif
