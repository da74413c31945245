/**
 * The C types that a kernel's parameters can have, by every spelling: scalars and CUDA's vectors. One
 * table serves the type-level reader of signatures and the parser at run time.
 *
 * @module
 */

import { bytesPerElement, type DType } from "../../memory/dtype.ts";

/** Types of `<cstdint>`, `<cstddef>` and `<ctime>`, which namespaces `std` and `cuda::std` have too. */
const STANDARD_TYPES = {
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
  "clock_t": "int64",
} as const satisfies Readonly<Record<string, DType>>;

type QualifiedTypes = {
  readonly [Name in keyof typeof STANDARD_TYPES as `${"" | "std::" | "cuda::std::"}${Name}`]:
    (typeof STANDARD_TYPES)[Name];
};

const LANGUAGE_TYPES = {
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
  "unsigned char": "uint8",
  "short": "int16",
  "short int": "int16",
  "signed short": "int16",
  "unsigned short": "uint16",
  "unsigned short int": "uint16",
  "short unsigned int": "uint16",
  "int": "int32",
  "signed": "int32",
  "signed int": "int32",
  "unsigned": "uint32",
  "unsigned int": "uint32",
  "long": "int64",
  "long int": "int64",
  "signed long": "int64",
  "unsigned long": "uint64",
  "unsigned long int": "uint64",
  "long unsigned int": "uint64",
  "long long": "int64",
  "long long int": "int64",
  "signed long long": "int64",
  "unsigned long long": "uint64",
  "unsigned long long int": "uint64",
  "long long unsigned int": "uint64",
  "uchar": "uint8",
  "ushort": "uint16",
  "uint": "uint32",
  "ulong": "uint64",
} as const satisfies Readonly<Record<string, DType>>;

/**
 * Spellings of scalar types, words separated by one space. `long` has 64 bits, as on Linux and
 * macOS; a plain `char` counts as signed. `uint` and the like come from POSIX's `sys/types.h`.
 */
export const C_TYPES: typeof LANGUAGE_TYPES & QualifiedTypes = {
  ...LANGUAGE_TYPES,
  ...Object.fromEntries(
    Object.entries(STANDARD_TYPES).flatMap(([name, type]) =>
      ["", "std::", "cuda::std::"].map((prefix) => [prefix + name, type])
    ),
  ) as QualifiedTypes,
};

export type CTypeSpelling = keyof typeof C_TYPES;

export type CTypeWord = WordsOf<CTypeSpelling | "void">;

type WordsOf<Spelling extends string> = Spelling extends `${infer First} ${infer Rest}`
  ? First | WordsOf<Rest>
  : Spelling;

export const C_TYPE_WORDS: ReadonlySet<string> = new Set(
  [...Object.keys(C_TYPES), "void"].flatMap((spelling) => spelling.split(" ")),
);

// Words beside a type, before its name, with parentheses, and behind a pointer's star: none changes how
// an argument is passed.
const IGNORED = ["volatile", "__grid_constant__"] as const;
const ELABORATED = ["struct", "class", "union", "typename"] as const;
const ATTRIBUTES = [
  "__launch_bounds__",
  "__cluster_dims__",
  "__block_size__",
  "__maxnreg__",
  "__align__",
  "alignas",
  "__attribute__",
] as const;
const RESTRICT = ["restrict", "__restrict", "__restrict__"] as const;

export type IgnoredQualifier = (typeof IGNORED)[number];
export type ElaboratedWord = (typeof ELABORATED)[number];
export type AttributeWords = typeof ATTRIBUTES;
export type RestrictQualifier = (typeof RESTRICT)[number];

export const IGNORED_QUALIFIERS: ReadonlySet<string> = new Set(IGNORED);
export const ELABORATED_WORDS: ReadonlySet<string> = new Set(ELABORATED);
export const ATTRIBUTE_WORDS: ReadonlySet<string> = new Set(ATTRIBUTES);
export const RESTRICT_QUALIFIERS: ReadonlySet<string> = new Set(RESTRICT);

/** The scalar type of a spelling, words separated by one space; `undefined` for others. */
export function scalarTypeOf(spelling: string): DType | undefined {
  return Object.hasOwn(C_TYPES, spelling) ? C_TYPES[spelling as CTypeSpelling] : undefined;
}

// ---- Vectors -------------------------------------------------------------------------------------

/** The elements of vectors of one to four, by the beginning of the vectors' names. */
const ELEMENTS = {
  char: "int8",
  uchar: "uint8",
  short: "int16",
  ushort: "uint16",
  int: "int32",
  uint: "uint32",
  long: "int64",
  ulong: "uint64",
  longlong: "int64",
  ulonglong: "uint64",
  float: "float32",
  double: "float64",
} as const satisfies Readonly<Record<string, DType>>;

/** Vectors of two that belong to the 16-bit floats, by every spelling. */
const PAIRS = {
  half2: "float16",
  __half2: "float16",
  bfloat162: "bfloat16",
  nv_bfloat162: "bfloat16",
  __nv_bfloat162: "bfloat16",
} as const satisfies Readonly<Record<string, DType>>;

/** Vectors of two under their names in `cuComplex.h`. */
const COMPLEX = {
  cuComplex: "float32",
  cuFloatComplex: "float32",
  cuDoubleComplex: "float64",
} as const satisfies Readonly<Record<string, DType>>;

/** The elements of 8 bytes: CUDA 13 declares their vectors of four with two alignments. */
type WideElement = "long" | "ulong" | "longlong" | "ulonglong" | "double";

type VectorsOf<Length extends 1 | 2 | 3 | 4> = {
  readonly [Name in keyof typeof ELEMENTS as `${Name}${Length}`]: readonly [
    (typeof ELEMENTS)[Name],
    Length,
  ];
};

type PairVectors = { readonly [Name in keyof typeof PAIRS]: readonly [(typeof PAIRS)[Name], 2] };

type ComplexVectors = {
  readonly [Name in keyof typeof COMPLEX]: readonly [(typeof COMPLEX)[Name], 2];
};

/** Vectors of four elements of 8 bytes, with the alignment in their names. */
type AlignedVectors = {
  readonly [Name in WideElement as `${Name}4_16a` | `${Name}4_32a`]: readonly [
    (typeof ELEMENTS)[Name],
    4,
  ];
};

/** The element type and the length of every vector type, by its spellings. */
export interface VectorTable
  extends
    VectorsOf<1>,
    VectorsOf<2>,
    VectorsOf<3>,
    VectorsOf<4>,
    AlignedVectors,
    PairVectors,
    ComplexVectors {
  /** Laid out as `uint3`. */
  readonly dim3: readonly ["uint32", 3];
}

/** A spelling of a vector type: `float4`, `__half2`, `double4_32a`. */
export type VectorSpelling = keyof VectorTable;

/**
 * A vector type.
 * @category Launching kernels
 */
export interface VectorType {
  /** One name for each layout: `longlong2` also for `long2`. */
  readonly name: string;
  /** The type of its elements. */
  readonly element: DType;
  /** The number of its elements. */
  readonly length: 1 | 2 | 3 | 4;
  /** The alignment of its address, in bytes. */
  readonly alignment: number;
  /** Its size in bytes. */
  readonly bytes: number;
}

function* allVectors(): Generator<[string, VectorType]> {
  for (const [name, element] of Object.entries(ELEMENTS)) {
    const size = bytesPerElement(element);
    // `long` has 64 bits: its vectors are those of `long long`.
    const base = name.replace(/^(u?)long$/, "$1longlong");
    for (const length of [1, 2, 3, 4] as const) {
      const bytes = length * size;
      const alignment = length === 3 ? size : Math.min(bytes, 16);
      yield [`${name}${length}`, { name: `${base}${length}`, element, length, alignment, bytes }];
    }
    if (size < 8) continue;
    const four = { name: `${base}4`, element, length: 4, alignment: 16, bytes: 32 } as const;
    yield [`${name}4_16a`, four];
    yield [`${name}4_32a`, { ...four, name: `${base}4_32a`, alignment: 32 }];
  }
  for (const [spelling, element] of Object.entries(PAIRS)) {
    const name = element === "float16" ? "half2" : "nv_bfloat162";
    yield [spelling, { name, element, length: 2, alignment: 4, bytes: 4 }];
  }
  for (const [spelling, element] of Object.entries(COMPLEX)) {
    const bytes = 2 * bytesPerElement(element);
    const name = element === "float32" ? "float2" : "double2";
    yield [spelling, { name, element, length: 2, alignment: bytes, bytes }];
  }
  yield ["dim3", { name: "uint3", element: "uint32", length: 3, alignment: 4, bytes: 12 }];
}

const VECTOR_TYPES: ReadonlyMap<string, VectorType> = new Map(allVectors());

export const VECTOR_SPELLINGS: readonly VectorSpelling[] = [
  ...VECTOR_TYPES.keys(),
] as VectorSpelling[];

/** The vector type of a spelling, such as `float3`; `undefined` for others. */
export function vectorTypeOf(spelling: string): VectorType | undefined {
  return VECTOR_TYPES.get(spelling);
}
