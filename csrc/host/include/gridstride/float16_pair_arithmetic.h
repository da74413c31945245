// Arithmetic and comparisons on pairs, element by element. Included once per type (float16_type.h
// says how).

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

// True when the relation holds for both elements, so that != is not the negation of ==.
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
