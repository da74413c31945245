/**
 * Arrays in the `.npy` format of NumPy, versions 1 to 3 (NumPy Enhancement Proposal 1).
 *
 * Elements are converted to the machine's byte order and to row-major order, because kernels
 * expect both.
 *
 * @module
 */

import { describeValue } from "../../ffi/describe_value.ts";
import { cannot, requireOptions } from "../../ffi/arguments.ts";
import { namedFile, writeNamed } from "../../launch/module/named_file.ts";
import { bytesPerElement, type DType, DTYPES, requireArrayOf } from "../../memory/dtype.ts";
import { requireTensor } from "../kit/checks.ts";
import { CREATION_NAMES, type CreationOptions } from "../creation.ts";
import type { Tensor } from "../tensor.ts";
import {
  bytesOf,
  type FileArray,
  isSize,
  namingFile,
  neededBytes,
  readSource,
  TensorFileError,
  uploadArray,
} from "./tensor_file.ts";

/**
 * An array in NumPy's format: row-major, in the machine's byte order.
 * @category Files of tensors
 */
export interface NpyArray {
  /** The possible element types, the most likely first: NumPy has no name for some of them. */
  readonly dtypes: readonly DType[];
  /** NumPy's name of the element type in the machine's byte order: `<f4`. */
  readonly descr: string;
  /** The extents, outermost first. */
  readonly shape: readonly number[];
  /** The elements; a view of the file where it needs no conversion. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/**
 * NumPy's names of element types. `ml_dtypes` stores bfloat16 and 8-bit floats as raw bytes.
 * @category Files of tensors
 */
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

const MAGIC = Uint8Array.of(0x93, ...new TextEncoder().encode("NUMPY"));
const VERSION_END = MAGIC.length + 2;
/** NumPy aligns the data to this many bytes. */
const ALIGNMENT = 64;
/** Bytes of the largest accepted header; NumPy's own have less than a tenth. */
const MAX_HEADER = 2 ** 16;
/** The maximum number of dimensions of an array in NumPy. */
const MAX_NPY_RANK = 64;

type Header = ReturnType<typeof readHeader>;

function readHeader(file: Uint8Array<ArrayBuffer>) {
  if (!MAGIC.every((byte, index) => file[index] === byte)) {
    throw new TensorFileError("is not an .npy file: it does not begin with \\x93NUMPY");
  }
  const [major = 0, minor] = file.subarray(MAGIC.length, VERSION_END);
  if (minor === undefined) throw new TensorFileError("is cut short in its header");
  if (major < 1 || major > 3 || minor !== 0) {
    throw new TensorFileError(
      `has version ${major}.${minor}: the supported ones are 1.0, 2.0 and 3.0`,
    );
  }
  const start = VERSION_END + (major === 1 ? 2 : 4);
  if (file.length < start) throw new TensorFileError("is cut short in its header");
  const view = new DataView(file.buffer, file.byteOffset);
  const length = major === 1
    ? view.getUint16(VERSION_END, true)
    : view.getUint32(VERSION_END, true);
  if (length > MAX_HEADER) {
    throw new TensorFileError(`has a header of ${length} bytes: the maximum is ${MAX_HEADER}`);
  }
  const dataOffset = start + length;
  if (file.length < dataOffset) throw new TensorFileError("is cut short in its header");
  return {
    ...parseHeader(new TextDecoder().decode(file.subarray(start, dataOffset))),
    dataOffset,
  };
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
    // JSON.parse() throws a SyntaxError, or a RangeError for very deep nesting.
    throw new TensorFileError(
      "has a header that is not a Python dictionary of numbers, tuples and texts",
    );
  }
  const { descr, fortran_order: fortranOrder, shape } = entries;
  if (Array.isArray(descr)) {
    throw new TensorFileError("has structures, not numbers, as elements");
  }
  if (typeof descr !== "string") {
    throw new TensorFileError("has a header without 'descr' as text");
  }
  if (typeof fortranOrder !== "boolean") {
    throw new TensorFileError("has a header without 'fortran_order' as True or False");
  }
  if (Array.isArray(shape) && shape.every(isSize)) return { descr, fortranOrder, shape };
  throw new TensorFileError("has a header without 'shape' as a tuple of integers from 0 to 2^53-1");
}

/** The kind of elements such as `f4`, whether their bytes are swapped, and their types. */
function elementTypes({ descr }: Header) {
  const [, order, kind = ""] = /^([<>|=])([A-Za-z]\d+)$/.exec(descr) ?? [];
  const named = DTYPES.filter((dtype) => NPY_DESCRS[dtype].slice(1) === kind);
  const dtypes = [...named, ...BITS[kind] ?? []];
  if (dtypes[0] === undefined) {
    const problem = `has elements of type ${JSON.stringify(descr)}: kernels take `;
    throw new TensorFileError(problem + DTYPES.join(", "));
  }
  const isSwapped = order === ">" && !kind.startsWith("V");
  return { kind, isSwapped, dtypes, size: bytesPerElement(dtypes[0]) };
}

/** The bytes of the whole file, as the header in its first part declares them. */
export function npyFileSize(start: Uint8Array<ArrayBuffer>): bigint {
  const header = readHeader(start);
  const { size } = elementTypes(header);
  return BigInt(header.dataOffset) + neededBytes(header.shape, size);
}

/**
 * Reads a file in NumPy's format, versions 1 to 3, without a device. Elements are converted to
 * row-major order and to the machine's byte order.
 *
 * @param file All bytes of the file.
 * @throws {TensorFileError} If the file is malformed, cut short or too long, or its elements are no
 * numbers.
 *
 * @example
 * ```ts
 * import { readNpy, writeNpy } from "@gridstride/cuda/tensor";
 *
 * const file = writeNpy("|i1", [2], Uint8Array.of(1, 2));
 * const { descr, shape } = readNpy(file);
 * console.log(descr, shape); // |i1 [ 2 ]
 * ```
 * @category Files of tensors
 */
export function readNpy(file: Uint8Array<ArrayBuffer>): NpyArray {
  requireArrayOf(file, "uint8", "read an .npy file", "file");
  const header = readHeader(file);
  const { shape, fortranOrder, dataOffset } = header;
  const { kind, isSwapped, dtypes, size } = elementTypes(header);
  const data = file.subarray(dataOffset);
  const needed = neededBytes(shape, size);
  if (needed !== BigInt(data.length)) {
    const problem = needed > data.length ? "is cut short" : "is too long";
    const extents = shape.join(", ");
    throw new TensorFileError(
      `${problem}: its shape (${extents}) needs ${needed} bytes and there are ${data.length}`,
    );
  }
  const ordered = isSwapped ? swapBytes(data, size) : data;
  const bytes = fortranOrder && shape.length > 1 ? toRowMajor(ordered, size, shape) : ordered;
  return { dtypes, descr: size === 1 ? `|${kind}` : `<${kind}`, shape, bytes };
}

/**
 * The bytes of a row-major array as a file in NumPy's format, as NumPy writes it.
 *
 * @param descr NumPy's name of the element type; see {@linkcode NPY_DESCRS}.
 * @param shape The extents of the axes.
 * @param bytes The elements in row-major order.
 * @throws {RangeError} If the bytes are not those of the shape.
 *
 * @example
 * ```ts
 * import { writeNpy } from "@gridstride/cuda/tensor";
 *
 * const file = writeNpy("|i1", [2], Uint8Array.of(1, 2));
 * await Deno.writeFile(await Deno.makeTempFile({ suffix: ".npy" }), file);
 * console.log(file.length); // 130
 * ```
 * @category Files of tensors
 */
export function writeNpy(
  descr: string,
  shape: readonly number[],
  bytes: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const action = "write an .npy file";
  const isKnown = Object.values(NPY_DESCRS).includes(descr);
  if (!isKnown || !Array.isArray(shape) || shape.length > MAX_NPY_RANK || !shape.every(isSize)) {
    throw new TypeError(
      `${
        cannot(action)
      } as descr and shape must be a name such as <f4 and at most ${MAX_NPY_RANK} ` +
        `integers of at least 0: they are ${describeValue(descr)} and ${describeValue(shape)}`,
    );
  }
  const needed = Number(neededBytes(shape, Number(descr.slice(2))));
  const { length: byteLength } = requireArrayOf(bytes, "uint8", action, "bytes");
  if (byteLength !== needed) {
    throw new RangeError(
      `${cannot(action)} as bytes must be the ${needed} of its shape: there are ${byteLength}`,
    );
  }
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
  for (let start = 0; start < bytes.length; start += size) {
    swapped.subarray(start, start + size).reverse();
  }
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

/**
 * The array as a tensor takes it.
 *
 * @param requested The element type; needed for the 8-bit floats, which NumPy stores without a name.
 */
export function typedArrayIn(
  array: NpyArray,
  requested: DType | undefined,
): FileArray {
  const { dtypes, descr, shape, bytes } = array;
  const dtype = requested ?? dtypes[0]!;
  if (dtypes.includes(dtype) && (requested !== undefined || descr !== NPY_DESCRS.float8_e4m3)) {
    return { dtype, shape, bytes };
  }
  throw new TensorFileError(
    `has elements of type ${JSON.stringify(descr)}: options.dtype must be ${dtypes.join(" or ")}` +
      (requested === undefined ? "" : `, and it is ${requested}. Convert the tensor by astype()`),
  );
}

/**
 * Loads a tensor from a file of NumPy's `numpy.save()`.
 *
 * @param source A path, the URL of a file, or the bytes of the file.
 * @param options `dtype` names the type of raw elements: `ml_dtypes` stores `bfloat16` and the 8-bit
 * floats as bytes without a name, and only `bfloat16` is implied.
 * @throws {TensorFileError} If the file is malformed, cut short or too long, or its elements are not
 * numbers of a supported type.
 * @throws {Deno.errors.NotFound} If there is no such file, and other errors of the file system.
 *
 * @example
 * ```ts
 * import { loadNpy, writeNpy } from "@gridstride/cuda/tensor";
 *
 * using x = await loadNpy(writeNpy("|i1", [2], Uint8Array.of(1, 2)));
 * console.log(x.dtype, await x.toNested()); // int8 [ 1, 2 ]
 * ```
 * @category Files of tensors
 */
export async function loadNpy<D extends DType = DType>(
  source: string | URL | Uint8Array,
  options: CreationOptions<D> = {},
): Promise<Tensor<D>> {
  const action = "load an .npy file";
  requireOptions(options, CREATION_NAMES, action);
  const { bytes, subject } = await readSource(source, action);
  const load = () => uploadArray(typedArrayIn(readNpy(bytes), options.dtype), options);
  return await namingFile(subject, load) as Tensor<DType> as Tensor<D>;
}

/**
 * Saves a tensor in NumPy's format, which `numpy.load()` reads. NumPy has no names for `bfloat16` and
 * the 8-bit floats: they are raw bytes there.
 *
 * @param path The file, which is replaced once all is written: if that fails, an earlier file stays as
 * it was.
 * @param tensor The tensor.
 * @throws {CudaError} If earlier work failed.
 *
 * @example
 * ```ts
 * import { loadNpy, saveNpy, tensor } from "@gridstride/cuda/tensor";
 *
 * const path = await Deno.makeTempFile({ suffix: ".npy" });
 * await saveNpy(path, tensor([1, 2]));
 * using x = await loadNpy(path);
 * console.log(await x.toNested()); // [ 1, 2 ]
 * ```
 * @category Files of tensors
 */
export async function saveNpy(path: string | URL, tensor: Tensor<DType>): Promise<void> {
  const action = "save an .npy file";
  requireTensor(tensor, "tensor", action);
  const bytes = await npyBytesOf(tensor);
  await writeNamed(namedFile(path, action), action, (write) => write(bytes));
}

/** A tensor as a file in NumPy's format. */
export async function npyBytesOf(tensor: Tensor): Promise<Uint8Array<ArrayBuffer>> {
  return writeNpy(NPY_DESCRS[tensor.dtype], tensor.shape, await bytesOf(tensor));
}
