// Single operations with a stated rounding: __fadd_rn, __dmul_rz, __fmaf_ru, … for float and
// double.
//
// The _rn forms are the plain operation with a promise: the compiler does not contract them with
// their neighbours to a fused multiply-add, whatever -ffp-contract says. The other three run the
// operation under another rounding mode of the floating-point unit and are slow accordingly.
#ifndef GRIDSTRIDE_HOST_ROUNDED_ARITHMETIC_H
#define GRIDSTRIDE_HOST_ROUNDED_ARITHMETIC_H

#include <fenv.h>

#include "conversions.h"
#include "qualifiers.h"

namespace gridstride::host {

// A value the compiler knows nothing about: it can neither fuse the operation that made it with one
// that uses it, nor compute it before the program runs.
template <class Float>
__device__ __forceinline__ Float opaque(Float value) {
#if defined(__x86_64__)
  asm("" : "+x"(value));
#elif defined(__aarch64__)
  asm("" : "+w"(value));
#else
  asm("" : "+m"(value));
#endif
  return value;
}

// The same, and kept in order with the calls that change the rounding mode.
template <class Float>
__device__ __forceinline__ Float pinned_in_order(Float value) {
#if defined(__x86_64__)
  asm volatile("" : "+x"(value) : : "memory");
#elif defined(__aarch64__)
  asm volatile("" : "+w"(value) : : "memory");
#else
  asm volatile("" : "+m"(value) : : "memory");
#endif
  return value;
}

class RoundingScope {
 public:
  explicit RoundingScope(Rounding rounding) : before_(fegetround()) { fesetround(mode(rounding)); }
  ~RoundingScope() { fesetround(before_); }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
  static int mode(Rounding rounding) {
    switch (rounding) {
      case rz: return FE_TOWARDZERO;
      case ru: return FE_UPWARD;
      case rd: return FE_DOWNWARD;
      case rn: break;
    }
    return FE_TONEAREST;
  }

  int before_;
};

template <Rounding rounding, class Float, class Operation, class... Operands>
__device__ __forceinline__ Float rounded(Operation operation, Operands... operands) {
  if constexpr (rounding == rn) {
    return opaque<Float>(operation(operands...));
  } else {
    const RoundingScope scope(rounding);
    return pinned_in_order<Float>(operation(pinned_in_order<Float>(operands)...));
  }
}

__device__ __forceinline__ float fused(float x, float y, float z) {
  return __builtin_fmaf(x, y, z);
}
__device__ __forceinline__ double fused(double x, double y, double z) {
  return __builtin_fma(x, y, z);
}
__device__ __forceinline__ float square_root(float x) { return __builtin_sqrtf(x); }
__device__ __forceinline__ double square_root(double x) { return __builtin_sqrt(x); }

}  // namespace gridstride::host

#define GS_ROUNDED_1(name, rounding, type, expression)                  \
  __device__ __forceinline__ type name##_##rounding(type x) {           \
    return gridstride::host::rounded<gridstride::host::rounding, type>( \
        [](type a) { return expression; }, x);                          \
  }
#define GS_ROUNDED_2(name, rounding, type, expression)                  \
  __device__ __forceinline__ type name##_##rounding(type x, type y) {   \
    return gridstride::host::rounded<gridstride::host::rounding, type>( \
        [](type a, type b) { return expression; }, x, y);               \
  }
#define GS_ROUNDED_3(name, rounding, type, expression)                        \
  __device__ __forceinline__ type name##_##rounding(type x, type y, type z) { \
    return gridstride::host::rounded<gridstride::host::rounding, type>(       \
        [](type a, type b, type c) { return expression; }, x, y, z);          \
  }

// One operation in all four roundings.
#define GS_ALL_ROUNDINGS(operands, name, type, expression)  \
  GS_ROUNDED_##operands(name, rn, type, expression)         \
      GS_ROUNDED_##operands(name, rz, type, expression)     \
          GS_ROUNDED_##operands(name, ru, type, expression) \
              GS_ROUNDED_##operands(name, rd, type, expression)

GS_ALL_ROUNDINGS(2, __fadd, float, a + b)
GS_ALL_ROUNDINGS(2, __fsub, float, a - b)
GS_ALL_ROUNDINGS(2, __fmul, float, a* b)
GS_ALL_ROUNDINGS(2, __fdiv, float, a / b)
GS_ALL_ROUNDINGS(1, __frcp, float, 1.0f / a)
GS_ALL_ROUNDINGS(1, __fsqrt, float, gridstride::host::square_root(a))
GS_ALL_ROUNDINGS(3, __fmaf, float, gridstride::host::fused(a, b, c))
GS_ALL_ROUNDINGS(3, __fmaf_ieee, float, gridstride::host::fused(a, b, c))

GS_ALL_ROUNDINGS(2, __dadd, double, a + b)
GS_ALL_ROUNDINGS(2, __dsub, double, a - b)
GS_ALL_ROUNDINGS(2, __dmul, double, a* b)
GS_ALL_ROUNDINGS(2, __ddiv, double, a / b)
GS_ALL_ROUNDINGS(1, __drcp, double, 1.0 / a)
GS_ALL_ROUNDINGS(1, __dsqrt, double, gridstride::host::square_root(a))
GS_ALL_ROUNDINGS(3, __fma, double, gridstride::host::fused(a, b, c))

#undef GS_ALL_ROUNDINGS
#undef GS_ROUNDED_3
#undef GS_ROUNDED_2
#undef GS_ROUNDED_1

// 1 / sqrt(x) rounded once: the error of the two double operations is too small to reach a boundary
// between floats.
__device__ __forceinline__ float __frsqrt_rn(float x) {
  return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(x)));
}

#endif
