// Kernels of a library that is opened while the pool runs.
#include <dlfcn.h>

#include <vector>

#include "execution_check.h"
#include "host/module/module_library.h"

namespace execution {

void check_late_library(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const char* error = library == nullptr ? dlerror() : "";
  check(library != nullptr, "a library of kernels opens late", error);
  if (library == nullptr) return;
  using Getter = const host::KernelDescriptor* (*)();
  const host::KernelDescriptor* kernel = reinterpret_cast<Getter>(dlsym(library, "late_kernel"))();
  check(host::find_kernel(kernel) == kernel, "its kernels are registered");
  std::vector<unsigned> out(100);
  unsigned* address = out.data();
  void* addresses[] = {&address};
  Launch launch({kernel, 100, 256, 0, host::pack_arguments(*kernel, addresses), 0});
  const Outcome outcome = launch.wait();
  bool right = outcome.code == cudaSuccess;
  for (unsigned i = 0; i < out.size(); ++i) right = right && out[i] == 11999u * 6000 + 12000 * i;
  check(right, "its kernels run, with 48000 bytes of shared memory", outcome.description);
}

}  // namespace execution
