// Every name of half, bfloat16 and their pairs, used once, with its result type. Compiled like
// language_names.cu, which says how and what for.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "language_names.h"

#define BETWEEN(token, type, name, integer)           \
  FOUR_ROUNDINGS(integer, __##token##2##name, value); \
  FOUR_ROUNDINGS(type, __##name##2##token, static_cast<integer>(1))

// Names that hold the type's own name.
#define CONVERSION_NAMES(token, type, pair)                                                       \
  __global__ void token##_conversion_names(type value, pair both, float f, double d, float2 f2) { \
    returns<type>(__float2##token(f), __double2##token(d));                                       \
    FOUR_ROUNDINGS(type, __float2##token, f);                                                     \
    returns<float>(__##token##2float(value));                                                     \
    BETWEEN(token, type, short, short);                                                           \
    BETWEEN(token, type, ushort, unsigned short);                                                 \
    BETWEEN(token, type, int, int);                                                               \
    BETWEEN(token, type, uint, unsigned int);                                                     \
    BETWEEN(token, type, ll, long long);                                                          \
    BETWEEN(token, type, ull, unsigned long long);                                                \
    returns<signed char>(__##token##2char_rz(value));                                             \
    returns<unsigned char>(__##token##2uchar_rz(value));                                          \
    returns<short>(__##token##_as_short(value));                                                  \
    returns<type>(__short_as_##token(short(1)),                                                   \
                  __ushort_as_##token(static_cast<unsigned short>(1)), __low2##token(both),       \
                  __high2##token(both));                                                          \
    returns<unsigned short>(__##token##_as_ushort(value));                                        \
    returns<pair>(make_##token##2(value, value), __halves2##token##2(value, value),               \
                  __##token##2##token##2(value), __float2##token##2_rn(f),                        \
                  __floats2##token##2_rn(f, f), __float22##token##2_rn(f2),                       \
                  __lows2##token##2(both, both), __highs2##token##2(both, both),                  \
                  __low2##token##2(both), __high2##token##2(both));                               \
    returns<float2>(__##token##22float2(both));                                                   \
  }
CONVERSION_NAMES(half, __half, __half2)
CONVERSION_NAMES(bfloat16, __nv_bfloat16, __nv_bfloat162)

template <class T>
__device__ void implicit_conversions(T a) {
  const T of_float = 1.5f, of_double = 1.5, of_int = 1, of_unsigned = 1u, of_long = 1l;
  const T of_long_long = 1ll, of_short = short(1);
  const float to_float = a;
  const int to_int = a;
  const unsigned long long to_long = a;
  const bool to_bool = a;
  T assigned = of_float;
  assigned = 2.0f;
  assigned = 2.0;
  assigned = 2;
  assigned = 2u;
  assigned = 2ll;
  (void)of_double;
  (void)of_int;
  (void)of_unsigned;
  (void)of_long;
  (void)of_long_long;
  (void)of_short;
  (void)to_float;
  (void)to_int;
  (void)to_long;
  (void)to_bool;
}

template <class T>
__device__ void operators(T a, T b) {
  returns<T>(a + b, a - b, a * b, a / b, +a, -a, a++, a--);
  returns<T&>(a += b, a -= b, a *= b, a /= b, ++a, --a);
  returns<bool>(a == b, a != b, a < b, a <= b, a > b, a >= b);
}

template <class T>
__device__ void scalar_names(T a, T b, T c) {
  returns<T>(__hadd(a, b), __hsub(a, b), __hmul(a, b), __hdiv(a, b), __hadd_rn(a, b),
             __hsub_rn(a, b), __hmul_rn(a, b), __hadd_sat(a, b), __hsub_sat(a, b), __hmul_sat(a, b),
             __hfma(a, b, c), __hfma_sat(a, b, c), __hfma_relu(a, b, c), __hneg(a), __habs(a),
             __hmin(a, b), __hmax(a, b), __hmin_nan(a, b), __hmax_nan(a, b), hceil(a), hfloor(a),
             htrunc(a), hrint(a), hsqrt(a), hrsqrt(a), hrcp(a), hexp(a), hexp2(a), hexp10(a),
             hlog(a), hlog2(a), hlog10(a), hsin(a), hcos(a), htanh(a), htanh_approx(a));
  returns<bool>(__hisnan(a), __heq(a, b), __hne(a, b), __hlt(a, b), __hle(a, b), __hgt(a, b),
                __hge(a, b), __hequ(a, b), __hneu(a, b), __hltu(a, b), __hleu(a, b), __hgtu(a, b),
                __hgeu(a, b));
  returns<int>(__hisinf(a));
}

#define RELATION(name)                            \
  returns<P>(__h##name##2(a, b));                 \
  returns<unsigned int>(__h##name##2_mask(a, b)); \
  returns<bool>(__hb##name##2(a, b))

template <class P>
__device__ void pair_names(P a, P b, P c) {
  returns<P>(__hadd2(a, b), __hsub2(a, b), __hmul2(a, b), __h2div(a, b), __hadd2_rn(a, b),
             __hsub2_rn(a, b), __hmul2_rn(a, b), __hadd2_sat(a, b), __hsub2_sat(a, b),
             __hmul2_sat(a, b), __hfma2(a, b, c), __hfma2_sat(a, b, c), __hfma2_relu(a, b, c),
             __hneg2(a), __habs2(a), __hmin2(a, b), __hmax2(a, b), __hmin2_nan(a, b),
             __hmax2_nan(a, b), __hcmadd(a, b, c), __hisnan2(a), __lowhigh2highlow(a));
  returns<float>(__low2float(a), __high2float(a));
  RELATION(eq);
  RELATION(ne);
  RELATION(lt);
  RELATION(le);
  RELATION(gt);
  RELATION(ge);
  RELATION(equ);
  RELATION(neu);
  RELATION(ltu);
  RELATION(leu);
  RELATION(gtu);
  RELATION(geu);
  returns<P>(h2ceil(a), h2floor(a), h2trunc(a), h2rint(a), h2sqrt(a), h2rsqrt(a), h2rcp(a),
             h2exp(a), h2exp2(a), h2exp10(a), h2log(a), h2log2(a), h2log10(a), h2sin(a), h2cos(a),
             h2tanh(a), h2tanh_approx(a));
}

template <class T>
__device__ void memory_names(T* p) {
  returns<T>(atomicAdd(p, *p), __ldg(p), __ldca(p), __ldcg(p), __ldcs(p), __ldlu(p), __ldcv(p));
  __stwb(p, *p);
  __stcg(p, *p);
  __stcs(p, *p);
  __stwt(p, *p);
}

__global__ void float16_names(half* h, half2* h2, nv_bfloat16* b, nv_bfloat162* b2) {
  implicit_conversions(*h);
  implicit_conversions(*b);
  operators(*h, *h);
  operators(*b, *b);
  operators(*h2, *h2);
  operators(*b2, *b2);
  scalar_names(*h, *h, *h);
  scalar_names(*b, *b, *b);
  pair_names(*h2, *h2, *h2);
  pair_names(*b2, *b2, *b2);
  memory_names(h);
  memory_names(h2);
  memory_names(b);
  memory_names(b2);
  const __half_raw raw = *h;
  const __nv_bfloat162_raw raw_pair = *b2;
  const __half of_raw = raw;
  const __nv_bfloat162 of_raw_pair = raw_pair;
  const __half of_other(*b);
  const __nv_bfloat16 of_half(*h);
  (void)of_raw;
  (void)of_raw_pair;
  (void)of_other;
  (void)of_half;
}

__global__ void float16_constants(half* h, nv_bfloat16* b) {
  h[0] = CUDART_INF_FP16;
  h[1] = CUDART_NAN_FP16;
  h[2] = CUDART_MIN_DENORM_FP16;
  h[3] = CUDART_MAX_NORMAL_FP16;
  h[4] = CUDART_NEG_ZERO_FP16;
  h[5] = CUDART_ZERO_FP16;
  h[6] = CUDART_ONE_FP16;
  b[0] = CUDART_INF_BF16;
  b[1] = CUDART_NAN_BF16;
  b[2] = CUDART_MIN_DENORM_BF16;
  b[3] = CUDART_MAX_NORMAL_BF16;
  b[4] = CUDART_NEG_ZERO_BF16;
  b[5] = CUDART_ZERO_BF16;
  b[6] = CUDART_ONE_BF16;
}
