// Every name of the kernel language but those of half and bfloat16 (language_names_float16.cu),
// used once, with its result type. It only has to compile, by nvcc and by the host device's
// compilers:
//
//   nvcc -std=c++17 -arch=sm_80 -c language_names.cu
//   c++ -std=c++17 -I../../csrc/host/include -x c++ -c language_names.cu
//
// Both prove that every name exists in CUDA, with the same signature.
#include <cuda_runtime.h>
#include <math_constants.h>

#include <type_traits>

#include "language_names.h"

using uint32 = unsigned int;
using int64 = long long;
using uint64 = unsigned long long;

#define VECTORS(name)                     \
  returns<name##1>(make_##name##1(1));    \
  returns<name##2>(make_##name##2(1, 2)); \
  returns<name##3>(make_##name##3(1, 2, 3))
#define VECTORS_OF_FOUR(name) returns<name>(make_##name(1, 2, 3, 4))

__global__ void vector_names() {
  VECTORS(char);
  VECTORS(uchar);
  VECTORS(short);
  VECTORS(ushort);
  VECTORS(int);
  VECTORS(uint);
  VECTORS(long);
  VECTORS(ulong);
  VECTORS(longlong);
  VECTORS(ulonglong);
  VECTORS(float);
  VECTORS(double);
  VECTORS_OF_FOUR(char4);
  VECTORS_OF_FOUR(uchar4);
  VECTORS_OF_FOUR(short4);
  VECTORS_OF_FOUR(ushort4);
  VECTORS_OF_FOUR(int4);
  VECTORS_OF_FOUR(uint4);
  VECTORS_OF_FOUR(float4);
#if CUDART_VERSION >= 13000
#define VECTORS_OF_FOUR_ALIGNED(name) \
  VECTORS_OF_FOUR(name##_16a);        \
  VECTORS_OF_FOUR(name##_32a)
  VECTORS_OF_FOUR_ALIGNED(long4);
  VECTORS_OF_FOUR_ALIGNED(ulong4);
  VECTORS_OF_FOUR_ALIGNED(longlong4);
  VECTORS_OF_FOUR_ALIGNED(ulonglong4);
  VECTORS_OF_FOUR_ALIGNED(double4);
#endif
  const dim3 extents(1, 2);
  const uint3 plain = extents;
  returns<const uint3&>(plain);
}

#define ATOMIC(type, name, ...) \
  returns<type>(name(__VA_ARGS__), name##_block(__VA_ARGS__), name##_system(__VA_ARGS__))

template <class T>
__device__ void atomic_names_of_all_integers(T* p, T v) {
  ATOMIC(T, atomicMin, p, v);
  ATOMIC(T, atomicMax, p, v);
  ATOMIC(T, atomicAnd, p, v);
  ATOMIC(T, atomicOr, p, v);
  ATOMIC(T, atomicXor, p, v);
}

template <class T>
__device__ void atomic_names_of_most_integers(T* p, T v) {
  ATOMIC(T, atomicAdd, p, v);
  ATOMIC(T, atomicExch, p, v);
  ATOMIC(T, atomicCAS, p, v, v);
}

__global__ void atomic_names(int* i, uint32* u, int64* l, uint64* w, unsigned short* s, float* f,
                             double* d, float2* f2, float4* f4) {
  atomic_names_of_all_integers(i, 1);
  atomic_names_of_all_integers(u, 1u);
  atomic_names_of_all_integers(l, 1ll);
  atomic_names_of_all_integers(w, 1ull);
  atomic_names_of_most_integers(i, 1);
  atomic_names_of_most_integers(u, 1u);
  atomic_names_of_most_integers(w, 1ull);
  ATOMIC(int, atomicSub, i, 1);
  ATOMIC(uint32, atomicSub, u, 1u);
  ATOMIC(uint32, atomicInc, u, 1u);
  ATOMIC(uint32, atomicDec, u, 1u);
  ATOMIC(float, atomicAdd, f, 1.0f);
  ATOMIC(double, atomicAdd, d, 1.0);
  ATOMIC(float, atomicExch, f, 1.0f);
  returns<unsigned short>(atomicCAS(s, *s, *s));
#if defined(__CUDASIM__) || __CUDA_ARCH__ >= 900
  ATOMIC(float2, atomicAdd, f2, *f2);
  ATOMIC(float4, atomicAdd, f4, *f4);
#else
  (void)f2;
  (void)f4;
#endif
}

__global__ void bit_names(int i, uint32 u, int64 l, uint64 w, char4 c, uchar4 b, short2 s,
                          ushort2 h) {
  returns<int>(__popc(u), __popcll(w), __clz(i), __clzll(l), __ffs(i), __ffsll(l), __mulhi(i, i),
               __mul24(i, i), __hadd(i, i), __rhadd(i, i), __dp4a(i, i, i), __dp4a(c, c, i),
               __dp2a_lo(i, i, i), __dp2a_lo(s, c, i), __dp2a_hi(i, i, i), __dp2a_hi(s, c, i));
  returns<uint32>(__brev(u), __byte_perm(u, u, u), __fns(u, u, i), __nv_bswap32(u),
                  __funnelshift_l(u, u, u), __funnelshift_lc(u, u, u), __funnelshift_r(u, u, u),
                  __funnelshift_rc(u, u, u), __umulhi(u, u), __umul24(u, u), __sad(i, i, u),
                  __usad(u, u, u), __uhadd(u, u), __urhadd(u, u), __dp4a(u, u, u), __dp4a(b, b, u),
                  __dp2a_lo(u, u, u), __dp2a_lo(h, b, u), __dp2a_hi(u, u, u), __dp2a_hi(h, b, u));
  returns<uint64>(__brevll(w), __nv_bswap64(w), __umul64hi(w, w));
  returns<unsigned short>(__nv_bswap16(h.x));
  returns<int64>(__mul64hi(l, l));
}

#define PACKED(n)                                                                                 \
  returns<uint32>(__vabs##n(u), __vabsss##n(u), __vneg##n(u), __vnegss##n(u), __vadd##n(u, u),    \
                  __vaddss##n(u, u), __vaddus##n(u, u), __vsub##n(u, u), __vsubss##n(u, u),       \
                  __vsubus##n(u, u), __vavgs##n(u, u), __vavgu##n(u, u), __vhaddu##n(u, u),       \
                  __vabsdiffs##n(u, u), __vabsdiffu##n(u, u), __vmaxs##n(u, u), __vmaxu##n(u, u), \
                  __vmins##n(u, u), __vminu##n(u, u), __vsads##n(u, u), __vsadu##n(u, u));        \
  PACKED_RELATION(eq##n);                                                                         \
  PACKED_RELATION(ne##n);                                                                         \
  PACKED_RELATION(ges##n);                                                                        \
  PACKED_RELATION(geu##n);                                                                        \
  PACKED_RELATION(gts##n);                                                                        \
  PACKED_RELATION(gtu##n);                                                                        \
  PACKED_RELATION(les##n);                                                                        \
  PACKED_RELATION(leu##n);                                                                        \
  PACKED_RELATION(lts##n);                                                                        \
  PACKED_RELATION(ltu##n)
#define PACKED_RELATION(suffix) \
  returns<uint32>(__vcmp##suffix(u, u), __vset##suffix(u, u))

__global__ void packed_names(uint32 u) {
  PACKED(2);
  PACKED(4);
}

__global__ void conversion_names(int i, uint32 u, int64 l, uint64 w, float f, double d) {
  FOUR_ROUNDINGS(int, __float2int, f);
  FOUR_ROUNDINGS(uint32, __float2uint, f);
  FOUR_ROUNDINGS(int64, __float2ll, f);
  FOUR_ROUNDINGS(uint64, __float2ull, f);
  FOUR_ROUNDINGS(int, __double2int, d);
  FOUR_ROUNDINGS(uint32, __double2uint, d);
  FOUR_ROUNDINGS(int64, __double2ll, d);
  FOUR_ROUNDINGS(uint64, __double2ull, d);
  FOUR_ROUNDINGS(float, __int2float, i);
  FOUR_ROUNDINGS(float, __uint2float, u);
  FOUR_ROUNDINGS(float, __ll2float, l);
  FOUR_ROUNDINGS(float, __ull2float, w);
  FOUR_ROUNDINGS(double, __ll2double, l);
  FOUR_ROUNDINGS(double, __ull2double, w);
  FOUR_ROUNDINGS(float, __double2float, d);
  returns<double>(__int2double_rn(i), __uint2double_rn(u), __longlong_as_double(l),
                  __hiloint2double(i, i));
  returns<int>(__float_as_int(f), __double2hiint(d), __double2loint(d));
  returns<uint32>(__float_as_uint(f));
  returns<float>(__int_as_float(i), __uint_as_float(u));
  returns<int64>(__double_as_longlong(d));
}

__global__ void rounded_names(float f, double d) {
  FOUR_ROUNDINGS(float, __fadd, f, f);
  FOUR_ROUNDINGS(float, __fsub, f, f);
  FOUR_ROUNDINGS(float, __fmul, f, f);
  FOUR_ROUNDINGS(float, __fdiv, f, f);
  FOUR_ROUNDINGS(float, __frcp, f);
  FOUR_ROUNDINGS(float, __fsqrt, f);
  FOUR_ROUNDINGS(float, __fmaf, f, f, f);
  FOUR_ROUNDINGS(float, __fmaf_ieee, f, f, f);
  FOUR_ROUNDINGS(double, __dadd, d, d);
  FOUR_ROUNDINGS(double, __dsub, d, d);
  FOUR_ROUNDINGS(double, __dmul, d, d);
  FOUR_ROUNDINGS(double, __ddiv, d, d);
  FOUR_ROUNDINGS(double, __drcp, d);
  FOUR_ROUNDINGS(double, __dsqrt, d);
  FOUR_ROUNDINGS(double, __fma, d, d, d);
  returns<float>(__frsqrt_rn(f));
}

#define BOTH(name, f, d)   \
  returns<float>(name(f)); \
  returns<double>(name(d))

__global__ void math_names(int i, float f, double d, float* fp, double* dp) {
  BOTH(rsqrt, f, d);
  BOTH(rcbrt, f, d);
  BOTH(sinpi, f, d);
  BOTH(cospi, f, d);
  BOTH(exp10, f, d);
  BOTH(erfinv, f, d);
  BOTH(erfcinv, f, d);
  BOTH(erfcx, f, d);
  BOTH(normcdf, f, d);
  BOTH(normcdfinv, f, d);
  BOTH(j0, f, d);
  BOTH(j1, f, d);
  BOTH(y0, f, d);
  BOTH(y1, f, d);
  returns<float>(jn(i, f), yn(i, f), rsqrtf(f), rcbrtf(f), sinpif(f), cospif(f), exp10f(f),
                 erfinvf(f), erfcinvf(f), erfcxf(f), normcdff(f), normcdfinvf(f));
  returns<double>(jn(i, d), yn(i, d));
  sincospif(f, fp, fp);
  sincospi(d, dp, dp);
  sincospi(f, fp, fp);
  sincosf(f, fp, fp);
  sincos(d, dp, dp);
  sincos(f, fp, fp);
  returns<double>(norm(i, dp), norm3d(d, d, d), norm4d(d, d, d, d), rnorm(i, dp), rnorm3d(d, d, d),
                  rnorm4d(d, d, d, d), rhypot(d, d), fdivide(d, d));
  returns<float>(rhypotf(f, f), normf(i, fp), norm3df(f, f, f), norm4df(f, f, f, f), rnormf(i, fp),
                 rnorm3df(f, f, f), rnorm4df(f, f, f, f), fdividef(f, f), __fdividef(f, f),
                 __saturatef(f), __expf(f), __exp10f(f), __logf(f), __log2f(f), __log10f(f),
                 __sinf(f), __cosf(f), __tanf(f), __tanhf(f), __powf(f, f));
  __sincosf(f, fp, fp);
  BOTH(sqrt, f, d);
  BOTH(exp, f, d);
  BOTH(fabs, f, d);
  BOTH(floor, f, d);
  BOTH(erf, f, d);
  BOTH(abs, f, d);
}

#define MINIMUM_MAXIMUM(type, x, y) \
  returns<type>(min(x, y), max(x, y))

__global__ void minimum_names(int i, uint32 u, long n, unsigned long m, int64 l, uint64 w, float f,
                              double d) {
  MINIMUM_MAXIMUM(int, i, i);
  MINIMUM_MAXIMUM(uint32, u, u);
  MINIMUM_MAXIMUM(uint32, i, u);
  MINIMUM_MAXIMUM(uint32, u, i);
  MINIMUM_MAXIMUM(long, n, n);
  MINIMUM_MAXIMUM(unsigned long, m, m);
  MINIMUM_MAXIMUM(unsigned long, n, m);
  MINIMUM_MAXIMUM(unsigned long, m, n);
  MINIMUM_MAXIMUM(int64, l, l);
  MINIMUM_MAXIMUM(uint64, w, w);
  MINIMUM_MAXIMUM(uint64, l, w);
  MINIMUM_MAXIMUM(uint64, w, l);
  MINIMUM_MAXIMUM(float, f, f);
  MINIMUM_MAXIMUM(double, d, d);
  MINIMUM_MAXIMUM(double, f, d);
  MINIMUM_MAXIMUM(double, d, f);
  returns<uint32>(umin(u, u), umax(u, u));
  returns<int64>(llmin(l, l), llmax(l, l));
  returns<uint64>(ullmin(w, w), ullmax(w, w));
}

template <class T>
__device__ void load_store_names(T* p) {
  returns<T>(__ldg(p), __ldca(p), __ldcg(p), __ldcs(p), __ldlu(p), __ldcv(p));
  __stwb(p, *p);
  __stcg(p, *p);
  __stcs(p, *p);
  __stwt(p, *p);
}

__global__ void load_store_names(char* c, signed char* s, unsigned char* b, short* h, int* i,
                                 uint64* w, float* f, double* d, float2* f2, float4* f4, int4* i4,
                                 uchar4* b4, double2* d2, longlong2* l2) {
  load_store_names(c);
  load_store_names(s);
  load_store_names(b);
  load_store_names(h);
  load_store_names(i);
  load_store_names(w);
  load_store_names(f);
  load_store_names(d);
  load_store_names(f2);
  load_store_names(f4);
  load_store_names(i4);
  load_store_names(b4);
  load_store_names(d2);
  load_store_names(l2);
}

__global__ void constant_names(float* f, double* d) {
  f[0] =
      CUDART_INF_F + CUDART_NAN_F + CUDART_MIN_DENORM_F + CUDART_MAX_NORMAL_F + CUDART_NEG_ZERO_F;
  f[1] = CUDART_PI_F + CUDART_SQRT_TWO_F + CUDART_LN2_F + CUDART_TWO_TO_24_F + CUDART_TRIG_PLOSS_F;
  d[0] = CUDART_INF + CUDART_NAN + CUDART_NEG_ZERO + CUDART_MIN_DENORM + CUDART_PI + CUDART_PI_LO;
  d[1] = CUDART_SQRT_2PI_LO + CUDART_LN2_X_1075 + CUDART_TWO_TO_M1022 + CUDART_DBL2INT_CVT;
}
