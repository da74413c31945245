/**
 * CUDA's vector types, such as `float4`: a parameter takes one as a tuple of numbers, and memory of
 * them is memory of their elements.
 *
 * @module
 */

import { bytesOfScalar, type ScalarType } from "./c_types.ts";

/** The types whose vectors have one to four elements, as the vectors' names begin. */
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
} as const satisfies Readonly<Record<string, ScalarType>>;

/** Vectors of two that belong to the 16-bit floats, by every spelling. */
const PAIRS = {
  half2: "float16",
  __half2: "float16",
  bfloat162: "bfloat16",
  nv_bfloat162: "bfloat16",
  __nv_bfloat162: "bfloat16",
} as const satisfies Readonly<Record<string, ScalarType>>;

/** How many elements a vector has. */
export type VectorLength = 1 | 2 | 3 | 4;

/** The elements of 8 bytes: CUDA 13 has their vectors of four with two alignments. */
type WideElement = "long" | "ulong" | "longlong" | "ulonglong" | "double";

/** The element type of each vector of one length. */
type VectorsOf<Length extends VectorLength> = {
  readonly [Name in keyof typeof ELEMENTS as `${Name}${Length}`]: readonly [
    (typeof ELEMENTS)[Name],
    Length,
  ];
};

/** Vectors of four of the elements of 8 bytes whose names say their alignment. */
type AlignedVectors = {
  readonly [Name in WideElement as `${Name}4_16a` | `${Name}4_32a`]: readonly [
    (typeof ELEMENTS)[Name],
    4,
  ];
};

/** The vectors of the 16-bit floats. */
type PairVectors = {
  readonly [Name in keyof typeof PAIRS]: readonly [(typeof PAIRS)[Name], 2];
};

/** What kernels take extents as: laid out as `uint3`, of which it differs in its constructor. */
interface DimensionVector {
  readonly dim3: readonly ["uint32", 3];
}

/** The element type and the length of every vector type, by its spellings. */
export interface VectorTable
  extends
    VectorsOf<1>,
    VectorsOf<2>,
    VectorsOf<3>,
    VectorsOf<4>,
    AlignedVectors,
    PairVectors,
    DimensionVector {}

/** A spelling of a vector type: `float4`, `__half2`, `double4_32a`. */
export type VectorSpelling = keyof VectorTable;

/** What a vector type is. */
export interface VectorType {
  /** One name for each layout: `longlong2` also for `long2`. */
  readonly name: string;
  /** The type of its elements. */
  readonly element: ScalarType;
  /** How many elements it has. */
  readonly length: VectorLength;
  /** What its address must be a multiple of, in bytes. */
  readonly alignment: number;
  /** Its size in bytes. */
  readonly bytes: number;
}

/** The alignment that CUDA's `vector_types.h` gives a vector type whose name says none. */
function alignmentOf(element: ScalarType, length: VectorLength): number {
  const bytes = bytesOfScalar(element);
  if (length === 2) return 2 * bytes;
  return length === 4 ? Math.min(4 * bytes, 16) : bytes;
}

function vectorType(
  name: string,
  element: ScalarType,
  length: VectorLength,
  alignment: number = alignmentOf(element, length),
): VectorType {
  return { name, element, length, alignment, bytes: length * bytesOfScalar(element) };
}

/** `long` has 64 bits, so that its vectors are those of `long long`. */
function baseName(name: string): string {
  if (name === "long") return "longlong";
  return name === "ulong" ? "ulonglong" : name;
}

function* allVectors(): Generator<[string, VectorType]> {
  for (const [name, element] of Object.entries(ELEMENTS)) {
    const base = baseName(name);
    for (const length of [1, 2, 3, 4] as const) {
      yield [`${name}${length}`, vectorType(`${base}${length}`, element, length)];
    }
    if (bytesOfScalar(element) < 8) continue;
    yield [`${name}4_16a`, vectorType(`${base}4`, element, 4)];
    yield [`${name}4_32a`, vectorType(`${base}4_32a`, element, 4, 32)];
  }
  for (const [name, element] of Object.entries(PAIRS)) {
    yield [name, vectorType(element === "float16" ? "half2" : "nv_bfloat162", element, 2)];
  }
  yield ["dim3", vectorType("uint3", "uint32", 3)];
}

const VECTOR_TYPES: ReadonlyMap<string, VectorType> = new Map(allVectors());

/** All spellings of vector types. */
export const VECTOR_SPELLINGS: readonly VectorSpelling[] = [
  ...VECTOR_TYPES.keys(),
] as VectorSpelling[];

/**
 * The vector type of a spelling; `undefined` if it is none.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { vectorTypeOf } from "./vector_types.ts";
 *
 * const { element, bytes, alignment } = vectorTypeOf("float3")!;
 * assertEquals([element, bytes, alignment], ["float32", 12, 4]);
 * ```
 */
export function vectorTypeOf(spelling: string): VectorType | undefined {
  return VECTOR_TYPES.get(spelling);
}
