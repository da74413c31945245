/**
 * The C types that a kernel's parameters can have, by every spelling. One table serves the types
 * that read a signature in the compiler and the parser that reads it at run time.
 *
 * @module
 */

import { bytesPerElement, type DType } from "../memory/dtype.ts";

/**
 * A scalar type of a parameter: an element type, or one of the two unsigned integers that no
 * element type has.
 */
export type ScalarType = DType | "uint64" | "uint16";

/**
 * Spellings of scalar types, words separated by one space. `long` has 64 bits, as on Linux and
 * macOS; a plain `char` is taken as the signed one. `uint` and its like are those of POSIX's
 * `sys/types.h` and of the toolkit's samples.
 */
export const C_TYPES = {
  "double": "float64",
  "float": "float32",
  "half": "float16",
  "__half": "float16",
  "bfloat16": "bfloat16",
  "nv_bfloat16": "bfloat16",
  "__nv_bfloat16": "bfloat16",
  "__nv_fp8_e4m3": "float8_e4m3",
  "__nv_fp8_e5m2": "float8_e5m2",
  "bool": "bool",
  "_Bool": "bool",
  "char": "int8",
  "signed char": "int8",
  "char signed": "int8",
  "unsigned char": "uint8",
  "char unsigned": "uint8",
  "short": "int16",
  "short int": "int16",
  "signed short": "int16",
  "signed short int": "int16",
  "short signed": "int16",
  "short signed int": "int16",
  "unsigned short": "uint16",
  "unsigned short int": "uint16",
  "short unsigned": "uint16",
  "short unsigned int": "uint16",
  "int": "int32",
  "signed": "int32",
  "signed int": "int32",
  "int signed": "int32",
  "unsigned": "uint32",
  "unsigned int": "uint32",
  "int unsigned": "uint32",
  "long": "int64",
  "long int": "int64",
  "signed long": "int64",
  "signed long int": "int64",
  "long signed": "int64",
  "long signed int": "int64",
  "unsigned long": "uint64",
  "unsigned long int": "uint64",
  "long unsigned": "uint64",
  "long unsigned int": "uint64",
  "long long": "int64",
  "long long int": "int64",
  "signed long long": "int64",
  "signed long long int": "int64",
  "long long signed": "int64",
  "long long signed int": "int64",
  "unsigned long long": "uint64",
  "unsigned long long int": "uint64",
  "long long unsigned": "uint64",
  "long long unsigned int": "uint64",
  "long unsigned long": "uint64",
  "long unsigned long int": "uint64",
  "int8_t": "int8",
  "int16_t": "int16",
  "int32_t": "int32",
  "int64_t": "int64",
  "uint8_t": "uint8",
  "uint16_t": "uint16",
  "uint32_t": "uint32",
  "uint64_t": "uint64",
  "size_t": "uint64",
  "ptrdiff_t": "int64",
  "intptr_t": "int64",
  "uintptr_t": "uint64",
  "std::int8_t": "int8",
  "std::int16_t": "int16",
  "std::int32_t": "int32",
  "std::int64_t": "int64",
  "std::uint8_t": "uint8",
  "std::uint16_t": "uint16",
  "std::uint32_t": "uint32",
  "std::uint64_t": "uint64",
  "std::size_t": "uint64",
  "std::ptrdiff_t": "int64",
  "std::intptr_t": "int64",
  "std::uintptr_t": "uint64",
  "cuda::std::int8_t": "int8",
  "cuda::std::int16_t": "int16",
  "cuda::std::int32_t": "int32",
  "cuda::std::int64_t": "int64",
  "cuda::std::uint8_t": "uint8",
  "cuda::std::uint16_t": "uint16",
  "cuda::std::uint32_t": "uint32",
  "cuda::std::uint64_t": "uint64",
  "cuda::std::size_t": "uint64",
  "cuda::std::ptrdiff_t": "int64",
  "uchar": "uint8",
  "ushort": "uint16",
  "uint": "uint32",
  "ulong": "uint64",
} as const satisfies Readonly<Record<string, ScalarType>>;

/** A spelling of {@linkcode C_TYPES}. */
export type CTypeSpelling = keyof typeof C_TYPES;

/** The words that a type's spelling can consist of. */
export type CTypeWord = WordsOf<CTypeSpelling | "void">;

/**
 * The words of a spelling, as a union.
 *
 * @internal
 */
type WordsOf<Spelling extends string> = Spelling extends `${infer First} ${infer Rest}`
  ? First | WordsOf<Rest>
  : Spelling;

/** The same words, to test a word at run time. */
export const C_TYPE_WORDS: ReadonlySet<string> = new Set(
  [...Object.keys(C_TYPES), "void"].flatMap((spelling) => spelling.split(" ")),
);

/** Words that may stand beside a type and change nothing in how an argument is passed. */
export type IgnoredQualifier = "volatile" | "__grid_constant__";

/** The same words, to test a word at run time. */
export const IGNORED_QUALIFIERS: ReadonlySet<string> = new Set<IgnoredQualifier>([
  "volatile",
  "__grid_constant__",
]);

/** Words that may stand before a type's name and say of what sort it is. */
export type ElaboratedWord = "struct" | "class" | "union" | "typename";

/** The same words, to test a word at run time. */
export const ELABORATED_WORDS: ReadonlySet<string> = new Set<ElaboratedWord>([
  "struct",
  "class",
  "union",
  "typename",
]);

/**
 * Words that take parentheses and change nothing in how a kernel is called: they are skipped with
 * what stands in them, wherever they are.
 */
export type AttributeWord =
  | "__launch_bounds__"
  | "__cluster_dims__"
  | "__block_size__"
  | "__maxnreg__"
  | "__align__"
  | "alignas"
  | "__attribute__";

/** The same words, to test a word at run time. */
export const ATTRIBUTE_WORDS: ReadonlySet<string> = new Set<AttributeWord>([
  "__launch_bounds__",
  "__cluster_dims__",
  "__block_size__",
  "__maxnreg__",
  "__align__",
  "alignas",
  "__attribute__",
]);

/** Words that promise that a pointer is the only way to its memory. */
export type RestrictQualifier = "restrict" | "__restrict" | "__restrict__";

/** The same words, to test a word at run time. */
export const RESTRICT_QUALIFIERS: ReadonlySet<string> = new Set<RestrictQualifier>([
  "restrict",
  "__restrict",
  "__restrict__",
]);

/**
 * The element type of the memory that a pointer to a scalar type takes. Memory has no unsigned
 * 64- and 16-bit element types: a pointer to one takes the signed type of that width.
 */
export type PointeeDType<Type extends ScalarType> = Type extends "uint64" ? "int64"
  : Type extends "uint16" ? "int16"
  : Extract<Type, DType>;

/** The element type of the memory that a pointer to a scalar type takes; see the type. */
export function pointeeDType(type: ScalarType): DType {
  if (type === "uint64") return "int64";
  return type === "uint16" ? "int16" : type;
}

/** The bytes of a scalar type. */
export function bytesOfScalar(type: ScalarType): 1 | 2 | 4 | 8 {
  return bytesPerElement(pointeeDType(type));
}

/** The scalar type of a spelling, words separated by one space; `undefined` if it is none. */
export function scalarTypeOf(spelling: string): ScalarType | undefined {
  return Object.hasOwn(C_TYPES, spelling) ? C_TYPES[spelling as CTypeSpelling] : undefined;
}

/** The lowest and highest value of an integer type. */
export interface IntegerRange {
  /** Its lowest value. */
  readonly lowest: bigint;
  /** Its highest value. */
  readonly highest: bigint;
}

/** The range of a scalar type; `undefined` where it is no integer. */
export function integerRange(type: ScalarType): IntegerRange | undefined {
  const bits = BigInt(8 * bytesOfScalar(type));
  if (type.startsWith("uint")) return { lowest: 0n, highest: (1n << bits) - 1n };
  if (!type.startsWith("int")) return undefined;
  return { lowest: -(1n << (bits - 1n)), highest: (1n << (bits - 1n)) - 1n };
}
