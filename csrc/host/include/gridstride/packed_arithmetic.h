// SIMD within a word: arithmetic on the two halfwords or the four bytes of an unsigned int.
//
// Names are __v<operation>[s|u][ss|us]<elements>: s and u read the elements as signed or unsigned,
// ss and us saturate. __vcmp… fills an element with ones where the comparison holds; __vset… sets
// its lowest bit.
#ifndef GRIDSTRIDE_HOST_PACKED_ARITHMETIC_H
#define GRIDSTRIDE_HOST_PACKED_ARITHMETIC_H

#include "qualifiers.h"

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

// Calls an operation on each pair of elements, widened to int so that nothing overflows, and packs
// the results' lower bits.
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

#endif
