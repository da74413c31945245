// The functions of CUDA's math library that <math.h> lacks, and its fast intrinsics.
//
// Everything else (sinf, expf, pow, fmaxf, the float overloads of sqrt …) is <math.h> itself. The
// fast intrinsics are the accurate functions here: their error is within what CUDA allows for, but
// the values and the ranges in which they degrade differ (see csrc/host/DIFFERENCES.md).
#ifndef GRIDSTRIDE_HOST_MATH_FUNCTIONS_H
#define GRIDSTRIDE_HOST_MATH_FUNCTIONS_H

// Before the intrinsics: glibc's <math.h> declares functions of their names, and declarations must
// not meet the macros below.
#include "c_math.h"

#include "minimum_maximum.h"
#include "qualifiers.h"
#include "rounded_arithmetic.h"
#include "special_functions.h"

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

#endif
