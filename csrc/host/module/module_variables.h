// Which addresses are variables of modules. They count as memory of the module's device.
#ifndef GRIDSTRIDE_HOST_MODULE_VARIABLES_H
#define GRIDSTRIDE_HOST_MODULE_VARIABLES_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>

#include "host/module/loaded_module.h"

namespace gridstride::host {

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

}  // namespace gridstride::host

#endif
