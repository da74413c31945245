/**
 * Arrays in the `.npy` format of NumPy, versions 1 to 3 (NumPy Enhancement Proposal 1).
 *
 * Elements are converted to the machine's byte order and to row-major order, because kernels
 * expect both.
 *
 * @module
 */

import {
  bytesPerElement,
  type DType,
  DTYPES,
  narrowFromFloat32,
  widenToFloat32,
} from "../../mod.ts";
import type { IndexArray } from "../lab/analysis/mod.ts";

export interface NpyArray {
  /** The possible element types, the most likely first: NumPy has no name for some of them. */
  readonly dtypes: readonly DType[];
  /** NumPy's name of the element type in the machine's byte order: `<f4`. */
  readonly descr: string;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Thrown for a file that is not a usable array; its message completes "it …". */
export class NpyError extends Error {
  override name = "NpyError";
}

/** NumPy's names of element types. `ml_dtypes` stores bfloat16 and 8-bit floats as raw bytes. */
export const NPY_DESCRS: { readonly [D in DType]: string } = {
  float64: "<f8",
  float32: "<f4",
  float16: "<f2",
  bfloat16: "<V2",
  float8_e4m3: "|V1",
  float8_e5m2: "|V1",
  int64: "<i8",
  uint64: "<u8",
  int32: "<i4",
  uint32: "<u4",
  int16: "<i2",
  uint16: "<u2",
  int8: "|i1",
  uint8: "|u1",
  bool: "|b1",
};

/** Element types that NumPy's integers can hold the bits of. */
const BITS: Readonly<Record<string, readonly DType[]>> = {
  u2: ["bfloat16"],
  i2: ["bfloat16"],
  u1: ["float8_e4m3", "float8_e5m2", "bool"],
  i1: ["float8_e4m3", "float8_e5m2"],
};

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

const MAGIC = Uint8Array.of(0x93, ...new TextEncoder().encode("NUMPY"));
const VERSION_END = MAGIC.length + 2;
/** NumPy aligns the data to this many bytes. */
const ALIGNMENT = 64;
/** Bytes of the largest accepted header; NumPy's own have less than a tenth. */
const MAX_HEADER = 2 ** 16;

type Header = ReturnType<typeof readHeader>;

function readHeader(file: Uint8Array<ArrayBuffer>) {
  if (!MAGIC.every((byte, index) => file[index] === byte)) {
    throw new NpyError("is not an .npy file: it does not begin with \\x93NUMPY");
  }
  const [major = 0, minor] = file.subarray(MAGIC.length, VERSION_END);
  if (minor === undefined) throw new NpyError("is cut short in its header");
  if (major < 1 || major > 3 || minor !== 0) {
    throw new NpyError(`has version ${major}.${minor}: the supported ones are 1.0, 2.0 and 3.0`);
  }
  const start = VERSION_END + (major === 1 ? 2 : 4);
  if (file.length < start) throw new NpyError("is cut short in its header");
  const view = new DataView(file.buffer, file.byteOffset);
  const length = major === 1
    ? view.getUint16(VERSION_END, true)
    : view.getUint32(VERSION_END, true);
  if (length > MAX_HEADER) {
    throw new NpyError(`has a header of ${length} bytes: the maximum is ${MAX_HEADER}`);
  }
  const dataOffset = start + length;
  if (file.length < dataOffset) throw new NpyError("is cut short in its header");
  return { ...parseHeader(new TextDecoder().decode(file.subarray(start, dataOffset))), dataOffset };
}

/** Parses the Python dictionary of a header, after a conversion to JSON. */
function parseHeader(
  text: string,
): { descr: string; fortranOrder: boolean; shape: readonly number[] } {
  const json = text.replaceAll("'", '"').replaceAll("(", "[").replaceAll(")", "]")
    .replace(/\bTrue\b/g, "true").replace(/\bFalse\b/g, "false")
    .replace(/(\d)L\b/g, "$1").replace(/,\s*([\]}])/g, "$1");
  let entries: Record<string, unknown>;
  try {
    entries = Object(JSON.parse(json));
  } catch {
    // A SyntaxError, or a RangeError for very deep nesting.
    throw new NpyError("has a header that is not a Python dictionary of numbers, tuples and texts");
  }
  const { descr, fortran_order: fortranOrder, shape } = entries;
  if (Array.isArray(descr)) throw new NpyError("has structures, not numbers, as elements");
  if (typeof descr !== "string") throw new NpyError("has a header without 'descr' as text");
  if (typeof fortranOrder !== "boolean") {
    throw new NpyError("has a header without 'fortran_order' as True or False");
  }
  const isExtent = (extent: unknown) => Number.isSafeInteger(extent) && Number(extent) >= 0;
  if (Array.isArray(shape) && shape.every(isExtent)) return { descr, fortranOrder, shape };
  throw new NpyError("has a header without 'shape' as a tuple of integers from 0 to 2^53-1");
}

/** The elements of a file in the machine's byte order and in row-major order. */
function orderedBytes(
  file: Uint8Array<ArrayBuffer>,
  { shape, fortranOrder, dataOffset }: Header,
  size: number,
  isSwapped: boolean,
): Uint8Array<ArrayBuffer> {
  const data = file.subarray(dataOffset);
  const needed = shape.reduce((product, extent) => product * BigInt(extent), BigInt(size));
  if (needed !== BigInt(data.length)) {
    const problem = needed > data.length ? "is cut short" : "is too long";
    throw new NpyError(
      `${problem}: its shape (${
        shape.join(", ")
      }) needs ${needed} bytes and there are ${data.length}`,
    );
  }
  const bytes = isSwapped ? swapBytes(data, size) : data;
  return fortranOrder && shape.length > 1 ? toRowMajor(bytes, size, shape) : bytes;
}

/** Reads a file. */
export function readNpy(file: Uint8Array<ArrayBuffer>): NpyArray {
  const header = readHeader(file);
  const { descr, shape } = header;
  const [, order, kind = ""] = /^([<>|=])([A-Za-z]\d+)$/.exec(descr) ?? [];
  const own = DTYPES.filter((dtype) => NPY_DESCRS[dtype].slice(1) === kind);
  const dtypes = [...own, ...BITS[kind] ?? []];
  if (dtypes[0] === undefined) {
    const known = new Set(Object.values(NPY_DESCRS).map((text) => text.slice(1)));
    throw new NpyError(
      `has elements of type ${JSON.stringify(descr)}: kernels take ${[...known].join(", ")}`,
    );
  }
  const size = bytesPerElement(dtypes[0]);
  const bytes = orderedBytes(file, header, size, order === ">" && !kind.startsWith("V"));
  return { dtypes, descr: size === 1 ? `|${kind}` : `<${kind}`, shape, bytes };
}

/** Writes a row-major array as NumPy does. */
export function writeNpy(
  descr: string,
  shape: readonly number[],
  bytes: Uint8Array,
): Uint8Array<ArrayBuffer> {
  // A Python tuple with one element needs a comma.
  const extents = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  const text = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${extents}), }`;
  const start = VERSION_END + 2;
  const length = Math.ceil((start + text.length + 1) / ALIGNMENT) * ALIGNMENT - start;
  const file = new Uint8Array(start + length + bytes.length);
  file.set([...MAGIC, 1, 0]);
  new DataView(file.buffer).setUint16(VERSION_END, length, true);
  file.set(new TextEncoder().encode(`${text.padEnd(length - 1)}\n`), start);
  file.set(bytes, start + length);
  return file;
}

function swapBytes(bytes: Uint8Array<ArrayBuffer>, size: number): Uint8Array<ArrayBuffer> {
  const swapped = bytes.slice();
  for (let at = 0; at < bytes.length; at += size) swapped.subarray(at, at + size).reverse();
  return swapped;
}

/** Converts from column-major order, in which the first index varies fastest. */
function toRowMajor(
  bytes: Uint8Array<ArrayBuffer>,
  size: number,
  shape: readonly number[],
): Uint8Array<ArrayBuffer> {
  const ordered = new Uint8Array(bytes.length);
  const strides = shape.map((_, axis) =>
    shape.slice(0, axis).reduce((product, extent) => product * extent, size)
  );
  const index = shape.map(() => 0);
  let source = 0;
  for (let target = 0; target < bytes.length; target += size) {
    ordered.set(bytes.subarray(source, source + size), target);
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      source += strides[axis]!;
      if (++index[axis]! < shape[axis]!) break;
      source -= strides[axis]! * shape[axis]!;
      index[axis] = 0;
    }
  }
  return ordered;
}

/** Reads the indices in a file, in row-major order. */
export function readNpyIndices(file: Uint8Array<ArrayBuffer>): IndexArray {
  const header = readHeader(file);
  const [, order, type = ""] = /^([<>|=])([iuf]\d+)$/.exec(header.descr) ?? [];
  const Indices = INDEX_ARRAYS[type as keyof typeof INDEX_ARRAYS];
  if (Indices === undefined) {
    throw new NpyError(
      `has elements of type ${JSON.stringify(header.descr)}: indices are of type ` +
        Object.keys(INDEX_ARRAYS).join(", "),
    );
  }
  const bytes = orderedBytes(file, header, Indices.BYTES_PER_ELEMENT, order === ">");
  // A copy has the alignment that a view of the elements requires.
  return new Indices(bytes.slice().buffer);
}
