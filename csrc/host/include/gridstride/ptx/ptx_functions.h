// What the C++ that replaces inline PTX calls (src/launch/source/inline_ptx.ts).
#pragma once

#include <type_traits>

#include "../atomics.h"
#include "../collectives.h"
#include "../conversions.h"
#include "../integer_functions.h"
#include "../math_functions.h"
#include "../special_registers.h"
#include "tensor_core.h"

namespace gridstride::ptx {

// A register as another type of its size, or a number as one of another size.
template <class T, class V>
GS_HOST_INLINE T as(const V& value) {
  if constexpr (sizeof(T) == sizeof(V)) {
    return __builtin_bit_cast(T, value);
  } else {
    return static_cast<T>(value);
  }
}

// Whether CUDA takes a value of this type for a register: the size has to be the same, and only
// numbers with a fraction go to a register for them.
template <class T, class V>
constexpr bool is_operand() {
  using Value = std::decay_t<V>;
  if constexpr (std::is_floating_point_v<T>) return std::is_same_v<Value, T>;
  return (std::is_integral_v<Value> || std::is_enum_v<Value> || std::is_pointer_v<Value>) &&
         sizeof(Value) == sizeof(T);
}

// An operand of the statement as a register: a pointer is its address.
template <class T, class V>
GS_HOST_INLINE T read(V value) {
  if constexpr (std::is_arithmetic_v<V> || std::is_enum_v<V>) {
    return static_cast<T>(value);
  } else {
    return as<T>(value);
  }
}

template <class V, class T>
GS_HOST_INLINE void write(V& variable, T value) {
  if constexpr (sizeof(V) == sizeof(T)) {
    variable = __builtin_bit_cast(std::remove_volatile_t<V>, value);
  } else {
    variable = static_cast<std::remove_volatile_t<V>>(value);
  }
}

// Counts beyond the width shift everything out.
template <class T>
GS_HOST_INLINE T left(T value, unsigned int count) {
  return count < 8 * sizeof(T) ? static_cast<T>(value << count) : T(0);
}
template <class T>
GS_HOST_INLINE T right(T value, unsigned int count) {
  constexpr unsigned int last = 8 * sizeof(T) - 1;
  if (count <= last) return static_cast<T>(value >> count);
  return T(-1) < T(0) ? static_cast<T>(value >> last) : T(0);
}

// The place of the first bit from the top that differs from the sign; all ones if there is none.
template <class T>
GS_HOST_INLINE unsigned int highest(T value) {
  const unsigned long long bits = static_cast<unsigned long long>(value < T(0) ? ~value : value);
  return bits == 0 ? ~0u : 63u - static_cast<unsigned int>(__builtin_clzll(bits));
}

template <class T>
GS_HOST_INLINE T extracted(T value, unsigned int position, unsigned int length) {
  constexpr unsigned int last = 8 * sizeof(T) - 1;
  position &= 0xff;
  length &= 0xff;
  if (length == 0) return T(0);
  T result = 0;
  const unsigned int top = position + length - 1;
  const bool sign = T(-1) < T(0) && (value >> (top < last ? top : last) & 1) != 0;
  for (unsigned int i = 0; i <= last; i++) {
    const bool inside = i < length && position + i <= last;
    const bool bit = inside ? (value >> (position + i) & 1) != 0 : sign;
    if (bit) result = static_cast<T>(result | left(T(1), i));
  }
  return result;
}

template <class T>
GS_HOST_INLINE T inserted(T field, T value, unsigned int position, unsigned int length) {
  const T ones = static_cast<T>(left(T(1), length & 0xff) - 1);
  const T mask = left(ones, position & 0xff);
  return static_cast<T>((value & ~mask) | (left(field, position & 0xff) & mask));
}

GS_HOST_INLINE unsigned int logic(unsigned int a, unsigned int b, unsigned int c,
                                  unsigned int table) {
  unsigned int result = 0;
  for (unsigned int i = 0; i < 8; i++) {
    if ((table >> i & 1) == 0) continue;
    result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  }
  return result;
}

// Additions that leave a carry, and take one.
template <class T>
GS_HOST_INLINE T sum(T a, T b, bool carry, bool& out) {
  T result;
  const bool first = __builtin_add_overflow(a, b, &result);
  out = __builtin_add_overflow(result, static_cast<T>(carry), &result) || first;
  return result;
}
template <class T>
GS_HOST_INLINE T difference(T a, T b, bool borrow, bool& out) {
  T result;
  const bool first = __builtin_sub_overflow(a, b, &result);
  out = __builtin_sub_overflow(result, static_cast<T>(borrow), &result) || first;
  return result;
}

// The lanes of the warp before the calling one.
GS_HOST_INLINE unsigned int lanes_before() { return (1u << host::lane_id()) - 1; }

// A polling loop must let the other threads of its block run.
template <class T>
GS_HOST_INLINE T load(unsigned long long address, bool is_polled) {
  const T value = *reinterpret_cast<const volatile T*>(address);
  if (is_polled) __threadfence();
  return value;
}
template <class T>
GS_HOST_INLINE void store(unsigned long long address, T value, bool is_polled) {
  if (is_polled) __threadfence();
  *reinterpret_cast<volatile T*>(address) = value;
}

}  // namespace gridstride::ptx
