// CUDA's name for __nv_bfloat16, __nv_bfloat162 and their functions.
#pragma once

// As in CUDA: the two types convert into each other.
#include "cuda_fp16.h"

#include "gridstride/float16_format.h"

#define GS_FLOAT16 __nv_bfloat16
#define GS_FLOAT16_RAW __nv_bfloat16_raw
#define GS_FLOAT16_PAIR __nv_bfloat162
#define GS_FLOAT16_PAIR_RAW __nv_bfloat162_raw
#define GS_FLOAT16_OTHER __half
#define GS_FLOAT16_FORMAT Bfloat16Format
#define GS_FLOAT16_TOKEN bfloat16
#define GS_FLOAT16_PAIR_TOKEN bfloat162

#include "gridstride/float16_functions.h"

inline __half::__half(__nv_bfloat16 other) : __half(float{other}) {}
inline __nv_bfloat16::__nv_bfloat16(__half other) : __nv_bfloat16(float{other}) {}

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#define CUDART_INF_BF16 __ushort_as_bfloat16(0x7f80)
#define CUDART_NAN_BF16 __ushort_as_bfloat16(0x7fff)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16(0x0001)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16(0x7f7f)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16(0x8000)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16(0x0000)
#define CUDART_ONE_BF16 __ushort_as_bfloat16(0x3f80)
