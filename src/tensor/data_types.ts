/**
 * Properties of element types, as the array API standard asks for them.
 *
 * @module
 */

import { cannot } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import {
  bytesPerElement,
  type DType,
  DTYPES,
  type FloatDType,
  isFloatDType,
  isIntegerDType,
} from "../memory/dtype.ts";
import { promote } from "./kit/promotion.ts";
import { Tensor } from "./tensor.ts";

/**
 * An element type, or a tensor with it.
 * @category Element types
 */
export type Typed = DType | Pick<Tensor, "dtype" | "shape">;

function dtypeOf(value: unknown, name: string, action: string): DType {
  const dtype = value instanceof Tensor ? value.dtype : value;
  if (DTYPES.includes(dtype as DType)) return dtype as DType;
  throw new TypeError(
    `${cannot(action)} as ${name} must be a tensor or one of ${DTYPES.join(", ")}: it is ${
      describeValue(value)
    }`,
  );
}

/**
 * Limits of a floating element type; see {@linkcode finfo}.
 * @category Element types
 */
export interface FloatInformation {
  /** The element type. */
  readonly dtype: DType;
  /** The bits of an element. */
  readonly bits: number;
  /** The distance from 1 to the next number. */
  readonly eps: number;
  /** The largest finite number. */
  readonly max: number;
  /** The least finite number. */
  readonly min: number;
  /** The smallest positive number with all its digits. */
  readonly smallestNormal: number;
}

/** Digits after the first one, the largest finite number, and the least exponent. */
const FLOATS: Readonly<Record<FloatDType, readonly [digits: number, max: number, least: number]>> =
  {
    float64: [52, Number.MAX_VALUE, -1022],
    float32: [23, (2 - 2 ** -23) * 2 ** 127, -126],
    float16: [10, 65504, -14],
    bfloat16: [7, (2 - 2 ** -7) * 2 ** 127, -126],
    float8_e4m3: [3, 448, -6],
    float8_e5m2: [2, 57344, -14],
  };

/**
 * The limits of a floating element type.
 *
 * @param type The element type, or a tensor that has it.
 * @throws {TypeError} If the type is not floating.
 *
 * @example
 * ```ts
 * import { finfo } from "@gridstride/cuda/tensor";
 *
 * console.log(finfo("float16").max, finfo("float32").eps); // 65504 1.1920928955078125e-7
 * ```
 * @category Element types
 */
export function finfo(type: Typed): FloatInformation {
  const dtype = dtypeOf(type, "type", "find the limits of floats");
  if (!isFloatDType(dtype)) {
    throw new TypeError(
      `Cannot find the limits of floats as type must be ${
        Object.keys(FLOATS).join(", ")
      }: it is ${dtype}. iinfo() has those of integers`,
    );
  }
  const [digits, max, least] = FLOATS[dtype];
  const bits = 8 * bytesPerElement(dtype);
  return { dtype, bits, eps: 2 ** -digits, max, min: -max, smallestNormal: 2 ** least };
}

/**
 * Limits of an integer element type; see {@linkcode iinfo}.
 * @category Element types
 */
export interface IntegerInformation {
  /** The element type. */
  readonly dtype: DType;
  /** The bits of an element. */
  readonly bits: number;
  /** The largest number; a big integer for 64 bits. */
  readonly max: number | bigint;
  /** The least number; a big integer for 64 bits. */
  readonly min: number | bigint;
}

/**
 * The limits of an integer element type.
 *
 * @param type The element type, or a tensor that has it.
 * @throws {TypeError} If the type is no integer.
 *
 * @example
 * ```ts
 * import { iinfo } from "@gridstride/cuda/tensor";
 *
 * console.log(iinfo("int8").min, iinfo("uint64").max); // -128 18446744073709551615n
 * ```
 * @category Element types
 */
export function iinfo(type: Typed): IntegerInformation {
  const dtype = dtypeOf(type, "type", "find the limits of integers");
  if (!isIntegerDType(dtype)) {
    throw new TypeError(
      `Cannot find the limits of integers as type must be an integer type: it is ${dtype}. ` +
        "finfo() has those of floats",
    );
  }
  const bits = 8 * bytesPerElement(dtype);
  const isSigned = !dtype.startsWith("uint");
  const max = 2n ** BigInt(isSigned ? bits - 1 : bits) - 1n;
  const min = isSigned ? -max - 1n : 0n;
  return bits === 64
    ? { dtype, bits, max, min }
    : { dtype, bits, max: Number(max), min: Number(min) };
}

/**
 * A kind of element types.
 * @category Element types
 */
export type DTypeKind =
  | "bool"
  | "signed integer"
  | "unsigned integer"
  | "integral"
  | "real floating"
  | "complex floating"
  | "numeric";

const KINDS: Readonly<Record<DTypeKind, (dtype: DType) => boolean>> = {
  "bool": (dtype) => dtype === "bool",
  "signed integer": (dtype) => isIntegerDType(dtype) && !dtype.startsWith("uint"),
  "unsigned integer": (dtype) => isIntegerDType(dtype) && dtype.startsWith("uint"),
  "integral": isIntegerDType,
  "real floating": isFloatDType,
  "complex floating": () => false,
  "numeric": (dtype) => dtype !== "bool",
};

/**
 * Whether an element type is of a kind, or is another one, or any of several.
 *
 * @param type The element type, or a tensor that has it.
 * @param kind A kind or an element type, or several.
 * @throws {TypeError} If a kind is unknown.
 *
 * @example
 * ```ts
 * import { isdtype } from "@gridstride/cuda/tensor";
 *
 * console.log(isdtype("int8", "integral"), isdtype("int8", ["bool", "float32"])); // true false
 * ```
 * @category Element types
 */
export function isdtype(
  type: Typed,
  kind: DTypeKind | DType | readonly (DTypeKind | DType)[],
): boolean {
  const action = "compare an element type";
  const dtype = dtypeOf(type, "type", action);
  const kinds: readonly unknown[] = Array.isArray(kind) ? kind : [kind];
  return kinds.map((it) => {
    if (typeof it === "string" && Object.hasOwn(KINDS, it)) return KINDS[it as DTypeKind](dtype);
    if (DTYPES.includes(it as DType)) return it === dtype;
    throw new TypeError(
      `${cannot(action)} as kind must be an element type, or one of ${
        Object.keys(KINDS).join(", ")
      }: it is ${describeValue(it)}`,
    );
  }).includes(true);
}

/**
 * Whether the type of a result of both is the second one: a cast that loses nothing by its kind.
 *
 * @param from The element type, or a tensor that has it.
 * @param to The element type of the result.
 * @throws {TypeError} If an element type is unknown.
 *
 * @example
 * ```ts
 * import { canCast } from "@gridstride/cuda/tensor";
 *
 * console.log(canCast("int8", "int32"), canCast("float32", "int32")); // true false
 * ```
 * @category Element types
 */
export function canCast(from: Typed, to: DType): boolean {
  const action = "compare element types";
  const target = dtypeOf(to, "to", action);
  return promote(dtypeOf(from, "from", action), target) === target;
}

/**
 * The element type of the result of an operation of several types.
 *
 * @param types Element types, or tensors that have them.
 * @throws {TypeError} If there is none, or the types do not combine.
 *
 * @example
 * ```ts
 * import { resultType, tensor } from "@gridstride/cuda/tensor";
 *
 * using x = tensor([1, 2], { dtype: "int32" });
 * console.log(resultType(x, "float32")); // float64
 * ```
 * @category Element types
 */
export function resultType(...types: readonly Typed[]): DType {
  const action = "find the type of a result";
  const [first, ...others] = types.map((it, index) => dtypeOf(it, `types[${index}]`, action));
  if (first === undefined) {
    throw new TypeError(`${cannot(action)} as types must have an element: it is empty`);
  }
  const result = promote(first, ...others);
  if (result !== undefined) return result;
  throw new TypeError(
    `${cannot(action)} as types must combine: they are ${[first, ...others].join(", ")}`,
  );
}
