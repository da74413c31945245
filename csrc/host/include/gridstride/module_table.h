// The table at the end of a library of kernels that was compiled at run time: its contents, by
// name. cudaLibraryLoadData finds it by its symbol.
//
//   #include <gridstride/module_table.h>  // before the user's text, which may define any macro
//   …
//   GS_MODULE_BEGIN
//   GS_MODULE_KERNEL("saxpy", saxpy)
//   GS_MODULE_KERNEL("tile<float, 32>", tile<float, 32>)
//   GS_MODULE_OVERLOAD("add(int*)", static_cast<void (*)(int*)>(add))
//   GS_MODULE_VARIABLE("filter::weights", filter::weights)
//   GS_MODULE_END
//
// at namespace scope, once per library. A name is the one that lookups and faults call the kernel;
// the expression names the function or variable. The table is constant: loading the library runs no
// code for it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernel_descriptor.h"

namespace gridstride::host {

// A kernel, or where that is null a variable.
struct ModuleEntry {
  const char* name;
  // Without a name of its own.
  const KernelDescriptor* kernel;
  void* variable;
  size_t variable_bytes;
};

struct ModuleTable {
  // First in every version: what follows is laid out as this one says.
  uint32_t contract;
  uint32_t entry_count;
  const ModuleEntry* entries;
  // A function of the runtime, as this library's symbols were resolved. Two copies of the runtime
  // may be loaded, and a kernel runs only on the one that it was linked with.
  void (*finish_thread)();
};

template <typename Kernel>
inline constexpr bool returns_void = false;
template <typename... Parameters>
inline constexpr bool returns_void<void (*)(Parameters...)> = true;
template <typename... Parameters>
inline constexpr bool returns_void<void (*)(Parameters...) noexcept> = true;

template <auto Kernel>
constexpr ModuleEntry module_kernel(const char* name) {
  static_assert(returns_void<decltype(Kernel)>,
                "a __global__ function must have a void return type");
  if constexpr (returns_void<decltype(Kernel)>) {
    return {name, &KernelThunkOf<Kernel, decltype(Kernel)>::nameless, nullptr, 0};
  }
  return {name, nullptr, nullptr, 0};
}

template <typename Variable>
constexpr ModuleEntry module_variable(const char* name, Variable& variable) {
  const volatile void* const address = __builtin_addressof(variable);
  return {name, nullptr, const_cast<void*>(address), sizeof(Variable)};
}

}  // namespace gridstride::host

extern "C" {
extern __attribute__((visibility("default"))) const gridstride::host::ModuleTable
    gs_host_module_table;
}

// Expressions are variadic, as the arguments of a template have commas.
#define GS_MODULE_BEGIN static constexpr ::gridstride::host::ModuleEntry gs_module_entries[] = {
#define GS_MODULE_KERNEL(name, ...) ::gridstride::host::module_kernel<&__VA_ARGS__>(name),
// A pointer unchanged: a cast expression has no address.
#define GS_MODULE_OVERLOAD(name, ...) ::gridstride::host::module_kernel<__VA_ARGS__>(name),
#define GS_MODULE_VARIABLE(name, ...) ::gridstride::host::module_variable(name, __VA_ARGS__),
// The entry without a name lets a library of nothing have an array too.
#define GS_MODULE_END                                                                      \
  {nullptr, nullptr, nullptr, 0}                                                           \
  }                                                                                        \
  ;                                                                                        \
  const ::gridstride::host::ModuleTable gs_host_module_table = {                           \
      ::gridstride::host::kernel_contract,                                                 \
      static_cast<uint32_t>(sizeof(gs_module_entries) / sizeof(gs_module_entries[0]) - 1), \
      gs_module_entries, &gs_host_finish_thread};
