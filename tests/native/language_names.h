// Statements about the names of the kernel language, for language_names*.cu.
#pragma once

#include <type_traits>

// Proves that every expression has the type; a reference type stands for an lvalue.
template <class Type, class... Values>
__device__ void returns(Values&&...) {
  static_assert((std::is_same<Type, Values>::value && ...), "the type of an expression");
}

#define FOUR_ROUNDINGS(type, name, ...)                                                 \
  returns<type>(name##_rn(__VA_ARGS__), name##_rz(__VA_ARGS__), name##_ru(__VA_ARGS__), \
                name##_rd(__VA_ARGS__))
