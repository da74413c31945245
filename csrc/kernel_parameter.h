// What a kernel's function pointer type says about its parameters.
#ifndef GRIDSTRIDE_KERNEL_PARAMETER_H
#define GRIDSTRIDE_KERNEL_PARAMETER_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <array>
#include <cstdint>
#include <type_traits>

namespace gridstride {

enum class ParameterKind : uint8_t {
  boolean,
  signed_integer,
  unsigned_integer,
  float16,
  bfloat16,
  float32,
  float64,
  pointer,
};

struct Parameter {
  ParameterKind kind;
  uint8_t bytes;
  bool points_to_const;
  const char* type;  // of a pointer, what it points to
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
    using Pointee = std::remove_pointer_t<Type>;
    return Parameter{ParameterKind::pointer, sizeof(Type), std::is_const_v<Pointee>,
                     TypeName<std::remove_const_t<Pointee>>::value};
  } else {
    return Parameter{kind_of_number<Type>(), sizeof(Type), false, TypeName<Type>::value};
  }
}

template <class... Types>
struct ParameterList {
  static constexpr std::array<Parameter, sizeof...(Types)> parameters = {parameter_of<Types>()...};
};

}  // namespace gridstride

#endif
