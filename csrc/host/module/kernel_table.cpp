// Which addresses are kernels.
#include "host/module/kernel_table.h"

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <unordered_set>

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
