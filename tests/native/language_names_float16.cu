// Every name of half, bfloat16 and their pairs, used once, with its result type. Compiled like
// language_names.cu, which says how and what for.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <type_traits>

#define RETURNS(type, ...)                                                                    \
  static_assert(std::is_same<decltype(__VA_ARGS__), type>::value, #__VA_ARGS__ " is " #type); \
  (void)(__VA_ARGS__)

#define FOUR_ROUNDINGS(type, name, ...)  \
  RETURNS(type, name##_rn(__VA_ARGS__)); \
  RETURNS(type, name##_rz(__VA_ARGS__)); \
  RETURNS(type, name##_ru(__VA_ARGS__)); \
  RETURNS(type, name##_rd(__VA_ARGS__))

#define BETWEEN(token, type, name, integer)           \
  FOUR_ROUNDINGS(integer, __##token##2##name, value); \
  FOUR_ROUNDINGS(type, __##name##2##token, static_cast<integer>(1))

// Names that hold the type's own name.
#define CONVERSION_NAMES(token, type, pair)                                                       \
  __global__ void token##_conversion_names(type value, pair both, float f, double d, float2 f2) { \
    RETURNS(type, __float2##token(f));                                                            \
    RETURNS(type, __double2##token(d));                                                           \
    FOUR_ROUNDINGS(type, __float2##token, f);                                                     \
    RETURNS(float, __##token##2float(value));                                                     \
    BETWEEN(token, type, short, short);                                                           \
    BETWEEN(token, type, ushort, unsigned short);                                                 \
    BETWEEN(token, type, int, int);                                                               \
    BETWEEN(token, type, uint, unsigned int);                                                     \
    BETWEEN(token, type, ll, long long);                                                          \
    BETWEEN(token, type, ull, unsigned long long);                                                \
    RETURNS(signed char, __##token##2char_rz(value));                                             \
    RETURNS(unsigned char, __##token##2uchar_rz(value));                                          \
    RETURNS(short, __##token##_as_short(value));                                                  \
    RETURNS(type, __short_as_##token(short(1)));                                                  \
    RETURNS(unsigned short, __##token##_as_ushort(value));                                        \
    RETURNS(type, __ushort_as_##token(static_cast<unsigned short>(1)));                           \
    RETURNS(pair, make_##token##2(value, value));                                                 \
    RETURNS(pair, __halves2##token##2(value, value));                                             \
    RETURNS(pair, __##token##2##token##2(value));                                                 \
    RETURNS(pair, __float2##token##2_rn(f));                                                      \
    RETURNS(pair, __floats2##token##2_rn(f, f));                                                  \
    RETURNS(pair, __float22##token##2_rn(f2));                                                    \
    RETURNS(float2, __##token##22float2(both));                                                   \
    RETURNS(pair, __lows2##token##2(both, both));                                                 \
    RETURNS(pair, __highs2##token##2(both, both));                                                \
    RETURNS(pair, __low2##token##2(both));                                                        \
    RETURNS(pair, __high2##token##2(both));                                                       \
    RETURNS(type, __low2##token(both));                                                           \
    RETURNS(type, __high2##token(both));                                                          \
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
  RETURNS(T, a + b);
  RETURNS(T, a - b);
  RETURNS(T, a * b);
  RETURNS(T, a / b);
  RETURNS(T, +a);
  RETURNS(T, -a);
  RETURNS(T&, a += b);
  RETURNS(T&, a -= b);
  RETURNS(T&, a *= b);
  RETURNS(T&, a /= b);
  RETURNS(T&, ++a);
  RETURNS(T&, --a);
  RETURNS(T, a++);
  RETURNS(T, a--);
  RETURNS(bool, a == b);
  RETURNS(bool, a != b);
  RETURNS(bool, a < b);
  RETURNS(bool, a <= b);
  RETURNS(bool, a > b);
  RETURNS(bool, a >= b);
}

template <class T>
__device__ void scalar_names(T a, T b, T c) {
  RETURNS(T, __hadd(a, b));
  RETURNS(T, __hsub(a, b));
  RETURNS(T, __hmul(a, b));
  RETURNS(T, __hdiv(a, b));
  RETURNS(T, __hadd_rn(a, b));
  RETURNS(T, __hsub_rn(a, b));
  RETURNS(T, __hmul_rn(a, b));
  RETURNS(T, __hadd_sat(a, b));
  RETURNS(T, __hsub_sat(a, b));
  RETURNS(T, __hmul_sat(a, b));
  RETURNS(T, __hfma(a, b, c));
  RETURNS(T, __hfma_sat(a, b, c));
  RETURNS(T, __hfma_relu(a, b, c));
  RETURNS(T, __hneg(a));
  RETURNS(T, __habs(a));
  RETURNS(T, __hmin(a, b));
  RETURNS(T, __hmax(a, b));
  RETURNS(T, __hmin_nan(a, b));
  RETURNS(T, __hmax_nan(a, b));
  RETURNS(bool, __hisnan(a));
  RETURNS(int, __hisinf(a));
  RETURNS(bool, __heq(a, b));
  RETURNS(bool, __hne(a, b));
  RETURNS(bool, __hlt(a, b));
  RETURNS(bool, __hle(a, b));
  RETURNS(bool, __hgt(a, b));
  RETURNS(bool, __hge(a, b));
  RETURNS(bool, __hequ(a, b));
  RETURNS(bool, __hneu(a, b));
  RETURNS(bool, __hltu(a, b));
  RETURNS(bool, __hleu(a, b));
  RETURNS(bool, __hgtu(a, b));
  RETURNS(bool, __hgeu(a, b));
  RETURNS(T, hceil(a));
  RETURNS(T, hfloor(a));
  RETURNS(T, htrunc(a));
  RETURNS(T, hrint(a));
  RETURNS(T, hsqrt(a));
  RETURNS(T, hrsqrt(a));
  RETURNS(T, hrcp(a));
  RETURNS(T, hexp(a));
  RETURNS(T, hexp2(a));
  RETURNS(T, hexp10(a));
  RETURNS(T, hlog(a));
  RETURNS(T, hlog2(a));
  RETURNS(T, hlog10(a));
  RETURNS(T, hsin(a));
  RETURNS(T, hcos(a));
  RETURNS(T, htanh(a));
  RETURNS(T, htanh_approx(a));
}

#define RELATION(name)                            \
  RETURNS(P, __h##name##2(a, b));                 \
  RETURNS(unsigned int, __h##name##2_mask(a, b)); \
  RETURNS(bool, __hb##name##2(a, b))

template <class P>
__device__ void pair_names(P a, P b, P c) {
  RETURNS(P, __hadd2(a, b));
  RETURNS(P, __hsub2(a, b));
  RETURNS(P, __hmul2(a, b));
  RETURNS(P, __h2div(a, b));
  RETURNS(P, __hadd2_rn(a, b));
  RETURNS(P, __hsub2_rn(a, b));
  RETURNS(P, __hmul2_rn(a, b));
  RETURNS(P, __hadd2_sat(a, b));
  RETURNS(P, __hsub2_sat(a, b));
  RETURNS(P, __hmul2_sat(a, b));
  RETURNS(P, __hfma2(a, b, c));
  RETURNS(P, __hfma2_sat(a, b, c));
  RETURNS(P, __hfma2_relu(a, b, c));
  RETURNS(P, __hneg2(a));
  RETURNS(P, __habs2(a));
  RETURNS(P, __hmin2(a, b));
  RETURNS(P, __hmax2(a, b));
  RETURNS(P, __hmin2_nan(a, b));
  RETURNS(P, __hmax2_nan(a, b));
  RETURNS(P, __hcmadd(a, b, c));
  RETURNS(P, __hisnan2(a));
  RETURNS(P, __lowhigh2highlow(a));
  RETURNS(float, __low2float(a));
  RETURNS(float, __high2float(a));
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
  RETURNS(P, h2ceil(a));
  RETURNS(P, h2floor(a));
  RETURNS(P, h2trunc(a));
  RETURNS(P, h2rint(a));
  RETURNS(P, h2sqrt(a));
  RETURNS(P, h2rsqrt(a));
  RETURNS(P, h2rcp(a));
  RETURNS(P, h2exp(a));
  RETURNS(P, h2exp2(a));
  RETURNS(P, h2exp10(a));
  RETURNS(P, h2log(a));
  RETURNS(P, h2log2(a));
  RETURNS(P, h2log10(a));
  RETURNS(P, h2sin(a));
  RETURNS(P, h2cos(a));
  RETURNS(P, h2tanh(a));
  RETURNS(P, h2tanh_approx(a));
}

template <class T>
__device__ void memory_names(T* p) {
  RETURNS(T, atomicAdd(p, *p));
  RETURNS(T, __ldg(p));
  RETURNS(T, __ldca(p));
  RETURNS(T, __ldcg(p));
  RETURNS(T, __ldcs(p));
  RETURNS(T, __ldlu(p));
  RETURNS(T, __ldcv(p));
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
