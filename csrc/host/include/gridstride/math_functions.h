// <math.h> with the overloads for float that C++ adds, in half the time.
//
// libstdc++'s brings along the special functions of C++17 (std::beta and its like), 60 ms of
// compilation for what no kernel may call: nvcc knows them in host code only.
#pragma once

#include "conversions.h"
#include "qualifiers.h"

// libstdc++'s settings, or another library's.
#include <cstddef>

#if defined(_GLIBCXX_USE_STD_SPEC_FUNCS)
#pragma push_macro("_GLIBCXX_USE_STD_SPEC_FUNCS")
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#include <math.h>
#pragma pop_macro("_GLIBCXX_USE_STD_SPEC_FUNCS")
#else
#include <math.h>
#endif

namespace gridstride::host {

// min() and max() for every pair of operand types that CUDA overloads them for, and the C names.
//
// Mixed integers follow CUDA: the result is unsigned as soon as one operand is. For floating point
// the operand that is a number wins over a NaN, and -0 is less than +0.

template <class Float>
__device__ constexpr __forceinline__ Float smaller_number(Float x, Float y) {
  if (x != x) return y;
  if (x == y) return __builtin_signbit(x) ? x : y;
  return y < x ? y : x;
}

template <class Float>
__device__ constexpr __forceinline__ Float larger_number(Float x, Float y) {
  if (x != x) return y;
  if (x == y) return __builtin_signbit(x) ? y : x;
  return y > x ? y : x;
}

}  // namespace gridstride::host

#define GS_INTEGER_MINIMUM_MAXIMUM(result, left, right)                \
  __device__ constexpr __forceinline__ result min(left x, right y) {   \
    const auto a = static_cast<result>(x), b = static_cast<result>(y); \
    return b < a ? b : a;                                              \
  }                                                                    \
  __device__ constexpr __forceinline__ result max(left x, right y) {   \
    const auto a = static_cast<result>(x), b = static_cast<result>(y); \
    return a < b ? b : a;                                              \
  }
#define GS_INTEGER_PAIRS(integer, natural)              \
  GS_INTEGER_MINIMUM_MAXIMUM(integer, integer, integer) \
  GS_INTEGER_MINIMUM_MAXIMUM(natural, natural, natural) \
  GS_INTEGER_MINIMUM_MAXIMUM(natural, integer, natural) \
  GS_INTEGER_MINIMUM_MAXIMUM(natural, natural, integer)
#define GS_FLOATING_MINIMUM_MAXIMUM(result, left, right)             \
  __device__ constexpr __forceinline__ result min(left x, right y) { \
    return gridstride::host::smaller_number<result>(x, y);           \
  }                                                                  \
  __device__ constexpr __forceinline__ result max(left x, right y) { \
    return gridstride::host::larger_number<result>(x, y);            \
  }

GS_INTEGER_PAIRS(int, unsigned int)
GS_INTEGER_PAIRS(long, unsigned long)
GS_INTEGER_PAIRS(long long, unsigned long long)
GS_FLOATING_MINIMUM_MAXIMUM(float, float, float)
GS_FLOATING_MINIMUM_MAXIMUM(double, double, double)
GS_FLOATING_MINIMUM_MAXIMUM(double, float, double)
GS_FLOATING_MINIMUM_MAXIMUM(double, double, float)

#undef GS_FLOATING_MINIMUM_MAXIMUM
#undef GS_INTEGER_PAIRS
#undef GS_INTEGER_MINIMUM_MAXIMUM

__device__ constexpr __forceinline__ unsigned int umin(unsigned int x, unsigned int y) {
  return min(x, y);
}
__device__ constexpr __forceinline__ unsigned int umax(unsigned int x, unsigned int y) {
  return max(x, y);
}
__device__ constexpr __forceinline__ long long llmin(long long x, long long y) { return min(x, y); }
__device__ constexpr __forceinline__ long long llmax(long long x, long long y) { return max(x, y); }
__device__ constexpr __forceinline__ unsigned long long ullmin(unsigned long long x,
                                                               unsigned long long y) {
  return min(x, y);
}
__device__ constexpr __forceinline__ unsigned long long ullmax(unsigned long long x,
                                                               unsigned long long y) {
  return max(x, y);
}

namespace gridstride::host {

// The algorithms behind the parts of CUDA's math library that the C library lacks, in double.

inline constexpr double pi = 3.14159265358979323846;
inline constexpr double two_over_sqrt_pi = 1.12837916709551257390;
inline constexpr double sqrt_two = 1.41421356237309504880;
// 1 / sqrt(2) as the sum of two doubles.
inline constexpr double sqrt_half = 0.70710678118654757274;
inline constexpr double sqrt_half_rest = -4.8336466567264567e-17;

// ---- sin(pi x), cos(pi x) ----------------------------------------------------------------------

// The quadrant in which the function starts: cos(a) = sin(a + pi / 2).
enum class Quadrant { sine = 0, cosine = 1 };

// Subtracting the nearest multiple of 1/2 is exact: integers and halves give exact results and no
// argument is too large. Zeros have the argument's sign for sine and none for cosine (C23).
__device__ inline double sine_of_half_turns(double x, Quadrant start) {
  const double in_period = x - 2.0 * __builtin_rint(0.5 * x);
  if (in_period != in_period) return in_period;
  const double halves = __builtin_rint(2.0 * in_period);
  const double angle = pi * (in_period - 0.5 * halves);
  const int quadrant = (static_cast<int>(halves) + static_cast<int>(start)) & 3;
  if (angle == 0.0 && quadrant % 2 == 0) {
    return start == Quadrant::sine ? __builtin_copysign(0.0, x) : 0.0;
  }
  const double magnitude = quadrant % 2 == 0 ? ::sin(angle) : ::cos(angle);
  return quadrant < 2 ? magnitude : -magnitude;
}

// ---- reciprocal cube root ----------------------------------------------------------------------

// C libraries' cbrt may be wrong by several ulps; one step of Newton's method leaves about one.
__device__ inline double reciprocal_cube_root(double x) {
  const double estimate = 1.0 / ::cbrt(x);
  const double residual = __builtin_fma(-x * estimate * estimate, estimate, 1.0);
  const bool infinite_or_zero = residual != residual;
  return infinite_or_zero ? estimate : estimate + estimate * residual / 3.0;
}

// ---- Euclidean norm ----------------------------------------------------------------------------

// Neither overflows nor underflows on the way: elements are scaled by a power of two. An infinite
// element makes the norm infinite, also beside a NaN.
template <class Float>
__device__ inline double euclidean_norm(const Float* values, int count) {
  double largest = 0.0;
  bool has_nan = false;
  for (int i = 0; i < count; i++) {
    const double magnitude = __builtin_fabs(static_cast<double>(values[i]));
    has_nan |= magnitude != magnitude;
    if (magnitude > largest) largest = magnitude;
  }
  if (largest == __builtin_inf()) return largest;
  if (has_nan) return __builtin_nan("");
  if (largest == 0.0) return 0.0;
  const int exponent = __builtin_ilogb(largest);
  double sum = 0.0;
  for (int i = 0; i < count; i++) {
    const double scaled = __builtin_scalbn(static_cast<double>(values[i]), -exponent);
    sum += scaled * scaled;
  }
  return __builtin_scalbn(__builtin_sqrt(sum), exponent);
}

// ---- error functions ---------------------------------------------------------------------------

// exp(x * x), with its argument in two doubles: rounding x * x alone would cost a relative error of
// x * x ulps.
__device__ inline double exp_of_square(double x) {
  const double square = x * x;
  if (square > 709.0) return ::exp(square);
  const double rest = __builtin_fma(x, x, -square);
  return ::exp(square) * (1.0 + rest);
}

// exp(x * x) * erfc(x). Beyond 25 erfc nears the end of double's range and seven terms of the
// asymptotic series are enough.
__device__ inline double scaled_erfc(double x) {
  if (x < 25.0) return exp_of_square(x) * ::erfc(x);
  const double t = 0.5 / x / x;
  double series = 1.0;
  for (double factor = 11.0; factor > 0.0; factor -= 2.0) series = 1.0 - factor * t * series;
  return 0.5 * two_over_sqrt_pi / x * series;
}

// erfc's inverse for 0 < y <= 1, to 4.5e-4 (Abramowitz and Stegun 26.2.23 with p = y / 2).
__device__ inline double estimated_inverse_erfc(double y) {
  const double t = __builtin_sqrt(-2.0 * ::log(0.5 * y));
  const double numerator = 2.515517 + t * (0.802853 + t * 0.010328);
  const double denominator = 1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308));
  return sqrt_half * (t - numerator / denominator);
}

// The same to the last bits. Newton's method runs on log(erfc) where y is small, which converges
// for every y down to the smallest double, and Halley's on erfc elsewhere.
__device__ inline double inverse_erfc_up_to_one(double y) {
  double x = estimated_inverse_erfc(y);
  if (y < 1e-3) {
    const double log_y = ::log(y);
    for (int i = 0; i < 3; i++) {
      const double scaled = scaled_erfc(x);
      x += (::log(scaled) - x * x - log_y) * scaled / two_over_sqrt_pi;
    }
  } else {
    for (int i = 0; i < 2; i++) {
      const double error = ::erfc(x) - y;
      x += error / (two_over_sqrt_pi * ::exp(-x * x) - x * error);
    }
  }
  return x;
}

// erf's inverse for 0 <= y <= 1/2, by Halley's method.
__device__ inline double inverse_erf_up_to_half(double y) {
  double x = y / two_over_sqrt_pi;
  for (int i = 0; i < 4; i++) {
    const double error = ::erf(x) - y;
    x -= error / (two_over_sqrt_pi * ::exp(-x * x) + x * error);
  }
  return x;
}

// The differences from 1 are exact where they are taken: neither function loses its small results.
__device__ inline double inverse_erf(double y) {
  const double magnitude = __builtin_fabs(y);
  if (!(magnitude <= 1.0)) return __builtin_nan("");
  if (magnitude == 1.0) return __builtin_copysign(__builtin_inf(), y);
  const double x = magnitude <= 0.5 ? inverse_erf_up_to_half(magnitude)
                                    : inverse_erfc_up_to_one(1.0 - magnitude);
  return __builtin_copysign(x, y);
}

__device__ inline double inverse_erfc(double y) {
  if (!(y >= 0.0 && y <= 2.0)) return __builtin_nan("");
  if (y == 0.0) return __builtin_inf();
  if (y == 2.0) return -__builtin_inf();
  if (y == 1.0) return 0.0;
  if (y >= 0.5 && y <= 1.5) return inverse_erf(1.0 - y);
  return y < 1.0 ? inverse_erfc_up_to_one(y) : -inverse_erfc_up_to_one(2.0 - y);
}

// ---- modified Bessel functions of the first kind -----------------------------------------------

// The series of order 0 or 1 in (x / 2)^2. All of its terms are positive: nothing cancels; terms
// and sum are carried in two doubles, as a term's error would grow with its number.
__device__ inline double modified_bessel_series(int order, double x) {
  const double square = 0.25 * x * x;
  const double square_rest = 0.25 * __builtin_fma(x, x, -4.0 * square);
  double term = order == 0 ? 1.0 : 0.5 * x;
  double term_rest = 0.0;
  double sum = 0.0;
  double sum_rest = 0.0;
  for (double k = 1.0; term > sum * 0x1p-60; k += 1.0) {
    const double larger_sum = sum + term;
    sum_rest += (sum > term ? sum - larger_sum + term : term - larger_sum + sum) + term_rest;
    sum = larger_sum;
    const double divisor = k * (k + order);
    const double ratio = square / divisor;
    const double ratio_rest = (__builtin_fma(-ratio, divisor, square) + square_rest) / divisor;
    const double product = term * ratio;
    const double product_rest = __builtin_fma(term, ratio, -product);
    term_rest = product_rest + term * ratio_rest + term_rest * ratio;
    term = product;
  }
  return sum + sum_rest;
}

// For large x, where its terms shrink until about the (2 x)-th. exp(x) in two factors: the result
// is finite a little longer than that is.
__device__ inline double modified_bessel_asymptotic(int order, double x) {
  double term = 1.0;
  double sum = 0.0;
  for (double k = 1.0; __builtin_fabs(term) > 0x1p-60; k += 1.0) {
    sum += term;
    const double odd = 2.0 * k - 1.0;
    term *= (odd * odd - 4.0 * order) / (8.0 * k * x);
  }
  const double root = ::exp(0.5 * x);
  return sum / __builtin_sqrt(2.0 * pi * x) * root * root;
}

__device__ inline double modified_bessel(int order, double x) {
  const double magnitude = __builtin_fabs(x);
  double value = magnitude;
  if (magnitude < 30.0) {
    value = modified_bessel_series(order, magnitude);
  } else if (magnitude < __builtin_inf()) {
    value = modified_bessel_asymptotic(order, magnitude);
  }
  return order == 1 ? __builtin_copysign(value, x) : value;
}

// ---- the normal distribution -------------------------------------------------------------------

// erfc(-x / sqrt(2)) / 2 with the argument in two doubles, as its relative error counts x * x
// times.
__device__ inline double normal_distribution(double x) {
  const double argument = -x * sqrt_half;
  if (argument > 28.0) return 0.0;
  if (argument < -7.0) return 1.0;
  const double rest = __builtin_fma(-x, sqrt_half, -argument) - x * sqrt_half_rest;
  return 0.5 * (::erfc(argument) - two_over_sqrt_pi * ::exp(-argument * argument) * rest);
}

__device__ inline double inverse_normal_distribution(double p) {
  return -sqrt_two * inverse_erfc(2.0 * p);
}

}  // namespace gridstride::host

// The functions of CUDA's math library that <math.h> lacks, and its fast intrinsics.
//
// Everything else (sinf, expf, pow, fmaxf, the float overloads of sqrt …) is <math.h> itself. The
// fast intrinsics are the accurate functions here: their error is within what CUDA allows for, but
// the values and the ranges in which they degrade differ (see csrc/host/DIFFERENCES.md).

// Before the intrinsics: glibc's <math.h> declares functions of their names, and declarations must
// not meet the macros below.

// ---- GNU functions that other C libraries spell differently ------------------------------------

#if defined(__APPLE__)
__device__ __forceinline__ float exp10f(float x) { return __exp10f(x); }
__device__ __forceinline__ double exp10(double x) { return __exp10(x); }
__device__ __forceinline__ void sincosf(float x, float* sine, float* cosine) {
  __sincosf(x, sine, cosine);
}
__device__ __forceinline__ void sincos(double x, double* sine, double* cosine) {
  __sincos(x, sine, cosine);
}
#endif

// ---- reciprocals of roots ----------------------------------------------------------------------

__device__ __forceinline__ float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
__device__ __forceinline__ double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
__device__ __forceinline__ float rcbrtf(float x) { return 1.0f / ::cbrtf(x); }
__device__ __forceinline__ double rcbrt(double x) {
  return gridstride::host::reciprocal_cube_root(x);
}

// ---- trigonometric functions of multiples of pi ------------------------------------------------

__device__ __forceinline__ double sinpi(double x) {
  return gridstride::host::sine_of_half_turns(x, gridstride::host::Quadrant::sine);
}
__device__ __forceinline__ double cospi(double x) {
  return gridstride::host::sine_of_half_turns(x, gridstride::host::Quadrant::cosine);
}
__device__ __forceinline__ void sincospi(double x, double* sine, double* cosine) {
  *sine = sinpi(x);
  *cosine = cospi(x);
}
__device__ __forceinline__ float sinpif(float x) { return static_cast<float>(sinpi(double{x})); }
__device__ __forceinline__ float cospif(float x) { return static_cast<float>(cospi(double{x})); }
__device__ __forceinline__ void sincospif(float x, float* sine, float* cosine) {
  *sine = sinpif(x);
  *cosine = cospif(x);
}

// ---- Euclidean norms ---------------------------------------------------------------------------

__device__ inline double norm(int dimension, const double* values) {
  return gridstride::host::euclidean_norm(values, dimension);
}
__device__ inline double norm3d(double a, double b, double c) {
  const double values[] = {a, b, c};
  return norm(3, values);
}
__device__ inline double norm4d(double a, double b, double c, double d) {
  const double values[] = {a, b, c, d};
  return norm(4, values);
}
__device__ inline double rnorm(int dimension, const double* values) {
  return 1.0 / norm(dimension, values);
}
__device__ inline double rhypot(double a, double b) { return 1.0 / ::hypot(a, b); }
__device__ inline double rnorm3d(double a, double b, double c) { return 1.0 / norm3d(a, b, c); }
__device__ inline double rnorm4d(double a, double b, double c, double d) {
  return 1.0 / norm4d(a, b, c, d);
}

__device__ inline float normf(int dimension, const float* values) {
  return static_cast<float>(gridstride::host::euclidean_norm(values, dimension));
}
__device__ inline float norm3df(float a, float b, float c) {
  return static_cast<float>(norm3d(a, b, c));
}
__device__ inline float norm4df(float a, float b, float c, float d) {
  return static_cast<float>(norm4d(a, b, c, d));
}
__device__ inline float rnormf(int dimension, const float* values) {
  return static_cast<float>(1.0 / gridstride::host::euclidean_norm(values, dimension));
}
__device__ inline float rhypotf(float a, float b) { return static_cast<float>(rhypot(a, b)); }
__device__ inline float rnorm3df(float a, float b, float c) {
  return static_cast<float>(rnorm3d(a, b, c));
}
__device__ inline float rnorm4df(float a, float b, float c, float d) {
  return static_cast<float>(rnorm4d(a, b, c, d));
}

// ---- the normal distribution and the inverse error functions -----------------------------------

__device__ inline double erfcx(double x) { return gridstride::host::scaled_erfc(x); }
__device__ inline double erfcinv(double y) { return gridstride::host::inverse_erfc(y); }
__device__ inline double erfinv(double y) { return gridstride::host::inverse_erf(y); }
__device__ inline double normcdf(double x) { return gridstride::host::normal_distribution(x); }
__device__ inline double normcdfinv(double p) {
  return gridstride::host::inverse_normal_distribution(p);
}
__device__ inline float erfcxf(float x) { return static_cast<float>(erfcx(x)); }
__device__ inline float erfcinvf(float y) { return static_cast<float>(erfcinv(y)); }
__device__ inline float erfinvf(float y) { return static_cast<float>(erfinv(y)); }
__device__ inline float normcdff(float x) { return static_cast<float>(normcdf(x)); }
__device__ inline float normcdfinvf(float p) { return static_cast<float>(normcdfinv(p)); }

// ---- modified Bessel functions -----------------------------------------------------------------

__device__ inline double cyl_bessel_i0(double x) { return gridstride::host::modified_bessel(0, x); }
__device__ inline double cyl_bessel_i1(double x) { return gridstride::host::modified_bessel(1, x); }
__device__ inline float cyl_bessel_i0f(float x) {
  return static_cast<float>(cyl_bessel_i0(double{x}));
}
__device__ inline float cyl_bessel_i1f(float x) {
  return static_cast<float>(cyl_bessel_i1(double{x}));
}

// ---- float overloads of the double names -------------------------------------------------------

__device__ __forceinline__ float exp10(float x) { return ::exp10f(x); }
__device__ __forceinline__ float rsqrt(float x) { return rsqrtf(x); }
__device__ __forceinline__ float rcbrt(float x) { return rcbrtf(x); }
__device__ __forceinline__ float sinpi(float x) { return sinpif(x); }
__device__ __forceinline__ float cospi(float x) { return cospif(x); }
__device__ __forceinline__ void sincospi(float x, float* sine, float* cosine) {
  sincospif(x, sine, cosine);
}
__device__ __forceinline__ void sincos(float x, float* sine, float* cosine) {
  ::sincosf(x, sine, cosine);
}
__device__ __forceinline__ float j0(float x) { return ::j0f(x); }
__device__ __forceinline__ float j1(float x) { return ::j1f(x); }
__device__ __forceinline__ float jn(int order, float x) { return ::jnf(order, x); }
__device__ __forceinline__ float y0(float x) { return ::y0f(x); }
__device__ __forceinline__ float y1(float x) { return ::y1f(x); }
__device__ __forceinline__ float yn(int order, float x) { return ::ynf(order, x); }
__device__ inline float cyl_bessel_i0(float x) { return cyl_bessel_i0f(x); }
__device__ inline float cyl_bessel_i1(float x) { return cyl_bessel_i1f(x); }
__device__ inline float erfcx(float x) { return erfcxf(x); }
__device__ inline float erfcinv(float y) { return erfcinvf(y); }
__device__ inline float erfinv(float y) { return erfinvf(y); }
__device__ inline float normcdf(float x) { return normcdff(x); }
__device__ inline float normcdfinv(float p) { return normcdfinvf(p); }

// ---- division and saturation -------------------------------------------------------------------

__device__ __forceinline__ float fdividef(float x, float y) { return x / y; }
__device__ __forceinline__ double fdivide(double x, double y) { return x / y; }
__device__ __forceinline__ float fdivide(float x, float y) { return x / y; }
__device__ __forceinline__ float __fdividef(float x, float y) { return x / y; }

// To [0, 1]; NaN becomes 0.
__device__ constexpr __forceinline__ float __saturatef(float x) {
  return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f;
}

// ---- fast intrinsics ---------------------------------------------------------------------------

// Function-like macros: glibc declares, and exports, functions of these very names.
#define __expf(x) ::expf(x)
#define __exp10f(x) ::exp10f(x)
#define __logf(x) ::logf(x)
#define __log2f(x) ::log2f(x)
#define __log10f(x) ::log10f(x)
#define __sinf(x) ::sinf(x)
#define __cosf(x) ::cosf(x)
#define __tanf(x) ::tanf(x)
#define __tanhf(x) ::tanhf(x)
#define __powf(x, y) ::powf(x, y)
#define __sincosf(x, sine, cosine) ::sincosf(x, sine, cosine)
