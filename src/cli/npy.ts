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
import { NpyError, type NpyHeader, npyHeaderText, parseNpyHeader } from "./npy_header.ts";

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

const MAGIC = Uint8Array.of(0x93, ...new TextEncoder().encode("NUMPY"));
const VERSION_BYTES = 2;
/** What the data start at a multiple of. */
const ALIGNMENT = 64;
/** A header that is longer is none: NumPy's own have less than a tenth of it. */
const LONGEST_HEADER = 2 ** 16;

/**
 * Reads a file.
 *
 * @throws {NpyError} If it is no array, cut short, longer than it should be, or of elements that no
 * kernel takes.
 */
export function readNpy(file: Uint8Array<ArrayBuffer>): NpyArray {
  const { header, data } = splitFile(file);
  const { descr, dtypes, swapped } = elementsOf(header.descr);
  const size = bytesPerElement(dtypes[0]!);
  requireData(header.shape, size, data.length);
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
  const start = MAGIC.length + VERSION_BYTES;
  // Version 1 has two bytes for the length of the header: more than 64 dimensions ever need.
  const before = start + 2;
  const length = Math.ceil((before + text.length + 1) / ALIGNMENT) * ALIGNMENT - before;
  const file = new Uint8Array(before + length + bytes.length);
  file.set(MAGIC);
  file.set([1, 0], MAGIC.length);
  new DataView(file.buffer).setUint16(start, length, true);
  file.set(new TextEncoder().encode(`${text.padEnd(length - 1)}\n`), before);
  file.set(bytes, before + length);
  return file;
}

/** The header, and what follows it. */
function splitFile(
  file: Uint8Array<ArrayBuffer>,
): { header: NpyHeader; data: Uint8Array<ArrayBuffer> } {
  if (!MAGIC.every((byte, index) => file[index] === byte)) {
    throw new NpyError("is no .npy file: it does not begin with \\x93NUMPY");
  }
  const start = MAGIC.length + VERSION_BYTES;
  const [major, minor] = file.subarray(MAGIC.length, start);
  if (minor === undefined) throw new NpyError("is cut short in its header");
  if (major! < 1 || major! > 3 || minor !== 0) {
    throw new NpyError(`is of version ${major}.${minor}, and 1.0, 2.0 and 3.0 are known`);
  }
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const lengthBytes = major === 1 ? 2 : 4;
  const before = start + lengthBytes;
  if (file.length < before) throw new NpyError("is cut short in its header");
  const length = major === 1 ? view.getUint16(start, true) : view.getUint32(start, true);
  if (length > LONGEST_HEADER) {
    throw new NpyError(`has a header of ${length} bytes, and ${LONGEST_HEADER} are the most`);
  }
  if (file.length < before + length) throw new NpyError("is cut short in its header");
  // Version 3 says UTF-8 where the others say Latin-1; what is beyond ASCII is only ever a name in
  // a structure, which is refused.
  const text = new TextDecoder(major === 3 ? "utf-8" : "latin1")
    .decode(file.subarray(before, before + length));
  return { header: parseNpyHeader(text), data: file.subarray(before + length) };
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

function requireData(shape: readonly number[], size: number, bytes: number): void {
  const elements = shape.reduce((product, extent) => product * BigInt(extent), 1n);
  const needed = elements * BigInt(size);
  if (needed === BigInt(bytes)) return;
  const array = `its shape (${shape.join(", ")}) takes ${needed} bytes and there are ${bytes}`;
  throw new NpyError(needed > bytes ? `is cut short: ${array}` : `is too long: ${array}`);
}

/** The bytes of each element the other way round. */
function swappedBytes(bytes: Uint8Array<ArrayBuffer>, size: number): Uint8Array<ArrayBuffer> {
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
