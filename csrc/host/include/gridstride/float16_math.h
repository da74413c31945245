// The math library of a 16-bit floating-point type, and of pairs of it, and its atomic addition.
// Included once per type (float16_type.h says how).
//
// Functions are evaluated in float or double and rounded to the type, so that errors stay within a
// little over half a unit in the last place, below what CUDA allows for.

#define GS_FUNCTION(name, pair_name, expression)               \
  __device__ __forceinline__ GS_FLOAT16 name(GS_FLOAT16 a) {   \
    const float x = a;                                         \
    return gridstride::host::narrowed<GS_FLOAT16>(expression); \
  }                                                            \
  GS_PAIR_UNARY(pair_name, name)

GS_FUNCTION(hceil, h2ceil, __builtin_ceilf(x))
GS_FUNCTION(hfloor, h2floor, __builtin_floorf(x))
GS_FUNCTION(htrunc, h2trunc, __builtin_truncf(x))
GS_FUNCTION(hrint, h2rint, __builtin_rintf(x))
GS_FUNCTION(hsqrt, h2sqrt, __builtin_sqrtf(x))
GS_FUNCTION(hrsqrt, h2rsqrt, 1.0 / __builtin_sqrt(static_cast<double>(x)))
GS_FUNCTION(hrcp, h2rcp, 1.0 / static_cast<double>(x))
GS_FUNCTION(hexp, h2exp, ::expf(x))
GS_FUNCTION(hexp2, h2exp2, ::exp2f(x))
GS_FUNCTION(hexp10, h2exp10, ::exp10f(x))
GS_FUNCTION(hlog, h2log, ::logf(x))
GS_FUNCTION(hlog2, h2log2, ::log2f(x))
GS_FUNCTION(hlog10, h2log10, ::log10f(x))
GS_FUNCTION(hsin, h2sin, ::sinf(x))
GS_FUNCTION(hcos, h2cos, ::cosf(x))
GS_FUNCTION(htanh, h2tanh, ::tanhf(x))
GS_FUNCTION(htanh_approx, h2tanh_approx, ::tanhf(x))

#undef GS_FUNCTION
#undef GS_PAIR_UNARY

// A pair's elements are added in one atomic step, which is more than CUDA promises.
#define GS_ATOMIC_SUM(type, function)                                                             \
  __device__ __forceinline__ type atomicAdd(type* address, type value) {                          \
    gridstride::host::spin_hint();                                                                \
    return gridstride::host::atomic_update(address,                                               \
                                           [=](type before) { return function(before, value); }); \
  }
GS_ATOMIC_SUM(GS_FLOAT16, __hadd)
GS_ATOMIC_SUM(GS_FLOAT16_PAIR, __hadd2)
#undef GS_ATOMIC_SUM
