// What both 16-bit floating-point types need before the first float16_*.h file: the headers they
// are made of, and how their functions' names are pasted together. cuda_fp16.h and cuda_bf16.h
// define GS_FLOAT16_TOKEN (half or bfloat16) and undefine it again.
#ifndef GRIDSTRIDE_HOST_FLOAT16_BEGIN_H
#define GRIDSTRIDE_HOST_FLOAT16_BEGIN_H

#include "c_math.h"

#include "atomics.h"
#include "conversions.h"
#include "float16_format.h"
#include "math_functions.h"
#include "minimum_maximum.h"
#include "qualifiers.h"
#include "vector_types.h"

struct __half;
struct __nv_bfloat16;

#define GS_PASTE_NAME(prefix, token, suffix) prefix##token##suffix
#define GS_EXPAND_NAME(prefix, token, suffix) GS_PASTE_NAME(prefix, token, suffix)
// __float2half_rn is GS_NAME(__float2, _rn); __float2half2_rn is GS_PAIR_NAME(__float2, _rn).
#define GS_NAME(prefix, suffix) GS_EXPAND_NAME(prefix, GS_FLOAT16_TOKEN, suffix)
#define GS_PAIR_NAME(prefix, suffix) GS_EXPAND_NAME(prefix, GS_FLOAT16_PAIR_TOKEN, suffix)

#endif
