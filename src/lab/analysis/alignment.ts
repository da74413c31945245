/**
 * Alignment, pitch and padding of data in memory.
 *
 * @module
 */

import { requireOptions } from "../../ffi/arguments.ts";
import { accessBytesOf, ELEMENT_BYTES, LINE_BYTES, SECTOR_BYTES } from "./access_report.ts";
import {
  checkedProduct,
  rangeError,
  requireArray,
  requireInteger,
  requireOneOf,
  typeError,
} from "./arguments.ts";

/** The widest access of a lane, in bytes. */
const WIDEST_VECTOR = 16;
/** The least alignment of allocation functions. */
const ALLOCATION = 256;
/** Bytes from which data is aligned like an allocation. */
const LARGE = 65536;

/**
 * The data that {@linkcode calculateAlignment} aligns.
 * @category Alignment and padding
 */
export interface AlignmentOptions {
  /** Bytes of an element: 1, 2, 4, 8, 12 or 16; 1 by default. */
  readonly elementBytes?: number;
  /**
   * The access to the data; `access` by default.
   *
   * - `access`: by loads and stores of warps.
   * - `tensor-map`: in global memory, by the tensor memory accelerator, from compute capability 9.0
   *   on.
   * - `tensor-map-shared`: in shared memory, by the same.
   * - `texture`: by a texture that is bound to it.
   */
  readonly use?: "access" | "tensor-map" | "tensor-map-shared" | "texture";
  /**
   * Bytes of the device's `textureAlignment`; 512 by default, as on every GPU from compute
   * capability 7.5 on.
   */
  readonly textureAlignment?: number;
}

/**
 * An alignment and its consequences.
 * @category Alignment and padding
 */
export interface Alignment {
  /** Bytes: the data should begin at a multiple of them. A power of two. */
  readonly alignment: number;
  /** Bytes of the data rounded up to it, which aligns the data behind as well. */
  readonly paddedBytes: number;
  /** Bytes that this adds. */
  readonly waste: number;
  /** Bytes of the widest access of a lane that can read elements in a row: 16 at most. */
  readonly vectorBytes: number;
  /** The reason, in a sentence. */
  readonly reason: string;
}

/**
 * Calculates the alignment that data of a size should have.
 *
 * Data of up to a line is aligned to the next power of two, which puts it in one sector of 32 bytes
 * or one line of 128; larger data to a line, with which a request of a warp for 128 bytes takes one
 * line and four sectors instead of two and five; from 64 KiB on to 256 bytes, like allocations (CUDA
 * C++ Programming Guide, "Size and Alignment Requirement"). Never less than elements need. The needs
 * of the tensor memory accelerator are those of `cuTensorMapEncodeTiled()` and of the guide's
 * "Asynchronous Data Copies using the Tensor Memory Accelerator".
 *
 * @param bytes The size.
 * @param options The data and its access.
 * @throws {RangeError} If the size or an option is not allowed.
 * @throws {TypeError} If one is of another type.
 *
 * @example
 * ```ts
 * import { calculateAlignment } from "@gridstride/cuda/analysis";
 *
 * const { alignment, paddedBytes, waste } = calculateAlignment(1000, { elementBytes: 4 });
 * console.log(alignment, paddedBytes, waste); // 128 1024 24
 * ```
 * @category Alignment and padding
 */
export function calculateAlignment(bytes: number, options: AlignmentOptions = {}): Alignment {
  const action = "calculate an alignment";
  requireInteger(action, "bytes", bytes, 0);
  requireOptions(options, ["elementBytes", "use", "textureAlignment"], action);
  const { elementBytes = 1, use = "access", textureAlignment = 512 } = options;
  requireOneOf(action, "elementBytes", elementBytes, ELEMENT_BYTES);
  requirePowerOfTwo(action, "textureAlignment", textureAlignment, 2 ** 20);
  const needs: Record<string, readonly [number, string]> = {
    "access": accessNeed(bytes, elementBytes),
    "tensor-map": [16, "A tensor map's address and strides are multiples of 16 bytes."],
    "tensor-map-shared": [128, "The tensor memory accelerator copies to multiples of 128 bytes."],
    "texture": [textureAlignment, "A texture is bound to a multiple of textureAlignment."],
  };
  if (typeof use !== "string") throw typeError(action, "use", "a text", use);
  if (!Object.hasOwn(needs, use)) {
    throw rangeError(action, "use", `be one of ${Object.keys(needs).join(", ")}`, use);
  }
  const [needed, reason] = needs[use]!;
  const natural = accessBytesOf(elementBytes);
  const alignment = Math.max(needed, natural);
  const paddedBytes = padTo(bytes, alignment);
  const widest = Math.min(WIDEST_VECTOR, alignment);
  let vectorBytes = natural;
  while (bytes > 0 && 2 * vectorBytes <= widest && bytes % (2 * vectorBytes) === 0) {
    vectorBytes *= 2;
  }
  return { alignment, paddedBytes, waste: paddedBytes - bytes, vectorBytes, reason };
}

function accessNeed(bytes: number, elementBytes: number): readonly [number, string] {
  if (bytes <= elementBytes) {
    return [accessBytesOf(elementBytes), "A single element needs no more than its type does."];
  }
  if (bytes <= LINE_BYTES) {
    const alignment = 2 ** Math.ceil(Math.log2(bytes));
    const place = bytes <= SECTOR_BYTES ? "one sector of 32 bytes" : "one line of 128 bytes";
    return [alignment, `At a multiple of ${alignment} bytes it lies in ${place}.`];
  }
  return bytes < LARGE
    ? [LINE_BYTES, "A request of a warp for 128 bytes takes one line and four sectors, not more."]
    : [ALLOCATION, "So large a piece is worth the 256 bytes that allocations are aligned to."];
}

function requirePowerOfTwo(action: string, name: string, value: number, max: number): void {
  requireInteger(action, name, value, 1, max);
  if ((value & value - 1) !== 0) throw rangeError(action, name, "be a power of two", value);
}

/**
 * Rows of a matrix in memory, padded.
 * @category Alignment and padding
 */
export interface Pitch {
  /** Bytes from one row to the next. */
  readonly pitch: number;
  /** The same in elements; null if elements, such as those of 12 bytes, do not divide it. */
  readonly elements: number | null;
  /** Bytes that padding adds to a row. */
  readonly padding: number;
  /** Share of the memory that is padding, 0 to 1. */
  readonly waste: number;
}

/**
 * The pitch of a matrix with each row at a multiple of some bytes.
 *
 * `cudaMallocPitch()` takes 512 bytes on the GPUs of today: it follows the device's
 * `textureAlignment` (`cudaDeviceProp`). 128 are enough for coalesced accesses, 32 for rows without
 * shared sectors, 16 for vectors and tensor maps; `texturePitchAlignment`, 32, for a 2-D texture.
 *
 * @param columns Elements of a row.
 * @param elementBytes Bytes of an element; any number of them.
 * @param options `alignment`: bytes, a power of two; 512 by default.
 * @throws {RangeError} If a number is not allowed, or the pitch is more than 2^53 − 1.
 * @throws {TypeError} If an argument is of another type.
 *
 * @example
 * ```ts
 * import { pitchOf } from "@gridstride/cuda/analysis";
 *
 * console.log(pitchOf(1000, 4)); // { pitch: 4096, elements: 1024, padding: 96, waste: 0.0234375 }
 * console.log(pitchOf(1000, 4, { alignment: 32 }).padding); // 0
 * ```
 * @category Alignment and padding
 */
export function pitchOf(
  columns: number,
  elementBytes: number,
  options: { readonly alignment?: number } = {},
): Pitch {
  const action = "calculate a pitch";
  requireInteger(action, "columns", columns, 0);
  requireInteger(action, "elementBytes", elementBytes, 1);
  requireOptions(options, ["alignment"], action);
  const { alignment = 512 } = options;
  requirePowerOfTwo(action, "alignment", alignment, 2 ** 30);
  const bytes = checkedProduct(action, "the size of a row", columns, elementBytes);
  const pitch = padTo(bytes, alignment);
  return {
    pitch,
    elements: pitch % elementBytes === 0 ? pitch / elementBytes : null,
    padding: pitch - bytes,
    waste: pitch === 0 ? 0 : (pitch - bytes) / pitch,
  };
}

/**
 * The least multiple of a number that is not less than an extent.
 *
 * @param extent The extent; 0 stays 0.
 * @param multiple The number; need not be a power of two.
 * @throws {RangeError} If a number is not allowed, or the result would be more than 2^53 − 1.
 * @throws {TypeError} If an argument is not a number.
 *
 * @example
 * ```ts
 * import { padTo } from "@gridstride/cuda/analysis";
 *
 * console.log(padTo(1000, 32), padTo(1024, 32), padTo(7, 3)); // 1024 1024 9
 * ```
 * @category Alignment and padding
 */
export function padTo(extent: number, multiple: number): number {
  requireInteger("pad an extent", "extent", extent, 0);
  requireInteger("pad an extent", "multiple", multiple, 1);
  const rest = extent % multiple;
  const missing = rest === 0 ? 0 : multiple - rest;
  if (extent > Number.MAX_SAFE_INTEGER - missing) {
    const result = `${extent} and ${missing} more`;
    throw rangeError("pad an extent", "the result", "be at most 9007199254740991", result);
  }
  return extent + missing;
}

/**
 * A padded shape.
 * @category Alignment and padding
 */
export interface PaddedShape {
  /** Its extents. */
  readonly shape: readonly number[];
  /** Elements of the padded shape. */
  readonly elements: number;
  /** Elements of padding among them. */
  readonly padding: number;
  /** Share of the elements that is padding, 0 to 1. */
  readonly waste: number;
}

/**
 * Pads the extents of a shape, each to a multiple of its own: `[rows, columns]` to those of a tile,
 * or the last to a warp's 32 lanes.
 *
 * @param shape The extents; none is the shape of a single element.
 * @param multiples Multiples for the last extents: `[32]` pads the last only.
 * @throws {RangeError} If a number is not allowed, there are more multiples than extents, or there
 * would be more than 2^53 − 1 elements.
 * @throws {TypeError} If an argument is not an array of numbers.
 *
 * @example
 * ```ts
 * import { paddedShape } from "@gridstride/cuda/analysis";
 *
 * console.log(paddedShape([100, 30], [32]).shape); // [ 100, 32 ]
 * console.log(paddedShape([100, 30], [64, 32]).shape); // [ 128, 32 ]
 * ```
 * @category Alignment and padding
 */
export function paddedShape(shape: readonly number[], multiples: readonly number[]): PaddedShape {
  const action = "pad a shape";
  for (const [name, extents, min] of [["shape", shape, 0], ["multiples", multiples, 1]] as const) {
    requireArray(action, name, extents);
    extents.forEach((each, axis) => requireInteger(action, `${name}[${axis}]`, each, min));
  }
  const first = shape.length - multiples.length;
  if (first < 0) {
    throw rangeError(action, "multiples", `be at most ${shape.length}`, multiples.length);
  }
  const padded = shape.map((extent, axis) =>
    axis < first ? extent : padTo(extent, multiples[axis - first]!)
  );
  const elements = elementsOf(padded);
  const padding = elements - elementsOf(shape);
  return { shape: padded, elements, padding, waste: elements === 0 ? 0 : padding / elements };
}

/** Exact up to 2^53 − 1: no partial product exceeds the product, unless that is 0. */
function elementsOf(shape: readonly number[]): number {
  if (shape.includes(0)) return 0;
  const elements = shape.reduce((product, extent) => product * extent, 1);
  if (Number.isSafeInteger(elements)) return elements;
  const allowed = "have at most 9007199254740991 elements";
  throw rangeError("pad a shape", "it", allowed, shape.join(" × "));
}
