/**
 * Alignment: at what multiple of bytes data should begin, and why.
 *
 * @module
 */

import { checkedProduct, requireInteger, requireObject, requireOneOf } from "./integer_argument.ts";
import { describeInput } from "./index_error.ts";
import { padTo } from "./padding.ts";

const ACTION = "calculate an alignment";

/** The most that a lane accesses at once, in bytes. */
const WIDEST_VECTOR = 16;
const SECTOR = 32;
const LINE = 128;
/** What allocation functions return is aligned so, at least. */
const ALLOCATION = 256;
/** From that size on a piece of memory is worth a place like an allocation's. */
const LARGE = 65536;

/**
 * How data is accessed.
 *
 * - `access`: by loads and stores of warps.
 * - `tensor-map`: in global memory, by the tensor memory accelerator, from compute capability 9.0 on.
 * - `tensor-map-shared`: in shared memory, where that writes or reads it.
 * - `texture`: by a texture that is bound to it.
 */
export type AlignmentUse = "access" | "tensor-map" | "tensor-map-shared" | "texture";

/** How {@linkcode calculateAlignment} is to understand the data. */
export interface AlignmentOptions {
  /** Bytes of an element: 1, 2, 4, 8, 12 or 16; 1 by default, which any type can be made of. */
  readonly elementBytes?: number;
  /** How it is accessed; `access` by default. */
  readonly use?: AlignmentUse;
  /**
   * Bytes of the device's `textureAlignment`; 512 by default, as it is from compute capability 7.5
   * on.
   */
  readonly textureAlignment?: number;
}

/** An alignment, and what comes of it. */
export interface Alignment {
  /** Bytes: the data should begin at a multiple of them. A power of two. */
  readonly alignment: number;
  /** Bytes of the data rounded up to it, so that what follows is aligned as well. */
  readonly paddedBytes: number;
  /** Bytes that this adds. */
  readonly waste: number;
  /** Bytes of the widest access of a lane that elements in a row can be read with: 16 at most. */
  readonly vectorBytes: number;
  /** Why, in a sentence. */
  readonly reason: string;
}

/**
 * The alignment that data of a size should have.
 *
 * Data of up to a line is aligned to the next power of two, with which it lies in one sector of 32
 * bytes, or one line of 128, and touches no other; larger data to a line, with which every request
 * of a warp for 128 bytes takes one line and four sectors instead of two and five; from 64 KiB on to
 * 256 bytes, as what `cudaMalloc()` returns. Never less than elements need.
 *
 * Allocations of a device are aligned to 256 bytes or more already (CUDA C++ Programming Guide, "Size
 * and Alignment Requirement"): this is for what lies inside of one. What the tensor memory
 * accelerator needs is from the documentation of `cuTensorMapEncodeTiled()`, and for shared memory
 * from the guide's "Asynchronous Data Copies using the Tensor Memory Accelerator".
 *
 * @param bytes The size.
 * @param options What the data is and how it is accessed.
 * @throws {RangeError} If the size or an option is a number that is not allowed, or no use.
 * @throws {TypeError} If one is of another type.
 *
 * @example
 * ```ts
 * import { calculateAlignment } from "@gridstride/cuda/analysis";
 *
 * const { alignment, paddedBytes, waste } = calculateAlignment(1000, { elementBytes: 4 });
 * console.log(alignment, paddedBytes, waste); // 128 1024 24
 * ```
 */
export function calculateAlignment(bytes: number, options: AlignmentOptions = {}): Alignment {
  requireInteger(ACTION, "bytes", bytes, 0);
  requireObject(ACTION, "options", options);
  const { elementBytes = 1, use = "access", textureAlignment = 512 } = options;
  requireOneOf(ACTION, "elementBytes", elementBytes, [1, 2, 4, 8, 12, 16]);
  requireInteger(ACTION, "textureAlignment", textureAlignment, 1, 2 ** 20);
  if (!isPowerOfTwo(textureAlignment)) {
    throw new RangeError(
      `Cannot ${ACTION} as textureAlignment must be a power of two: it is ${textureAlignment}`,
    );
  }
  const [needed, reason] = needOf(use, bytes, elementBytes, textureAlignment);
  const alignment = Math.max(needed, naturalAlignment(elementBytes));
  const paddedBytes = padTo(bytes, alignment);
  return {
    alignment,
    paddedBytes,
    waste: paddedBytes - bytes,
    vectorBytes: widestVector(bytes, elementBytes, alignment),
    reason,
  };
}

function needOf(
  use: AlignmentUse,
  bytes: number,
  elementBytes: number,
  textureAlignment: number,
): readonly [number, string] {
  switch (use) {
    case "access":
      return accessNeed(bytes, elementBytes);
    case "tensor-map":
      return [16, "A tensor map's address and strides are multiples of 16 bytes."];
    case "tensor-map-shared":
      return [
        128,
        "What the tensor memory accelerator copies to shared memory begins at 128 bytes.",
      ];
    case "texture":
      return [
        textureAlignment,
        "A texture is bound to a multiple of the device's textureAlignment.",
      ];
    default:
      throw useProblem(use);
  }
}

function useProblem(use: unknown): Error {
  const allowed = "access, tensor-map, tensor-map-shared, texture";
  return typeof use === "string"
    ? new RangeError(`Cannot ${ACTION} as use must be one of ${allowed}: it is ${use}`)
    : new TypeError(`Cannot ${ACTION} as use must be a text: it is ${describeInput(use)}`);
}

function accessNeed(bytes: number, elementBytes: number): readonly [number, string] {
  if (bytes <= elementBytes) {
    return [naturalAlignment(elementBytes), "A single element needs no more than its type does."];
  }
  if (bytes <= LINE) {
    const alignment = nextPowerOfTwo(bytes);
    const place = bytes <= SECTOR ? "one sector of 32 bytes" : "one line of 128 bytes";
    return [alignment, `At a multiple of ${alignment} bytes it lies in ${place}.`];
  }
  return bytes < LARGE
    ? [LINE, "A warp's request for 128 bytes takes one line and four sectors, not two and five."]
    : [ALLOCATION, "So large a piece is worth the 256 bytes that allocations are aligned to."];
}

/** What instructions need: vectors of 12 bytes are accessed in words. */
function naturalAlignment(elementBytes: number): number {
  return elementBytes === 12 ? 4 : elementBytes;
}

/** Whole elements only, as many as are in the data. */
function widestVector(bytes: number, elementBytes: number, alignment: number): number {
  let vector = naturalAlignment(elementBytes);
  while (2 * vector <= Math.min(WIDEST_VECTOR, alignment) && bytes % (2 * vector) === 0) {
    vector *= 2;
  }
  return bytes === 0 ? naturalAlignment(elementBytes) : vector;
}

function isPowerOfTwo(value: number): boolean {
  return 2 ** Math.round(Math.log2(value)) === value;
}

function nextPowerOfTwo(value: number): number {
  return 2 ** Math.ceil(Math.log2(value));
}

/** Rows of a matrix in memory, padded. */
export interface Pitch {
  /** Bytes from one row to the next. */
  readonly pitch: number;
  /** The same in elements; null where elements, such as those of 12 bytes, do not divide it. */
  readonly elements: number | null;
  /** Bytes that padding adds to a row. */
  readonly padding: number;
  /** Share of the memory that is padding, 0 to 1. */
  readonly waste: number;
}

/** How {@linkcode pitchOf} is to pad. */
export interface PitchOptions {
  /** Bytes: a power of two; 512 by default. */
  readonly alignment?: number;
}

/**
 * The pitch of a matrix whose rows each begin at a multiple of some bytes.
 *
 * 512 bytes are what `cudaMallocPitch()` takes on the GPUs of today: it follows the device's
 * `textureAlignment` (`cudaDeviceProp`). 128 are enough for coalesced accesses, 32 for rows without
 * shared sectors, 16 for vectors and tensor maps; `texturePitchAlignment`, 32, for a 2-D texture.
 *
 * @param columns Elements of a row.
 * @param elementBytes Bytes of an element; any number of them.
 * @param options The alignment.
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
 */
export function pitchOf(columns: number, elementBytes: number, options: PitchOptions = {}): Pitch {
  const action = "calculate a pitch";
  requireInteger(action, "columns", columns, 0);
  requireInteger(action, "elementBytes", elementBytes, 1);
  requireObject(action, "options", options);
  const { alignment = 512 } = options;
  requireInteger(action, "alignment", alignment, 1, 2 ** 30);
  if (!isPowerOfTwo(alignment)) {
    throw new RangeError(
      `Cannot ${action} as alignment must be a power of two: it is ${alignment}`,
    );
  }
  const bytes = checkedProduct(action, "the size of a row", columns, elementBytes);
  const pitch = padTo(bytes, alignment);
  const padding = pitch - bytes;
  return {
    pitch,
    elements: pitch % elementBytes === 0 ? pitch / elementBytes : null,
    padding,
    waste: pitch === 0 ? 0 : padding / pitch,
  };
}
