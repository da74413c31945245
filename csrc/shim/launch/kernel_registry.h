// Built-in kernels by name, and the parameters of every kernel.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "gridstride.h"
#include "gridstride_kernel.h"

namespace gridstride {

enum class ParameterKind : uint8_t {
  boolean = GS_PARAMETER_BOOLEAN,
  signed_integer = GS_PARAMETER_SIGNED,
  unsigned_integer = GS_PARAMETER_UNSIGNED,
  float16 = GS_PARAMETER_FLOAT16,
  bfloat16 = GS_PARAMETER_BFLOAT16,
  float32 = GS_PARAMETER_FLOAT32,
  float64 = GS_PARAMETER_FLOAT64,
  pointer = GS_PARAMETER_POINTER,
  raw_bytes = GS_PARAMETER_BYTES,
};

// A parameter as a launch converts it.
struct Parameter {
  ParameterKind kind;
  uint16_t bytes;
};

// How many slots of the command block an argument of so many bytes fills.
constexpr int slots_of(int bytes) {
  return (bytes + static_cast<int>(sizeof(double)) - 1) / static_cast<int>(sizeof(double));
}

// A parameter in the declaration of a built-in kernel.
struct ParameterType {
  const char* name;  // of a pointer, its pointee
  bool points_to_const;
};

// The spelling of a type in gs_kernel_describe, which is a kernel author's.
template <class Type>
struct TypeName;

#define GS_TYPE_NAME(type, spelling)               \
  template <>                                      \
  struct TypeName<type> {                          \
    static constexpr const char* value = spelling; \
  }
GS_TYPE_NAME(void, "void");
GS_TYPE_NAME(bool, "bool");
GS_TYPE_NAME(char, "char");
GS_TYPE_NAME(signed char, "signed char");
GS_TYPE_NAME(unsigned char, "unsigned char");
GS_TYPE_NAME(short, "short");
GS_TYPE_NAME(unsigned short, "unsigned short");
GS_TYPE_NAME(int, "int");
GS_TYPE_NAME(unsigned int, "unsigned int");
GS_TYPE_NAME(long, "long");
GS_TYPE_NAME(unsigned long, "unsigned long");
GS_TYPE_NAME(long long, "long long");
GS_TYPE_NAME(unsigned long long, "unsigned long long");
GS_TYPE_NAME(float, "float");
GS_TYPE_NAME(double, "double");
GS_TYPE_NAME(__half, "half");
GS_TYPE_NAME(__nv_bfloat16, "bfloat16");
#undef GS_TYPE_NAME

template <class Type>
constexpr ParameterKind kind_of_number() {
  if constexpr (std::is_same_v<Type, bool>) {
    return ParameterKind::boolean;
  } else if constexpr (std::is_same_v<Type, __half>) {
    return ParameterKind::float16;
  } else if constexpr (std::is_same_v<Type, __nv_bfloat16>) {
    return ParameterKind::bfloat16;
  } else if constexpr (std::is_same_v<Type, float>) {
    return ParameterKind::float32;
  } else if constexpr (std::is_same_v<Type, double>) {
    return ParameterKind::float64;
  } else {
    static_assert(std::is_integral_v<Type>, "a kernel takes numbers and pointers to numbers");
    return std::is_signed_v<Type> ? ParameterKind::signed_integer : ParameterKind::unsigned_integer;
  }
}

template <class Type>
constexpr Parameter parameter_of() {
  if constexpr (std::is_pointer_v<Type>) {
    return Parameter{ParameterKind::pointer, sizeof(Type)};
  } else {
    return Parameter{kind_of_number<Type>(), sizeof(Type)};
  }
}

template <class Type>
constexpr ParameterType parameter_type_of() {
  using Pointee = std::remove_pointer_t<Type>;
  return ParameterType{TypeName<std::remove_const_t<Pointee>>::value, std::is_const_v<Pointee>};
}

template <class... Types>
struct ParameterList {
  static constexpr std::array<Parameter, sizeof...(Types)> parameters = {parameter_of<Types>()...};
  static constexpr std::array<ParameterType, sizeof...(Types)> types = {
      parameter_type_of<Types>()...};
};

// The raw words of gs_kernel_launch have a bit for each.
constexpr int kernel_parameter_limit = 64;

struct Launchable {
  const void* function = nullptr;  // what cudaLaunchKernel takes for the kernel
  // Together they fill at most the argument slots of a command block.
  const Parameter* parameters = nullptr;
  int parameter_count = 0;
};

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

// All kernels in the order of their names. Throws GS_ERROR_INTERNAL when two have one name.
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

// Kernels of a template for all element types with arithmetic, NUMERIC_DTYPES in operands.ts.
#define GS_FLOATING_KERNELS(name, kernel)            \
  GS_KERNEL(name "_float64", kernel<double>);        \
  GS_KERNEL(name "_float32", kernel<float>);         \
  GS_KERNEL(name "_float16", kernel<__half>);        \
  GS_KERNEL(name "_bfloat16", kernel<__nv_bfloat16>)
#define GS_NUMERIC_KERNELS(name, kernel) \
  GS_FLOATING_KERNELS(name, kernel);     \
  GS_INTEGER_KERNELS(name, kernel)
#define GS_INTEGER_KERNELS(name, kernel)                 \
  GS_KERNEL(name "_int64", kernel<long long>);           \
  GS_KERNEL(name "_uint64", kernel<unsigned long long>); \
  GS_KERNEL(name "_int32", kernel<int>);                 \
  GS_KERNEL(name "_uint32", kernel<unsigned int>);       \
  GS_KERNEL(name "_int16", kernel<short>);               \
  GS_KERNEL(name "_uint16", kernel<unsigned short>);     \
  GS_KERNEL(name "_int8", kernel<signed char>);          \
  GS_KERNEL(name "_uint8", kernel<unsigned char>)
