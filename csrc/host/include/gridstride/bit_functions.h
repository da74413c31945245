// Integer intrinsics on whole words: counting and permuting bits, funnel shifts, the upper halves
// of products, sums of absolute differences, averages and dot products of packed integers.
//
// Every function is defined for every operand, as on a GPU: shift counts are reduced or clamped as
// the hardware does it, and arithmetic wraps.
#ifndef GRIDSTRIDE_HOST_BIT_FUNCTIONS_H
#define GRIDSTRIDE_HOST_BIT_FUNCTIONS_H

#include "packed_arithmetic.h"
#include "qualifiers.h"
#include "vector_types.h"

// ---- counting and permuting bits ---------------------------------------------------------------

__device__ constexpr __forceinline__ int __popc(unsigned int x) { return __builtin_popcount(x); }
__device__ constexpr __forceinline__ int __popcll(unsigned long long x) {
  return __builtin_popcountll(x);
}

__device__ constexpr __forceinline__ int __clz(int x) {
  return x == 0 ? 32 : __builtin_clz(static_cast<unsigned int>(x));
}
__device__ constexpr __forceinline__ int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}

__device__ constexpr __forceinline__ int __ffs(int x) { return __builtin_ffs(x); }
__device__ constexpr __forceinline__ int __ffsll(long long x) { return __builtin_ffsll(x); }

__device__ constexpr __forceinline__ unsigned short __nv_bswap16(unsigned short x) {
  return __builtin_bswap16(x);
}
__device__ constexpr __forceinline__ unsigned int __nv_bswap32(unsigned int x) {
  return __builtin_bswap32(x);
}
__device__ constexpr __forceinline__ unsigned long long __nv_bswap64(unsigned long long x) {
  return __builtin_bswap64(x);
}

__device__ constexpr __forceinline__ unsigned int __brev(unsigned int x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
}
__device__ constexpr __forceinline__ unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned int>(x))) << 32 |
         __brev(static_cast<unsigned int>(x >> 32));
}

// Each nibble of the selector names one of the eight bytes of y:x; its upper bit asks for eight
// copies of that byte's sign instead of the byte.
__device__ constexpr inline unsigned int __byte_perm(unsigned int x, unsigned int y,
                                                     unsigned int selector) {
  const unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
  unsigned int result = 0;
  for (int i = 0; i < 4; i++) {
    const unsigned int nibble = selector >> (4 * i) & 0xfu;
    unsigned int byte = static_cast<unsigned int>(bytes >> (8 * (nibble & 7u))) & 0xffu;
    if (nibble & 8u) byte = byte & 0x80u ? 0xffu : 0u;
    result |= byte << (8 * i);
  }
  return result;
}

// The position of the bit that is |offset| - 1 set bits above (offset > 0) or below (offset < 0)
// the first set bit at or beyond base; 0xffffffff where there is none. An offset of 0 asks whether
// the bit at base is set.
__device__ constexpr inline unsigned int __fns(unsigned int mask, unsigned int base, int offset) {
  const unsigned int none = 0xffffffffu;
  if (base > 31) return none;
  if (offset == 0) return mask >> base & 1u ? base : none;
  const int step = offset > 0 ? 1 : -1;
  unsigned int left =
      offset > 0 ? static_cast<unsigned int>(offset) : 0u - static_cast<unsigned int>(offset);
  for (int position = static_cast<int>(base); position >= 0 && position < 32; position += step) {
    if ((mask >> position & 1u) && --left == 0) return static_cast<unsigned int>(position);
  }
  return none;
}

// ---- funnel shifts: hi:lo shifted, one word of it taken ----------------------------------------

namespace gridstride::host {

__device__ constexpr __forceinline__ unsigned long long word_pair(unsigned int lo,
                                                                  unsigned int hi) {
  return static_cast<unsigned long long>(hi) << 32 | lo;
}

}  // namespace gridstride::host

__device__ constexpr __forceinline__ unsigned int __funnelshift_l(unsigned int lo, unsigned int hi,
                                                                  unsigned int shift) {
  return static_cast<unsigned int>(gridstride::host::word_pair(lo, hi) << (shift & 31u) >> 32);
}
__device__ constexpr __forceinline__ unsigned int __funnelshift_lc(unsigned int lo, unsigned int hi,
                                                                   unsigned int shift) {
  const unsigned int clamped = shift < 32u ? shift : 32u;
  return static_cast<unsigned int>(gridstride::host::word_pair(lo, hi) << clamped >> 32);
}
__device__ constexpr __forceinline__ unsigned int __funnelshift_r(unsigned int lo, unsigned int hi,
                                                                  unsigned int shift) {
  return static_cast<unsigned int>(gridstride::host::word_pair(lo, hi) >> (shift & 31u));
}
__device__ constexpr __forceinline__ unsigned int __funnelshift_rc(unsigned int lo, unsigned int hi,
                                                                   unsigned int shift) {
  const unsigned int clamped = shift < 32u ? shift : 32u;
  return static_cast<unsigned int>(gridstride::host::word_pair(lo, hi) >> clamped);
}

// ---- products ----------------------------------------------------------------------------------

namespace gridstride::host {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UnsignedInt128;

}  // namespace gridstride::host

__device__ constexpr __forceinline__ int __mulhi(int x, int y) {
  return static_cast<int>(static_cast<long long>(x) * y >> 32);
}
__device__ constexpr __forceinline__ unsigned int __umulhi(unsigned int x, unsigned int y) {
  return static_cast<unsigned int>(static_cast<unsigned long long>(x) * y >> 32);
}
__device__ constexpr __forceinline__ long long __mul64hi(long long x, long long y) {
  return static_cast<long long>(static_cast<gridstride::host::Int128>(x) * y >> 64);
}
__device__ constexpr __forceinline__ unsigned long long __umul64hi(unsigned long long x,
                                                                   unsigned long long y) {
  return static_cast<unsigned long long>(static_cast<gridstride::host::UnsignedInt128>(x) * y >>
                                         64);
}

// The low word of the product of the operands' lower 24 bits.
__device__ constexpr __forceinline__ unsigned int __umul24(unsigned int x, unsigned int y) {
  return (x & 0xffffffu) * (y & 0xffffffu);
}
__device__ constexpr __forceinline__ int __mul24(int x, int y) {
  const int x24 = static_cast<int>(static_cast<unsigned int>(x) << 8) >> 8;
  const int y24 = static_cast<int>(static_cast<unsigned int>(y) << 8) >> 8;
  return static_cast<int>(static_cast<unsigned int>(x24) * static_cast<unsigned int>(y24));
}

// ---- differences and averages ------------------------------------------------------------------

__device__ constexpr __forceinline__ unsigned int __sad(int x, int y, unsigned int z) {
  const unsigned int difference = x < y
                                      ? static_cast<unsigned int>(y) - static_cast<unsigned int>(x)
                                      : static_cast<unsigned int>(x) - static_cast<unsigned int>(y);
  return z + difference;
}
__device__ constexpr __forceinline__ unsigned int __usad(unsigned int x, unsigned int y,
                                                         unsigned int z) {
  return z + (x < y ? y - x : x - y);
}
__device__ constexpr __forceinline__ int __hadd(int x, int y) {
  return static_cast<int>((static_cast<long long>(x) + y) >> 1);
}
__device__ constexpr __forceinline__ int __rhadd(int x, int y) {
  return static_cast<int>((static_cast<long long>(x) + y + 1) >> 1);
}
__device__ constexpr __forceinline__ unsigned int __uhadd(unsigned int x, unsigned int y) {
  return static_cast<unsigned int>((static_cast<unsigned long long>(x) + y) >> 1);
}
__device__ constexpr __forceinline__ unsigned int __urhadd(unsigned int x, unsigned int y) {
  return static_cast<unsigned int>((static_cast<unsigned long long>(x) + y + 1) >> 1);
}

// ---- dot products of packed integers -----------------------------------------------------------

namespace gridstride::host {

// c plus the products of Count pairs of elements; the second operand's elements are bytes that
// start at byte `first`. Unsigned accumulation: the sum wraps as the hardware's does.
template <class Element, class Byte, int Count>
__device__ constexpr __forceinline__ unsigned int dot_product(unsigned int a, unsigned int b,
                                                              int first, unsigned int c) {
  for (int i = 0; i < Count; i++) {
    const auto x = static_cast<Element>(a >> (8 * static_cast<int>(sizeof(Element)) * i));
    const auto y = static_cast<Byte>(b >> (8 * (first + i)));
    c += static_cast<unsigned int>(static_cast<int>(x) * static_cast<int>(y));
  }
  return c;
}

template <class To, class From>
__device__ constexpr __forceinline__ To same_bits(From value) {
  return __builtin_bit_cast(To, value);
}

}  // namespace gridstride::host

__device__ constexpr __forceinline__ int __dp4a(int a, int b, int c) {
  return static_cast<int>(gridstride::host::dot_product<signed char, signed char, 4>(
      static_cast<unsigned int>(a), static_cast<unsigned int>(b), 0, static_cast<unsigned int>(c)));
}
__device__ constexpr __forceinline__ unsigned int __dp4a(unsigned int a, unsigned int b,
                                                         unsigned int c) {
  return gridstride::host::dot_product<unsigned char, unsigned char, 4>(a, b, 0, c);
}
__device__ constexpr __forceinline__ int __dp4a(char4 a, char4 b, int c) {
  return __dp4a(gridstride::host::same_bits<int>(a), gridstride::host::same_bits<int>(b), c);
}
__device__ constexpr __forceinline__ unsigned int __dp4a(uchar4 a, uchar4 b, unsigned int c) {
  using gridstride::host::same_bits;
  return __dp4a(same_bits<unsigned int>(a), same_bits<unsigned int>(b), c);
}

// __dp2a: two 16-bit elements of a times the lower or the upper two bytes of b.
#define GS_DOT_PRODUCT_OF_TWO(name, first)                                                      \
  __device__ constexpr __forceinline__ int name(int a, int b, int c) {                          \
    return static_cast<int>(gridstride::host::dot_product<short, signed char, 2>(               \
        static_cast<unsigned int>(a), static_cast<unsigned int>(b), first,                      \
        static_cast<unsigned int>(c)));                                                         \
  }                                                                                             \
  __device__ constexpr __forceinline__ unsigned int name(unsigned int a, unsigned int b,        \
                                                         unsigned int c) {                      \
    return gridstride::host::dot_product<unsigned short, unsigned char, 2>(a, b, first, c);     \
  }                                                                                             \
  __device__ constexpr __forceinline__ int name(short2 a, char4 b, int c) {                     \
    return name(gridstride::host::same_bits<int>(a), gridstride::host::same_bits<int>(b), c);   \
  }                                                                                             \
  __device__ constexpr __forceinline__ unsigned int name(ushort2 a, uchar4 b, unsigned int c) { \
    using gridstride::host::same_bits;                                                          \
    return name(same_bits<unsigned int>(a), same_bits<unsigned int>(b), c);                     \
  }
GS_DOT_PRODUCT_OF_TWO(__dp2a_lo, 0)
GS_DOT_PRODUCT_OF_TWO(__dp2a_hi, 2)
#undef GS_DOT_PRODUCT_OF_TWO

#endif
