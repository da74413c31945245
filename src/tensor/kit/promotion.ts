/**
 * Result types of operations: the promotion rules of NumPy 2 and the array API standard.
 *
 * @module
 */

import { bytesPerElement, type DType, isFloatDType } from "../../memory/dtype.ts";

/**
 * The JavaScript value of an element.
 * @category Tensors
 */
export type ElementValue<D extends DType> = D extends "int64" | "uint64" ? bigint
  : D extends "bool" ? boolean
  : number;

/**
 * The element types that a type contains: a result with both has the wider type.
 * @category Tensors
 */
export interface Absorbed {
  /** Contained in `bool`. */
  readonly bool: never;
  /** Contained in `uint8`. */
  readonly uint8: "bool";
  /** Contained in `uint16`. */
  readonly uint16: "bool" | "uint8";
  /** Contained in `uint32`. */
  readonly uint32: "bool" | "uint8" | "uint16";
  /** Contained in `uint64`. */
  readonly uint64: "bool" | "uint8" | "uint16" | "uint32";
  /** Contained in `int8`. */
  readonly int8: "bool";
  /** Contained in `int16`. */
  readonly int16: "bool" | "uint8" | "int8";
  /** Contained in `int32`. */
  readonly int32: "bool" | "uint8" | "int8" | "uint16" | "int16";
  /** Contained in `int64`. */
  readonly int64: "bool" | "uint8" | "int8" | "uint16" | "int16" | "uint32" | "int32";
  /** Contained in `float8_e4m3`. */
  readonly float8_e4m3: never;
  /** Contained in `float8_e5m2`. */
  readonly float8_e5m2: never;
  /** Contained in `float16`. */
  readonly float16: "bool" | "uint8" | "int8";
  /** Contained in `bfloat16`. */
  readonly bfloat16: "bool" | "uint8" | "int8";
  /** Contained in `float32`. */
  readonly float32: "bool" | "uint8" | "int8" | "uint16" | "int16" | "float16" | "bfloat16";
  /** Contained in `float64`. */
  readonly float64: Exclude<DType, "float64" | "float8_e4m3" | "float8_e5m2">;
}

/**
 * The first of some types that contains two types.
 * @category Tensors
 */
export type FirstAbove<A extends DType, B extends DType, Candidates extends readonly DType[]> =
  Candidates extends readonly [infer C extends DType, ...infer Rest extends DType[]]
    ? A extends Absorbed[C] ? B extends Absorbed[C] ? C : FirstAbove<A, B, Rest>
    : FirstAbove<A, B, Rest>
    : never;

/**
 * The element type of the result of two element types: `int8` and `uint8` give `int16`, `int32` and
 * `float32` give `float64`. The 8-bit floats combine with nothing: cast them.
 * @category Tensors
 */
export type Promote<A extends DType, B extends DType> = A extends B ? A
  : B extends Absorbed[A] ? A
  : A extends Absorbed[B] ? B
  : FirstAbove<A, B, ["int16", "int32", "int64", "float32", "float64"]>;

/**
 * The element type of the result of a function that has no integer results, such as `exp()`.
 * @category Tensors
 */
export type FloatResult<D extends DType> = D extends "bool" | "int8" | "uint8" ? "float16"
  : D extends "int16" | "uint16" ? "float32"
  : D extends "int32" | "uint32" | "int64" | "uint64" ? "float64"
  : D;

/**
 * The element type of a quotient: integers are divided as `float64`.
 * @category Tensors
 */
export type DivideResult<D extends DType> = FloatResult<D> extends D ? D : "float64";

/**
 * The element type of sums: integers are added up as 64-bit integers.
 * @category Tensors
 */
export type SumResult<D extends DType> = D extends "bool" | `int${string}` ? "int64"
  : D extends `uint${string}` ? "uint64"
  : D;

const INTEGERS = ["8", "16", "32"] as const;

function absorbs(wide: DType, narrow: DType): boolean {
  if (wide.startsWith("float8") || narrow.startsWith("float8") || wide === narrow) return false;
  if (wide === "bool") return false;
  if (narrow === "bool" || wide === "float64") return true;
  const bits = 8 * bytesPerElement(wide);
  const other = 8 * bytesPerElement(narrow);
  if (isFloatDType(wide)) return other < bits;
  if (isFloatDType(narrow) || other >= bits) return false;
  const isSigned = !narrow.startsWith("uint");
  return wide.startsWith("uint") ? !isSigned : INTEGERS.includes(String(other) as "8");
}

const CANDIDATES = ["int16", "int32", "int64", "float32", "float64"] as const;

/** The promoted type of several types; `undefined` if they do not combine. */
export function promote(first: DType, ...others: readonly DType[]): DType | undefined {
  let result: DType | undefined = first;
  for (const other of others) {
    const known: DType = result;
    if (known === other || absorbs(known, other)) continue;
    result = absorbs(other, known)
      ? other
      : CANDIDATES.find((candidate) => absorbs(candidate, known) && absorbs(candidate, other));
    if (result === undefined) return undefined;
  }
  return result;
}

/** The type of a function's results that are not integers. */
export function floatResult(dtype: DType): DType {
  if (isFloatDType(dtype)) return dtype;
  const bytes = bytesPerElement(dtype);
  return bytes === 1 ? "float16" : bytes === 2 ? "float32" : "float64";
}

/** The type of sums. */
export function sumResult(dtype: DType): DType {
  if (isFloatDType(dtype)) return dtype;
  return dtype.startsWith("uint") ? "uint64" : "int64";
}
