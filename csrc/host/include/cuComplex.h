// CUDA's complex numbers. The formulas are those of CUDA, so results agree to the bit, except where
// nvcc fuses a product and a sum.
#pragma once

#include <cmath>
#include <limits>

#include "gridstride/math_functions.h"
#include "gridstride/vector_types.h"

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

namespace gridstride::host {

// Complex is float2 or double2, and Real its part.
template <class Complex, class Real = decltype(Complex::x)>
struct ComplexArithmetic {
  static GS_HOST_INLINE Complex product(Complex x, Complex y) {
    return {x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x};
  }

  static GS_HOST_INLINE Complex product_and_sum(Complex x, Complex y, Complex d) {
    const Real real = x.x * y.x + d.x;
    const Real imaginary = x.x * y.y + d.y;
    return {-(x.y * y.y) + real, x.y * y.x + imaginary};
  }

  // Both are scaled by the size of the divisor, whose square could overflow.
  static GS_HOST_INLINE Complex quotient(Complex x, Complex y) {
    const Real scale = Real(1) / (std::fabs(y.x) + std::fabs(y.y));
    const Complex a = {x.x * scale, x.y * scale};
    const Complex b = {y.x * scale, y.y * scale};
    const Real inverse = Real(1) / (b.x * b.x + b.y * b.y);
    return {(a.x * b.x + a.y * b.y) * inverse, (a.y * b.x - a.x * b.y) * inverse};
  }

  static GS_HOST_INLINE Real magnitude(Complex x) {
    const Real a = std::fabs(x.x), b = std::fabs(x.y);
    const Real large = a > b ? a : b, small = a > b ? b : a;
    constexpr Real most = std::numeric_limits<Real>::max();
    if (large == 0 || large > most || small > most) return large + small;
    const Real ratio = small / large;
    return large * std::sqrt(1 + ratio * ratio);
  }
};

}  // namespace gridstride::host

#define GS_COMPLEX(Complex, Real, f)                                                              \
  GS_HOST_INLINE Real cuCreal##f(Complex x) { return x.x; }                                       \
  GS_HOST_INLINE Real cuCimag##f(Complex x) { return x.y; }                                       \
  GS_HOST_INLINE Complex make_##Complex(Real real, Real imaginary) { return {real, imaginary}; }  \
  GS_HOST_INLINE Complex cuConj##f(Complex x) { return {x.x, -x.y}; }                             \
  GS_HOST_INLINE Complex cuCadd##f(Complex x, Complex y) { return {x.x + y.x, x.y + y.y}; }       \
  GS_HOST_INLINE Complex cuCsub##f(Complex x, Complex y) { return {x.x - y.x, x.y - y.y}; }       \
  GS_HOST_INLINE Complex cuCmul##f(Complex x, Complex y) {                                        \
    return gridstride::host::ComplexArithmetic<Complex>::product(x, y);                           \
  }                                                                                               \
  GS_HOST_INLINE Complex cuCdiv##f(Complex x, Complex y) {                                        \
    return gridstride::host::ComplexArithmetic<Complex>::quotient(x, y);                          \
  }                                                                                               \
  GS_HOST_INLINE Complex cuCfma##f(Complex x, Complex y, Complex d) {                             \
    return gridstride::host::ComplexArithmetic<Complex>::product_and_sum(x, y, d);                \
  }                                                                                               \
  GS_HOST_INLINE Real cuCabs##f(Complex x) {                                                      \
    return gridstride::host::ComplexArithmetic<Complex>::magnitude(x);                            \
  }

GS_COMPLEX(cuFloatComplex, float, f)
GS_COMPLEX(cuDoubleComplex, double, )

#undef GS_COMPLEX

GS_HOST_INLINE cuComplex make_cuComplex(float real, float imaginary) { return {real, imaginary}; }
GS_HOST_INLINE cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex x) { return {x.x, x.y}; }
GS_HOST_INLINE cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex x) {
  return {static_cast<float>(x.x), static_cast<float>(x.y)};
}
