// SIMD within a word: arithmetic on the two halfwords or the four bytes of an unsigned int.
//
// Names are __v<operation>[s|u][ss|us]<elements>: s and u read the elements as signed or unsigned,
// ss and us saturate. __vcmp… fills an element with ones where the comparison holds; __vset… sets
// its lowest bit.
#pragma once

#include "qualifiers.h"
#include "vector_types.h"

namespace gridstride::host {

// Limits of an element type. <limits> would cost every kernel its compile time.
template <class Element>
struct PackedElement {
  static constexpr int bits = 8 * static_cast<int>(sizeof(Element));
  static constexpr bool is_signed = static_cast<Element>(-1) < static_cast<Element>(0);
  static constexpr unsigned int mask = (1u << bits) - 1u;
  static constexpr int lowest = is_signed ? -(1 << (bits - 1)) : 0;
  static constexpr int highest = is_signed ? (1 << (bits - 1)) - 1 : static_cast<int>(mask);

  __device__ static constexpr __forceinline__ int at(unsigned int word, int position) {
    return static_cast<Element>(word >> position);
  }
  __device__ static constexpr __forceinline__ int saturated(int value) {
    return value < lowest ? lowest : value > highest ? highest : value;
  }
};

// Calls an operation on each pair of elements, widened to int to avoid overflow, and packs the
// results' lower bits.
template <class Element, class Operation>
__device__ constexpr __forceinline__ unsigned int for_packed(unsigned int a, unsigned int b,
                                                             Operation operation) {
  using Packed = PackedElement<Element>;
  unsigned int result = 0;
  for (int position = 0; position < 32; position += Packed::bits) {
    const int element = operation(Packed::at(a, position), Packed::at(b, position));
    result |= (static_cast<unsigned int>(element) & Packed::mask) << position;
  }
  return result;
}

template <class Element>
__device__ constexpr __forceinline__ unsigned int sum_of_packed_differences(unsigned int a,
                                                                            unsigned int b) {
  using Packed = PackedElement<Element>;
  unsigned int sum = 0;
  for (int position = 0; position < 32; position += Packed::bits) {
    const int difference = Packed::at(a, position) - Packed::at(b, position);
    sum += static_cast<unsigned int>(difference < 0 ? -difference : difference);
  }
  return sum;
}

}  // namespace gridstride::host

#define GS_PACKED_BINARY(name, element, expression)                                        \
  __device__ constexpr __forceinline__ unsigned int name(unsigned int a, unsigned int b) { \
    return gridstride::host::for_packed<element>(                                          \
        a, b, [](int x, int y) constexpr->int { return expression; });                     \
  }
#define GS_PACKED_UNARY(name, element, expression)                         \
  __device__ constexpr __forceinline__ unsigned int name(unsigned int a) { \
    return gridstride::host::for_packed<element>(                          \
        a, a, [](int x, int) constexpr->int { return expression; });       \
  }
#define GS_PACKED_SUM_OF_DIFFERENCES(name, element)                                        \
  __device__ constexpr __forceinline__ unsigned int name(unsigned int a, unsigned int b) { \
    return gridstride::host::sum_of_packed_differences<element>(a, b);                     \
  }
#define GS_PACKED_COMPARISON(suffix, element, relation)            \
  GS_PACKED_BINARY(__vcmp##suffix, element, x relation y ? -1 : 0) \
  GS_PACKED_BINARY(__vset##suffix, element, x relation y ? 1 : 0)
#define GS_SATURATED(element, value) gridstride::host::PackedElement<element>::saturated(value)

// All functions on words of `count` elements of these two types.
#define GS_PACKED_FUNCTIONS(count, integer, natural)                               \
  GS_PACKED_UNARY(__vabs##count, integer, x < 0 ? -x : x)                          \
  GS_PACKED_UNARY(__vabsss##count, integer, GS_SATURATED(integer, x < 0 ? -x : x)) \
  GS_PACKED_UNARY(__vneg##count, integer, -x)                                      \
  GS_PACKED_UNARY(__vnegss##count, integer, GS_SATURATED(integer, -x))             \
  GS_PACKED_BINARY(__vadd##count, natural, x + y)                                  \
  GS_PACKED_BINARY(__vaddss##count, integer, GS_SATURATED(integer, x + y))         \
  GS_PACKED_BINARY(__vaddus##count, natural, GS_SATURATED(natural, x + y))         \
  GS_PACKED_BINARY(__vsub##count, natural, x - y)                                  \
  GS_PACKED_BINARY(__vsubss##count, integer, GS_SATURATED(integer, x - y))         \
  GS_PACKED_BINARY(__vsubus##count, natural, GS_SATURATED(natural, x - y))         \
  GS_PACKED_BINARY(__vavgs##count, integer, (x + y + 1) >> 1)                      \
  GS_PACKED_BINARY(__vavgu##count, natural, (x + y + 1) >> 1)                      \
  GS_PACKED_BINARY(__vhaddu##count, natural, (x + y) >> 1)                         \
  GS_PACKED_BINARY(__vabsdiffs##count, integer, x < y ? y - x : x - y)             \
  GS_PACKED_BINARY(__vabsdiffu##count, natural, x < y ? y - x : x - y)             \
  GS_PACKED_BINARY(__vmaxs##count, integer, x < y ? y : x)                         \
  GS_PACKED_BINARY(__vmaxu##count, natural, x < y ? y : x)                         \
  GS_PACKED_BINARY(__vmins##count, integer, x < y ? x : y)                         \
  GS_PACKED_BINARY(__vminu##count, natural, x < y ? x : y)                         \
  GS_PACKED_SUM_OF_DIFFERENCES(__vsads##count, integer)                            \
  GS_PACKED_SUM_OF_DIFFERENCES(__vsadu##count, natural)                            \
  GS_PACKED_COMPARISON(eq##count, natural, ==)                                     \
  GS_PACKED_COMPARISON(ne##count, natural, !=)                                     \
  GS_PACKED_COMPARISON(ges##count, integer, >=)                                    \
  GS_PACKED_COMPARISON(geu##count, natural, >=)                                    \
  GS_PACKED_COMPARISON(gts##count, integer, >)                                     \
  GS_PACKED_COMPARISON(gtu##count, natural, >)                                     \
  GS_PACKED_COMPARISON(les##count, integer, <=)                                    \
  GS_PACKED_COMPARISON(leu##count, natural, <=)                                    \
  GS_PACKED_COMPARISON(lts##count, integer, <)                                     \
  GS_PACKED_COMPARISON(ltu##count, natural, <)

GS_PACKED_FUNCTIONS(2, short, unsigned short)
GS_PACKED_FUNCTIONS(4, signed char, unsigned char)

#undef GS_PACKED_FUNCTIONS
#undef GS_SATURATED
#undef GS_PACKED_COMPARISON
#undef GS_PACKED_SUM_OF_DIFFERENCES
#undef GS_PACKED_UNARY
#undef GS_PACKED_BINARY

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

// Each nibble of the selector names one of the eight bytes of y:x; its upper bit selects eight
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
// the first set bit at or beyond base; 0xffffffff where there is none. An offset of 0 tests whether
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

// Integer intrinsics on whole words: counting and permuting bits, funnel shifts, the upper halves
// of products, sums of absolute differences, averages and dot products of packed integers.
//
// Every function is defined for every operand, as on a GPU: shift counts are reduced or clamped as
// the hardware does it, and arithmetic wraps.

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

namespace gridstride::host {

// DPX: sums, minima and maxima in one step, as dynamic programming uses them.
//
// Names are __vi[add]<minimum or maximum>[3]_<elements>[_relu] for one word or two halfwords,
// signed or unsigned. Sums wrap, and so does what came from them; _relu makes negative results 0.
// The __vib… forms also say which operand it was, the first where they are equal.

template <class T>
__device__ constexpr __forceinline__ T smaller(T a, T b) {
  return b < a ? b : a;
}
template <class T>
__device__ constexpr __forceinline__ T larger(T a, T b) {
  return a < b ? b : a;
}
template <class T>
__device__ constexpr __forceinline__ T sum_of(T a, T b) {
  return static_cast<T>(static_cast<unsigned int>(a) + static_cast<unsigned int>(b));
}

// Calls an operation on the lower and on the upper halfwords of the words.
template <class Half, class Operation, class... Words>
__device__ constexpr __forceinline__ unsigned int for_halfwords(Operation operation,
                                                                Words... words) {
  const auto low = static_cast<unsigned short>(operation(static_cast<Half>(words)...));
  const auto high = static_cast<unsigned short>(operation(static_cast<Half>(words >> 16)...));
  return static_cast<unsigned int>(high) << 16 | low;
}

}  // namespace gridstride::host

// One operation on a, b and c of the type T, for words and for halfwords.
#define GS_DPX_TERNARY_ON(suffix, word, half, prefix, expression)                        \
  __device__ constexpr __forceinline__ word prefix##32##suffix(word a, word b, word c) { \
    using namespace gridstride::host;                                                    \
    using T = word;                                                                      \
    return expression;                                                                   \
  }                                                                                      \
  __device__ constexpr __forceinline__ unsigned int prefix##16x2##suffix(                \
      unsigned int x, unsigned int y, unsigned int z) {                                  \
    using namespace gridstride::host;                                                    \
    using T = half;                                                                      \
    return for_halfwords<T>([](T a, T b, T c) -> T { return expression; }, x, y, z);     \
  }
#define GS_DPX_TERNARY(name, expression)                                  \
  GS_DPX_TERNARY_ON(, int, short, name##_s, expression)                   \
  GS_DPX_TERNARY_ON(, unsigned int, unsigned short, name##_u, expression) \
  GS_DPX_TERNARY_ON(_relu, int, short, name##_s, (larger<T>(expression, 0)))
GS_DPX_TERNARY(__viaddmax, (larger<T>(sum_of<T>(a, b), c)))
GS_DPX_TERNARY(__viaddmin, (smaller<T>(sum_of<T>(a, b), c)))
GS_DPX_TERNARY(__vimax3, (larger<T>(larger<T>(a, b), c)))
GS_DPX_TERNARY(__vimin3, (smaller<T>(smaller<T>(a, b), c)))
#undef GS_DPX_TERNARY
#undef GS_DPX_TERNARY_ON

#define GS_DPX_RECTIFIED(name, choose)                                                   \
  __device__ constexpr __forceinline__ int name##_s32_relu(int a, int b) {               \
    using namespace gridstride::host;                                                    \
    return larger(choose(a, b), 0);                                                      \
  }                                                                                      \
  __device__ constexpr __forceinline__ unsigned int name##_s16x2_relu(unsigned int x,    \
                                                                      unsigned int y) {  \
    using namespace gridstride::host;                                                    \
    return for_halfwords<short>(                                                         \
        [](short a, short b) -> short { return larger<short>(choose(a, b), 0); }, x, y); \
  }
GS_DPX_RECTIFIED(__vimax, larger)
GS_DPX_RECTIFIED(__vimin, smaller)
#undef GS_DPX_RECTIFIED

#define GS_DPX_PREDICATED_ON(prefix, word, half, relation, choose)                      \
  __device__ constexpr __forceinline__ word prefix##32(word a, word b, bool* first) {   \
    *first = a relation b;                                                              \
    return gridstride::host::choose(a, b);                                              \
  }                                                                                     \
  __device__ constexpr __forceinline__ unsigned int prefix##16x2(                       \
      unsigned int a, unsigned int b, bool* first_high, bool* first_low) {              \
    *first_high = static_cast<half>(a >> 16) relation static_cast<half>(b >> 16);       \
    *first_low = static_cast<half>(a) relation static_cast<half>(b);                    \
    return gridstride::host::for_halfwords<half>(gridstride::host::choose<half>, a, b); \
  }
#define GS_DPX_PREDICATED(name, relation, choose)              \
  GS_DPX_PREDICATED_ON(name##_s, int, short, relation, choose) \
  GS_DPX_PREDICATED_ON(name##_u, unsigned int, unsigned short, relation, choose)
GS_DPX_PREDICATED(__vibmax, >=, larger)
GS_DPX_PREDICATED(__vibmin, <=, smaller)
#undef GS_DPX_PREDICATED
#undef GS_DPX_PREDICATED_ON
