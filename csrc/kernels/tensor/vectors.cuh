/*
 * vectors.cuh — vectors of the processor that runs the block form.
 *
 * Problem: loops of the block form need the width and the number of vector registers, and
 * instructions that no C++ operator has. This is the only header that names instruction sets.
 * Mapping: Vector<T, Lanes> is the vector type of g++ and clang++, whose operators work with all
 * processors. GS_PORTABLE leaves out what panels and dot products use of a processor, so tests
 * reach the code for others.
 * Numerics: those of each function. Results depend on the processor only where a comment says so.
 */
#pragma once

#if defined(GS_BLOCK_FORM)

#if defined(__AVX512DQ__)
#include <gridstride/x86/vector_instructions.h>
#endif

// ---- contraction -------------------------------------------------------------------------------
// Products and sums become fused multiply-adds: of the vectors of a function, which is declared
// GS_CONTRACTED and begins with GS_CONTRACT, or in all that follows GS_CONTRACT_REST. g++ does not
// know them by name behind a precompiled header.

#if defined(__clang__)
#define GS_CONTRACTED
#define GS_CONTRACT _Pragma("clang fp contract(fast)")
#define GS_CONTRACT_REST _Pragma("clang fp contract(fast)")
#else
#define GS_CONTRACTED __attribute__((noinline, optimize("fp-contract=fast")))
#define GS_CONTRACT
#define GS_CONTRACT_REST _Pragma("GCC optimize(\"O3,fp-contract=fast\")")
#endif

// ---- functions of libmvec ----------------------------------------------------------------------
// GS_VECTOR_FUNCTION before a kernel declares gs_name() and gs_namef(), which a loop calls for
// four or eight elements at once: functions of at most 4 ULP (glibc manual, "Errors in Math
// Functions"). A lone element takes the same function with all lanes equal, because a result must
// not depend on the place of an element in a loop. Elsewhere element.cuh takes the C library's.

#if defined(__x86_64__) && defined(__AVX2__) && defined(__GLIBC__) && !defined(__clang__)
#if __GLIBC_PREREQ(2, 35)
#define GS_HAS_VECTOR_FUNCTIONS 1
#endif
#endif

#if defined(GS_HAS_VECTOR_FUNCTIONS)
typedef float gs_float4 __attribute__((vector_size(16)));
typedef float gs_float8 __attribute__((vector_size(32)));
typedef double gs_double2 __attribute__((vector_size(16)));
typedef double gs_double4 __attribute__((vector_size(32)));
#if defined(__AVX512F__)
typedef float gs_float16 __attribute__((vector_size(64)));
typedef double gs_double8 __attribute__((vector_size(64)));
// A vector of 64 bytes is computed as two halves, so the bits do not depend on the processor.
#define GS_WIDE_VARIANT(wide, half, wide_lanes, lanes, name, symbol)                     \
  extern "C" __attribute__((weak)) wide _ZGVeN##wide_lanes##v_##symbol(wide x) noexcept { \
    half halves[2];                                                                      \
    __builtin_memcpy(halves, &x, sizeof x);                                              \
    for (half& part : halves) part = _ZGVdN##lanes##v_##name(part);                      \
    __builtin_memcpy(&x, halves, sizeof x);                                              \
    return x;                                                                            \
  }
#else
#define GS_WIDE_VARIANT(wide, half, wide_lanes, lanes, name, symbol)
#endif

// The variants have the names of the x86-64 vector function ABI. A C++ function gs_name() is
// declared and its symbol defined as a C function, because a defined function would be inlined, and
// its calls in loops then have no variants.
#define GS_VARIANTS(type, half, vector, lanes, half_lanes, name, symbol)                     \
  extern "C" vector _ZGVdN##lanes##v_##name(vector) noexcept;                                \
  extern "C" __attribute__((weak)) vector _ZGVdN##lanes##v_##symbol(vector x) noexcept {     \
    return _ZGVdN##lanes##v_##name(x);                                                       \
  }                                                                                          \
  extern "C" __attribute__((weak)) half _ZGVbN##half_lanes##v_##symbol(half x) noexcept {    \
    vector twice = {};                                                                       \
    for (int i = 0; i < half_lanes; ++i) twice[i] = twice[i + half_lanes] = x[i];            \
    const vector result = _ZGVdN##lanes##v_##name(twice);                                    \
    half low = {};                                                                           \
    for (int i = 0; i < half_lanes; ++i) low[i] = result[i];                                 \
    return low;                                                                              \
  }                                                                                          \
  extern "C" __attribute__((weak)) type symbol(type x) noexcept {                            \
    return _ZGVdN##lanes##v_##name(vector{} + x)[0];                                         \
  }                                                                                          \
  __attribute__((const, simd("notinbranch"))) type gs_##name(type) noexcept;
// length is that of the name gs_name, which is a part of the symbol, and next is length + 1.
#define GS_VECTOR_FUNCTION(name, length, next)                                           \
  GS_VARIANTS(float, gs_float4, gs_float8, 8, 4, name##f, _Z##next##gs_##name##ff)       \
  GS_WIDE_VARIANT(gs_float16, gs_float8, 16, 8, name##f, _Z##next##gs_##name##ff)        \
  GS_VARIANTS(double, gs_double2, gs_double4, 4, 2, name, _Z##length##gs_##name##d)      \
  GS_WIDE_VARIANT(gs_double8, gs_double4, 8, 4, name, _Z##length##gs_##name##d)
#endif

namespace gridstride::tensor::vectors {

template <typename T, int Lanes>
struct VectorType {
  typedef T Type __attribute__((vector_size(Lanes * sizeof(T))));
};
template <typename T, int Lanes>
using Vector = typename VectorType<T, Lanes>::Type;

// ---- registers ---------------------------------------------------------------------------------

#if defined(__AVX512F__)
constexpr int register_bytes = 64;
constexpr int register_count = 32;
#elif defined(__AVX2__)
constexpr int register_bytes = 32;
constexpr int register_count = 16;
#elif defined(__aarch64__)
constexpr int register_bytes = 16;
constexpr int register_count = 32;
#else
constexpr int register_bytes = 16;
constexpr int register_count = 16;
#endif

// Registers that panels of products use.
#if defined(GS_PORTABLE)
constexpr int panel_bytes = 16;
constexpr int panel_registers = 16;
#else
constexpr int panel_bytes = register_bytes;
constexpr int panel_registers = register_count;
#endif

// ---- floats ------------------------------------------------------------------------------------

// Fused if the processor has the instruction.
__device__ __forceinline__ float multiply_add(float x, float y, float z) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return __builtin_fmaf(x, y, z);
#else
  return x * y + z;
#endif
}

using FloatLanes = Vector<float, register_bytes / 4>;
using IntLanes = Vector<int, register_bytes / 4>;

#if !defined(__AVX512DQ__)
__device__ __forceinline__ FloatLanes floor_of(FloatLanes x) {
#if __has_builtin(__builtin_elementwise_floor)
  return __builtin_elementwise_floor(x);
#elif defined(__AVX2__) && !defined(__AVX512F__)
  return __builtin_ia32_roundps256(x, 9);
#else
  const FloatLanes shift = FloatLanes{} + 12582912.0f;  // leaves no bits for a fraction
  const FloatLanes nearest = (x + shift) - shift;
  return nearest > x ? nearest - 1.0f : nearest;
#endif
}
#endif

// 2^x for x <= 127, less than 2.2 ULP from the true value; exact for integers. Below the normal
// numbers it is 0, or rounded to a multiple of 2^-149 if the processor scales.
__device__ __forceinline__ FloatLanes power_of_2(FloatLanes x) {
  GS_CONTRACT
#if defined(__AVX512DQ__)
  const FloatLanes r = host::above_floor(x);
#else
  const FloatLanes lowest = FloatLanes{} - 126.0f;
  const FloatLanes limited = x < lowest ? lowest : x;
  const FloatLanes floored = floor_of(limited);
  const FloatLanes r = limited - floored;
#endif
  FloatLanes p = FloatLanes{} + 1.88412669e-3f;
  p = p * r + 8.97594448e-3f;
  p = p * r + 5.58340475e-2f;
  p = p * r + 2.40153328e-1f;
  p = p * r + 6.93152428e-1f;
  p = p * r + 1.0f;
#if defined(__AVX512DQ__)
  return host::scaled_by_floor(p, x);
#else
  const IntLanes exponent = (__builtin_convertvector(floored, IntLanes) + 127) << 23;
  return x < lowest ? FloatLanes{} : p * reinterpret_cast<FloatLanes>(exponent);
#endif
}

// Widens elements in vectors, as far as there are instructions; the result is their number.
template <typename T>
__device__ __forceinline__ long long widen(const T*, long long, float*) {
  return 0;
}
#if defined(GS_USES_FLOAT16) && defined(__F16C__)
__device__ __forceinline__ long long widen(const __half* from, long long size, float* to) {
  long long i = 0;
  for (; i + 8 <= size; i += 8) {
    Vector<short, 8> halves;
    __builtin_memcpy(&halves, from + i, sizeof halves);
    const Vector<float, 8> floats = __builtin_ia32_vcvtph2ps256(halves);
    __builtin_memcpy(to + i, &floats, sizeof floats);
  }
  return i;
}
#endif

// x86-64 processors with these instructions may have tile registers: see attention_tiles.cuh.
#if defined(__AVX512VNNI__) && defined(__x86_64__) && defined(__linux__)
#define GS_HAS_MATRIX_TILES 1
#endif

// ---- dot products of integers ------------------------------------------------------------------

// Lanes of 32-bit sums, and whether bytes without a sign may be 64 or more: two products of other
// bytes must have a sum of 16 bits.
#if defined(__AVX512VNNI__)
constexpr int dot_lanes = 16;
constexpr bool has_dots_of_all_bytes = true;
#elif defined(__AVX2__) && !defined(GS_PORTABLE)
constexpr int dot_lanes = 8;
constexpr bool has_dots_of_all_bytes = false;
#else
constexpr int dot_lanes = 4;
constexpr bool has_dots_of_all_bytes = false;
#endif
using DotSums = Vector<int, dot_lanes>;
using DotShorts = Vector<short, 2 * dot_lanes>;

// Adds, in each word, the products of two elements of 16 bits.
__device__ __forceinline__ DotSums add_dots_of_pairs(DotSums sums, DotSums x, DotSums y) {
#if defined(__AVX2__) && !defined(GS_PORTABLE) && !defined(__AVX512VNNI__)
  return sums + (DotSums)__builtin_ia32_pmaddwd256((DotShorts)x, (DotShorts)y);
#elif defined(__SSE2__) && !defined(__AVX512VNNI__)
  return sums + (DotSums)__builtin_ia32_pmaddwd128((DotShorts)x, (DotShorts)y);
#else
  return sums + (y << 16 >> 16) * (x << 16 >> 16) + (y >> 16) * (x >> 16);
#endif
}

// Adds, in each word, the products of four bytes, those of x without a sign.
__device__ __forceinline__ DotSums add_dots_of_bytes(DotSums sums, DotSums x, DotSums y) {
#if defined(__AVX512VNNI__) && defined(__clang__)
  return __builtin_ia32_vpdpbusd512(sums, x, y);
#elif defined(__AVX512VNNI__)
  return __builtin_ia32_vpdpbusd_v16si(sums, x, y);
#elif defined(__AVX2__) && !defined(GS_PORTABLE)
  using Bytes = Vector<char, 32>;
  const auto pairs = (DotShorts)__builtin_ia32_pmaddubsw256((Bytes)x, (Bytes)y);
  return sums + (DotSums)__builtin_ia32_pmaddwd256(pairs, DotShorts{} + (short)1);
#else
  const auto even = (DotSums)((DotShorts)y << 8 >> 8);
  const auto odd = (DotSums)((DotShorts)y >> 8);
  sums = add_dots_of_pairs(sums, x & 0x00ff00ff, even);
  return add_dots_of_pairs(sums, x >> 8 & 0x00ff00ff, odd);
#endif
}

// ---- codes of 2 bits ---------------------------------------------------------------------------

#if defined(__AVX2__)
using EightInts = Vector<int, 8>;
__device__ __forceinline__ int total_of(EightInts x) {
  const auto four = __builtin_shufflevector(x, x, 0, 1, 2, 3) +
                    __builtin_shufflevector(x, x, 4, 5, 6, 7);
  const auto two = four + __builtin_shufflevector(four, four, 2, 3, 0, 1);
  return two[0] + two[1];
}
#endif

// 64 elements of 8 bits, and sums of products with them. unpack() takes codes of 2 bits, of which
// byte j has those of the elements j, j + 16, j + 32 and j + 48 from its lowest bits.
#if defined(__AVX512VNNI__)

// A register takes the packed codes of four groups.
#define GS_HAS_CODES_IN_PLACE 1

struct Codes {
  static constexpr bool fetches_ahead = true;
  using Ints = Vector<int, 16>;
  using Words = Vector<unsigned int, 16>;
  using Quarter = Vector<int, 4>;
  using Sums = Ints;
  Words bytes;

  static __device__ __forceinline__ Codes unpack(const unsigned char* from) {
    Quarter x;
    __builtin_memcpy(&x, from, sizeof x);
    // A shuffle to wider vectors would go through memory.
#if defined(__clang__)
    const Words all =
        (Words)__builtin_shufflevector(x, x, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
#else
    const Words all = (Words)__builtin_ia32_broadcasti32x4_512(x, Ints{}, (unsigned short)-1);
#endif
    return {all >> Words{0, 0, 0, 0, 2, 2, 2, 2, 4, 4, 4, 4, 6, 6, 6, 6} & 0x03030303u};
  }
  static __device__ __forceinline__ Codes read(const void* from) {
    Codes codes;
    __builtin_memcpy(&codes, from, sizeof codes);
    return codes;
  }
  static __device__ __forceinline__ Sums add(Sums sums, Codes codes, Codes q) {
#if defined(__clang__)
    return __builtin_ia32_vpdpbusd512(sums, (Ints)codes.bytes, (Ints)q.bytes);
#else
    return __builtin_ia32_vpdpbusd_v16si(sums, (Ints)codes.bytes, (Ints)q.bytes);
#endif
  }
  static __device__ __forceinline__ int total(Sums sums) {
    return total_of(__builtin_shufflevector(sums, sums, 0, 1, 2, 3, 4, 5, 6, 7) +
                    __builtin_shufflevector(sums, sums, 8, 9, 10, 11, 12, 13, 14, 15));
  }
};

#elif defined(__AVX2__) && !defined(GS_PORTABLE)

struct Codes {
  static constexpr bool fetches_ahead = true;
  using Bytes = Vector<char, 32>;
  using Shorts = Vector<short, 16>;
  using Ints = Vector<int, 8>;
  using Words = Vector<unsigned int, 8>;
  using Sums = Ints;
  Words low;
  Words high;

  static __device__ __forceinline__ Codes unpack(const unsigned char* from) {
    using Half = Vector<long long, 2>;
    Half x;
    __builtin_memcpy(&x, from, sizeof x);
#if defined(__clang__)
    const Words all = (Words)__builtin_shufflevector(x, x, 0, 1, 0, 1);
#else
    const Words all = (Words)__builtin_ia32_vbroadcastsi256(x);
#endif
    return {all >> Words{0, 0, 0, 0, 2, 2, 2, 2} & 0x03030303u,
            all >> Words{4, 4, 4, 4, 6, 6, 6, 6} & 0x03030303u};
  }
  static __device__ __forceinline__ Codes read(const void* from) {
    Codes codes;
    __builtin_memcpy(&codes.low, from, sizeof codes.low);
    __builtin_memcpy(&codes.high, static_cast<const char*>(from) + sizeof codes.low,
                     sizeof codes.high);
    return codes;
  }
  // Pairs of products are at most 2 * 2 * 128, and sums of two pairs 1024: nothing saturates.
  static __device__ __forceinline__ Sums add(Sums sums, Codes codes, Codes q) {
    const Shorts pairs =
        (Shorts)__builtin_ia32_pmaddubsw256((Bytes)codes.low, (Bytes)q.low) +
        (Shorts)__builtin_ia32_pmaddubsw256((Bytes)codes.high, (Bytes)q.high);
    return sums + (Ints)__builtin_ia32_pmaddwd256(pairs, Shorts{} + (short)1);
  }
  static __device__ __forceinline__ int total(Sums sums) { return total_of(sums); }
};

#else

struct Codes {
  static constexpr bool fetches_ahead = false;  // bound by instructions
  using Sums = Vector<int, 16>;
  signed char bytes[64];

  static __device__ __forceinline__ Codes unpack(const unsigned char* from) {
    Codes codes;
    for (int j = 0; j < 64; ++j) {
      codes.bytes[j] = static_cast<signed char>(from[j % 16] >> 2 * (j / 16) & 3);
    }
    return codes;
  }
  static __device__ __forceinline__ Codes read(const void* from) {
    Codes codes;
    __builtin_memcpy(&codes, from, sizeof codes);
    return codes;
  }
  static __device__ __forceinline__ Sums add(Sums sums, const Codes& codes, const Codes& q) {
    int total[16];
    for (int j = 0; j < 16; ++j) {
      short product = 0;
      for (int i = 0; i < 4; ++i) {
        product = static_cast<short>(product + codes.bytes[16 * i + j] * q.bytes[16 * i + j]);
      }
      total[j] = product;
    }
    Sums own;
    __builtin_memcpy(&own, total, sizeof own);
    return sums + own;
  }
  static __device__ __forceinline__ int total(Sums sums) {
    int result = 0;
    for (int l = 0; l < 16; ++l) result += sums[l];
    return result;
  }
};

#endif

}  // namespace gridstride::tensor::vectors
#endif
