// Built-in kernels by name.
//
//   GS_KERNEL("axpy_float32", axpy<float>);
//
// at namespace scope registers one instance of a __global__ function; everything else follows from
// its type.
#ifndef GRIDSTRIDE_KERNEL_REGISTRY_H
#define GRIDSTRIDE_KERNEL_REGISTRY_H

#include <cuda_runtime.h>

#include <string>
#include <string_view>
#include <vector>

#include "gridstride.h"
#include "shim/launch/launchable.h"

namespace gridstride {

// A static object per kernel. Loading the library links them into a list and allocates nothing.
class Kernel {
 public:
  // `launched` is what cudaLaunchKernel takes for the kernel.
  template <class... Types>
  Kernel(const char* name, void (*)(Types...), const void* launched)
      : name_(name),
        launchable_{launched, ParameterList<Types...>::parameters.data(),
                    static_cast<int>(sizeof...(Types))},
        types_(ParameterList<Types...>::types.data()) {
    static_assert(sizeof...(Types) <= kernel_parameter_limit, "too many kernel parameters");
    link();
  }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  std::string_view name() const { return name_; }
  const Launchable& launchable() const { return launchable_; }
  const Kernel* next() const { return next_; }

  // "axpy_float32(float,const float*,float*,unsigned long long)"
  std::string declaration() const;

 private:
  void link();

  const char* name_;
  Launchable launchable_;
  const ParameterType* types_;
  const Kernel* next_ = nullptr;
};

// All kernels in the order of their names, so that both libraries number them alike. Throws
// GS_ERROR_INTERNAL when two have one name.
const std::vector<const Kernel*>& kernels();

// Throws GS_ERROR_NOT_FOUND. Ids begin at 1.
const Kernel& kernel_of(int64_t id);

}  // namespace gridstride

#ifdef __CUDASIM__
#define GS_KERNEL_LAUNCHED(name, ...) ::gridstride::host::kernel_descriptor<&__VA_ARGS__>(name)
#else
#define GS_KERNEL_LAUNCHED(name, ...) \
  reinterpret_cast<const void*>(static_cast<decltype(&__VA_ARGS__)>(&__VA_ARGS__))
#endif

#define GS_KERNEL(name, ...) GS_KERNEL_NUMBERED(__COUNTER__, name, __VA_ARGS__)
#define GS_KERNEL_NUMBERED(number, name, ...) GS_KERNEL_OBJECT(number, name, __VA_ARGS__)
#define GS_KERNEL_OBJECT(number, name, ...)                              \
  [[maybe_unused]] static const ::gridstride::Kernel gs_kernel_##number( \
      name, &__VA_ARGS__, GS_KERNEL_LAUNCHED(name, __VA_ARGS__))

#endif
