/**
 * Arrays in the `.npy` format of NumPy, versions 1 to 3 (NumPy Enhancement Proposal 1).
 *
 * Elements come as bytes in the machine's order, whatever the file's is, with the last index
 * fastest, whatever the file's order of indices is: a kernel that is given the same array sees the
 * same memory.
 *
 * @module
 */

import { bytesPerElement, type DType, DTYPES } from "../../mod.ts";
import {
  NPY_MAGIC,
  NPY_VERSION_BYTES,
  NpyError,
  npyHeaderText,
  requireNpyData,
  splitNpy,
} from "./npy_header.ts";

/** An array. */
export interface NpyArray {
  /** What its elements can be, the most obvious first: NumPy has no word for every type. */
  readonly dtypes: readonly DType[];
  /** The element type in NumPy's words, in the machine's byte order: `<f4`. */
  readonly descr: string;
  /** The extent in each dimension. */
  readonly shape: readonly number[];
  /** The elements. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/**
 * NumPy's names of element types. bfloat16 and 8-bit floats are raw bytes to it, as ml_dtypes
 * writes them.
 */
const DESCRS: { readonly [D in DType]: string } = {
  float64: "<f8",
  float32: "<f4",
  float16: "<f2",
  bfloat16: "<V2",
  float8_e4m3: "|V1",
  float8_e5m2: "|V1",
  int64: "<i8",
  int32: "<i4",
  uint32: "<u4",
  int16: "<i2",
  int8: "|i1",
  uint8: "|u1",
  bool: "|b1",
};

/** Names that hold the bits of an element type without being its own. */
const BITS: Readonly<Record<string, readonly DType[]>> = {
  u8: ["int64"],
  u2: ["int16", "bfloat16"],
  i2: ["bfloat16"],
  u1: ["float8_e4m3", "float8_e5m2", "bool"],
  i1: ["float8_e4m3", "float8_e5m2"],
};

/** What the data start at a multiple of. */
const ALIGNMENT = 64;

/**
 * Reads a file.
 *
 * @throws {NpyError} If it is no array, cut short, longer than it should be, or of elements that no
 * kernel takes.
 */
export function readNpy(file: Uint8Array<ArrayBuffer>): NpyArray {
  const { header, data } = splitNpy(file);
  const { descr, dtypes, swapped } = elementsOf(header.descr);
  const size = bytesPerElement(dtypes[0]!);
  requireNpyData(header.shape, size, data.length);
  let bytes = data;
  if (swapped) bytes = swappedBytes(bytes, size);
  if (header.fortranOrder) bytes = lastIndexFastest(bytes, size, header.shape);
  return { dtypes, descr, shape: header.shape, bytes };
}

/** An element type in NumPy's words: `<f4`. */
export function npyDescr(dtype: DType): string {
  return DESCRS[dtype];
}

/**
 * Writes an array whose last index is fastest; NumPy reads it.
 *
 * @param descr The element type in NumPy's words.
 */
export function writeNpy(
  descr: string,
  shape: readonly number[],
  bytes: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const text = npyHeaderText({ descr, fortranOrder: false, shape });
  const start = NPY_MAGIC.length + NPY_VERSION_BYTES;
  // Version 1 has two bytes for the length of the header: more than 64 dimensions ever need.
  const before = start + 2;
  const length = Math.ceil((before + text.length + 1) / ALIGNMENT) * ALIGNMENT - before;
  const file = new Uint8Array(before + length + bytes.length);
  file.set(NPY_MAGIC);
  file.set([1, 0], NPY_MAGIC.length);
  new DataView(file.buffer).setUint16(start, length, true);
  file.set(new TextEncoder().encode(`${text.padEnd(length - 1)}\n`), before);
  file.set(bytes, before + length);
  return file;
}

/** What a type in NumPy's words stands for. */
function elementsOf(
  descr: string,
): { descr: string; dtypes: readonly DType[]; swapped: boolean } {
  const [, order, kind] = /^([<>|=])([A-Za-z]\d+)$/.exec(descr) ?? [];
  const own = DTYPES.filter((dtype) => DESCRS[dtype].slice(1) === kind);
  const dtypes = [...own, ...(kind === undefined ? [] : BITS[kind] ?? [])];
  if (kind !== undefined && dtypes.length > 0) {
    const native = kind.endsWith("1") ? `|${kind}` : `<${kind}`;
    return { descr: native, dtypes, swapped: order === ">" && !kind.startsWith("V") };
  }
  const known = [...new Set([...Object.values(DESCRS).map((text) => text.slice(1)), "u2", "u8"])];
  throw new NpyError(
    `has elements of type ${JSON.stringify(descr)}, and kernels take ${known.join(", ")}`,
  );
}

/** The bytes of each element the other way round. */
export function swappedBytes(
  bytes: Uint8Array<ArrayBuffer>,
  size: number,
): Uint8Array<ArrayBuffer> {
  const swapped = new Uint8Array(bytes.length);
  for (let offset = 0; offset < bytes.length; offset += size) {
    for (let i = 0; i < size; i++) swapped[offset + i] = bytes[offset + size - 1 - i]!;
  }
  return swapped;
}

/** From the first index fastest to the last index fastest. */
function lastIndexFastest(
  bytes: Uint8Array<ArrayBuffer>,
  size: number,
  shape: readonly number[],
): Uint8Array<ArrayBuffer> {
  const ordered = new Uint8Array(bytes.length);
  const strides: number[] = [];
  let stride = size;
  for (const extent of shape) {
    strides.push(stride);
    stride *= extent;
  }
  const index = shape.map(() => 0);
  let source = 0;
  for (let target = 0; target < bytes.length; target += size) {
    for (let i = 0; i < size; i++) ordered[target + i] = bytes[source + i]!;
    // The next index, as an odometer counts.
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      source += strides[axis]!;
      if (++index[axis]! < shape[axis]!) break;
      source -= strides[axis]! * shape[axis]!;
      index[axis] = 0;
    }
  }
  return ordered;
}
