/**
 * The standard headers for NVRTC that consist of templates, except `<type_traits>`: what device code
 * uses of them. NVRTC has `std::move`, `std::forward` and `std::initializer_list` by itself.
 *
 * @module
 */

import { TYPE_TRAITS } from "./standard_type_traits.ts";

const UTILITY = String.raw`
#include "type_traits"
namespace std {

template <class T>
__device__ constexpr void swap(T& one, T& other) noexcept {
  T kept = static_cast<T&&>(one);
  one = static_cast<T&&>(other);
  other = static_cast<T&&>(kept);
}
template <class T, size_t Size>
__device__ constexpr void swap(T (&one)[Size], T (&other)[Size]) noexcept {
  for (size_t index = 0; index < Size; index++) swap(one[index], other[index]);
}
template <class T, class U = T>
__device__ constexpr T exchange(T& place, U&& value) {
  T kept = static_cast<T&&>(place);
  place = static_cast<U&&>(value);
  return kept;
}
template <class T>
__device__ constexpr const T& as_const(T& value) noexcept {
  return value;
}

template <class First, class Second>
struct pair {
  typedef First first_type;
  typedef Second second_type;
  First first;
  Second second;
  constexpr pair() : first(), second() {}
  constexpr pair(const First& one, const Second& other) : first(one), second(other) {}
  template <class A, class B>
  constexpr pair(const pair<A, B>& other) : first(other.first), second(other.second) {}
};
template <class A, class B>
__device__ constexpr pair<decay_t<A>, decay_t<B>> make_pair(A&& one, B&& other) {
  return pair<decay_t<A>, decay_t<B>>(static_cast<A&&>(one), static_cast<B&&>(other));
}
template <class A, class B>
__device__ constexpr bool operator==(const pair<A, B>& one, const pair<A, B>& other) {
  return one.first == other.first && one.second == other.second;
}
template <class A, class B>
__device__ constexpr bool operator!=(const pair<A, B>& one, const pair<A, B>& other) {
  return !(one == other);
}
template <class A, class B>
__device__ constexpr bool operator<(const pair<A, B>& one, const pair<A, B>& other) {
  return one.first < other.first || (!(other.first < one.first) && one.second < other.second);
}

template <class T, T... Values>
struct integer_sequence {
  typedef T value_type;
  static constexpr size_t size() noexcept { return sizeof...(Values); }
};
template <size_t... Values>
using index_sequence = integer_sequence<size_t, Values...>;

// Two halves: a recursion as deep as the sequence is long meets the compiler's limit.
template <class T, class One, class Other> struct joined_sequence;
template <class T, T... One, T... Other>
struct joined_sequence<T, integer_sequence<T, One...>, integer_sequence<T, Other...>> {
  typedef integer_sequence<T, One..., (T(sizeof...(One)) + Other)...> type;
};
template <class T, size_t Size>
struct sequence_of : joined_sequence<T, typename sequence_of<T, Size / 2>::type,
                                     typename sequence_of<T, Size - Size / 2>::type> {};
template <class T> struct sequence_of<T, 0> { typedef integer_sequence<T> type; };
template <class T> struct sequence_of<T, 1> { typedef integer_sequence<T, T(0)> type; };
template <class T, T Size>
using make_integer_sequence = typename sequence_of<T, size_t(Size)>::type;
template <size_t Size>
using make_index_sequence = make_integer_sequence<size_t, Size>;
template <class... T>
using index_sequence_for = make_index_sequence<sizeof...(T)>;

}
`;

const ALGORITHM = String.raw`
#include "utility"
namespace std {

template <class T>
__device__ constexpr const T& min(const T& one, const T& other) {
  return other < one ? other : one;
}
template <class T>
__device__ constexpr const T& max(const T& one, const T& other) {
  return one < other ? other : one;
}
template <class T, class Less>
__device__ constexpr const T& min(const T& one, const T& other, Less less) {
  return less(other, one) ? other : one;
}
template <class T, class Less>
__device__ constexpr const T& max(const T& one, const T& other, Less less) {
  return less(one, other) ? other : one;
}
template <class T>
__device__ constexpr const T& clamp(const T& value, const T& least, const T& most) {
  return value < least ? least : most < value ? most : value;
}

}
`;

const NUMERIC_LIMITS = String.raw`
#include "limits.h"
#include "float.h"
#include "type_traits"
namespace std {

enum float_round_style {
  round_indeterminate = -1,
  round_toward_zero = 0,
  round_to_nearest = 1,
  round_toward_infinity = 2,
  round_toward_neg_infinity = 3
};

template <class T, bool = is_integral<T>::value>
struct numeric_limits_of {
  static constexpr bool is_specialized = false;
};

template <class T>
struct numeric_limits_of<T, true> {
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = T(-1) < T(0);
  static constexpr bool is_integer = true;
  static constexpr bool is_exact = true;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = !is_signed;
  static constexpr bool is_iec559 = false;
  static constexpr bool has_infinity = false;
  static constexpr bool has_quiet_NaN = false;
  static constexpr float_round_style round_style = round_toward_zero;
  static constexpr int radix = 2;
  static constexpr int digits = is_same<T, bool>::value ? 1 : int(sizeof(T) * 8) - is_signed;
  static constexpr int digits10 = digits * 30103 / 100000;
  static constexpr T max() noexcept {
    return T((((1ULL << (digits - 1)) - 1) << 1) + 1);
  }
  static constexpr T min() noexcept { return is_signed ? T(-max() - 1) : T(0); }
  static constexpr T lowest() noexcept { return min(); }
  static constexpr T epsilon() noexcept { return T(0); }
  static constexpr T infinity() noexcept { return T(0); }
  static constexpr T quiet_NaN() noexcept { return T(0); }
};

struct floating_point_limits {
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = false;
  static constexpr bool is_iec559 = true;
  static constexpr bool has_infinity = true;
  static constexpr bool has_quiet_NaN = true;
  static constexpr float_round_style round_style = round_to_nearest;
  static constexpr int radix = 2;
};

template <>
struct numeric_limits_of<float, false> : floating_point_limits {
  static constexpr int digits = FLT_MANT_DIG;
  static constexpr int digits10 = FLT_DIG;
  static constexpr int max_digits10 = FLT_DECIMAL_DIG;
  static constexpr int min_exponent = FLT_MIN_EXP;
  static constexpr int max_exponent = FLT_MAX_EXP;
  static constexpr float min() noexcept { return FLT_MIN; }
  static constexpr float max() noexcept { return FLT_MAX; }
  static constexpr float lowest() noexcept { return -FLT_MAX; }
  static constexpr float epsilon() noexcept { return FLT_EPSILON; }
  static constexpr float denorm_min() noexcept { return FLT_TRUE_MIN; }
  static constexpr float infinity() noexcept { return 1.0f / 0.0f; }
  static constexpr float quiet_NaN() noexcept { return 0.0f / 0.0f; }
};

template <>
struct numeric_limits_of<double, false> : floating_point_limits {
  static constexpr int digits = DBL_MANT_DIG;
  static constexpr int digits10 = DBL_DIG;
  static constexpr int max_digits10 = DBL_DECIMAL_DIG;
  static constexpr int min_exponent = DBL_MIN_EXP;
  static constexpr int max_exponent = DBL_MAX_EXP;
  static constexpr double min() noexcept { return DBL_MIN; }
  static constexpr double max() noexcept { return DBL_MAX; }
  static constexpr double lowest() noexcept { return -DBL_MAX; }
  static constexpr double epsilon() noexcept { return DBL_EPSILON; }
  static constexpr double denorm_min() noexcept { return DBL_TRUE_MIN; }
  static constexpr double infinity() noexcept { return 1.0 / 0.0; }
  static constexpr double quiet_NaN() noexcept { return 0.0 / 0.0; }
};

template <class T> struct numeric_limits : numeric_limits_of<T> {};
template <class T> struct numeric_limits<const T> : numeric_limits<T> {};
template <class T> struct numeric_limits<volatile T> : numeric_limits<T> {};

}
`;

const NEW = String.raw`
#include "cstddef"
`;

/** The headers' texts, by name. */
export const STANDARD_TEMPLATES: Readonly<Record<string, string>> = {
  "type_traits": TYPE_TRAITS,
  "utility": UTILITY,
  "initializer_list": "",
  "algorithm": ALGORITHM,
  "limits": NUMERIC_LIMITS,
  "new": NEW,
};
