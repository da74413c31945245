/**
 * `<type_traits>` for NVRTC.
 *
 * Libcu++ has all of it, below `cuda/std/`; it needs the toolkit, and half a second.
 *
 * @module
 */

/** The properties of one type that are a truth value; each has its variable template. */
const PROPERTIES: readonly string[] = [
  "is_void",
  "is_null_pointer",
  "is_integral",
  "is_floating_point",
  "is_arithmetic",
  "is_fundamental",
  "is_compound",
  "is_enum",
  "is_class",
  "is_union",
  "is_const",
  "is_volatile",
  "is_lvalue_reference",
  "is_rvalue_reference",
  "is_reference",
  "is_function",
  "is_array",
  "is_pointer",
  "is_member_pointer",
  "is_scalar",
  "is_object",
  "is_signed",
  "is_unsigned",
  "is_empty",
  "is_final",
  "is_abstract",
  "is_polymorphic",
  "is_trivial",
  "is_standard_layout",
  "is_pod",
  "is_aggregate",
  "is_trivially_copyable",
  "is_destructible",
  "is_trivially_destructible",
  "is_default_constructible",
  "is_copy_constructible",
  "is_move_constructible",
  "is_copy_assignable",
  "is_move_assignable",
];

const VALUES = PROPERTIES.map((name) =>
  `template <class T> inline constexpr bool ${name}_v = ${name}<T>::value;`
).join("\n");

/** The header's text. */
export const TYPE_TRAITS: string = String.raw`
#include "cstddef"
namespace std {

template <class T, T Value>
struct integral_constant {
  static constexpr T value = Value;
  typedef T value_type;
  typedef integral_constant type;
  constexpr operator value_type() const noexcept { return value; }
  constexpr value_type operator()() const noexcept { return value; }
};
template <bool Value>
using bool_constant = integral_constant<bool, Value>;
typedef bool_constant<true> true_type;
typedef bool_constant<false> false_type;

template <class T> struct type_identity { typedef T type; };
template <class...> using void_t = void;

template <bool Condition, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <bool Condition, class T = void>
using enable_if_t = typename enable_if<Condition, T>::type;
template <bool Condition, class T, class Else> struct conditional { typedef T type; };
template <class T, class Else> struct conditional<false, T, Else> { typedef Else type; };
template <bool Condition, class T, class Else>
using conditional_t = typename conditional<Condition, T, Else>::type;

template <class...> struct conjunction : true_type {};
template <class T> struct conjunction<T> : T {};
template <class T, class... Rest>
struct conjunction<T, Rest...> : conditional_t<bool(T::value), conjunction<Rest...>, T> {};
template <class...> struct disjunction : false_type {};
template <class T> struct disjunction<T> : T {};
template <class T, class... Rest>
struct disjunction<T, Rest...> : conditional_t<bool(T::value), T, disjunction<Rest...>> {};
template <class T> struct negation : bool_constant<!bool(T::value)> {};

template <class T> struct remove_const { typedef T type; };
template <class T> struct remove_const<const T> { typedef T type; };
template <class T> struct remove_volatile { typedef T type; };
template <class T> struct remove_volatile<volatile T> { typedef T type; };
template <class T> struct remove_cv : remove_const<typename remove_volatile<T>::type> {};
template <class T> struct remove_reference { typedef T type; };
template <class T> struct remove_reference<T&> { typedef T type; };
template <class T> struct remove_reference<T&&> { typedef T type; };
template <class T> struct remove_cvref : remove_cv<typename remove_reference<T>::type> {};
template <class T> struct remove_pointer { typedef T type; };
template <class T> struct remove_pointer<T*> { typedef T type; };
template <class T> struct remove_pointer<T* const> { typedef T type; };
template <class T> struct remove_pointer<T* volatile> { typedef T type; };
template <class T> struct remove_pointer<T* const volatile> { typedef T type; };
template <class T> struct remove_extent { typedef T type; };
template <class T> struct remove_extent<T[]> { typedef T type; };
template <class T, size_t Size> struct remove_extent<T[Size]> { typedef T type; };
template <class T> struct remove_all_extents { typedef T type; };
template <class T> struct remove_all_extents<T[]> : remove_all_extents<T> {};
template <class T, size_t Size> struct remove_all_extents<T[Size]> : remove_all_extents<T> {};
template <class T> struct add_const { typedef const T type; };
template <class T> struct add_volatile { typedef volatile T type; };
template <class T> struct add_cv { typedef const volatile T type; };

template <class T> using remove_const_t = typename remove_const<T>::type;
template <class T> using remove_volatile_t = typename remove_volatile<T>::type;
template <class T> using remove_cv_t = typename remove_cv<T>::type;
template <class T> using remove_reference_t = typename remove_reference<T>::type;
template <class T> using remove_cvref_t = typename remove_cvref<T>::type;
template <class T> using remove_pointer_t = typename remove_pointer<T>::type;
template <class T> using remove_extent_t = typename remove_extent<T>::type;
template <class T> using remove_all_extents_t = typename remove_all_extents<T>::type;
template <class T> using add_const_t = typename add_const<T>::type;
template <class T> using add_volatile_t = typename add_volatile<T>::type;
template <class T> using add_cv_t = typename add_cv<T>::type;

template <class T, class = void> struct add_lvalue_reference { typedef T type; };
template <class T> struct add_lvalue_reference<T, void_t<T&>> { typedef T& type; };
template <class T, class = void> struct add_rvalue_reference { typedef T type; };
template <class T> struct add_rvalue_reference<T, void_t<T&&>> { typedef T&& type; };
template <class T> using add_lvalue_reference_t = typename add_lvalue_reference<T>::type;
template <class T> using add_rvalue_reference_t = typename add_rvalue_reference<T>::type;
template <class T, class = void> struct add_pointer { typedef T type; };
template <class T> struct add_pointer<T, void_t<remove_reference_t<T>*>> {
  typedef remove_reference_t<T>* type;
};
template <class T> using add_pointer_t = typename add_pointer<T>::type;
template <class T> add_rvalue_reference_t<T> declval() noexcept;

template <class A, class B> struct is_same : false_type {};
template <class A> struct is_same<A, A> : true_type {};
template <class T> struct is_void : is_same<remove_cv_t<T>, void> {};
template <class T> struct is_null_pointer : is_same<remove_cv_t<T>, nullptr_t> {};
template <class T, class... Some> struct is_one_of : disjunction<is_same<T, Some>...> {};
template <class T> struct is_integral
    : is_one_of<remove_cv_t<T>, bool, char, signed char, unsigned char, wchar_t, char16_t, char32_t,
                short, unsigned short, int, unsigned int, long, unsigned long, long long,
                unsigned long long> {};
template <class T> struct is_floating_point
    : is_one_of<remove_cv_t<T>, float, double, long double> {};
template <class T> struct is_arithmetic : disjunction<is_integral<T>, is_floating_point<T>> {};
template <class T> struct is_fundamental
    : disjunction<is_arithmetic<T>, is_void<T>, is_null_pointer<T>> {};
template <class T> struct is_compound : negation<is_fundamental<T>> {};
template <class T> struct is_enum : bool_constant<__is_enum(T)> {};
template <class T> struct is_class : bool_constant<__is_class(T)> {};
template <class T> struct is_union : bool_constant<__is_union(T)> {};
template <class T> struct is_const : false_type {};
template <class T> struct is_const<const T> : true_type {};
template <class T> struct is_volatile : false_type {};
template <class T> struct is_volatile<volatile T> : true_type {};
template <class T> struct is_lvalue_reference : false_type {};
template <class T> struct is_lvalue_reference<T&> : true_type {};
template <class T> struct is_rvalue_reference : false_type {};
template <class T> struct is_rvalue_reference<T&&> : true_type {};
template <class T> struct is_reference
    : disjunction<is_lvalue_reference<T>, is_rvalue_reference<T>> {};
// Only functions and references do not become const.
template <class T> struct is_function
    : bool_constant<!is_const<const T>::value && !is_reference<T>::value> {};
template <class T> struct is_array : false_type {};
template <class T> struct is_array<T[]> : true_type {};
template <class T, size_t Size> struct is_array<T[Size]> : true_type {};
template <class T> struct is_pointer : negation<is_same<remove_cv_t<T>, remove_pointer_t<T>>> {};
template <class T> struct is_member_pointer_of : false_type {};
template <class T, class Class> struct is_member_pointer_of<T Class::*> : true_type {};
template <class T> struct is_member_pointer : is_member_pointer_of<remove_cv_t<T>> {};
template <class T> struct is_scalar
    : disjunction<is_arithmetic<T>, is_enum<T>, is_pointer<T>, is_member_pointer<T>,
                  is_null_pointer<T>> {};
template <class T> struct is_object
    : bool_constant<!is_function<T>::value && !is_reference<T>::value && !is_void<T>::value> {};
template <class T, bool = is_arithmetic<T>::value>
struct is_signed : bool_constant<(T(-1) < T(0))> {};
template <class T> struct is_signed<T, false> : false_type {};
template <class T, bool = is_arithmetic<T>::value>
struct is_unsigned : bool_constant<(T(0) < T(-1))> {};
template <class T> struct is_unsigned<T, false> : false_type {};
template <class T> struct is_empty : bool_constant<__is_empty(T)> {};
template <class T> struct is_final : bool_constant<__is_final(T)> {};
template <class T> struct is_abstract : bool_constant<__is_abstract(T)> {};
template <class T> struct is_polymorphic : bool_constant<__is_polymorphic(T)> {};
template <class T> struct is_trivial : bool_constant<__is_trivial(T)> {};
template <class T> struct is_standard_layout : bool_constant<__is_standard_layout(T)> {};
template <class T> struct is_pod : bool_constant<__is_pod(T)> {};
template <class T> struct is_aggregate : bool_constant<__is_aggregate(remove_cv_t<T>)> {};
template <class T> struct is_trivially_copyable : bool_constant<__is_trivially_copyable(T)> {};
template <class T> struct is_destructible : bool_constant<__is_destructible(T)> {};
template <class T>
struct is_trivially_destructible : bool_constant<__is_trivially_destructible(T)> {};
template <class Base, class T> struct is_base_of : bool_constant<__is_base_of(Base, T)> {};
template <class From, class To>
struct is_convertible : bool_constant<__is_convertible_to(From, To)> {};
template <class T, class... From>
struct is_constructible : bool_constant<__is_constructible(T, From...)> {};
template <class T, class... From>
struct is_nothrow_constructible : bool_constant<__is_nothrow_constructible(T, From...)> {};
template <class T, class... From>
struct is_trivially_constructible : bool_constant<__is_trivially_constructible(T, From...)> {};
template <class T> struct is_default_constructible : is_constructible<T> {};
template <class T>
struct is_copy_constructible : is_constructible<T, add_lvalue_reference_t<const T>> {};
template <class T> struct is_move_constructible : is_constructible<T, add_rvalue_reference_t<T>> {};
template <class T, class From> struct is_assignable : bool_constant<__is_assignable(T, From)> {};
template <class T>
struct is_copy_assignable : is_assignable<add_lvalue_reference_t<T>, add_lvalue_reference_t<const T>> {};
template <class T>
struct is_move_assignable : is_assignable<add_lvalue_reference_t<T>, add_rvalue_reference_t<T>> {};

template <class T> struct alignment_of : integral_constant<size_t, alignof(T)> {};
template <class T> struct rank : integral_constant<size_t, 0> {};
template <class T> struct rank<T[]> : integral_constant<size_t, rank<T>::value + 1> {};
template <class T, size_t Size>
struct rank<T[Size]> : integral_constant<size_t, rank<T>::value + 1> {};
template <class T, unsigned Index = 0> struct extent : integral_constant<size_t, 0> {};
template <class T> struct extent<T[], 0> : integral_constant<size_t, 0> {};
template <class T, unsigned Index> struct extent<T[], Index> : extent<T, Index - 1> {};
template <class T, size_t Size> struct extent<T[Size], 0> : integral_constant<size_t, Size> {};
template <class T, size_t Size, unsigned Index>
struct extent<T[Size], Index> : extent<T, Index - 1> {};

template <class T> struct underlying_type { typedef __underlying_type(T) type; };
template <class T> using underlying_type_t = typename underlying_type<T>::type;

template <class Unsigned, class Signed, class T> struct integers_of_size {
  typedef conditional_t<is_const<T>::value, const Unsigned, Unsigned> unsigned_type;
  typedef conditional_t<is_const<T>::value, const Signed, Signed> signed_type;
};
template <class T, class U = remove_cv_t<T>> struct integers_of
    : conditional_t<
          is_one_of<U, long, unsigned long>::value, integers_of_size<unsigned long, long, T>,
          conditional_t<
              sizeof(U) == 1, integers_of_size<unsigned char, signed char, T>,
              conditional_t<sizeof(U) == 2, integers_of_size<unsigned short, short, T>,
                            conditional_t<sizeof(U) == 4, integers_of_size<unsigned int, int, T>,
                                          integers_of_size<unsigned long long, long long, T>>>>> {};
template <class T> struct make_unsigned { typedef typename integers_of<T>::unsigned_type type; };
template <class T> struct make_signed { typedef typename integers_of<T>::signed_type type; };
template <class T> using make_unsigned_t = typename make_unsigned<T>::type;
template <class T> using make_signed_t = typename make_signed<T>::type;

template <class T> struct decay {
  typedef remove_reference_t<T> bare;
  typedef conditional_t<is_array<bare>::value, remove_extent_t<bare>*,
                        conditional_t<is_function<bare>::value, add_pointer_t<bare>,
                                      remove_cv_t<bare>>> type;
};
template <class T> using decay_t = typename decay<T>::type;

template <class... T> struct common_type {};
template <class... T> using common_type_t = typename common_type<T...>::type;
template <class T> struct common_type<T> { typedef decay_t<T> type; };
template <class A, class B> struct common_type<A, B> {
  typedef decay_t<decltype(false ? declval<decay_t<A>>() : declval<decay_t<B>>())> type;
};
template <class A, class B, class... Rest>
struct common_type<A, B, Rest...> : common_type<common_type_t<A, B>, Rest...> {};

template <class Function, class... Arguments> struct invoke_result {
  typedef decltype(declval<Function>()(declval<Arguments>()...)) type;
};
template <class Function, class... Arguments>
using invoke_result_t = typename invoke_result<Function, Arguments...>::type;

${VALUES}
template <class... T> inline constexpr bool conjunction_v = conjunction<T...>::value;
template <class... T> inline constexpr bool disjunction_v = disjunction<T...>::value;
template <class T> inline constexpr bool negation_v = negation<T>::value;
template <class A, class B> inline constexpr bool is_same_v = is_same<A, B>::value;
template <class A, class B> inline constexpr bool is_base_of_v = is_base_of<A, B>::value;
template <class A, class B> inline constexpr bool is_convertible_v = is_convertible<A, B>::value;
template <class A, class B> inline constexpr bool is_assignable_v = is_assignable<A, B>::value;
template <class T, class... From>
inline constexpr bool is_constructible_v = is_constructible<T, From...>::value;
template <class T> inline constexpr size_t alignment_of_v = alignment_of<T>::value;
template <class T> inline constexpr size_t rank_v = rank<T>::value;
template <class T, unsigned Index = 0> inline constexpr size_t extent_v = extent<T, Index>::value;

}
`;
