/**
 * The standard headers for NVRTC, which has none: it declares the mathematical functions, `printf`,
 * `assert`, `malloc`, `memcpy`, `size_t` and the vector types by itself, and nothing else.
 *
 * The names, types and values are those of libcu++ under NVRTC, down to the text of macros, so that
 * a source can include both: what is declared twice in the same way is no error.
 *
 * @module
 */

import { STANDARD_TEMPLATES } from "./standard_templates.ts";

/** A header with a guard: `#pragma once` goes by the file's name, which is not always the same. */
function guarded(name: string, text: string): string {
  const guard = `GRIDSTRIDE_${name.toUpperCase().replaceAll(/\W/g, "_")}`;
  return `#ifndef ${guard}\n#define ${guard}\n${text.trim()}\n#endif\n`;
}

/** Macros, none of which takes the place of one that is there. */
function macros(definitions: readonly (readonly [name: string, value: string])[]): string {
  return definitions.map(([name, value]) => `#ifndef ${name}\n#define ${name} ${value}\n#endif`)
    .join("\n");
}

/** Names of the global namespace that are in `std` as well. */
function inStd(names: string): string {
  const lines = names.trim().split(/\s+/).map((name) => `using ::${name};`);
  return `namespace std {\n${lines.join("\n")}\n}`;
}

const LIMITS = macros([
  ["CHAR_BIT", "8"],
  ["SCHAR_MIN", "(-128)"],
  ["SCHAR_MAX", "127"],
  ["UCHAR_MAX", "255"],
  ["CHAR_MIN", "SCHAR_MIN"],
  ["CHAR_MAX", "SCHAR_MAX"],
  ["SHRT_MIN", "(-SHRT_MAX - 1)"],
  ["SHRT_MAX", "0x7fff"],
  ["USHRT_MAX", "0xffff"],
  ["INT_MIN", "(-INT_MAX - 1)"],
  ["INT_MAX", "0x7fffffff"],
  ["UINT_MAX", "0xffffffff"],
  ["LONG_MIN", "(-LONG_MAX - 1)"],
  ["LONG_MAX", "LLONG_MAX"],
  ["ULONG_MAX", "ULLONG_MAX"],
  ["LLONG_MIN", "(-LLONG_MAX - 1)"],
  ["LLONG_MAX", "0x7fffffffffffffffLL"],
  ["ULLONG_MAX", "0xffffffffffffffffUL"],
]);

const WIDTHS = [8, 16, 32, 64] as const;

/** The exact types. NVRTC and libcu++ have `long long` where the headers of Linux have `long`. */
const EXACT_TYPES = ["signed char", "short", "int", "long long"] as const;

/** C's names of the largest value of each. */
const LARGEST = ["SCHAR", "SHRT", "INT", "LLONG"] as const;
const LARGEST_UNSIGNED = ["UCHAR", "USHRT", "UINT", "ULLONG"] as const;

function integerTypes(): string {
  const exact = WIDTHS.flatMap((width, index) => {
    const type = EXACT_TYPES[index]!;
    const unsigned = `unsigned ${type.replace("signed ", "")}`;
    return [`typedef ${type} int${width}_t;`, `typedef ${unsigned} uint${width}_t;`];
  });
  const derived = WIDTHS.flatMap((width) =>
    ["fast", "least"].flatMap((kind) => [
      `typedef int${width}_t int_${kind}${width}_t;`,
      `typedef uint${width}_t uint_${kind}${width}_t;`,
    ])
  );
  const widest = ["intptr", "intmax"].flatMap((name) => [
    `typedef int64_t ${name}_t;`,
    `typedef uint64_t u${name}_t;`,
  ]);
  return [...exact, ...derived, ...widest].join("\n");
}

function integerMacros(): string {
  const exact = WIDTHS.flatMap((width, index) => [
    [`INT${width}_MIN`, `${LARGEST[index]}_MIN`] as const,
    [`INT${width}_MAX`, `${LARGEST[index]}_MAX`] as const,
    [`UINT${width}_MAX`, `${LARGEST_UNSIGNED[index]}_MAX`] as const,
  ]);
  const derived = WIDTHS.flatMap((width) =>
    ["FAST", "LEAST"].flatMap((kind) => [
      [`INT_${kind}${width}_MIN`, `INT${width}_MIN`] as const,
      [`INT_${kind}${width}_MAX`, `INT${width}_MAX`] as const,
      [`UINT_${kind}${width}_MAX`, `UINT${width}_MAX`] as const,
    ])
  );
  const widest = ["INTPTR", "INTMAX"].flatMap((name) => [
    [`${name}_MIN`, "INT64_MIN"] as const,
    [`${name}_MAX`, "INT64_MAX"] as const,
    [`U${name}_MAX`, "UINT64_MAX"] as const,
  ]);
  const constants = WIDTHS.flatMap((width) => [
    [`INT${width}_C(X)`, `((::int_least${width}_t)(X))`] as const,
    [`UINT${width}_C(X)`, `((::uint_least${width}_t)(X))`] as const,
  ]);
  const rest = [
    ["PTRDIFF_MIN", "INT64_MIN"],
    ["PTRDIFF_MAX", "INT64_MAX"],
    ["SIZE_MAX", "UINT64_MAX"],
    ["INTMAX_C(X)", "((::intmax_t)(X))"],
    ["UINTMAX_C(X)", "((::uintmax_t)(X))"],
  ] as const;
  return [
    macros([...exact, ...derived, ...widest]),
    // A macro with parameters is looked up by its name alone.
    ...[...constants, ...rest].map(([head, value]) =>
      `#ifndef ${head.replace("(X)", "")}\n#define ${head} ${value}\n#endif`
    ),
  ].join("\n");
}

const INTEGERS = `#include "limits.h"\n${integerTypes()}\n${integerMacros()}`;

/** The front end's own way to a constant. */
const OFFSET_OF = `#ifndef offsetof
#define offsetof(type, member) ((::size_t)__INTADDR__(&(((type*)0)->member)))
#endif`;

/** Names that `<cstdint>` has in `std`. */
const INTEGER_NAMES = WIDTHS.flatMap((width) =>
  ["int", "uint"].flatMap((kind) =>
    ["", "_fast", "_least"].map((form) => `${kind}${form}${width}_t`)
  )
).concat(["intptr_t", "uintptr_t", "intmax_t", "uintmax_t"]).join(" ");

/** The lengths of `printf` by width. */
const FORMATS = macros(
  WIDTHS.flatMap((width) =>
    ["d", "i", "o", "u", "x", "X"].map((kind) =>
      [`PRI${kind}${width}`, JSON.stringify(width === 64 ? `ll${kind}` : kind)] as const
    )
  ),
);

/** C11 5.2.4.2.2, of IEEE 754's binary32 and binary64. */
const FLOATS = macros([
  ["FLT_RADIX", "2"],
  ["FLT_MANT_DIG", "24"],
  ["FLT_DIG", "6"],
  ["FLT_DECIMAL_DIG", "9"],
  ["FLT_MIN_EXP", "(-125)"],
  ["FLT_MIN_10_EXP", "(-37)"],
  ["FLT_MAX_EXP", "128"],
  ["FLT_MAX_10_EXP", "38"],
  ["FLT_MIN", "0x1p-126f"],
  ["FLT_MAX", "0x1.fffffep+127f"],
  ["FLT_EPSILON", "0x1p-23f"],
  ["FLT_TRUE_MIN", "0x1p-149f"],
  ["DBL_MANT_DIG", "53"],
  ["DBL_DIG", "15"],
  ["DBL_DECIMAL_DIG", "17"],
  ["DBL_MIN_EXP", "(-1021)"],
  ["DBL_MIN_10_EXP", "(-307)"],
  ["DBL_MAX_EXP", "1024"],
  ["DBL_MAX_10_EXP", "308"],
  ["DBL_MIN", "0x1p-1022"],
  ["DBL_MAX", "0x1.fffffffffffffp+1023"],
  ["DBL_EPSILON", "0x1p-52"],
  ["DBL_TRUE_MIN", "0x1p-1074"],
]);

/** What `<math.h>` has besides functions; POSIX names the constants. */
const MATH = macros([
  ["INFINITY", "(1.0f / 0.0f)"],
  ["NAN", "(0.0f / 0.0f)"],
  ["HUGE_VALF", "(1.0f / 0.0f)"],
  ["HUGE_VAL", "(1.0 / 0.0)"],
  ["M_E", "2.7182818284590452354"],
  ["M_LOG2E", "1.4426950408889634074"],
  ["M_LOG10E", "0.43429448190325182765"],
  ["M_LN2", "0.69314718055994530942"],
  ["M_LN10", "2.30258509299404568402"],
  ["M_PI", "3.14159265358979323846"],
  ["M_PI_2", "1.57079632679489661923"],
  ["M_PI_4", "0.78539816339744830962"],
  ["M_1_PI", "0.31830988618379067154"],
  ["M_2_PI", "0.63661977236758134308"],
  ["M_2_SQRTPI", "1.12837916709551257390"],
  ["M_SQRT2", "1.41421356237309504880"],
  ["M_SQRT1_2", "0.70710678118654752440"],
]);

/** Functions that NVRTC declares for both precisions. */
const MATH_FUNCTIONS = `
  abs fabs fmod remainder fma fmax fmin fdim exp exp2 expm1 log log10 log2 log1p pow sqrt cbrt hypot
  sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh erf erfc tgamma lgamma ceil floor
  trunc round nearbyint rint lround llround lrint llrint frexp ldexp modf scalbn scalbln ilogb logb
  nextafter copysign isfinite isinf isnan signbit nan nanf
`;

/** Functions of one number, which take integers as doubles. */
const UNARY = `
  fabs exp exp2 expm1 log log10 log2 log1p sqrt cbrt sin cos tan asin acos atan sinh cosh tanh asinh
  acosh atanh erf erfc tgamma lgamma ceil floor trunc round nearbyint rint logb
`;

/** Functions of two numbers, which take what is not of one floating type as doubles. */
const BINARY = "fmod remainder fmax fmin fdim pow hypot atan2 nextafter copysign";

/**
 * The overloads that C++ has for other numbers than `float` and `double`. NVRTC has none, and finds
 * `sqrt(2)` ambiguous.
 */
function promotions(): string {
  const unary = UNARY.trim().split(/\s+/).map((name) =>
    `template <class T>\n__device__ std::enable_if_t<std::is_integral<T>::value, double> ` +
    `${name}(T x) {\n  return ${name}(static_cast<double>(x));\n}`
  );
  const binary = BINARY.split(" ").map((name) =>
    `template <class T, class U>\n__device__ std::enable_if_t<std::is_arithmetic<T>::value && ` +
    `std::is_arithmetic<U>::value &&\n    (!std::is_same<T, U>::value || ` +
    `std::is_integral<T>::value), double> ${name}(T x, U y) {\n` +
    `  return ${name}(static_cast<double>(x), static_cast<double>(y));\n}`
  );
  return [...unary, ...binary].join("\n");
}

/**
 * What nvcc includes before every source by itself, and sources therefore rely on: limits, `INFINITY`
 * and `M_PI`, C's functions in `std`, and the short names of Linux for unsigned types; and what of
 * headers for the host is the device's as well, as their `#include` lines are blanked out.
 */
const PRELUDE = `
#include "algorithm"
#include "cmath"
#include "cstdio"
#include "cstdlib"
#include "cstring"
#include "ctime"
#include "limits.h"
#include "new"
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
`;

/** The name of the header that every source includes before its first line. */
export const PRELUDE_NAME = "gridstride/prelude.h";

/** Headers of the toolkit that have nothing that NVRTC has not built in, and no other headers. */
const BUILT_IN: readonly string[] = [
  "builtin_types.h",
  "common_functions.h",
  "cuda_runtime.h",
  "cuda_runtime_api.h",
  "device_atomic_functions.h",
  "device_double_functions.h",
  "device_functions.h",
  "device_launch_parameters.h",
  "device_types.h",
  "driver_types.h",
  "host_defines.h",
  "math_functions.h",
  "sm_20_atomic_functions.h",
  "sm_20_intrinsics.h",
  "sm_30_intrinsics.h",
  "sm_32_atomic_functions.h",
  "sm_32_intrinsics.h",
  "sm_35_atomic_functions.h",
  "sm_35_intrinsics.h",
  "sm_60_atomic_functions.h",
  "sm_61_intrinsics.h",
  "surface_types.h",
  "texture_types.h",
  "vector_functions.h",
  "vector_types.h",
];

/** Headers that host code needs, and device code where its compiler has them: NVRTC has not. */
const EMPTY: readonly string[] = [
  "array",
  "bit",
  "compare",
  "concepts",
  "numbers",
  "ratio",
  "tuple",
];

/** The version that a toolkit's headers would tell. */
const RUNTIME_VERSION = macros([
  ["CUDART_VERSION", "(__CUDACC_VER_MAJOR__ * 1000 + __CUDACC_VER_MINOR__ * 10)"],
]);

const TEXTS: Readonly<Record<string, string>> = {
  "assert.h": "",
  "cassert": "",
  "float.h": FLOATS,
  "cfloat": FLOATS,
  "limits.h": LIMITS,
  "climits": LIMITS,
  "stddef.h": `typedef decltype(nullptr) nullptr_t;\n${OFFSET_OF}`,
  "cstddef": `#include "stddef.h"\n${
    inStd("size_t ptrdiff_t nullptr_t")
  }\nnamespace std {\ntypedef double max_align_t;\n}`,
  "stdint.h": INTEGERS,
  "cstdint": `#include "stdint.h"\n${inStd(INTEGER_NAMES)}`,
  "inttypes.h": `#include "stdint.h"\n${FORMATS}`,
  "cinttypes": `#include "cstdint"\n${FORMATS}`,
  "stdbool.h": "",
  "stdio.h": "",
  "cstdio": inStd("printf size_t"),
  "stdlib.h": "",
  "cstdlib": inStd("abs labs llabs malloc free size_t"),
  "string.h": "",
  "cstring": inStd("memcpy memset size_t"),
  "time.h": "",
  "ctime": inStd("clock clock_t"),
  "math.h": `#include "type_traits"\n${MATH}\n${promotions()}`,
  "cmath": `#include "math.h"\n${inStd(MATH_FUNCTIONS)}`,
  ...STANDARD_TEMPLATES,
  [PRELUDE_NAME]: PRELUDE,
};

/**
 * The texts of all headers that are part of this package, by the names that sources include them by.
 */
export const STANDARD_HEADERS: ReadonlyMap<string, string> = new Map([
  ...BUILT_IN.map((name) => [name, guarded(name, RUNTIME_VERSION)] as const),
  ...EMPTY.map((name) => [name, ""] as const),
  ...Object.entries(TEXTS).map(([name, text]) => [name, guarded(name, text)] as const),
]);
