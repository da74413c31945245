// Variables by address.
#include "host/module/module_variables.h"

#include <mutex>

namespace gridstride::host {

ModuleVariables& ModuleVariables::instance() {
  static ModuleVariables& only = *new ModuleVariables;
  return only;
}

// A variable under two names is one range.
void ModuleVariables::add(const std::shared_ptr<LoadedModule>& module) {
  const std::unique_lock<std::shared_mutex> lock(lock_);
  for (const ModuleVariable& variable : module->variables()) {
    ranges_.emplace(variable.address, Range{variable.bytes, module});
  }
  count_.store(ranges_.size(), std::memory_order_relaxed);
}

void ModuleVariables::remove(const LoadedModule& module) {
  const std::unique_lock<std::shared_mutex> lock(lock_);
  for (const ModuleVariable& variable : module.variables()) ranges_.erase(variable.address);
  count_.store(ranges_.size(), std::memory_order_relaxed);
}

std::shared_ptr<LoadedModule> ModuleVariables::hold(const void* address, std::size_t bytes) const {
  if (count_.load(std::memory_order_relaxed) == 0) return nullptr;
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  const std::shared_lock<std::shared_mutex> lock(lock_);
  auto entry = ranges_.upper_bound(first);
  if (entry == ranges_.begin()) return nullptr;
  --entry;
  const std::size_t offset = first - entry->first;
  const Range& range = entry->second;
  return offset < range.bytes && bytes <= range.bytes - offset ? range.module : nullptr;
}

}  // namespace gridstride::host
