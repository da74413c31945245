/**
 * Elements of `.npy` files as JavaScript values.
 *
 * @module
 */

import { type DType, narrowFromFloat32, widenToFloat32 } from "../../mod.ts";
import { NPY_DESCRS, readNpy, TensorFileError } from "../device/tensor.ts";
import type { IndexArray } from "../lab/analysis/mod.ts";

/** Arrays of indices by NumPy's names of their types. The analysis refuses fractions. */
const INDEX_ARRAYS = {
  i1: Int8Array,
  u1: Uint8Array,
  i2: Int16Array,
  u2: Uint16Array,
  i4: Int32Array,
  u4: Uint32Array,
  i8: BigInt64Array,
  u8: BigUint64Array,
  f2: Float16Array,
  f4: Float32Array,
  f8: Float64Array,
} as const;

function arrayClass(dtype: DType) {
  const type = NPY_DESCRS[dtype].slice(1);
  return type === "b1" ? Uint8Array : INDEX_ARRAYS[type as keyof typeof INDEX_ARRAYS];
}

/** Reads elements: 64-bit integers as big integers, booleans as 0 and 1. */
export function elementsOf(dtype: DType, bytes: Uint8Array<ArrayBuffer>) {
  const { buffer } = bytes.slice();
  if (dtype === "bfloat16") return widenToFloat32(dtype, new Uint16Array(buffer));
  if (dtype === "float8_e4m3" || dtype === "float8_e5m2") return widenToFloat32(dtype, bytes);
  return new (arrayClass(dtype))(buffer);
}

/** The bytes of an array with these elements; floating-point numbers are rounded. */
export function bytesOfElements(
  dtype: DType,
  values: readonly (number | bigint)[],
): Uint8Array<ArrayBuffer> {
  const numbers = values as readonly number[];
  if (dtype === "bfloat16" || dtype === "float8_e4m3" || dtype === "float8_e5m2") {
    return new Uint8Array(narrowFromFloat32(dtype, Float32Array.from(numbers, Number)).buffer);
  }
  // Big integers keep their bits: only a fraction is lost.
  const convert = (value: number | bigint) =>
    /64$/.test(dtype) && dtype !== "float64"
      ? BigInt(typeof value === "number" ? Math.trunc(value) : value)
      : Number(value);
  const Class = arrayClass(dtype) as Float64ArrayConstructor;
  return new Uint8Array(Class.from(numbers, convert as typeof Number).buffer);
}

/** Reads the indices in a file, in row-major order. */
export function readNpyIndices(file: Uint8Array<ArrayBuffer>): IndexArray {
  const { descr, bytes } = readNpy(file);
  const Indices = INDEX_ARRAYS[descr.slice(1) as keyof typeof INDEX_ARRAYS];
  if (Indices === undefined) {
    throw new TensorFileError(
      `has elements of type ${JSON.stringify(descr)}: indices are of type ` +
        Object.keys(INDEX_ARRAYS).join(", "),
    );
  }
  // A copy has the alignment that a view of the elements requires.
  return new Indices(bytes.slice().buffer);
}
