// Parameters of kernels: what a launch makes of an argument, and what a kernel's function pointer
// type says of that.
#ifndef GRIDSTRIDE_KERNEL_PARAMETER_H
#define GRIDSTRIDE_KERNEL_PARAMETER_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <array>
#include <cstdint>
#include <type_traits>

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

// What a launch needs to know.
struct Parameter {
  ParameterKind kind;
  uint16_t bytes;
};

// How many slots of the command block an argument of so many bytes fills.
constexpr int slots_of(int bytes) {
  return (bytes + static_cast<int>(sizeof(double)) - 1) / static_cast<int>(sizeof(double));
}

// What the declaration of a built-in kernel says.
struct ParameterType {
  const char* name;  // of a pointer, what it points to
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

}  // namespace gridstride

#endif
