// The 16-bit floating-point types: the struct, its implicit conversions, scalar and pair
// arithmetic, the math library and atomic addition. cuda_fp16.h and cuda_bf16.h include this once
// each, with the GS_FLOAT16… macros naming the type; hence no include guard.
//
// The set of implicit conversions is CUDA's, ambiguities included: code that compiles here compiles
// there.

template <>
struct gridstride::host::Float16Traits<GS_FLOAT16> {
  using Format = gridstride::host::GS_FLOAT16_FORMAT;
};

struct alignas(2) GS_FLOAT16_RAW {
  unsigned short x;
};

struct alignas(2) GS_FLOAT16 {
 protected:
  unsigned short __x;

 public:
  // Trivial, for unions and __shared__ arrays.
  GS_FLOAT16() = default;

  constexpr GS_FLOAT16(const GS_FLOAT16_RAW& raw) : __x(raw.x) {}
  explicit GS_FLOAT16(GS_FLOAT16_OTHER other);
  GS_FLOAT16(float value) : GS_FLOAT16(gridstride::host::narrowed<GS_FLOAT16>(value)) {}
  GS_FLOAT16(double value) : GS_FLOAT16(gridstride::host::narrowed<GS_FLOAT16>(value)) {}

#define GS_FROM_INTEGER(type)      \
  constexpr GS_FLOAT16(type value) \
      : GS_FLOAT16(gridstride::host::narrowed_integer<GS_FLOAT16, gridstride::host::rn>(value)) {}
  GS_FROM_INTEGER(short)
  GS_FROM_INTEGER(unsigned short)
  GS_FROM_INTEGER(int)
  GS_FROM_INTEGER(unsigned int)
  GS_FROM_INTEGER(long)
  GS_FROM_INTEGER(unsigned long)
  GS_FROM_INTEGER(long long)
  GS_FROM_INTEGER(unsigned long long)
#undef GS_FROM_INTEGER

  GS_FLOAT16& operator=(const GS_FLOAT16_RAW& raw) {
    __x = raw.x;
    return *this;
  }
  volatile GS_FLOAT16& operator=(const GS_FLOAT16_RAW& raw) volatile {
    __x = raw.x;
    return *this;
  }
  volatile GS_FLOAT16& operator=(const volatile GS_FLOAT16_RAW& raw) volatile {
    __x = raw.x;
    return *this;
  }

#define GS_ASSIGNMENT(type) \
  GS_FLOAT16& operator=(type value) { return *this = GS_FLOAT16(value); }
  GS_ASSIGNMENT(float)
  GS_ASSIGNMENT(double)
  GS_ASSIGNMENT(short)
  GS_ASSIGNMENT(unsigned short)
  GS_ASSIGNMENT(int)
  GS_ASSIGNMENT(unsigned int)
  GS_ASSIGNMENT(long long)
  GS_ASSIGNMENT(unsigned long long)
#undef GS_ASSIGNMENT

  constexpr operator GS_FLOAT16_RAW() const { return GS_FLOAT16_RAW{__x}; }
  operator GS_FLOAT16_RAW() const volatile { return GS_FLOAT16_RAW{__x}; }
  operator float() const { return gridstride::host::widened(*this); }
  constexpr operator bool() const { return (__x & 0x7fff) != 0; }

#define GS_TO_INTEGER(type)                                          \
  operator type() const {                                            \
    return gridstride::host::to_integer<gridstride::host::rz, type>( \
        gridstride::host::widened(*this));                           \
  }
  GS_TO_INTEGER(signed char)
  GS_TO_INTEGER(unsigned char)
  GS_TO_INTEGER(char)
  GS_TO_INTEGER(short)
  GS_TO_INTEGER(unsigned short)
  GS_TO_INTEGER(int)
  GS_TO_INTEGER(unsigned int)
  GS_TO_INTEGER(long)
  GS_TO_INTEGER(unsigned long)
  GS_TO_INTEGER(long long)
  GS_TO_INTEGER(unsigned long long)
#undef GS_TO_INTEGER
};

// ---- float and double --------------------------------------------------------------------------

#define GS_FROM_FLOAT(suffix, rounding)                                                          \
  __device__ __forceinline__ GS_FLOAT16 GS_NAME(__float2, suffix)(float value) {                 \
    return gridstride::host::narrowed_as<GS_FLOAT16, gridstride::host::rounding>(double{value}); \
  }
GS_FROM_FLOAT(_rz, rz)
GS_FROM_FLOAT(_ru, ru)
GS_FROM_FLOAT(_rd, rd)
#undef GS_FROM_FLOAT

__device__ __forceinline__ GS_FLOAT16 GS_NAME(__float2, )(float value) {
  return gridstride::host::narrowed<GS_FLOAT16>(value);
}
__device__ __forceinline__ GS_FLOAT16 GS_NAME(__float2, _rn)(float value) {
  return gridstride::host::narrowed<GS_FLOAT16>(value);
}
__device__ __forceinline__ GS_FLOAT16 GS_NAME(__double2, )(double value) {
  return gridstride::host::narrowed<GS_FLOAT16>(value);
}
__device__ __forceinline__ float GS_NAME(__, 2float)(GS_FLOAT16 value) {
  return gridstride::host::widened(value);
}

// ---- bits --------------------------------------------------------------------------------------

__device__ constexpr __forceinline__ short GS_NAME(__, _as_short)(GS_FLOAT16 value) {
  return gridstride::host::same_bits<short>(value);
}
__device__ constexpr __forceinline__ unsigned short GS_NAME(__, _as_ushort)(GS_FLOAT16 value) {
  return gridstride::host::same_bits<unsigned short>(value);
}
__device__ constexpr __forceinline__ GS_FLOAT16 GS_NAME(__short_as_, )(short bits) {
  return gridstride::host::same_bits<GS_FLOAT16>(bits);
}
__device__ constexpr __forceinline__ GS_FLOAT16 GS_NAME(__ushort_as_, )(unsigned short bits) {
  return gridstride::host::same_bits<GS_FLOAT16>(bits);
}

// Conversions between a 16-bit floating-point type and integers in all four roundings.
#define GS_BETWEEN(name, type, rounding)                                                          \
  __device__ __forceinline__ type GS_NAME(__, 2##name##_##rounding)(GS_FLOAT16 value) {           \
    return gridstride::host::to_integer<gridstride::host::rounding, type>(                        \
        gridstride::host::widened(value));                                                        \
  }                                                                                               \
  __device__ constexpr __forceinline__ GS_FLOAT16 GS_NAME(__##name##2, _##rounding)(type value) { \
    return gridstride::host::narrowed_integer<GS_FLOAT16, gridstride::host::rounding>(value);     \
  }
#define GS_BETWEEN_ALL_ROUNDINGS(name, type) \
  GS_BETWEEN(name, type, rn)                 \
  GS_BETWEEN(name, type, rz)                 \
  GS_BETWEEN(name, type, ru)                 \
  GS_BETWEEN(name, type, rd)

GS_BETWEEN_ALL_ROUNDINGS(short, short)
GS_BETWEEN_ALL_ROUNDINGS(ushort, unsigned short)
GS_BETWEEN_ALL_ROUNDINGS(int, int)
GS_BETWEEN_ALL_ROUNDINGS(uint, unsigned int)
GS_BETWEEN_ALL_ROUNDINGS(ll, long long)
GS_BETWEEN_ALL_ROUNDINGS(ull, unsigned long long)

#undef GS_BETWEEN_ALL_ROUNDINGS
#undef GS_BETWEEN

__device__ __forceinline__ signed char GS_NAME(__, 2char_rz)(GS_FLOAT16 value) {
  return gridstride::host::to_integer<gridstride::host::rz, signed char>(
      gridstride::host::widened(value));
}
__device__ __forceinline__ unsigned char GS_NAME(__, 2uchar_rz)(GS_FLOAT16 value) {
  return gridstride::host::to_integer<gridstride::host::rz, unsigned char>(
      gridstride::host::widened(value));
}

// Arithmetic and comparisons of a 16-bit floating-point type.
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

// A pair of 16-bit floating-point values in one word: the struct, packing and unpacking.
struct alignas(4) GS_FLOAT16_PAIR_RAW {
  unsigned short x, y;
};

struct alignas(4) GS_FLOAT16_PAIR {
  GS_FLOAT16 x, y;

  GS_FLOAT16_PAIR() = default;
  constexpr GS_FLOAT16_PAIR(const GS_FLOAT16& low, const GS_FLOAT16& high) : x(low), y(high) {}
  constexpr GS_FLOAT16_PAIR(const GS_FLOAT16_PAIR_RAW& raw)
      : x(GS_FLOAT16_RAW{raw.x}), y(GS_FLOAT16_RAW{raw.y}) {}

  GS_FLOAT16_PAIR& operator=(const GS_FLOAT16_PAIR_RAW& raw) {
    return *this = GS_FLOAT16_PAIR(raw);
  }
  constexpr operator GS_FLOAT16_PAIR_RAW() const {
    return GS_FLOAT16_PAIR_RAW{GS_FLOAT16_RAW(x).x, GS_FLOAT16_RAW(y).x};
  }
};

// ---- from elements -----------------------------------------------------------------------------

__device__ constexpr __forceinline__ GS_FLOAT16_PAIR GS_NAME(make_, 2)(GS_FLOAT16 x, GS_FLOAT16 y) {
  return GS_FLOAT16_PAIR(x, y);
}
__device__ constexpr __forceinline__ GS_FLOAT16_PAIR GS_PAIR_NAME(__halves2, )(GS_FLOAT16 a,
                                                                               GS_FLOAT16 b) {
  return GS_FLOAT16_PAIR(a, b);
}
__device__ constexpr __forceinline__ GS_FLOAT16_PAIR GS_PAIR_NAME(GS_NAME(__, 2), )(GS_FLOAT16 a) {
  return GS_FLOAT16_PAIR(a, a);
}
__device__ __forceinline__ GS_FLOAT16_PAIR GS_PAIR_NAME(__float2, _rn)(float a) {
  const GS_FLOAT16 both(a);
  return GS_FLOAT16_PAIR(both, both);
}
__device__ __forceinline__ GS_FLOAT16_PAIR GS_PAIR_NAME(__floats2, _rn)(float a, float b) {
  return GS_FLOAT16_PAIR(GS_FLOAT16(a), GS_FLOAT16(b));
}
__device__ __forceinline__ GS_FLOAT16_PAIR GS_PAIR_NAME(__float22, _rn)(float2 a) {
  return GS_FLOAT16_PAIR(GS_FLOAT16(a.x), GS_FLOAT16(a.y));
}

// ---- to elements -------------------------------------------------------------------------------

__device__ __forceinline__ float2 GS_PAIR_NAME(__, 2float2)(GS_FLOAT16_PAIR a) {
  return float2{float{a.x}, float{a.y}};
}
__device__ __forceinline__ float __low2float(GS_FLOAT16_PAIR a) { return a.x; }
__device__ __forceinline__ float __high2float(GS_FLOAT16_PAIR a) { return a.y; }
__device__ constexpr __forceinline__ GS_FLOAT16 GS_NAME(__low2, )(GS_FLOAT16_PAIR a) { return a.x; }
__device__ constexpr __forceinline__ GS_FLOAT16 GS_NAME(__high2, )(GS_FLOAT16_PAIR a) {
  return a.y;
}

// ---- rearranging -------------------------------------------------------------------------------

__device__ constexpr __forceinline__ GS_FLOAT16_PAIR GS_PAIR_NAME(__low2, )(GS_FLOAT16_PAIR a) {
  return GS_FLOAT16_PAIR(a.x, a.x);
}
__device__ constexpr __forceinline__ GS_FLOAT16_PAIR GS_PAIR_NAME(__high2, )(GS_FLOAT16_PAIR a) {
  return GS_FLOAT16_PAIR(a.y, a.y);
}
__device__ constexpr __forceinline__ GS_FLOAT16_PAIR __lowhigh2highlow(GS_FLOAT16_PAIR a) {
  return GS_FLOAT16_PAIR(a.y, a.x);
}
__device__ constexpr __forceinline__ GS_FLOAT16_PAIR GS_PAIR_NAME(__lows2, )(GS_FLOAT16_PAIR a,
                                                                             GS_FLOAT16_PAIR b) {
  return GS_FLOAT16_PAIR(a.x, b.x);
}
__device__ constexpr __forceinline__ GS_FLOAT16_PAIR GS_PAIR_NAME(__highs2, )(GS_FLOAT16_PAIR a,
                                                                              GS_FLOAT16_PAIR b) {
  return GS_FLOAT16_PAIR(a.y, b.y);
}

// Arithmetic and comparisons on pairs, element by element.
#define GS_PAIR_UNARY(name, function)                                  \
  __device__ __forceinline__ GS_FLOAT16_PAIR name(GS_FLOAT16_PAIR a) { \
    return GS_FLOAT16_PAIR(function(a.x), function(a.y));              \
  }
#define GS_PAIR_BINARY(name, function)                                                    \
  __device__ __forceinline__ GS_FLOAT16_PAIR name(GS_FLOAT16_PAIR a, GS_FLOAT16_PAIR b) { \
    return GS_FLOAT16_PAIR(function(a.x, b.x), function(a.y, b.y));                       \
  }
#define GS_PAIR_TERNARY(name, function)                                                 \
  __device__ __forceinline__ GS_FLOAT16_PAIR name(GS_FLOAT16_PAIR a, GS_FLOAT16_PAIR b, \
                                                  GS_FLOAT16_PAIR c) {                  \
    return GS_FLOAT16_PAIR(function(a.x, b.x, c.x), function(a.y, b.y, c.y));           \
  }

GS_PAIR_BINARY(__hadd2, __hadd)
GS_PAIR_BINARY(__hsub2, __hsub)
GS_PAIR_BINARY(__hmul2, __hmul)
GS_PAIR_BINARY(__h2div, __hdiv)
GS_PAIR_BINARY(__hadd2_rn, __hadd_rn)
GS_PAIR_BINARY(__hsub2_rn, __hsub_rn)
GS_PAIR_BINARY(__hmul2_rn, __hmul_rn)
GS_PAIR_BINARY(__hadd2_sat, __hadd_sat)
GS_PAIR_BINARY(__hsub2_sat, __hsub_sat)
GS_PAIR_BINARY(__hmul2_sat, __hmul_sat)
GS_PAIR_TERNARY(__hfma2, __hfma)
GS_PAIR_TERNARY(__hfma2_sat, __hfma_sat)
GS_PAIR_TERNARY(__hfma2_relu, __hfma_relu)
GS_PAIR_UNARY(__hneg2, __hneg)
GS_PAIR_UNARY(__habs2, __habs)
GS_PAIR_BINARY(__hmin2, __hmin)
GS_PAIR_BINARY(__hmax2, __hmax)
GS_PAIR_BINARY(__hmin2_nan, __hmin_nan)
GS_PAIR_BINARY(__hmax2_nan, __hmax_nan)

// a * b + c of complex numbers (real part in x), with CUDA's order of the four fused operations.
__device__ __forceinline__ GS_FLOAT16_PAIR __hcmadd(GS_FLOAT16_PAIR a, GS_FLOAT16_PAIR b,
                                                    GS_FLOAT16_PAIR c) {
  return GS_FLOAT16_PAIR(__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)),
                         __hfma(a.y, b.x, __hfma(a.x, b.y, c.y)));
}

__device__ __forceinline__ GS_FLOAT16_PAIR __hisnan2(GS_FLOAT16_PAIR a) {
  return GS_FLOAT16_PAIR(GS_FLOAT16(__hisnan(a.x) ? 1.0f : 0.0f),
                         GS_FLOAT16(__hisnan(a.y) ? 1.0f : 0.0f));
}

// ---- comparisons -------------------------------------------------------------------------------

// __h…2 gives 1 or 0 per element, __h…2_mask ones or zeros per halfword, __hb…2 whether both hold.
#define GS_PAIR_COMPARISON(relation)                                                        \
  __device__ __forceinline__ GS_FLOAT16_PAIR __h##relation##2(GS_FLOAT16_PAIR a,            \
                                                              GS_FLOAT16_PAIR b) {          \
    return GS_FLOAT16_PAIR(GS_FLOAT16(__h##relation(a.x, b.x) ? 1.0f : 0.0f),               \
                           GS_FLOAT16(__h##relation(a.y, b.y) ? 1.0f : 0.0f));              \
  }                                                                                         \
  __device__ __forceinline__ unsigned int __h##relation##2_mask(GS_FLOAT16_PAIR a,          \
                                                                GS_FLOAT16_PAIR b) {        \
    return (__h##relation(a.x, b.x) ? 0x0000ffffu : 0u) |                                   \
           (__h##relation(a.y, b.y) ? 0xffff0000u : 0u);                                    \
  }                                                                                         \
  __device__ __forceinline__ bool __hb##relation##2(GS_FLOAT16_PAIR a, GS_FLOAT16_PAIR b) { \
    return __h##relation(a.x, b.x) && __h##relation(a.y, b.y);                              \
  }
GS_PAIR_COMPARISON(eq)
GS_PAIR_COMPARISON(ne)
GS_PAIR_COMPARISON(lt)
GS_PAIR_COMPARISON(le)
GS_PAIR_COMPARISON(gt)
GS_PAIR_COMPARISON(ge)
GS_PAIR_COMPARISON(equ)
GS_PAIR_COMPARISON(neu)
GS_PAIR_COMPARISON(ltu)
GS_PAIR_COMPARISON(leu)
GS_PAIR_COMPARISON(gtu)
GS_PAIR_COMPARISON(geu)
#undef GS_PAIR_COMPARISON

// ---- operators ---------------------------------------------------------------------------------

#define GS_PAIR_OPERATOR(sign, function)                                                   \
  __device__ __forceinline__ GS_FLOAT16_PAIR operator sign(const GS_FLOAT16_PAIR& a,       \
                                                           const GS_FLOAT16_PAIR& b) {     \
    return function(a, b);                                                                 \
  }                                                                                        \
  __device__ __forceinline__ GS_FLOAT16_PAIR& operator sign##=(GS_FLOAT16_PAIR& a,         \
                                                               const GS_FLOAT16_PAIR& b) { \
    return a = function(a, b);                                                             \
  }
GS_PAIR_OPERATOR(+, __hadd2)
GS_PAIR_OPERATOR(-, __hsub2)
GS_PAIR_OPERATOR(*, __hmul2)
GS_PAIR_OPERATOR(/, __h2div)
#undef GS_PAIR_OPERATOR

#define GS_PAIR_STEP_OPERATOR(sign)                                                   \
  __device__ __forceinline__ GS_FLOAT16_PAIR& operator sign(GS_FLOAT16_PAIR& a) {     \
    sign a.x;                                                                         \
    sign a.y;                                                                         \
    return a;                                                                         \
  }                                                                                   \
  __device__ __forceinline__ GS_FLOAT16_PAIR operator sign(GS_FLOAT16_PAIR& a, int) { \
    const GS_FLOAT16_PAIR before = a;                                                 \
    sign a;                                                                           \
    return before;                                                                    \
  }
GS_PAIR_STEP_OPERATOR(++)
GS_PAIR_STEP_OPERATOR(--)
#undef GS_PAIR_STEP_OPERATOR

__device__ constexpr __forceinline__ GS_FLOAT16_PAIR operator+(const GS_FLOAT16_PAIR& a) {
  return a;
}
__device__ __forceinline__ GS_FLOAT16_PAIR operator-(const GS_FLOAT16_PAIR& a) {
  return __hneg2(a);
}

// True when the relation holds for both elements: != is not the negation of ==.
#define GS_PAIR_COMPARISON_OPERATOR(sign, function)                         \
  __device__ __forceinline__ bool operator sign(const GS_FLOAT16_PAIR& a,   \
                                                const GS_FLOAT16_PAIR& b) { \
    return function(a, b);                                                  \
  }
GS_PAIR_COMPARISON_OPERATOR(==, __hbeq2)
GS_PAIR_COMPARISON_OPERATOR(!=, __hbneu2)
GS_PAIR_COMPARISON_OPERATOR(<, __hblt2)
GS_PAIR_COMPARISON_OPERATOR(<=, __hble2)
GS_PAIR_COMPARISON_OPERATOR(>, __hbgt2)
GS_PAIR_COMPARISON_OPERATOR(>=, __hbge2)
#undef GS_PAIR_COMPARISON_OPERATOR

// float16_math.h, the last file of a type, undefines GS_PAIR_UNARY.
#undef GS_PAIR_TERNARY
#undef GS_PAIR_BINARY

// The math library of a 16-bit floating-point type, and of pairs of it, and its atomic addition.
//
// Functions are evaluated in float or double and rounded to the type: errors stay within a little
// over half a unit in the last place, below what CUDA allows for.
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

// Undefines the parameters of the float16_*.h files after the last of them.
#undef GS_FLOAT16
#undef GS_FLOAT16_RAW
#undef GS_FLOAT16_PAIR
#undef GS_FLOAT16_PAIR_RAW
#undef GS_FLOAT16_OTHER
#undef GS_FLOAT16_FORMAT
#undef GS_FLOAT16_TOKEN
#undef GS_FLOAT16_PAIR_TOKEN
