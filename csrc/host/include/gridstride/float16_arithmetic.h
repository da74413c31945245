// Arithmetic and comparisons of a 16-bit floating-point type. Included once per type
// (float16_type.h says how).
//
// Every operation is rounded once. Float has bits enough that its own rounding of a sum does no
// harm, and holds every product exactly that does not vanish or overflow in the result. Quotients
// need double where they are subnormal, and so does the product of a fused operation.

__device__ __forceinline__ GS_FLOAT16 __hadd(GS_FLOAT16 a, GS_FLOAT16 b) {
  return gridstride::host::narrowed<GS_FLOAT16>(float{a} + float{b});
}
__device__ __forceinline__ GS_FLOAT16 __hsub(GS_FLOAT16 a, GS_FLOAT16 b) {
  return gridstride::host::narrowed<GS_FLOAT16>(float{a} - float{b});
}
__device__ __forceinline__ GS_FLOAT16 __hmul(GS_FLOAT16 a, GS_FLOAT16 b) {
  return gridstride::host::narrowed<GS_FLOAT16>(float{a} * float{b});
}
__device__ __forceinline__ GS_FLOAT16 __hdiv(GS_FLOAT16 a, GS_FLOAT16 b) {
  return gridstride::host::narrowed<GS_FLOAT16>(double{float{a}} / double{float{b}});
}
__device__ __forceinline__ GS_FLOAT16 __hfma(GS_FLOAT16 a, GS_FLOAT16 b, GS_FLOAT16 c) {
  const double product = double{float{a}} * double{float{b}};
  return gridstride::host::narrowed<GS_FLOAT16>(
      gridstride::host::sum_rounded_to_odd(product, double{float{c}}));
}

// The _rn forms promise not to be contracted to a fused operation; no form here ever is.
__device__ __forceinline__ GS_FLOAT16 __hadd_rn(GS_FLOAT16 a, GS_FLOAT16 b) { return __hadd(a, b); }
__device__ __forceinline__ GS_FLOAT16 __hsub_rn(GS_FLOAT16 a, GS_FLOAT16 b) { return __hsub(a, b); }
__device__ __forceinline__ GS_FLOAT16 __hmul_rn(GS_FLOAT16 a, GS_FLOAT16 b) { return __hmul(a, b); }

__device__ constexpr __forceinline__ GS_FLOAT16 __hneg(GS_FLOAT16 a) {
  const auto bits = gridstride::host::same_bits<unsigned short>(a);
  return gridstride::host::same_bits<GS_FLOAT16>(static_cast<unsigned short>(bits ^ 0x8000));
}
__device__ constexpr __forceinline__ GS_FLOAT16 __habs(GS_FLOAT16 a) {
  const auto bits = gridstride::host::same_bits<unsigned short>(a);
  return gridstride::host::same_bits<GS_FLOAT16>(static_cast<unsigned short>(bits & 0x7fff));
}
__device__ constexpr __forceinline__ bool __hisnan(GS_FLOAT16 a) {
  const int magnitude = gridstride::host::same_bits<unsigned short>(a) & 0x7fff;
  return magnitude > gridstride::host::float16_infinity<gridstride::host::GS_FLOAT16_FORMAT>;
}
// -1 for negative infinity, 1 for positive infinity, else 0.
__device__ constexpr __forceinline__ int __hisinf(GS_FLOAT16 a) {
  constexpr int infinity = gridstride::host::float16_infinity<gridstride::host::GS_FLOAT16_FORMAT>;
  const int bits = gridstride::host::same_bits<unsigned short>(a);
  return bits == infinity ? 1 : bits == (infinity | 0x8000) ? -1 : 0;
}

// ---- saturation to [0, 1] and the rectified forms ----------------------------------------------

namespace gridstride::host {

__device__ __forceinline__ GS_FLOAT16 saturated(GS_FLOAT16 value) {
  const float number = value;
  return number > 0.0f ? (number < 1.0f ? value : GS_FLOAT16(1.0f)) : GS_FLOAT16(0.0f);
}
// Negative values become 0; NaN stays.
__device__ __forceinline__ GS_FLOAT16 rectified(GS_FLOAT16 value) {
  return float{value} < 0.0f ? GS_FLOAT16(0.0f) : value;
}

}  // namespace gridstride::host

__device__ __forceinline__ GS_FLOAT16 __hadd_sat(GS_FLOAT16 a, GS_FLOAT16 b) {
  return gridstride::host::saturated(__hadd(a, b));
}
__device__ __forceinline__ GS_FLOAT16 __hsub_sat(GS_FLOAT16 a, GS_FLOAT16 b) {
  return gridstride::host::saturated(__hsub(a, b));
}
__device__ __forceinline__ GS_FLOAT16 __hmul_sat(GS_FLOAT16 a, GS_FLOAT16 b) {
  return gridstride::host::saturated(__hmul(a, b));
}
__device__ __forceinline__ GS_FLOAT16 __hfma_sat(GS_FLOAT16 a, GS_FLOAT16 b, GS_FLOAT16 c) {
  return gridstride::host::saturated(__hfma(a, b, c));
}
__device__ __forceinline__ GS_FLOAT16 __hfma_relu(GS_FLOAT16 a, GS_FLOAT16 b, GS_FLOAT16 c) {
  return gridstride::host::rectified(__hfma(a, b, c));
}

// ---- minimum and maximum -----------------------------------------------------------------------

// A number wins over a NaN, and -0 is less than +0.
__device__ __forceinline__ GS_FLOAT16 __hmin(GS_FLOAT16 a, GS_FLOAT16 b) {
  return gridstride::host::narrowed<GS_FLOAT16>(
      gridstride::host::smaller_number(float{a}, float{b}));
}
__device__ __forceinline__ GS_FLOAT16 __hmax(GS_FLOAT16 a, GS_FLOAT16 b) {
  return gridstride::host::narrowed<GS_FLOAT16>(
      gridstride::host::larger_number(float{a}, float{b}));
}
// A NaN wins over a number.
__device__ __forceinline__ GS_FLOAT16 __hmin_nan(GS_FLOAT16 a, GS_FLOAT16 b) {
  const bool has_nan = __hisnan(a) || __hisnan(b);
  return has_nan ? gridstride::host::same_bits<GS_FLOAT16>(gridstride::host::opaque_float16_nan())
                 : __hmin(a, b);
}
__device__ __forceinline__ GS_FLOAT16 __hmax_nan(GS_FLOAT16 a, GS_FLOAT16 b) {
  const bool has_nan = __hisnan(a) || __hisnan(b);
  return has_nan ? gridstride::host::same_bits<GS_FLOAT16>(gridstride::host::opaque_float16_nan())
                 : __hmax(a, b);
}

// ---- comparisons -------------------------------------------------------------------------------

// __h<relation> is false where an operand is NaN; __h<relation>u ("unordered") is true there.
#define GS_COMPARISON(name, expression)                              \
  __device__ __forceinline__ bool name(GS_FLOAT16 a, GS_FLOAT16 b) { \
    const float x = a, y = b;                                        \
    return expression;                                               \
  }
GS_COMPARISON(__heq, x == y)
GS_COMPARISON(__hne, __builtin_islessgreater(x, y))
GS_COMPARISON(__hlt, x < y)
GS_COMPARISON(__hle, x <= y)
GS_COMPARISON(__hgt, x > y)
GS_COMPARISON(__hge, x >= y)
GS_COMPARISON(__hequ, !__builtin_islessgreater(x, y))
GS_COMPARISON(__hneu, x != y)
GS_COMPARISON(__hltu, !(x >= y))
GS_COMPARISON(__hleu, !(x > y))
GS_COMPARISON(__hgtu, !(x <= y))
GS_COMPARISON(__hgeu, !(x < y))
#undef GS_COMPARISON

// ---- operators ---------------------------------------------------------------------------------

#define GS_BINARY_OPERATOR(sign, function)                                                        \
  __device__ __forceinline__ GS_FLOAT16 operator sign(const GS_FLOAT16& a, const GS_FLOAT16& b) { \
    return function(a, b);                                                                        \
  }                                                                                               \
  __device__ __forceinline__ GS_FLOAT16& operator sign##=(GS_FLOAT16& a, const GS_FLOAT16& b) {   \
    return a = function(a, b);                                                                    \
  }
GS_BINARY_OPERATOR(+, __hadd)
GS_BINARY_OPERATOR(-, __hsub)
GS_BINARY_OPERATOR(*, __hmul)
GS_BINARY_OPERATOR(/, __hdiv)
#undef GS_BINARY_OPERATOR

#define GS_STEP_OPERATOR(sign, function)                                    \
  __device__ __forceinline__ GS_FLOAT16& operator sign(GS_FLOAT16& a) {     \
    return a = function(a, GS_FLOAT16(1.0f));                               \
  }                                                                         \
  __device__ __forceinline__ GS_FLOAT16 operator sign(GS_FLOAT16& a, int) { \
    const GS_FLOAT16 before = a;                                            \
    a = function(a, GS_FLOAT16(1.0f));                                      \
    return before;                                                          \
  }
GS_STEP_OPERATOR(++, __hadd)
GS_STEP_OPERATOR(--, __hsub)
#undef GS_STEP_OPERATOR

__device__ constexpr __forceinline__ GS_FLOAT16 operator+(const GS_FLOAT16& a) { return a; }
__device__ constexpr __forceinline__ GS_FLOAT16 operator-(const GS_FLOAT16& a) { return __hneg(a); }

#define GS_COMPARISON_OPERATOR(sign, function)                                              \
  __device__ __forceinline__ bool operator sign(const GS_FLOAT16& a, const GS_FLOAT16& b) { \
    return function(a, b);                                                                  \
  }
GS_COMPARISON_OPERATOR(==, __heq)
GS_COMPARISON_OPERATOR(!=, __hneu)
GS_COMPARISON_OPERATOR(<, __hlt)
GS_COMPARISON_OPERATOR(<=, __hle)
GS_COMPARISON_OPERATOR(>, __hgt)
GS_COMPARISON_OPERATOR(>=, __hge)
#undef GS_COMPARISON_OPERATOR
