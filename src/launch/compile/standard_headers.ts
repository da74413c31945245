/**
 * The standard headers for NVRTC, which has none: it declares the mathematical functions, `printf`,
 * `assert`, `malloc`, `memcpy`, `size_t`, the vector types, `std::move`, `std::forward` and
 * `std::initializer_list`, and nothing else.
 *
 * These headers cover the needs of kernels on a machine without a toolkit. A toolkit has the whole
 * standard library in `cuda::std`, below `<cuda/std/…>`. The types and values are those of libcu++
 * under NVRTC, down to the text of macros: a source can include both.
 *
 * @module
 */

/** The name of the header that every source includes before its first line. */
export const PRELUDE_NAME = "gridstride/prelude.h";

/** A header with a guard: `#pragma once` goes by the name of the file, which can vary. */
function guarded(name: string, text: string): string {
  const guard = `GRIDSTRIDE_${name.toUpperCase().replaceAll(/\W/g, "_")}`;
  return `#ifndef ${guard}\n#define ${guard}\n${text.trim()}\n#endif\n`;
}

/** Macros, one in each line, that do not replace existing ones. */
function macros(definitions: string): string {
  return definitions.trim().split("\n").map((line) => {
    const [, name] = /^(\w+)/.exec(line)!;
    return `#ifndef ${name}\n#define ${line}\n#endif`;
  }).join("\n");
}

/** Names of the global namespace that are in `std` as well. */
function inStd(names: string): string {
  const lines = names.trim().split(/\s+/).map((name) => `using ::${name};`);
  return `namespace std {\n${lines.join("\n")}\n}`;
}

const LIMITS = macros(`
CHAR_BIT 8
SCHAR_MIN (-128)
SCHAR_MAX 127
UCHAR_MAX 255
CHAR_MIN SCHAR_MIN
CHAR_MAX SCHAR_MAX
SHRT_MIN (-SHRT_MAX - 1)
SHRT_MAX 0x7fff
USHRT_MAX 0xffff
INT_MIN (-INT_MAX - 1)
INT_MAX 0x7fffffff
UINT_MAX 0xffffffff
LONG_MIN (-LONG_MAX - 1)
LONG_MAX LLONG_MAX
ULONG_MAX ULLONG_MAX
LLONG_MIN (-LLONG_MAX - 1)
LLONG_MAX 0x7fffffffffffffffLL
ULLONG_MAX 0xffffffffffffffffUL`);

/** C11 5.2.4.2.2, for binary32 and binary64 of IEEE 754. */
const FLOATS = macros(`
FLT_MANT_DIG 24
FLT_DIG 6
FLT_MIN 0x1p-126f
FLT_MAX 0x1.fffffep+127f
FLT_EPSILON 0x1p-23f
FLT_TRUE_MIN 0x1p-149f
DBL_MANT_DIG 53
DBL_DIG 15
DBL_MIN 0x1p-1022
DBL_MAX 0x1.fffffffffffffp+1023
DBL_EPSILON 0x1p-52
DBL_TRUE_MIN 0x1p-1074`);

/** The exact types. NVRTC and libcu++ have `long long` where the headers of Linux have `long`. */
const INTEGERS: readonly (readonly [width: number, type: string, prefix: string])[] = [
  [8, "char", "CHAR"],
  [16, "short", "SHRT"],
  [32, "int", "INT"],
  [64, "long long", "LLONG"],
];

const INTEGER_TYPES = INTEGERS.flatMap(([width, type, prefix]) => [
  `typedef signed ${type} int${width}_t;`,
  `typedef unsigned ${type} uint${width}_t;`,
  ...["fast", "least"].flatMap((kind) => [
    `typedef int${width}_t int_${kind}${width}_t;`,
    `typedef uint${width}_t uint_${kind}${width}_t;`,
  ]),
  macros([
    `INT${width}_MIN ${width === 8 ? "S" : ""}${prefix}_MIN`,
    `INT${width}_MAX ${width === 8 ? "S" : ""}${prefix}_MAX`,
    `UINT${width}_MAX U${prefix}_MAX`,
    `INT${width}_C(X) ((::int_least${width}_t)(X))`,
    `UINT${width}_C(X) ((::uint_least${width}_t)(X))`,
  ].join("\n")),
]).join("\n") + `
typedef int64_t intptr_t;
typedef int64_t intmax_t;
typedef uint64_t uintptr_t;
typedef uint64_t uintmax_t;
` + macros(`
INTPTR_MAX INT64_MAX
UINTPTR_MAX UINT64_MAX
INTMAX_MAX INT64_MAX
UINTMAX_MAX UINT64_MAX
PTRDIFF_MAX INT64_MAX
SIZE_MAX UINT64_MAX`);

const INTEGER_NAMES = "intptr_t uintptr_t intmax_t uintmax_t " +
  INTEGERS.flatMap(([width]) =>
    ["", "_fast", "_least"].flatMap((kind) => [`int${kind}${width}_t`, `uint${kind}${width}_t`])
  ).join(" ");

/** The constants of `<math.h>`; POSIX names them. */
const MATH = macros(`
INFINITY (1.0f / 0.0f)
NAN (0.0f / 0.0f)
HUGE_VAL (1.0 / 0.0)
M_E 2.7182818284590452354
M_LN2 0.69314718055994530942
M_LN10 2.30258509299404568402
M_PI 3.14159265358979323846
M_PI_2 1.57079632679489661923
M_PI_4 0.78539816339744830962
M_1_PI 0.31830988618379067154
M_2_PI 0.63661977236758134308
M_SQRT2 1.41421356237309504880
M_SQRT1_2 0.70710678118654752440`);

/** Functions of one number, which take integers as doubles. */
const UNARY =
  `fabs exp exp2 expm1 log log10 log2 log1p sqrt cbrt sin cos tan asin acos atan sinh cosh
  tanh asinh acosh atanh erf erfc tgamma lgamma ceil floor trunc round nearbyint rint logb`;

/** Functions of two numbers, which take numbers of different types as doubles. */
const BINARY = "fmod remainder fmax fmin fdim pow hypot atan2 nextafter copysign";

/** Other functions that NVRTC declares for both precisions. */
const MATH_FUNCTIONS = `abs fma lround llround lrint llrint frexp ldexp modf scalbn scalbln ilogb
  isfinite isinf isnan signbit nan nanf`;

/**
 * The overloads that C++ has for other numbers than `float` and `double`. NVRTC has none, and finds
 * `sqrt(2)` ambiguous.
 */
const PROMOTIONS = [
  ...UNARY.split(/\s+/).map((name) =>
    `template <class T>\n__device__ std::enable_if_t<std::is_integral<T>::value, double> ` +
    `${name}(T x) {\n  return ${name}(static_cast<double>(x));\n}`
  ),
  ...BINARY.split(" ").map((name) =>
    `template <class T, class U>\n__device__ std::enable_if_t<std::is_arithmetic<T>::value && ` +
    `std::is_arithmetic<U>::value &&\n    (!std::is_same<T, U>::value || ` +
    `std::is_integral<T>::value), double> ${name}(T x, U y) {\n` +
    `  return ${name}(static_cast<double>(x), static_cast<double>(y));\n}`
  ),
].join("\n");

/** Transformations of types: a name, and the patterns that they reduce to `T`. */
const TRANSFORMATIONS: readonly (readonly [name: string, ...patterns: string[]])[] = [
  ["remove_const", "const T"],
  ["remove_volatile", "volatile T"],
  ["remove_reference", "T&", "T&&"],
  ["remove_pointer", "T*", "T* const", "T* volatile", "T* const volatile"],
  ["remove_extent", "T[]"],
];

/** Truth values of one type. */
const PROPERTIES: readonly (readonly [name: string, value: string])[] = [
  ["is_integral", "integral_value<remove_cv_t<T>>"],
  ["is_floating_point", "floating_value<remove_cv_t<T>>"],
  ["is_arithmetic", "is_integral<T>::value || is_floating_point<T>::value"],
  ["is_const", "!is_same<T, remove_const_t<T>>::value"],
  ["is_reference", "!is_same<T, remove_reference_t<T>>::value"],
  ["is_pointer", "!is_same<remove_cv_t<T>, remove_pointer_t<remove_cv_t<T>>>::value"],
  ["is_array", "!is_same<T, remove_extent_t<T>>::value"],
  // Only functions and references do not become const.
  ["is_function", "!is_const<const T>::value && !is_reference<T>::value"],
  ["is_enum", "__is_enum(T)"],
  ["is_class", "__is_class(T)"],
  ["is_trivially_copyable", "__is_trivially_copyable(T)"],
  ["is_signed", "signed_value<remove_cv_t<T>>"],
  ["is_unsigned", "is_arithmetic<T>::value && !is_signed<T>::value"],
];

const TYPE_TRAITS = String.raw`
#include "cstddef"
namespace std {

template <class T, T Value> struct integral_constant {
  static constexpr T value = Value;
  typedef T value_type;
  typedef integral_constant type;
  constexpr operator value_type() const noexcept { return value; }
  constexpr value_type operator()() const noexcept { return value; }
};
template <bool Value> using bool_constant = integral_constant<bool, Value>;
typedef bool_constant<true> true_type;
typedef bool_constant<false> false_type;
template <class...> using void_t = void;

template <bool Condition, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <bool Condition, class T = void>
using enable_if_t = typename enable_if<Condition, T>::type;
template <bool Condition, class T, class Else> struct conditional { typedef T type; };
template <class T, class Else> struct conditional<false, T, Else> { typedef Else type; };
template <bool Condition, class T, class Else>
using conditional_t = typename conditional<Condition, T, Else>::type;

template <class A, class B> struct is_same : false_type {};
template <class A> struct is_same<A, A> : true_type {};
template <class A, class B> inline constexpr bool is_same_v = is_same<A, B>::value;

${
  TRANSFORMATIONS.map(([name, ...patterns]) =>
    [
      `template <class T> struct ${name} { typedef T type; };`,
      ...patterns.map((of) => `template <class T> struct ${name}<${of}> { typedef T type; };`),
      `template <class T> using ${name}_t = typename ${name}<T>::type;`,
    ].join("\n")
  ).join("\n")
}
template <class T, size_t Size> struct remove_extent<T[Size]> { typedef T type; };
template <class T> struct remove_cv : remove_const<remove_volatile_t<T>> {};
template <class T> using remove_cv_t = typename remove_cv<T>::type;
template <class T> struct remove_cvref : remove_cv<remove_reference_t<T>> {};
template <class T> using remove_cvref_t = typename remove_cvref<T>::type;

template <class T, class... Some>
inline constexpr bool is_one_of = (is_same<T, Some>::value || ...);
template <class T> inline constexpr bool integral_value =
    is_one_of<T, bool, char, signed char, unsigned char, wchar_t, char16_t, char32_t, short,
              unsigned short, int, unsigned int, long, unsigned long, long long,
              unsigned long long>;
template <class T> inline constexpr bool floating_value = is_one_of<T, float, double, long double>;
template <class T> inline constexpr bool signed_value =
    floating_value<T> || is_one_of<T, char, signed char, wchar_t, short, int, long, long long>;
${
  PROPERTIES.map(([name, value]) =>
    `template <class T> struct ${name} : bool_constant<(${value})> {};\n` +
    `template <class T> inline constexpr bool ${name}_v = ${name}<T>::value;`
  ).join("\n")
}
template <class From, class To>
struct is_convertible : bool_constant<__is_convertible_to(From, To)> {};
template <class From, class To>
inline constexpr bool is_convertible_v = is_convertible<From, To>::value;
template <class T> struct decay {
  typedef remove_reference_t<T> bare;
  typedef conditional_t<is_array<bare>::value, remove_extent_t<bare>*,
                        conditional_t<is_function<bare>::value, bare*, remove_cv_t<bare>>> type;
};
template <class T> using decay_t = typename decay<T>::type;

}`;

const NUMERIC_LIMITS = String.raw`
#include "limits.h"
#include "float.h"
#include "type_traits"
namespace std {

template <class T, bool = is_integral<T>::value> struct numeric_limits_of {
  static constexpr bool is_specialized = false;
};
template <class T> struct numeric_limits_of<T, true> {
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = T(-1) < T(0);
  static constexpr bool is_integer = true;
  static constexpr bool has_infinity = false;
  static constexpr int digits = is_same<T, bool>::value ? 1 : int(sizeof(T) * 8) - is_signed;
  static constexpr int digits10 = digits * 30103 / 100000;
  static constexpr T max() noexcept { return T((((1ULL << (digits - 1)) - 1) << 1) + 1); }
  static constexpr T min() noexcept { return is_signed ? T(-max() - 1) : T(0); }
  static constexpr T lowest() noexcept { return min(); }
};
${
  [["float", "FLT", "f"], ["double", "DBL", ""]].map(([type, prefix, suffix]) =>
    `template <> struct numeric_limits_of<${type}, false> {
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool has_infinity = true;
  static constexpr int digits = ${prefix}_MANT_DIG;
  static constexpr int digits10 = ${prefix}_DIG;
  static constexpr ${type} min() noexcept { return ${prefix}_MIN; }
  static constexpr ${type} max() noexcept { return ${prefix}_MAX; }
  static constexpr ${type} lowest() noexcept { return -${prefix}_MAX; }
  static constexpr ${type} epsilon() noexcept { return ${prefix}_EPSILON; }
  static constexpr ${type} denorm_min() noexcept { return ${prefix}_TRUE_MIN; }
  static constexpr ${type} infinity() noexcept { return 1.0${suffix} / 0.0${suffix}; }
  static constexpr ${type} quiet_NaN() noexcept { return 0.0${suffix} / 0.0${suffix}; }
};`
  ).join("\n")
}
template <class T> struct numeric_limits : numeric_limits_of<T> {};
template <class T> struct numeric_limits<const T> : numeric_limits<T> {};

}`;

const UTILITY = String.raw`
#include "type_traits"
namespace std {

template <class T> __device__ constexpr void swap(T& one, T& other) noexcept {
  T kept = static_cast<T&&>(one);
  one = static_cast<T&&>(other);
  other = static_cast<T&&>(kept);
}
template <class T, T... Values> struct integer_sequence {
  static constexpr size_t size() noexcept { return sizeof...(Values); }
};
template <size_t... Values> using index_sequence = integer_sequence<size_t, Values...>;
// Two halves: a recursion as deep as the sequence is long would meet the compiler's limit, 200.
template <class One, class Other> struct joined_sequence;
template <size_t... One, size_t... Other>
struct joined_sequence<index_sequence<One...>, index_sequence<Other...>> {
  typedef index_sequence<One..., (sizeof...(One) + Other)...> type;
};
template <size_t Size> struct sequence_of
    : joined_sequence<typename sequence_of<Size / 2>::type,
                      typename sequence_of<Size - Size / 2>::type> {};
template <> struct sequence_of<0> { typedef index_sequence<> type; };
template <> struct sequence_of<1> { typedef index_sequence<0> type; };
template <size_t Size> using make_index_sequence = typename sequence_of<Size>::type;

}`;

const ALGORITHM = String.raw`
#include "utility"
namespace std {

template <class T> __device__ constexpr const T& min(const T& one, const T& other) {
  return other < one ? other : one;
}
template <class T> __device__ constexpr const T& max(const T& one, const T& other) {
  return one < other ? other : one;
}
template <class T>
__device__ constexpr const T& clamp(const T& value, const T& least, const T& most) {
  return value < least ? least : most < value ? most : value;
}

}`;

/**
 * nvcc includes these before every source, and sources rely on it; besides, the `#include` lines of
 * host headers are blanked out.
 */
const PRELUDE = `
#include "algorithm"
#include "cmath"
#include "cstdint"
#include "cstdio"
#include "cstdlib"
#include "cstring"
#include "ctime"
#include "limits"
#include "new"
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
`;

const OFFSET_OF = macros("offsetof(type, member) ((::size_t)__INTADDR__(&(((type*)0)->member)))");
const STDDEF = `typedef decltype(nullptr) nullptr_t;\n${OFFSET_OF}`;

const TEXTS: Readonly<Record<string, string>> = {
  "float.h": FLOATS,
  "cfloat": FLOATS,
  "limits.h": LIMITS,
  "climits": LIMITS,
  "stddef.h": STDDEF,
  "cstddef": `#include "stddef.h"\n${inStd("size_t ptrdiff_t nullptr_t")}`,
  "stdint.h": `#include "limits.h"\n${INTEGER_TYPES}`,
  "cstdint": `#include "stdint.h"\n${inStd(INTEGER_NAMES)}`,
  "cstdio": inStd("printf size_t"),
  "cstdlib": inStd("abs labs llabs malloc free size_t"),
  "cstring": inStd("memcpy memset size_t"),
  "ctime": inStd("clock clock_t"),
  "math.h": `#include "type_traits"\n${MATH}\n${PROMOTIONS}`,
  "cmath": `#include "math.h"\n${inStd(`${UNARY} ${BINARY} ${MATH_FUNCTIONS}`)}`,
  "new": '#include "cstddef"',
  "type_traits": TYPE_TRAITS,
  "utility": UTILITY,
  "algorithm": ALGORITHM,
  "limits": NUMERIC_LIMITS,
  [PRELUDE_NAME]: PRELUDE,
};

/** Headers of the toolkit with contents that NVRTC has built in. They define `CUDART_VERSION`. */
const BUILT_IN = `builtin_types common_functions cuda_runtime cuda_runtime_api
  device_atomic_functions device_double_functions device_functions device_launch_parameters
  device_types driver_types host_defines math_functions sm_20_atomic_functions sm_20_intrinsics
  sm_30_intrinsics sm_32_atomic_functions sm_32_intrinsics sm_35_atomic_functions sm_35_intrinsics
  sm_60_atomic_functions sm_61_intrinsics surface_types texture_types vector_functions
  vector_types`.split(/\s+/).map((name) => `${name}.h`);

/** Headers of C with contents that NVRTC has built in, and headers for host code alone. */
const EMPTY =
  `assert.h cassert stdbool.h stdio.h stdlib.h string.h time.h initializer_list array bit
  compare concepts numbers ratio tuple`.split(/\s+/);

const RUNTIME_VERSION = macros(
  "CUDART_VERSION (__CUDACC_VER_MAJOR__ * 1000 + __CUDACC_VER_MINOR__ * 10)",
);

/** The texts of all headers of this package, by the names in `#include` lines. */
export const STANDARD_HEADERS: ReadonlyMap<string, string> = new Map([
  ...BUILT_IN.map((name) => [name, guarded(name, RUNTIME_VERSION)] as const),
  ...EMPTY.map((name) => [name, ""] as const),
  ...Object.entries(TEXTS).map(([name, text]) => [name, guarded(name, text)] as const),
]);
