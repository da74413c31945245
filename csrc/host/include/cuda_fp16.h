// CUDA's name for __half, __half2 and their functions.
#pragma once

#include "gridstride/float16_format.h"

#define GS_FLOAT16 __half
#define GS_FLOAT16_RAW __half_raw
#define GS_FLOAT16_PAIR __half2
#define GS_FLOAT16_PAIR_RAW __half2_raw
#define GS_FLOAT16_OTHER __nv_bfloat16
#define GS_FLOAT16_FORMAT HalfFormat
#define GS_FLOAT16_TOKEN half
#define GS_FLOAT16_PAIR_TOKEN half2

#include "gridstride/float16_functions.h"

typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;
typedef __half_raw __nv_half_raw;
typedef __half2_raw __nv_half2_raw;

#define CUDART_INF_FP16 __ushort_as_half(0x7c00)
#define CUDART_NAN_FP16 __ushort_as_half(0x7fff)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(0x0001)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(0x7bff)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(0x8000)
#define CUDART_ZERO_FP16 __ushort_as_half(0x0000)
#define CUDART_ONE_FP16 __ushort_as_half(0x3c00)
