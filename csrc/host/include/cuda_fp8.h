// CUDA's names for the 8-bit floating-point types e4m3 and e5m2, and for conversions of their bits.
#pragma once

#include "gridstride/float8.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;

// What becomes of a value beyond the largest finite one: infinity, or NaN where there is none, or
// the largest finite one.
typedef enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;

typedef enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;

#define GS_FLOAT8_TYPE(name, base, format)                         \
  struct name : gridstride::host::base<gridstride::host::format> { \
    using gridstride::host::base<gridstride::host::format>::base;  \
    name() = default;                                              \
  };
GS_FLOAT8_TYPE(__nv_fp8_e4m3, Float8, E4m3Format)
GS_FLOAT8_TYPE(__nv_fp8_e5m2, Float8, E5m2Format)
GS_FLOAT8_TYPE(__nv_fp8x2_e4m3, Float8Pair, E4m3Format)
GS_FLOAT8_TYPE(__nv_fp8x2_e5m2, Float8Pair, E5m2Format)
GS_FLOAT8_TYPE(__nv_fp8x4_e4m3, Float8Four, E4m3Format)
GS_FLOAT8_TYPE(__nv_fp8x4_e5m2, Float8Four, E5m2Format)
#undef GS_FLOAT8_TYPE

// ---- to bits -----------------------------------------------------------------------------------

// A function of a value, how it saturates and its format.
#define GS_ENCODE(name, storage, type, encode)                                     \
  __device__ inline storage name(const type x, const __nv_saturation_t saturate,   \
                                 const __nv_fp8_interpretation_t interpretation) { \
    using namespace gridstride::host;                                              \
    const bool saturates = saturate == __NV_SATFINITE;                             \
    return interpretation == __NV_E5M2 ? encode(E5m2Format) : encode(E4m3Format);  \
  }
#define GS_ENCODE_ONE(format) encode_float8<format>(x, saturates)
#define GS_ENCODE_RAW(format) encode_float8<format>(float{GS_FLOAT16_TYPE(x)}, saturates)
#define GS_ENCODE_TWO(format) encode_float8_pair<format>(x.x, x.y, saturates)
#define GS_ENCODE_RAW_TWO(format) encode_float8_pair<format>(GS_FLOAT16_TYPE(x), saturates)

GS_ENCODE(__nv_cvt_double_to_fp8, __nv_fp8_storage_t, double, GS_ENCODE_ONE)
GS_ENCODE(__nv_cvt_float_to_fp8, __nv_fp8_storage_t, float, GS_ENCODE_ONE)
GS_ENCODE(__nv_cvt_double2_to_fp8x2, __nv_fp8x2_storage_t, double2, GS_ENCODE_TWO)
GS_ENCODE(__nv_cvt_float2_to_fp8x2, __nv_fp8x2_storage_t, float2, GS_ENCODE_TWO)
#define GS_FLOAT16_TYPE __half
GS_ENCODE(__nv_cvt_halfraw_to_fp8, __nv_fp8_storage_t, __half_raw, GS_ENCODE_RAW)
#undef GS_FLOAT16_TYPE
#define GS_FLOAT16_TYPE __nv_bfloat16
GS_ENCODE(__nv_cvt_bfloat16raw_to_fp8, __nv_fp8_storage_t, __nv_bfloat16_raw, GS_ENCODE_RAW)
#undef GS_FLOAT16_TYPE
#define GS_FLOAT16_TYPE __half2
GS_ENCODE(__nv_cvt_halfraw2_to_fp8x2, __nv_fp8x2_storage_t, __half2_raw, GS_ENCODE_RAW_TWO)
#undef GS_FLOAT16_TYPE
#define GS_FLOAT16_TYPE __nv_bfloat162
GS_ENCODE(__nv_cvt_bfloat16raw2_to_fp8x2, __nv_fp8x2_storage_t, __nv_bfloat162_raw,
          GS_ENCODE_RAW_TWO)
#undef GS_FLOAT16_TYPE

#undef GS_ENCODE_RAW_TWO
#undef GS_ENCODE_TWO
#undef GS_ENCODE_RAW
#undef GS_ENCODE_ONE
#undef GS_ENCODE

// ---- from bits ---------------------------------------------------------------------------------

__device__ inline __half_raw __nv_cvt_fp8_to_halfraw(
    const __nv_fp8_storage_t x, const __nv_fp8_interpretation_t interpretation) {
  using namespace gridstride::host;
  const float value =
      interpretation == __NV_E5M2 ? decode_float8<E5m2Format>(x) : decode_float8<E4m3Format>(x);
  return static_cast<__half_raw>(__half(value));
}

__device__ inline __half2_raw __nv_cvt_fp8x2_to_halfraw2(
    const __nv_fp8x2_storage_t x, const __nv_fp8_interpretation_t interpretation) {
  const auto low = static_cast<__nv_fp8_storage_t>(x);
  const auto high = static_cast<__nv_fp8_storage_t>(x >> 8);
  return __half2_raw{__nv_cvt_fp8_to_halfraw(low, interpretation).x,
                     __nv_cvt_fp8_to_halfraw(high, interpretation).x};
}
