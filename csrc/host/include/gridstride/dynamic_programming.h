// DPX: sums, minima and maxima in one step, as dynamic programming uses them.
//
// Names are __vi[add]<minimum or maximum>[3]_<elements>[_relu] for one word or two halfwords,
// signed or unsigned. Sums wrap, and so does what came from them; _relu makes negative results 0.
// The __vib… forms also say which operand it was, the first where they are equal.
#ifndef GRIDSTRIDE_HOST_DYNAMIC_PROGRAMMING_H
#define GRIDSTRIDE_HOST_DYNAMIC_PROGRAMMING_H

#include "qualifiers.h"

namespace gridstride::host {

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

#endif
